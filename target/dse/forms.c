/* Forms of requantizers as choices of the search. Which are worth a try is decided by what a lane of
 * each takes: one that takes no less of LUTs, DSPs or bits of constants than another is not.
 * The search then sees each as a process of its own kind, with all of its factors and bindings.
 * Tests: lit/target/dse/forms.mir, test/e2e/forms_check.py */
#include <assert.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "ir/asm/print/print.h"
#include "target/dse/internal.h"
#include "target/forms/forms.h"

enum {
    MAX_VARIANTS = 8,
    MAX_COMPARED = 16,  /* levels up to which comparisons are tried (FINN-R, Section 4.2.2) */
    MAX_TRIED = 1 << 14 /* numbers times channels up to which tables are */
};

/* A requantizer of a process, and its forms besides the one that it came in. */
typedef struct FormChoice {
    FormSteps steps;
    Form forms[FORM_KINDS];
    RequantizerCost own, costs[FORM_KINDS];
    const Attr *own_name, *names[FORM_KINDS];
    uint32_t count;
} FormChoice;

typedef struct FormChoices {
    Arena arena;
    FormChoice items[DSE_MOST_REQUANTIZERS];
    uint32_t count;
} FormChoices;

static const Attr *form_of(const Op *kernel)
{
    return attr_dict_get_c(op_attr(kernel, DFG_ATTR_REQUANTIZER), DFG_REQUANT_FORM);
}

/* Whether a kernel came in that form. */
static bool is_in_form(const Op *kernel, Form form)
{
    Str name = form_of(kernel)->u.string;
    if (form == FORM_LINE)
        return str_eq_c(name, "line") || str_eq_c(name, "moved line") || str_eq_c(name, "shift");
    return str_eq_c(name, forms_names[form]) ||
           (form == FORM_COMPARISONS && str_eq_c(name, "comparison"));
}

static int64_t bound_of(const Op *kernel, const char *name)
{
    return attr_dict_int(op_attr(kernel, DFG_ATTR_REQUANTIZER), name, 0);
}

/* Whether other forms may be worth a try, before anything is run. */
static bool has_choice(const Op *kernel)
{
    int64_t levels = bound_of(kernel, DFG_REQUANT_MOST) - bound_of(kernel, DFG_REQUANT_LEAST) + 1;
    int64_t numbers = bound_of(kernel, DFG_REQUANT_HIGH) - bound_of(kernel, DFG_REQUANT_LOW) + 1;
    return !dse_is_form_chosen(kernel) && levels > 2 &&
           (levels <= MAX_COMPARED || numbers <= MAX_TRIED / levels);
}

static bool is_worth_it(const FormSteps *s, Form form)
{
    if (is_in_form(s->kernel, form)) return false;
    if (form == FORM_COMPARISONS) return s->most - s->least < MAX_COMPARED;
    return form != FORM_TABLE || s->high - s->low + 1 <= MAX_TRIED / s->channels;
}

static bool is_no_less(const RequantizerCost *a, const RequantizerCost *b)
{
    return a->lut >= b->lut && a->dsp >= b->dsp && a->constant_bits >= b->constant_bits;
}

static void add_form(FormChoice *choice, Form form, Op *made, Clock clock)
{
    choice->forms[choice->count] = form;
    choice->names[choice->count] = form_of(made);
    choice->costs[choice->count++] = cost_requantizer(made, clock);
}

/* Leaves out what another form, or the one that the kernel came in, is no worse than. */
static void drop_worse(FormChoice *choice)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        bool is_worse = is_no_less(&choice->costs[i], &choice->own);
        for (uint32_t k = 0; k < choice->count; k++)
            is_worse |= k != i && is_no_less(&choice->costs[i], &choice->costs[k]) &&
                        (k < i || !is_no_less(&choice->costs[k], &choice->costs[i]));
        if (is_worse) continue;
        choice->forms[kept] = choice->forms[i];
        choice->names[kept] = choice->names[i];
        choice->costs[kept++] = choice->costs[i];
    }
    choice->count = kept;
}

/* Builds each form of a kernel, in a process that is a copy, one after the other. */
static void try_forms(FormChoice *choice, Op *kernel, Clock clock, Arena *arena)
{
    bool is_tried[FORM_KINDS];
    choice->own = cost_requantizer(kernel, clock);
    choice->own_name = form_of(kernel);
    if (!has_choice(kernel) || !forms_steps(kernel, arena, &choice->steps)) return;
    FormSteps s = choice->steps;
    for (int f = 0; f < FORM_KINDS; f++) is_tried[f] = is_worth_it(&s, (Form)f);
    for (int f = 0; f < FORM_KINDS; f++) {
        Op *made = is_tried[f] ? forms_build(&s, (Form)f, arena) : NULL;
        if (!made) continue;
        add_form(choice, (Form)f, made, clock);
        s.kernel = made;
        s.operand = 0;
    }
    drop_worse(choice);
}

uint32_t dse_list_requantizers(Op *process, Op **kernels)
{
    uint32_t count = 0;
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (count < DSE_MOST_REQUANTIZERS && forms_is_requantizer(op)) kernels[count++] = op;
    return count;
}

/* Must be freed by arena_free. The copy stands outside of the module, so that what is noted of costs
 * does not depend on the device, which a folding file does not know. */
static void find_choices(const Op *process, Clock clock, FormChoices *out)
{
    Op *kernels[DSE_MOST_REQUANTIZERS];
    *out = (FormChoices){.count = dse_list_requantizers((Op *)(uintptr_t)process, kernels)};
    arena_init(&out->arena);
    if (out->count == 0) return;
    Op *copy = op_clone(process, NULL);
    dse_list_requantizers(copy, kernels);
    for (uint32_t i = 0; i < out->count; i++)
        try_forms(&out->items[i], kernels[i], clock, &out->arena);
    op_erase(copy);
}

uint32_t dse_form_variants(const Op *process, Clock clock)
{
    FormChoices choices;
    uint32_t count = 1;
    find_choices(process, clock, &choices);
    for (uint32_t i = 0; i < choices.count && count < MAX_VARIANTS; i++)
        count *= choices.items[i].count + 1;
    arena_free(&choices.arena);
    return count < MAX_VARIANTS ? count : MAX_VARIANTS;
}

/* The forms but for that name, with what they cost; NULL: there was no choice. */
static const Attr *others_of(Context *ctx, const FormChoice *choice, const Attr *taken)
{
    const Attr *others[FORM_KINDS + 1];
    size_t count = 0;
    for (uint32_t f = 0; f <= choice->count; f++) {
        const Attr *name = f ? choice->names[f - 1] : choice->own_name;
        const NamedAttr form = build_named_attr(ctx, DFG_REQUANT_FORM, name);
        if (name != taken)
            others[count++] = cost_requantizer_item(attr_dict(ctx, &form, 1),
                                                    f ? &choice->costs[f - 1] : &choice->own);
    }
    return choice->count ? attr_array(ctx, others, count) : NULL;
}

/* Writes the form of a kernel, its costs and those of the others to its items in the module's list. */
static void note_choice(Op *module, const Op *kernel, const RequantizerCost *cost,
                        const Attr *others)
{
    Context *ctx = module->ctx;
    const Attr *list = op_attr(module, DFG_ATTR_REQUANTIZERS);
    const Attr *layer = attr_dict_get_c(op_attr(kernel, DFG_ATTR_REQUANTIZER), DFG_REQUANT_LAYER);
    VEC(const Attr *) items = {0};
    for (uint32_t i = 0; list && i < list->u.array.count; i++) {
        const Attr *item = list->u.array.items[i];
        if (attr_dict_get_c(item, DFG_REQUANT_LAYER) == layer) {
            item = attr_dict_set(item, ident_get_c(ctx, DFG_REQUANT_FORM), form_of(kernel));
            item = attr_dict_set(item, ident_get_c(ctx, DFG_REQUANT_OTHERS), others);
            item = cost_requantizer_item(item, cost);
        }
        *vec_push(&items) = item;
    }
    if (list) op_set_attr(module, DFG_ATTR_REQUANTIZERS, attr_array(ctx, items.data, items.len));
    vec_free(&items);
}

/* Notes on a kernel that its form was chosen, so that it is kept from now on. */
static void set_chosen(Op *kernel)
{
    const Attr *about = op_attr(kernel, DFG_ATTR_REQUANTIZER);
    op_set_attr(
        kernel, DFG_ATTR_REQUANTIZER,
        attr_dict_set(about, ident_get_c(kernel->ctx, DFG_REQUANT_CHOSEN), attr_unit(kernel->ctx)));
}

/* Builds form number `taken` of a choice, 0 being that which the kernel came in. */
static Op *set_form(const FormChoice *choice, Op *kernel, uint32_t taken, Arena *arena)
{
    FormSteps s = choice->steps;
    s.kernel = kernel;
    Op *made = taken ? forms_build(&s, choice->forms[taken - 1], arena) : kernel;
    assert(made); /* as in the copy */
    return made;
}

void dse_set_forms(Op *process, uint32_t variant, Clock clock, Op *module)
{
    FormChoices choices;
    Op *kernels[DSE_MOST_REQUANTIZERS];
    find_choices(process, clock, &choices);
    dse_list_requantizers(process, kernels);
    for (uint32_t i = 0; i < choices.count; i++) {
        const FormChoice *choice = &choices.items[i];
        if (choice->count == 0) continue;
        uint32_t taken = variant % (choice->count + 1);
        variant /= choice->count + 1;
        Op *kernel = set_form(choice, kernels[i], taken, &choices.arena);
        if (!module) continue;
        set_chosen(kernel);
        note_choice(module, kernel, taken ? &choice->costs[taken - 1] : &choice->own,
                    others_of(module->ctx, choice, form_of(kernel)));
    }
    arena_free(&choices.arena);
}

/* The kernel in a form by its name; NULL: it has no such form. */
static Op *build_named_form(Op *kernel, const char *name, Arena *arena)
{
    FormSteps steps;
    bool compares = strcmp(name, "thresholds") == 0 || strcmp(name, "comparison") == 0;
    if (str_eq_c(form_of(kernel)->u.string, name)) return kernel;
    for (int f = 0; f < FORM_KINDS; f++) {
        if (strcmp(compares ? forms_names[FORM_COMPARISONS] : name, forms_names[f]) != 0) continue;
        if (f == FORM_COMPARISONS && is_in_form(kernel, FORM_COMPARISONS)) return kernel;
        return forms_steps(kernel, arena, &steps) ? forms_build(&steps, (Form)f, arena) : NULL;
    }
    return NULL;
}

bool dse_pin_form(Op *module, Op *process, uint32_t number, const char *name, Clock clock)
{
    FormChoices choices;
    Op *kernels[DSE_MOST_REQUANTIZERS];
    find_choices(process, clock, &choices);
    dse_list_requantizers(process, kernels);
    const FormChoice *choice = &choices.items[number];
    RequantizerCost cost = choice->own;
    Op *made = build_named_form(kernels[number], name, &choices.arena);
    if (made && made != kernels[number]) cost = cost_requantizer(made, clock);
    for (uint32_t f = 0; made && f < choice->count; f++)
        if (choice->names[f] == form_of(made)) cost = choice->costs[f];
    if (made && (choice->count > 0 || made != kernels[number])) {
        int64_t levels = bound_of(made, DFG_REQUANT_MOST) - bound_of(made, DFG_REQUANT_LEAST) + 1;
        if (is_in_form(made, FORM_COMPARISONS) && levels > MAX_COMPARED)
            op_remark(made, "compares with %lld thresholds at once, which takes many LUTs",
                      (long long)levels - 1);
        set_chosen(made);
        note_choice(module, made, &cost, others_of(module->ctx, choice, form_of(made)));
    }
    arena_free(&choices.arena);
    return made != NULL;
}

bool dse_is_form_chosen(const Op *kernel)
{
    return attr_dict_get_c(op_attr(kernel, DFG_ATTR_REQUANTIZER), DFG_REQUANT_CHOSEN) != NULL;
}

const Attr *dse_chosen_forms(const Op *process)
{
    const Attr *names[DSE_MOST_REQUANTIZERS];
    Op *kernels[DSE_MOST_REQUANTIZERS];
    uint32_t count = dse_list_requantizers((Op *)(uintptr_t)process, kernels);
    bool is_any_chosen = false;
    for (uint32_t i = 0; i < count; i++) {
        names[i] = form_of(kernels[i]);
        is_any_chosen |= dse_is_form_chosen(kernels[i]);
    }
    if (!is_any_chosen) return NULL;
    return count == 1 ? names[0] : attr_array(process->ctx, names, count);
}
