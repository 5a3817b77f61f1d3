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

/* Enters for each node one at which integers end of those that take its result before a quantizer does.
 * Users stand behind it. */
static void find_ends_behind(const Op *func, const Attr *ends, PtrMap *out)
{
    for (const Op *op = func_entry(func)->last; op; op = op->prev)
        for (uint32_t i = 0; i < op->result_count; i++)
            FOR_EACH_USE(use, op_result(op, i)) {
                const Op *user = use->owner;
                const Ident *name = driver_notes_name(user);
                if (driver_notes_is_quantizer(user)) continue;
                const Ident *end = is_end(ends, name) ? name : ptrmap_get(out, user);
                if (end) ptrmap_put(out, op, (void *)(uintptr_t)end);
            }
}

static void add_reason(StrBuf *out, const Op *node, const Attr *ends, const Ident *end,
                       const Layers *layers)
{
    const Sources sources = driver_notes_sources(node, layers);
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

void driver_notes_find_reasons(ModelNotes *notes, const Op *module, const Layers *layers)
{
    const Op *func = driver_notes_network(notes->model);
    const Attr *ends = op_attr(module, DFG_ATTR_INTEGERS_END);
    PtrMap behind = {0};
    if (!func) return;
    find_ends_behind(func, ends, &behind);
    FOR_EACH_OP(op, func_entry(func)) {
        const Ident *name = onnx_is_node(op) ? driver_notes_name(op) : NULL;
        if (!name || !ptrmap_has(&layers->floats, name) || ptrmap_has(&notes->reason_of, name))
            continue;
        StrBuf why = {0};
        add_reason(&why, op, ends, ptrmap_get(&behind, op), layers);
        *vec_push(&notes->reasons) = why;
        ptrmap_put(&notes->reason_of, name, (void *)notes->reasons.len);
    }
    ptrmap_free(&behind);
}

const char *driver_notes_reason(const ModelNotes *notes, Str layer)
{
    size_t number = (size_t)ptrmap_get(&notes->reason_of, ident_get(notes->model->ctx, layer));
    return number > 0 ? notes->reasons.data[number - 1].data : NULL;
}
