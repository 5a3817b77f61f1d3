/* apply-folding: pins what a folding file says of the processes: unroll factors, words, memories
 * and multipliers. Everything else is left to choose-unroll.
 * Requires: processes as convert-linalg-to-dfg leaves them.
 * Changes: dfg.unroll, dfg.multiplier, dfg.order and dfg.storage of ops, forms of requantizers, dfg.words of processes; an epilogue
 * that the file has factors of its own for becomes a process (epilogue.c). If something
 * cannot be pinned, the pass fails with a diagnostic at its place in the file.
 * Tests: lit/target/dse/folding.test, lit/target/dse/folding-invalid.test */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "ir/support/support.h"
#include "schedule/schedule.h"
#include "target/dse/dse.h"
#include "target/dse/internal.h"

typedef struct FoldingUse {
    Context *ctx;
    Op *module;
    const FoldingFile *file;
    CostTarget target; /* any that allows what the pass's options do */
    Arena *arena;
    PtrMap keys;         /* process -> key of its entry */
    PtrMap instantiates; /* process -> op that runs it */
    SymbolTable symbols; /* of the module */
} FoldingUse;

/* An entry of the file and the process that it is about. */
typedef struct FoldingLayer {
    const FoldingUse *folding;
    const char *key;
    Op *process;
    ProcessKind kind;
    ComputeSchedule base; /* of processes that compute */
} FoldingLayer;

static bool value_error(const FoldingLayer *layer, const char *key, const json_t *value,
                        const char *text)
{
    return diag_error(layer->folding->ctx, folding_value_place(layer->folding->file, value, key),
                      "'%s' of layer '%s' %s", key, layer->key, text);
}

/* The first error, as text. */
static void take_error(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                       size_t note_count)
{
    StrBuf *text = user;
    (void)ctx;
    (void)notes;
    (void)note_count;
    if (diag->kind == DIAG_ERROR && text->len == 0) strbuf_add_str(text, diag->text);
}

/* Whether the process has a configuration with what is pinned. A diagnostic of the design space is
 * repeated at the place of the file that caused it. */
static bool check_pinned(const FoldingLayer *layer, const char *key, const json_t *value)
{
    const FoldingUse *f = layer->folding;
    const Op *instantiate = ptrmap_get(&f->instantiates, layer->process);
    DiagHandler *handler;
    void *user;
    StrBuf text = {0};
    if (!instantiate) return true;
    diag_set_handler(f->ctx, take_error, &text, &handler, &user);
    bool ok = dse_check_process(instantiate, &f->target, f->arena);
    diag_set_handler(f->ctx, handler, user, NULL, NULL);
    if (!ok)
        diag_error(f->ctx, folding_value_place(f->file, value, key), "layer '%s': %s", layer->key,
                   text.data ? text.data : "");
    strbuf_free(&text);
    return ok;
}

/* A list of positive numbers; their count, or -1: diagnosed. */
static int read_numbers(const FoldingLayer *layer, const char *key, const json_t *list,
                        int64_t *out, size_t max)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > max) {
        value_error(layer, key, list, "must be a list of numbers, one per dimension");
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        if (!json_is_integer(item) || json_integer_value(item) < 1) {
            diag_error(layer->folding->ctx,
                       json_file_place(&layer->folding->file->json, item, list),
                       "'%s' of layer '%s' must hold numbers of at least 1", key, layer->key);
            return -1;
        }
        out[i] = json_integer_value(item);
    }
    return (int)count;
}

/* One of the words in a NULL-terminated table, or NULL: diagnosed. */
static const char *read_choice(const FoldingLayer *layer, const char *key, const json_t *value,
                               const char *const *choices)
{
    StrBuf list = {0};
    const char *text = json_string_value(value);
    for (const char *const *c = choices; *c; c++) {
        if (text && strcmp(*c, text) == 0) {
            strbuf_free(&list);
            return *c;
        }
        strbuf_printf(&list, "%s'%s'", c == choices ? "" : c[1] ? ", " : " or ", *c);
    }
    diag_error(layer->folding->ctx, folding_value_place(layer->folding->file, value, key),
               "'%s' of layer '%s' must be %s", key, layer->key, list.data);
    strbuf_free(&list);
    return NULL;
}

/* The name that the network has for the layer is no choice, but it must be the right one. Names are
 * compared as JSON has them, where all text is UTF-8. */
static bool check_source(FoldingLayer *layer, const char *key, const json_t *value)
{
    StrBuf given = {0}, source = {0};
    if (json_is_string(value))
        json_add_string(&given, (Str){json_string_value(value), json_string_length(value)});
    json_add_string(&source, layer_name_source(layer->process));
    bool same = str_eq(strbuf_str(&given), strbuf_str(&source));
    strbuf_free(&given);
    strbuf_free(&source);
    return same || value_error(layer, key, value, "is not the name that the network has for it");
}

static bool computes(const FoldingLayer *layer, const char *key, const json_t *value)
{
    return layer->kind == PROCESS_COMPUTE ||
           value_error(layer, key, value,
                       "is for layers that compute, and this one only moves data");
}

static bool check_loops(FoldingLayer *layer, const char *key, const json_t *value)
{
    int64_t loops[KERNEL_MAX_LOOPS];
    if (!computes(layer, key, value)) return false;
    const Kernel *kernel = &layer->base.kernel;
    int count = read_numbers(layer, key, value, loops, COUNT_OF(loops));
    return count >= 0 &&
           (((uint32_t)count == kernel->loop_count &&
             memcmp(loops, kernel->extents, (size_t)count * sizeof(*loops)) == 0) ||
            value_error(layer, key, value, "are not the loops that it has in this network"));
}

static bool pin_unroll(FoldingLayer *layer, const char *key, const json_t *value)
{
    int64_t unroll[KERNEL_MAX_LOOPS];
    if (!computes(layer, key, value)) return false;
    int count = read_numbers(layer, key, value, unroll, COUNT_OF(unroll));
    if (count < 0) return false;
    Op *main = value_def(op_result(layer->base.main, 0));
    op_set_attr(main, DFG_ATTR_UNROLL, attr_i64_array(main->ctx, unroll, (size_t)count));
    return check_pinned(layer, key, value);
}

static bool pin_multiplier(FoldingLayer *layer, const char *key, const json_t *value)
{
    static const char *const choices[] = {DFG_MULTIPLIER_DSP, DFG_MULTIPLIER_LUT,
                                          DFG_MULTIPLIER_POPCOUNT, NULL};
    const char *choice =
        computes(layer, key, value) ? read_choice(layer, key, value, choices) : NULL;
    if (!choice) return false;
    if (strcmp(choice, DFG_MULTIPLIER_POPCOUNT) == 0 && !layer->base.popcount.product)
        return value_error(layer, key, value,
                           "cannot be 'popcount': the layer's operands have too many bits, or it "
                           "sums no products");
    Op *main = value_def(op_result(layer->base.main, 0));
    op_set_attr(main, DFG_ATTR_MULTIPLIER, attr_string_c(main->ctx, choice));
    return true;
}

static bool pin_order(FoldingLayer *layer, const char *key, const json_t *value)
{
    static const char *const choices[] = {DFG_ORDER_INPUTS, DFG_ORDER_RESULTS, NULL};
    const char *choice =
        computes(layer, key, value) ? read_choice(layer, key, value, choices) : NULL;
    if (!choice) return false;
    Op *main = value_def(op_result(layer->base.main, 0));
    op_set_attr(main, DFG_ATTR_ORDER, attr_string_c(main->ctx, choice));
    return check_pinned(layer, key, value);
}

/* Builds one requantizer in the form that the file names. False: diagnosed. */
static bool pin_form(FoldingLayer *layer, const char *key, const json_t *value, uint32_t number)
{
    static const char *const choices[] = {"shift",       "line",       "moved line",
                                          "table",       "search",     "comparison",
                                          "comparisons", "thresholds", NULL};
    const char *choice = read_choice(layer, key, value, choices);
    if (!choice) return false;
    const FoldingUse *f = layer->folding;
    if (dse_pin_form(f->module, layer->process, number, choice, f->target.clock)) return true;
    StrBuf text = {0};
    strbuf_printf(&text, "cannot be '%s': the requantizer has no such exact form", choice);
    value_error(layer, key, value, text.data);
    strbuf_free(&text);
    return false;
}

/* One form for all requantizers of a process, or a list with one for each. */
static bool pin_requantizer(FoldingLayer *layer, const char *key, const json_t *value)
{
    Op *kernels[DSE_MOST_REQUANTIZERS];
    if (!computes(layer, key, value)) return false;
    uint32_t count = dse_list_requantizers(layer->process, kernels);
    if (count == 0)
        return value_error(layer, key, value,
                           "is for layers with a requantizer that rises or falls, and this one has "
                           "none");
    if (json_is_array(value) && json_array_size(value) != count) {
        StrBuf text = {0};
        strbuf_printf(&text, "must be one form or a list of %u", count);
        value_error(layer, key, value, text.data);
        strbuf_free(&text);
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!pin_form(layer, key, json_is_array(value) ? json_array_get(value, i) : value, i))
            return false;
    return sched_compute_base(layer->process, &layer->base);
}

static bool pin_words(FoldingLayer *layer, const char *key, const json_t *value)
{
    Context *ctx = layer->folding->ctx;
    uint32_t ports = dfg_input_count(layer->process) + dfg_output_count(layer->process);
    if (layer->kind == PROCESS_COMPUTE && layer->base.kernel.class != KERNEL_PURE_PARALLEL)
        return value_error(layer, key, value, "follow from its factors and are not given");
    if (json_array_size(value) != ports)
        return value_error(layer, key, value,
                           "must be a list with the words of each input and output");
    VEC(const Attr *) lists = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < ports; i++) {
        int64_t word[2 * DFG_MAX_RANK];
        int count = read_numbers(layer, key, json_array_get(value, i), word, COUNT_OF(word));
        ok = count >= 0;
        if (ok) *vec_push(&lists) = attr_i64_array(ctx, word, (size_t)count);
    }
    if (ok) op_set_attr(layer->process, DFG_ATTR_WORDS, attr_array(ctx, lists.data, lists.len));
    vec_free(&lists);
    return ok && check_pinned(layer, key, value);
}

static size_t count_role(const FoldingMemories *memories, const char *role)
{
    size_t count = 0;
    for (size_t i = 0; i < memories->len; i++) count += strcmp(memories->data[i].role, role) == 0;
    return count;
}

/* Appends the kind to those of a window's outer levels, or sets it. */
static void set_storage(const FoldingMemory *memory, const char *kind)
{
    const Attr *kinds[DFG_MAX_RANK], *old = op_attr(memory->op, DFG_ATTR_STORAGE);
    const Attr *value = attr_string_c(memory->op->ctx, kind);
    if (memory->op->def == DFG(WINDOW)) {
        for (uint32_t i = 0; i < memory->level; i++) kinds[i] = old->u.array.items[i];
        kinds[memory->level] = value;
        value = attr_array(memory->op->ctx, kinds, memory->level + 1);
    } else if (strcmp(kind, "auto") == 0) {
        value = NULL;
    }
    op_set_attr(memory->op, DFG_ATTR_STORAGE, value);
}

/* One kind for all memories of a role, or a list with one for each. */
static bool pin_role(FoldingLayer *layer, const FoldingMemories *memories, const char *role,
                     const json_t *value)
{
    static const char *const choices[] = {"auto", "lutram", "bram", "uram", "stream", NULL};
    size_t count = count_role(memories, role), used = 0;
    if (count == 0)
        return diag_error(layer->folding->ctx, folding_key_place(layer->folding->file, role),
                          "layer '%s' has no memories called '%s'", layer->key, role);
    if (json_is_array(value) && json_array_size(value) != count) {
        StrBuf text = {0};
        strbuf_printf(&text, "must be one kind or a list of %zu", count);
        value_error(layer, role, value, text.data);
        strbuf_free(&text);
        return false;
    }
    for (size_t i = 0; i < memories->len; i++) {
        if (strcmp(memories->data[i].role, role) != 0) continue;
        const json_t *item = json_is_array(value) ? json_array_get(value, used++) : value;
        const char *choice = read_choice(layer, role, item, choices);
        if (!choice) return false;
        set_storage(&memories->data[i], choice);
    }
    return true;
}

static bool pin_storage(FoldingLayer *layer, const char *key, const json_t *value)
{
    const char *role;
    json_t *member;
    FoldingMemories memories = {0};
    bool ok = json_is_object(value) ||
              value_error(layer, key, value, "must be an object: a kind for each of its memories");
    ok = ok && folding_memories(layer->process, &memories);
    json_object_foreach((json_t *)(uintptr_t)value, role, member) ok =
        ok && pin_role(layer, &memories, role, member);
    vec_free(&memories);
    return ok && check_pinned(layer, key, value);
}

typedef struct FoldingKey {
    const char *key;
    bool (*pin)(FoldingLayer *layer, const char *key, const json_t *value);
} FoldingKey;

/* In the order in which they are pinned: words may hold more than factors take. */
static const FoldingKey folding_keys[] = {
    {"layer", check_source},
    {"loops", check_loops},
    {DFG_FOLDING_REQUANTIZER, pin_requantizer},
    {DFG_FOLDING_UNROLL, pin_unroll},
    {DFG_FOLDING_MULTIPLIER, pin_multiplier},
    {DFG_FOLDING_ORDER, pin_order},
    {DFG_FOLDING_WORDS, pin_words},
    {DFG_FOLDING_STORAGE, pin_storage},
};

static bool check_key(const FoldingUse *f, const char *key)
{
    for (size_t i = 0; i < COUNT_OF(folding_keys); i++)
        if (strcmp(folding_keys[i].key, key) == 0) return true;
    return diag_error(f->ctx, folding_key_place(f->file, key), "nothing of a layer is called '%s'",
                      key);
}

static bool pin_keys(FoldingLayer *layer, const json_t *entry)
{
    const char *key;
    json_t *value;
    bool ok = true;
    json_object_foreach((json_t *)(uintptr_t)entry, key, value) ok =
        ok && check_key(layer->folding, key);
    for (size_t i = 0; ok && i < COUNT_OF(folding_keys); i++) {
        value = json_object_get(entry, folding_keys[i].key);
        ok = !value || folding_keys[i].pin(layer, folding_keys[i].key, value);
    }
    return ok;
}

/* The process of that name; else the one that computes the layer that the network calls so. */
static Op *find_process(const FoldingUse *f, const char *key)
{
    Op *found = symbol_lookup_in(f->module, ident_get_c(f->ctx, key));
    size_t count = 0;
    ProcessKind kind;
    if (found && found->def == DFG(PROCESS)) return found;
    FOR_EACH_OP(op, region_entry(op_region(f->module, 0)))
        if (op->def == DFG(PROCESS) && str_eq_c(layer_name_source(op), key) &&
            sched_process_kind(op, &kind) && kind == PROCESS_COMPUTE) {
            found = op;
            count++;
        }
    if (count == 1) return found;
    diag_error(f->ctx, folding_key_place(f->file, key),
               count ? "several processes compute layer '%s'; call them by their own names"
                     : "the design has no layer '%s'",
               key);
    return NULL;
}

static bool pin_layer(FoldingUse *f, const char *key, const json_t *entry)
{
    FoldingLayer layer = {.folding = f, .key = key, .process = find_process(f, key)};
    if (!layer.process || !sched_process_kind(layer.process, &layer.kind) ||
        (layer.kind == PROCESS_COMPUTE && !sched_compute_base(layer.process, &layer.base)))
        return false;
    const char *before = ptrmap_put(&f->keys, layer.process, (void *)(uintptr_t)key);
    if (before)
        return diag_error(f->ctx, folding_key_place(f->file, key), "layer '%s' is the same as '%s'",
                          key, before);
    if (!json_is_object(entry))
        return diag_error(f->ctx, folding_value_place(f->file, entry, key),
                          "layer '%s' must be an object", key);
    return pin_keys(&layer, entry);
}

/* The process at a channel's end and its port; NULL: the region's. */
static const Op *end_process(const Op *channel, uint32_t end, uint32_t *port)
{
    const Use *use = op_result(channel, end)->uses;
    if (!use || use->owner->def != DFG(INSTANTIATE)) return NULL;
    *port = use_index(use);
    return symbol_lookup(use->owner, op_attr(use->owner, "callee"));
}

static bool check_channel(FoldingUse *f, const Op *channel)
{
    uint32_t ports[2];
    const Type *ends[2] = {NULL, NULL}, *middle = NULL;
    const Op *sender = end_process(channel, 0, &ports[0]),
             *reader = end_process(channel, 1, &ports[1]);
    if (!sender || !reader || !dse_pinned_end(sender, ports[0], &ends[0]) ||
        !dse_pinned_end(reader, ports[1], &ends[1]))
        return !sender || !reader;
    if (!ends[0] || !ends[1]) return true;
    bool same = ends[0]->u.dialect.param_count == ends[1]->u.dialect.param_count &&
                memcmp(ends[0]->u.dialect.params, ends[1]->u.dialect.params,
                       ends[0]->u.dialect.param_count * sizeof(*ends[0]->u.dialect.params)) == 0;
    if (same || sched_conversion(ends[0], ends[1], MAX_WORD_BITS, &middle) != CONVERSION_NONE)
        return true;
    const char *keys[2] = {ptrmap_get(&f->keys, sender), ptrmap_get(&f->keys, reader)};
    const char *blamed = keys[1] ? keys[1] : keys[0];
    return diag_error(f->ctx, blamed ? folding_key_place(f->file, blamed) : reader->loc,
                      "words do not agree: '%.*s' sends %s, '%.*s' takes %s, and no converter can "
                      "stand between them",
                      STR_ARG(symbol_name(sender)->str), type_str(f->ctx, ends[0]),
                      STR_ARG(symbol_name(reader)->str), type_str(f->ctx, ends[1]));
}

static bool note_instantiate(FoldingUse *f, const Op *op)
{
    const Op *process = symbol_lookup(op, op_attr(op, "callee"));
    ptrmap_put(&f->instantiates, process, (void *)(uintptr_t)op);
    return true;
}

/* Calls for each op of a kind in the module's dataflow graph. */
static bool each_graph_op(FoldingUse *f, const OpDef *def,
                          bool (*visit)(FoldingUse *f, const Op *op))
{
    bool ok = true;
    FOR_EACH_OP(region, region_entry(op_region(f->module, 0)))
        if (region->def == DFG(REGION))
            FOR_EACH_OP(op, region_entry(op_region(region, 0)))
                if (op->def == def) ok = ok && visit(f, op);
    return ok;
}

/* What is split off has a number behind its suffix where another process is called so: "x_sum_0". */
static Str without_number(Str name)
{
    Str rest = name;
    while (rest.len > 0 && rest.data[rest.len - 1] >= '0' && rest.data[rest.len - 1] <= '9')
        rest.len--;
    if (rest.len == name.len || rest.len == 0 || rest.data[rest.len - 1] != '_') return name;
    rest.len--;
    return rest;
}

/* An entry of a process's epilogue says that it is a process of its own, and so does one of the part of it
 * that begins with a sum. False: diagnosed. */
static bool split_epilogue(FoldingUse *f, const char *key, bool is_sum)
{
    ComputeSchedule base;
    ProcessKind kind;
    Str name = without_number(str_from(key));
    const char *suffix = is_sum ? DSE_SUM_SUFFIX : DSE_EPILOGUE_SUFFIX;
    if (symtab_get(&f->symbols, ident_get_c(f->ctx, key)) || !str_ends_with(name, suffix))
        return true;
    name.len -= strlen(suffix);
    Op *process = symtab_get(&f->symbols, ident_get(f->ctx, name));
    Op *instantiate = process ? ptrmap_get(&f->instantiates, process) : NULL;
    if (!instantiate || !sched_process_kind(process, &kind)) return !instantiate;
    if (kind != PROCESS_COMPUTE) return true;
    if (!sched_compute_base(process, &base)) return false;
    uint32_t from = is_sum ? dse_stage_of_sum(&base) : 0;
    if (!dse_has_epilogue(&base) || (is_sum && from == 0)) return true;
    Op *epilogue = dse_split_epilogue(&f->symbols, instantiate, from);
    ptrmap_put(&f->instantiates, epilogue, instantiate->next);
    return true;
}

/* A number of a place, from 0 to below `count`. */
static bool read_place_number(const FoldingUse *f, const char *layer, const json_t *place,
                              const char *key, int64_t count, int64_t *out)
{
    const json_t *value = json_object_get(place, key);
    if (json_is_integer(value)) *out = json_integer_value(value);
    if (json_is_integer(value) && *out >= 0 && *out < count) return true;
    return diag_error(f->ctx, folding_value_place(f->file, value ? value : place, layer),
                      "the place of layer '%s' must have a '%s' from 0 to %lld", layer, key,
                      (long long)count - 1);
}

static bool pin_place(const FoldingUse *f, const char *layer, const json_t *value)
{
    SysPlace place;
    const char *key;
    json_t *member;
    Op *process = find_process(f, layer);
    if (!process) return false;
    if (!json_is_object(value))
        return diag_error(f->ctx, folding_value_place(f->file, value, layer),
                          "the place of layer '%s' must be an object with 'card' and 'die'", layer);
    json_object_foreach(
        (json_t *)(uintptr_t)value, key,
        member) if (strcmp(key, "card") != 0 &&
                    strcmp(key, "die") !=
                        0) return diag_error(f->ctx, folding_key_place(f->file, key),
                                             "nothing of a place is called '%s'", key);
    if (!read_place_number(f, layer, value, "card", SYS_MAX_CARDS, &place.card) ||
        !read_place_number(f, layer, value, "die", SYS_MAX_DIES, &place.die))
        return false;
    op_set_attr(process, SYS_ATTR_PLACE, sys_place_attr(f->ctx, place));
    return true;
}

static bool check_places(const FoldingUse *f, Pass *pass, const char *key)
{
    return !pass_bool(pass, "on-cards") ||
           diag_error(f->ctx, folding_key_place(f->file, key),
                      "the place of layer '%s' is one of a single card, but the design lies on "
                      "several, where places are chosen anew",
                      key);
}

static bool apply_folding(Pass *pass, Op *module)
{
    const char *key;
    json_t *entry;
    FoldingFile file;
    if (!folding_read(pass->ctx, pass_string(pass, "file"), &file)) return false;
    enum { PERIOD_PS = 4000, MOST_BUS = 512 };
    FoldingUse f = {.ctx = pass->ctx,
                    .module = module,
                    .file = &file,
                    .arena = &pass->scratch,
                    .target = {.clock = clock_of_period(PERIOD_PS),
                               .fuses_epilogues = true,
                               .has_uram = true,
                               .loads_tables = pass_bool(pass, "loads-weights"),
                               .stream_bits = pass_bool(pass, "streams-weights") ? MOST_BUS : 0}};
    symtab_init(&f.symbols, module);
    bool ok = each_graph_op(&f, DFG(INSTANTIATE), note_instantiate);
    json_object_foreach(file.layers, key, entry) ok = ok && split_epilogue(&f, key, true);
    json_object_foreach(file.layers, key, entry) ok = ok && split_epilogue(&f, key, false);
    json_object_foreach(file.layers, key, entry) ok = ok && pin_layer(&f, key, entry);
    json_object_foreach(file.places, key, entry) ok =
        ok && check_places(&f, pass, key) && pin_place(&f, key, entry);
    ok = ok && each_graph_op(&f, DFG(CHANNEL), check_channel);
    ptrmap_free(&f.keys);
    ptrmap_free(&f.instantiates);
    symtab_free(&f.symbols);
    folding_free(&file);
    return ok;
}

const PassDef pass_apply_folding = {
    .name = "apply-folding",
    .summary = "Pin the factors, words, memories and multipliers that a folding file gives",
    .anchor = "builtin.module",
    .options = OPTIONS({"file", OPTION_STRING, "", "the folding file"},
                       {"loads-weights", OPTION_BOOL, "false",
                        "tables are memories that load-weights fills at start-up"},
                       {"streams-weights", OPTION_BOOL, "false",
                        "tables may be in memory outside, from where stream-weights reads them"},
                       {"on-cards", OPTION_BOOL, "false",
                        "place-cards will choose places, so that the file must have none"}),
    .run = apply_folding,
};
