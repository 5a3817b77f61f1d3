/* Why a layer of a quantized network is computed in floating point, where the lowering has not said
 * it: integers end at it, what is in front of it or behind it is floats, or there is no quantizer.
 * Tests: lit/driver/ming-check-reasons.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "driver/notes/internal.h"
#include "ir/asm/print/print.h"

typedef VEC(const Op *) Work;

static void push_once(Work *work, PtrMap *seen, const Op *op)
{
    if (ptrmap_has(seen, op)) return;
    ptrmap_put(seen, op, (void *)(uintptr_t)op);
    *vec_push(work) = op;
}

static bool is_float(const Value *value)
{
    return type_is_float(type_elem(value->type));
}

Sources driver_notes_sources(const Op *node, const Layers *layers)
{
    Sources found = {0};
    Work work = {0};
    PtrMap seen = {0};
    push_once(&work, &seen, node);
    while (work.len > 0) {
        const Op *op = work.data[--work.len];
        for (uint32_t i = 0; i < op->operand_count; i++) {
            const Value *value = op_operand(op, i);
            const Op *def = value_def(value);
            const Ident *name = def ? driver_notes_name(def) : NULL;
            bool is_own = name && name == driver_notes_name(node);
            if (!def) found.has_argument |= is_float(value);
            if (!def || driver_notes_is_quantizer(def)) continue;
            if (name && !is_own && ptrmap_has(&layers->floats, name))
                found.floats = name;
            else if (!name || is_own || !ptrmap_has(&layers->integers, name))
                push_once(&work, &seen, def);
        }
    }
    vec_free(&work);
    ptrmap_free(&seen);
    return found;
}

static bool is_end(const Attr *ends, const Ident *name)
{
    for (uint32_t i = 0; ends && name && i < ends->u.array.count; i++)
        if (str_eq(ends->u.array.items[i]->u.string, name->str)) return true;
    return false;
}

/* The first node at which integers end of those that take the result before a quantizer does; NULL:
 * none. */
static const Ident *end_behind(const Op *node, const Attr *ends)
{
    const Ident *end = NULL;
    Work work = {0};
    PtrMap seen = {0};
    push_once(&work, &seen, node);
    while (work.len > 0 && !end) {
        const Op *op = work.data[--work.len];
        if (op != node && is_end(ends, driver_notes_name(op))) end = driver_notes_name(op);
        for (uint32_t i = 0; i < op->result_count; i++)
            FOR_EACH_USE(use, op_result(op, i))
                if (!driver_notes_is_quantizer(use->owner)) push_once(&work, &seen, use->owner);
    }
    vec_free(&work);
    ptrmap_free(&seen);
    return end;
}

static void add_reason(StrBuf *out, const Op *node, const Attr *ends, const Layers *layers)
{
    const Sources sources = driver_notes_sources(node, layers);
    const Ident *end = end_behind(node, ends);
    strbuf_add_c(out, "is computed in floating point: ");
    if (is_end(ends, driver_notes_name(node))) {
        strbuf_add_c(out, "with these operands it has no form in integers");
    } else if (sources.floats) {
        strbuf_add_c(out, "what it takes from ");
        strbuf_add_quoted(out, sources.floats->str);
        strbuf_add_c(out, " is");
    } else if (sources.has_argument) {
        strbuf_add_c(out, "nothing in front of it is quantized");
    } else if (end) {
        strbuf_add_c(out, "its result goes to ");
        strbuf_add_quoted(out, end->str);
        strbuf_add_c(out, ", where integers end");
    } else {
        strbuf_add_c(out, "no quantizer is behind it");
    }
}

typedef struct ReasonSearch {
    ModelNotes *notes;
    const Attr *ends;
    const Layers *layers;
} ReasonSearch;

static bool find_reason(Op *op, void *user)
{
    const ReasonSearch *search = user;
    const Ident *name = onnx_is_node(op) ? driver_notes_name(op) : NULL;
    if (!name || !ptrmap_has(&search->layers->floats, name) ||
        driver_notes_reason(search->notes, name->str))
        return true;
    FloatReason *reason = vec_push(&search->notes->reasons);
    *reason = (FloatReason){.name = name};
    add_reason(&reason->why, op, search->ends, search->layers);
    return true;
}

void driver_notes_find_reasons(ModelNotes *notes, const Op *module, const Layers *layers)
{
    ReasonSearch search = {notes, op_attr(module, DFG_ATTR_INTEGERS_END), layers};
    op_walk(notes->model, find_reason, &search);
}

const char *driver_notes_reason(const ModelNotes *notes, Str layer)
{
    for (size_t i = 0; i < notes->reasons.len; i++)
        if (str_eq(notes->reasons.data[i].name->str, layer)) return notes->reasons.data[i].why.data;
    return NULL;
}
