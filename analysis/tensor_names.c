/* Names of the tensors of a network, one for each.
 * Tests: lit/tools/ming-compare.mir */
#include "analysis/analysis.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"

/* The name of the node or layer that an op is, or is from; empty: it has none. */
static Str source_of(const Op *op)
{
    const Attr *node = op_attr(op, ONNX_ATTR_NAME);
    if (node && node->kind == ATTR_STRING) return node->u.string;
    Str layer = layer_name_source(op);
    return layer.len > 0 ? layer : loc_find_name(op->loc);
}

/* The base, or the first of "base 2", "base 3" … that is free. next: per base, where to look on. */
static const Ident *choose(Context *ctx, PtrMap *next, PtrMap *taken, const Ident *base)
{
    const Ident *name = base;
    uintptr_t n = (uintptr_t)ptrmap_get(next, base);
    StrBuf text = {0};
    for (n = n ? n : 1; ptrmap_has(taken, name); name = ident_get(ctx, strbuf_str(&text))) {
        strbuf_clear(&text);
        strbuf_printf(&text, "%.*s %llu", STR_ARG(base->str), (unsigned long long)++n);
    }
    strbuf_free(&text);
    ptrmap_put(next, base, (void *)n);
    ptrmap_put(taken, name, (void *)(uintptr_t)name);
    return name;
}

void tensor_names_each(const Op *func, TensorNamed *give, void *user)
{
    PtrMap next = {0}, taken = {0};
    StrBuf text = {0};
    FOR_EACH_OP(op, func_entry(func)) {
        for (uint32_t r = 0; op->operand_count > 0 && r < op->result_count; r++) {
            Str source = source_of(op);
            strbuf_clear(&text);
            strbuf_add_str(&text, source.len > 0 ? source : op->name->str);
            if (r > 0) strbuf_printf(&text, " result %u", r);
            const Ident *base = ident_get(op->ctx, strbuf_str(&text));
            give(user, op, r, choose(op->ctx, &next, &taken, base)->str);
        }
    }
    strbuf_free(&text);
    ptrmap_free(&next);
    ptrmap_free(&taken);
}
