/* The functions of a module that others may call, and a name for each that is its own in the whole
 * text.
 * Tests: lit/tools/verify-semantics-nested.mir */
#include "sim/interp/internal.h"

static void add_path(StrBuf *out, const Op *op)
{
    const Op *parent = op_parent(op);
    if (!parent) return;
    add_path(out, parent);
    const Ident *name = symbol_name(op);
    int64_t before = 0;
    for (const Op *other = op->prev; !name && other; other = other->prev)
        before += symbol_name(other) == NULL && other->region_count > 0;
    strbuf_add_c(out, out->len > 0 ? "::@" : "@");
    if (name)
        strbuf_add_str(out, name->str);
    else
        strbuf_add_int(out, before);
}

const Ident *interp_function_path(const Op *func)
{
    StrBuf text = {0};
    add_path(&text, func);
    if (text.len == 0) strbuf_add_c(&text, "@"); /* a function by itself */
    const Ident *path = ident_get(func->ctx, strbuf_str(&text));
    strbuf_free(&text);
    return path;
}

static bool is_public_function(const Op *op)
{
    if (!op->def || !op_has_trait(op, TRAIT_FUNCTION) || region_is_empty(op_region(op, 0)))
        return false;
    const Attr *visibility = op_attr(op, "sym_visibility");
    return !visibility || !str_eq_c(visibility->u.string, "private");
}

typedef struct FunctionWalk {
    void (*visit)(Op *func, void *user);
    void *user;
} FunctionWalk;

static bool visit_public(Op *op, void *user)
{
    const FunctionWalk *walk = user;
    if (is_public_function(op)) walk->visit(op, walk->user);
    return true;
}

void interp_each_public_function(Op *op, void (*visit)(Op *func, void *user), void *user)
{
    FunctionWalk walk = {visit, user};
    (void)op_walk(op, visit_public, &walk);
}
