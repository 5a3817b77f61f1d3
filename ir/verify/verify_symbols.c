/* Checks of symbols and functions, and of what traits promise about regions: isolation, implicit
 * terminators, symbol tables with the references into them. Wording is upstream's.
 * Tests: lit/ir/verify/verify.mir */
#include <string.h>

#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/verify/internal.h"

static bool verify_visibility(const Op *op)
{
    const Attr *visibility = op_attr(op, "sym_visibility");
    if (!visibility) return true;
    if (visibility->kind != ATTR_STRING)
        return op_error(op,
                        "requires visibility attribute 'sym_visibility' to be a string attribute, "
                        "but got %s",
                        attr_str(op->ctx, visibility));
    Str text = visibility->u.string;
    if (str_eq_c(text, "public") || str_eq_c(text, "private") || str_eq_c(text, "nested"))
        return true;
    return op_error(op,
                    "visibility expected to be one of [\"public\", \"private\", \"nested\"], but "
                    "got %s",
                    attr_str(op->ctx, visibility));
}

static bool is_optional_symbol(const OpDef *def)
{
    for (const AttrArgDef *attr = def->attrs; attr && attr->name; attr++)
        if (strcmp(attr->name, "sym_name") == 0) return attr->optional;
    return false;
}

static bool is_declaration(const Op *op)
{
    return op_has_trait(op, TRAIT_FUNCTION) && op->region_count > 0 &&
           region_is_empty(op_region(op, 0));
}

bool verify_symbol(Op *op)
{
    const Attr *name = op_attr(op, "sym_name");
    if (!name && is_optional_symbol(op->def)) return true;
    if (!name || name->kind != ATTR_STRING)
        return op_error(op, "requires string attribute 'sym_name'");
    if (!verify_visibility(op)) return false;
    const Attr *visibility = op_attr(op, "sym_visibility");
    bool is_public = !visibility || str_eq_c(visibility->u.string, "public");
    if (is_public && is_declaration(op))
        return op_error(op, "symbol declaration cannot have public visibility");
    const Op *parent = op_parent(op);
    if (parent && parent->def && !op_has_trait(parent, TRAIT_SYMBOL_TABLE))
        return op_error(op, "symbol's parent must have the SymbolTable trait");
    return true;
}

static bool verify_arg_dict(Op *op, uint32_t index, const Attr *dict, const char *plural)
{
    for (uint32_t i = 0; i < dict->u.dict.count; i++) {
        const NamedAttr *attr = &dict->u.dict.items[i];
        Str prefix = dialect_prefix(attr->name->str);
        const DialectDef *dialect = dialect_of_attrs(op->ctx, prefix);
        if (prefix.len == 0) return op_error(op, "%s may only have dialect attributes", plural);
        if (dialect && dialect->verify_arg_attr && !dialect->verify_arg_attr(op, index, attr))
            return false;
    }
    return true;
}

bool verify_arg_dicts(Op *op, const Attr *dicts)
{
    for (uint32_t i = 0; i < dicts->u.array.count; i++)
        if (!verify_arg_dict(op, i, dicts->u.array.items[i], "arguments")) return false;
    return true;
}

/* arg_attrs or res_attrs: one dictionary per argument or result. */
static bool verify_signature_attrs(Op *op, const char *name, uint32_t want, const char *singular,
                                   const char *plural)
{
    const Attr *all = op_attr(op, name);
    if (!all || all->kind != ATTR_ARRAY) return true;
    if (all->u.array.count != want)
        return op_error(op,
                        "expects %s attribute array to have the same number of elements as the "
                        "number of function %s, got %u, but expected %u",
                        singular, plural, all->u.array.count, want);
    for (uint32_t i = 0; i < want; i++) {
        const Attr *dict = all->u.array.items[i];
        if (dict->kind != ATTR_DICT)
            return op_error(op,
                            "expects %s attribute dictionary to be a DictionaryAttr, but got `%s`",
                            singular, attr_str(op->ctx, dict));
        if (!verify_arg_dict(op, i, dict, plural)) return false;
    }
    return true;
}

static bool verify_entry_block(const Op *op, const Type *signature)
{
    const Block *entry = region_entry(op_region(op, 0));
    if (!entry) return true;
    uint32_t count = signature->u.function.input_count;
    if (entry->arg_count != count)
        return op_error(op, "entry block must have %u arguments to match function signature",
                        count);
    for (uint32_t i = 0; i < count; i++) {
        const Type *want = signature->u.function.types[i], *got = entry->args[i]->type;
        if (want != got)
            return op_error(op,
                            "type of entry block argument #%u('%s') must match the type of the "
                            "corresponding argument in function signature('%s')",
                            i, type_str(op->ctx, got), type_str(op->ctx, want));
    }
    return true;
}

bool verify_function(Op *op)
{
    const Attr *type = op_attr(op, "function_type");
    if (!type || type->kind != ATTR_TYPE || type->u.type_value->kind != TYPE_FUNCTION)
        return op_error(op, "requires attribute 'function_type'");
    const Type *signature = type->u.type_value;
    if (!verify_signature_attrs(op, "arg_attrs", signature->u.function.input_count, "argument",
                                "arguments") ||
        !verify_signature_attrs(op, "res_attrs", signature->u.function.result_count, "result",
                                "results"))
        return false;
    if (op->region_count != 1) return op_error(op, "expects one region");
    return verify_entry_block(op, signature);
}

static bool verify_no_outside_use(const Op *isolated, const Region *region, const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Block *block = value_block(op_operand(op, i));
        if (!block || !block->parent) return op_emit_error(op, "operation's operand is unlinked");
        if (block->parent == op->block->parent) continue;
        if (region_is_ancestor(region, block->parent)) continue;
        (void)op_error(op, "using value defined outside the region");
        return diag_note(op->ctx, isolated->loc, "required by region isolation constraints");
    }
    return true;
}

/* Checks that no op in the region uses a value from outside; nested isolated ops are checked by
 * themselves. */
static bool verify_isolated_region(const Op *isolated, const Region *region)
{
    OpVec pending = {0}; /* ops whose regions are to be looked at */
    bool ok = true;
    FOR_EACH_BLOCK(block, region)
        FOR_EACH_OP(op, block) *vec_push(&pending) = op;
    for (size_t i = 0; i < pending.len; i++) {
        const Op *op = pending.data[i];
        ok &= verify_no_outside_use(isolated, region, op);
        if (op_has_trait(op, TRAIT_ISOLATED)) continue;
        FOR_EACH_INNER(inner, op) *vec_push(&pending) = inner;
    }
    vec_free(&pending);
    return ok;
}

static bool verify_isolated(const Op *isolated)
{
    bool ok = true;
    for (uint32_t i = 0; i < isolated->region_count; i++)
        ok &= verify_isolated_region(isolated, op_region(isolated, i));
    return ok;
}

static bool verify_implicit_terminators(const Op *op)
{
    const char *want = op->def->implicit_terminator;
    for (uint32_t i = 0; i < op->region_count; i++) {
        const Region *region = op_region(op, i);
        const Op *last = region->first ? region->first->last : NULL;
        if (!last || str_eq_c(op_name(last), want)) continue;
        (void)op_error(op, "expects regions to end with '%s', found '%s'", want,
                       op_name(last).data);
        return diag_note(op->ctx, op->loc,
                         "in custom textual format, the absence of terminator implies '%s'", want);
    }
    return true;
}

static bool verify_unique_symbols(const Op *table)
{
    PtrMap seen = {0};
    bool ok = true;
    FOR_EACH_INNER(op, table) {
        const Ident *name = symbol_name(op);
        if (!name) continue;
        const Op *earlier = ptrmap_get(&seen, name);
        if (!earlier) {
            ptrmap_put(&seen, name, op);
            continue;
        }
        ok = op_emit_error(op, "redefinition of symbol named '%s'", name->str.data);
        (void)diag_note(op->ctx, earlier->loc, "see existing symbol definition here");
    }
    ptrmap_free(&seen);
    return ok;
}

/* References of the ops below, but for those in nested symbol tables. */
static bool verify_references(Op *table)
{
    SymbolTables *tables = symtabs_create();
    OpVec pending = {0};
    bool ok = true;
    *vec_push(&pending) = table;
    while (pending.len) {
        const Op *parent = pending.data[--pending.len];
        FOR_EACH_INNER(op, parent) {
            if (op->def && op->def->verify_symbols) ok &= op->def->verify_symbols(op, tables);
            if (op->region_count && !op_has_trait(op, TRAIT_SYMBOL_TABLE)) *vec_push(&pending) = op;
        }
    }
    vec_free(&pending);
    symtabs_free(tables);
    return ok;
}

static bool verify_symbol_table(Op *op)
{
    if (op->region_count != 1)
        return op_error(op, "Operations with a 'SymbolTable' must have exactly one region");
    const Region *region = op_region(op, 0);
    if (!region->first || region->first != region->last)
        return op_error(op, "Operations with a 'SymbolTable' must have exactly one block");
    return verify_unique_symbols(op) && verify_references(op);
}

bool verify_region_traits(Op *op)
{
    if (op_has_trait(op, TRAIT_ISOLATED) && !verify_isolated(op)) return false;
    bool ends_implicitly = op->def->implicit_terminator && op_has_trait(op, TRAIT_SINGLE_BLOCK);
    if (ends_implicitly && !verify_implicit_terminators(op)) return false;
    return !op_has_trait(op, TRAIT_SYMBOL_TABLE) || verify_symbol_table(op);
}

typedef struct SymbolUses {
    const Ident *name;
    SymbolTables *tables;
    bool ok;
} SymbolUses;

static void verify_user(void *data, Op *user, const Attr *ref)
{
    SymbolUses *found = data;
    bool is_meant = ref->u.symbol.names[0] == found->name;
    if (!is_meant || !user->def || !user->def->verify_symbols) return;
    found->ok = user->def->verify_symbols(user, found->tables) && found->ok;
}

bool verify_symbol_uses(Op *symbol)
{
    Op *table = op_parent(symbol);
    SymbolUses found = {.name = symbol_name(symbol), .ok = true};
    if (!found.name || !table) return true;
    found.tables = symtabs_create();
    (void)symbol_each_use(symbol, verify_user, &found);
    FOR_EACH_INNER(op, table)
        if (op != symbol) (void)symbol_each_use(op, verify_user, &found);
    symtabs_free(found.tables);
    return found.ok;
}
