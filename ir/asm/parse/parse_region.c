/* Parsing of regions, blocks and their arguments. A region is parsed into a Region of the parser's
 * own and is moved into its op when that is created. A block that is referenced before its label is
 * created by the reference and stays detached until the label is read; a detached block therefore
 * is undefined.
 * Tests: lit/ir/verify/regions.mir, lit/ir/asm/parse/parse-errors.mir */
#include "ir/asm/parse/internal.h"

Region *parse_push_region(OpParser *p)
{
    Region *region = ARENA_NEW(&p->scratch, Region);
    *vec_push(&p->regions) = region;
    return region;
}

static uint32_t scope_id(const OpParser *p)
{
    return p->scopes.data[p->scopes.len - 1].id;
}

static void name_block(OpParser *p, Str name, Block *block)
{
    const ParsedName *entry = parse_name_add(&p->blocks, name, scope_id(p), block);
    *vec_push(&p->block_defs) = parse_name_index(&p->blocks, entry);
}

/* successor ::= '^' name */
bool parse_successor(OpParser *p, Block **out)
{
    if (!parse_at(p, TOK_CARET)) return parse_fail_missing(p, "expected block name");
    const ParsedName *entry = parse_name_find(&p->blocks, p->tok.text, scope_id(p));
    if (entry) {
        *out = entry->object;
    } else {
        *out = block_create(p->ctx);
        *vec_push(&p->forward_blocks) = *out;
        name_block(p, p->tok.text, *out);
    }
    parse_advance(p);
    return true;
}

static bool define_entry_args(OpParser *p, Block *block, const ArgDecl *args, size_t count)
{
    if (count == 0 || args[0].name.len == 0) return true;
    if (parse_at(p, TOK_CARET)) {
        return parse_fail(p, "invalid block name in region with named arguments");
    }
    for (size_t i = 0; i < count; i++) {
        const ArgDecl *arg = &args[i];
        const ParsedName *former = parse_name_find(&p->values, arg->name, 0);
        if (former) {
            parse_fail_at(p, arg->at, "region entry argument '%.*s' is already in use",
                          STR_ARG(arg->name));
            parse_note_at(p, former->text, "previously referenced here");
            return false;
        }
        const Attr *loc = arg->loc ? arg->loc : parser_loc_at(p, arg->at);
        Value *value = block_add_arg(block, arg->type, loc);
        OperandRef name = {arg->name.data, arg->name, 0};
        if (!parse_define(p, &name, value)) return false;
    }
    return true;
}

typedef struct BlockArgs {
    Block *block;
    bool exist; /* the entry block's were given by the op: only named here */
    uint32_t next;
} BlockArgs;

static Value *next_block_arg(OpParser *p, BlockArgs *args, const Type *type)
{
    if (!args->exist) return block_add_arg(args->block, type, NULL);
    if (args->next >= args->block->arg_count) {
        parse_fail(p, "too many arguments specified in argument list");
        return NULL;
    }
    Value *arg = args->block->args[args->next++];
    if (arg->type == type) return arg;
    parse_fail(p, "argument and block argument type mismatch");
    return NULL;
}

/* argument ::= '%' name ':' type trailing-location? */
static bool parse_block_arg(OpParser *p, void *user)
{
    OperandRef name;
    if (!parse_operand(p, &name, true)) return false;
    if (!parse_token(p, TOK_COLON, "expected ':' and type for SSA operand")) return false;
    const Type *type = parse_type(p);
    if (!type) return false;
    Value *arg = next_block_arg(p, user, type);
    const Attr *loc = NULL;
    if (!arg || !parse_trailing_loc(p, &loc)) return false;
    arg->loc = loc ? loc : parser_loc_at(p, name.at);
    return parse_define(p, &name, arg);
}

Block *parse_new_block(OpParser *p, Region *region)
{
    Block *block = block_create(p->ctx);
    block_append(block, region);
    return block;
}

/* The block that the label at the current token defines: `entry` if given, else a new one or
 * the one made for earlier references. */
static Block *define_block(OpParser *p, Region *region, Block *entry)
{
    Str name = p->tok.text;
    if (!parse_token(p, TOK_CARET, "expected block name")) return NULL;
    const ParsedName *former = parse_name_find(&p->blocks, name, scope_id(p));
    if (former) {
        Block *block = former->object;
        if (block->parent) {
            parse_fail_at(p, name.data, "redefinition of block '%.*s'", STR_ARG(name));
            return NULL;
        }
        block_append(block, region);
        return block;
    }
    Block *block = entry ? entry : parse_new_block(p, region);
    name_block(p, name, block);
    return block;
}

/* label ::= '^' name ('(' (argument (',' argument)*)? ')')? ':' */
static Block *parse_label(OpParser *p, Region *region, Block *entry)
{
    Block *block = define_block(p, region, entry);
    if (!block) return NULL;
    BlockArgs args = {.block = block, .exist = block->arg_count != 0};
    if (parse_at(p, TOK_LPAREN) && !parse_list(p, LIST_PAREN, "", parse_block_arg, &args)) {
        return NULL;
    }
    return parse_token(p, TOK_COLON, "expected ':' after block name") ? block : NULL;
}

static bool parse_ops(OpParser *p, Block *block)
{
    p->block = block;
    while (!parse_at(p, TOK_CARET) && !parse_at(p, TOK_RBRACE)) {
        if (!parse_op(p)) return false;
    }
    return true;
}

/* block ::= label? op*, where only the entry block may do without label */
static bool parse_blocks(OpParser *p, Region *region, const ArgDecl *args, size_t count)
{
    Block *entry = parse_new_block(p, region);
    if (!define_entry_args(p, entry, args, count)) return false;
    if (parse_at(p, TOK_CARET) && !parse_label(p, region, entry)) return false;
    if (!parse_ops(p, entry)) return false;
    if (count && entry->arg_count > count) {
        return parse_fail(p, "entry block arguments were already defined");
    }
    while (!parse_at(p, TOK_RBRACE)) {
        Block *block = parse_label(p, region, NULL);
        if (!block || !parse_ops(p, block)) return false;
    }
    return true;
}

/* region ::= '{' block* '}' */
bool parse_region(OpParser *p, const ArgDecl *args, size_t count)
{
    if (!parse_token(p, TOK_LBRACE, "expected '{' to begin a region")) return false;
    Region *region = parse_push_region(p);
    if (count == 0 && parse_accept(p, TOK_RBRACE)) return true;
    if (!parse_enter_region(p)) return false;
    Block *outer = p->block;
    parse_push_scope(p);
    if (!parse_blocks(p, region, args, count) || !parse_pop_scope(p)) return false;
    p->block = outer;
    parse_advance(p);
    parse_leave_region(p);
    return true;
}
