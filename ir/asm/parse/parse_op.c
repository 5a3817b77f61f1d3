/* Parsing of ops: results, generic and custom form, trailing location. An OpBuild remembers where
 * the op's parts begin on the parser's stacks. Ops nested in its regions push above these parts and
 * cut the stacks back, so the op's parts stay together.
 * Tests: lit/ir/asm/print/generic.mir, lit/ir/asm/parse/parse-errors.mir,
 * test/unit/ir/asm/parse/parse_test.c */
#include <assert.h>
#include <string.h>

#include "ir/asm/format/format.h"
#include "ir/asm/parse/internal.h"

enum { FEW_ATTRS = 16 };

static OpBuild build_begin(OpParser *p, const Ident *name, SrcPos at, size_t result_names)
{
    return (OpBuild){.outer = p->op,
                     .name = name,
                     .info = name->op,
                     .at = at,
                     .loc = parser_loc_at(p, at),
                     .operands = p->operands.len,
                     .results = p->results.len,
                     .attrs = p->named.len,
                     .successors = p->successors.len,
                     .regions = p->regions.len,
                     .result_names = result_names,
                     .result_name_count = p->result_names.len - result_names};
}

static void build_end(OpParser *p, const OpBuild *build)
{
    p->operands.len = build->operands;
    p->results.len = build->results;
    p->named.len = build->attrs;
    p->successors.len = build->successors;
    p->regions.len = build->regions;
}

/* Inherent attributes among the entries go to the end of the stack; returns their begin. */
static size_t split_entries(OpParser *p, const OpBuild *build)
{
    size_t end = p->named.len, kept = build->attrs;
    for (size_t i = build->attrs; i < end; i++) {
        NamedAttr item = p->named.data[i];
        if (opinfo_is_inherent(build->info, item.name))
            *vec_push(&p->named) = item;
        else
            p->named.data[kept++] = item;
    }
    size_t inherent = p->named.len - end;
    memmove(p->named.data + kept, p->named.data + end, inherent * sizeof(NamedAttr));
    p->named.len = kept + inherent;
    return kept;
}

/* Adds the properties in <{…}> that the op declares; they overrule entries of {…}. */
static const Attr *merge_props(const OpBuild *build, const Attr *props)
{
    const Attr *given = build->props;
    for (uint32_t i = 0; i < given->u.dict.count; i++) {
        const NamedAttr *item = &given->u.dict.items[i];
        if (opinfo_is_inherent(build->info, item->name)) {
            props = attr_dict_set(props, item->name, item->value);
        }
    }
    return props;
}

/* The op's dictionaries from its entries; NULL where empty. */
static void build_attrs(OpParser *p, const OpBuild *build, OpState *state)
{
    if (!build->info) {
        state->props = build->props;
        if (p->named.len > build->attrs) state->attrs = parse_entries_as_dict(p, build->attrs);
        return;
    }
    if (p->named.len > build->attrs) {
        size_t inherent = split_entries(p, build);
        if (p->named.len > inherent) state->props = parse_entries_as_dict(p, inherent);
        if (p->named.len > build->attrs) state->attrs = parse_entries_as_dict(p, build->attrs);
    }
    if (!build->props) return;
    if (!state->props) state->props = attr_dict(p->ctx, NULL, 0);
    state->props = merge_props(build, state->props);
}

/* Asks the row's hook for the types of results that the text leaves out. */
static bool infer_results(OpParser *p, Op *op)
{
    size_t base = p->types.len;
    for (uint32_t i = 0; i < op->result_count; i++) *vec_push(&p->types) = op_result(op, i)->type;
    const Type **types = p->types.data + base;
    bool ok = op->def->infer(op, types);
    for (uint32_t i = 0; ok && i < op->result_count; i++) op_result(op, i)->type = types[i];
    p->types.len = base;
    return ok;
}

/* Makes the op of its parts and puts it into the current block. NULL: its types are diagnosed. */
static Op *build_op_here(OpParser *p, const OpBuild *build)
{
    for (uint32_t i = 0; i < build->inferred; i++) *vec_push(&p->results) = type_none(p->ctx);
    OpState state = {.name = build->name,
                     .loc = build->loc,
                     .operands = p->operands.data + build->operands,
                     .operand_count = (uint32_t)(p->operands.len - build->operands),
                     .result_types = p->results.data + build->results,
                     .result_count = (uint32_t)(p->results.len - build->results),
                     .successors = p->successors.data + build->successors,
                     .successor_count = (uint32_t)(p->successors.len - build->successors),
                     .region_count = (uint32_t)(p->regions.len - build->regions)};
    build_attrs(p, build, &state);
    Op *op = op_create(p->ctx, &state);
    for (uint32_t i = 0; i < state.region_count; i++)
        region_take(op_region(op, i), p->regions.data[build->regions + i]);
    op_append(op, p->block);
    build_end(p, build);
    return build->inferred == 0 || infer_results(p, op) ? op : NULL;
}

static bool push_operand_ref(OpParser *p, void *user)
{
    (void)user;
    OperandRef ref;
    if (!parse_operand(p, &ref, true)) return false;
    *vec_push(&p->refs) = ref;
    return true;
}

static bool push_successor(OpParser *p, void *user)
{
    (void)user;
    Block *block;
    if (!parse_successor(p, &block)) return false;
    *vec_push(&p->successors) = block;
    return true;
}

/* '(' (operand (',' operand)*)? ')' */
static bool parse_generic_operands(OpParser *p)
{
    if (!parse_token(p, TOK_LPAREN, "expected '(' to start operand list")) return false;
    if (parse_at(p, TOK_PERCENT) && !parse_list(p, LIST_BARE, "", push_operand_ref, NULL)) {
        return false;
    }
    return parse_token(p, TOK_RPAREN, "expected ')' to end operand list");
}

/* ('[' block (',' block)* ']')? */
static bool parse_generic_successors(OpParser *p, const OpBuild *build)
{
    if (!parse_at(p, TOK_LSQUARE)) return true;
    if (build->info && !(build->info->def->traits & TRAIT_TERMINATOR)) {
        return parse_fail(p, "successors in non-terminator");
    }
    parse_advance(p);
    if (parse_at(p, TOK_RSQUARE)) return parse_fail_missing(p, "expected list element");
    return parse_list_until(p, TOK_RSQUARE, "]", push_successor, NULL);
}

/* ('<' attribute '>')? */
static bool parse_generic_props(OpParser *p, OpBuild *build)
{
    if (!parse_accept(p, TOK_LESS)) return true;
    if (!(build->props = parse_attr(p, NULL))) return false;
    return parse_token(p, TOK_GREATER, "expected '>' to close properties");
}

/* ('(' region (',' region)* ')')? */
static bool parse_generic_regions(OpParser *p)
{
    if (!parse_accept(p, TOK_LPAREN)) return true;
    do {
        if (!parse_region(p, NULL, 0)) return false;
    } while (parse_accept(p, TOK_COMMA));
    return parse_token(p, TOK_RPAREN, "expected ')' to end region list");
}

/* function-type; its inputs and results are pushed onto p->types. */
static bool parse_signature(OpParser *p, SrcPos at, size_t *input_count)
{
    size_t base = p->types.len;
    if (!parse_at(p, TOK_LPAREN)) {
        return parse_type(p) && parse_fail_at(p, at, "expected function type");
    }
    if (!parse_type_list_parens(p)) return false;
    *input_count = p->types.len - base;
    return parse_token(p, TOK_ARROW, "expected '->' in function type") && parse_function_results(p);
}

/* ':' function-type, then the operands get their types. */
static bool parse_generic_type(OpParser *p, size_t refs, size_t ref_count)
{
    if (!parse_token(p, TOK_COLON, "expected ':' followed by operation type")) return false;
    SrcPos at = p->tok.text.data;
    size_t base = p->types.len, input_count = 0;
    if (!parse_signature(p, at, &input_count)) return false;
    if (input_count != ref_count) {
        return parse_fail_at(p, at, "expected %zu operand type%s but had %zu", ref_count,
                             ref_count == 1 ? "" : "s", input_count);
    }
    for (size_t i = base + input_count; i < p->types.len; i++)
        *vec_push(&p->results) = p->types.data[i];
    for (size_t i = 0; i < ref_count; i++) {
        Value *value = parse_resolve(p, &p->refs.data[refs + i], p->types.data[base + i]);
        if (!value) return false;
        *vec_push(&p->operands) = value;
    }
    p->types.len = base;
    return true;
}

static bool parse_generic_rest(OpParser *p, OpBuild *build)
{
    size_t refs = p->refs.len;
    if (!parse_generic_operands(p)) return false;
    size_t ref_count = p->refs.len - refs;
    if (!parse_generic_successors(p, build) || !parse_generic_props(p, build) ||
        !parse_generic_regions(p))
        return false;
    if (parse_at(p, TOK_LBRACE) && !parse_attr_entries(p)) return false;
    if (!parse_generic_type(p, refs, ref_count)) return false;
    p->refs.len = refs;
    return true;
}

static Str dialect_of(Str op_name)
{
    const char *dot = memchr(op_name.data, '.', op_name.len);
    return (Str){op_name.data, dot ? (size_t)(dot - op_name.data) : op_name.len};
}

static const Ident *parse_generic_name(OpParser *p)
{
    Str name = token_string(p->tok, &p->scratch);
    if (name.len == 0) {
        parse_fail(p, "empty operation name is invalid");
        return NULL;
    }
    if (memchr(name.data, '\0', name.len)) {
        parse_fail(p, "null character not allowed in operation name");
        return NULL;
    }
    parse_advance(p);
    const Ident *ident = ident_get(p->ctx, name);
    if (ident->op || dialect_lookup(p->ctx, dialect_of(name)) ||
        dialect_allows_unregistered(p->ctx))
        return ident;
    parse_fail(p, "operation being parsed with an unregistered dialect. If this is intended, "
                  "please use -allow-unregistered-dialect with the MLIR tool used");
    return NULL;
}

static bool fail_props(OpParser *p, const OpBuild *build, const char *why)
{
    return parse_fail_at(p, build->at, "invalid properties %s for op %.*s: %s",
                         attr_str(p->ctx, build->props), STR_ARG(build->name->str), why);
}

/* Sizes of segments among the properties: one i32 for each group. */
static bool check_segments(OpParser *p, const OpBuild *build, const Ident *name, uint32_t groups)
{
    const Attr *sizes = name ? attr_dict_get(build->props, name) : NULL;
    if (!sizes) return true;
    if (sizes->kind != ATTR_DENSE_ARRAY || !type_is_int_width(sizes->u.dense_array.elem, 32))
        return fail_props(p, build, "expected DenseI32ArrayAttr for key `value`");
    if (sizes->u.dense_array.count == groups) return true;
    StrBuf why = {0};
    strbuf_printf(&why, "size mismatch in attribute conversion: %zu vs %u",
                  sizes->u.dense_array.count, groups);
    (void)fail_props(p, build, why.data);
    strbuf_free(&why);
    return false;
}

/* The properties are a dictionary whose entries are of the classes the row declares. */
static bool check_props(OpParser *p, const OpBuild *build)
{
    const Attr *props = build->props;
    if (!props || !build->info) return true;
    if (props->kind != ATTR_DICT)
        return fail_props(p, build, "expected DictionaryAttr to set properties");
    for (uint32_t i = 0; i < build->info->attr_count; i++) {
        const AttrArgDef *row = &build->info->def->attrs[i];
        const Attr *value = attr_dict_get(props, build->info->attr_names[i]);
        if (!value || constraint_stores(row->attr, value)) continue;
        return parse_fail_at(p, build->at,
                             "invalid properties %s for op %.*s: Invalid attribute `%s` in "
                             "property conversion: %s",
                             attr_str(p->ctx, props), STR_ARG(build->name->str), row->name,
                             attr_str(p->ctx, value));
    }
    const OpInfo *info = build->info;
    return check_segments(p, build, info->operand_segments, info->operand_groups) &&
           check_segments(p, build, info->result_segments, info->result_groups);
}

/* generic-op ::= string '(' operands ')' successors? ('<' props '>')? regions? dictionary?
 *                ':' function-type */
static Op *parse_generic_op(OpParser *p, size_t result_names)
{
    SrcPos at = p->tok.text.data;
    const Ident *name = parse_generic_name(p);
    if (!name) return NULL;
    OpBuild build = build_begin(p, name, at, result_names);
    p->op = &build;
    bool ok = parse_generic_rest(p, &build) && check_props(p, &build) &&
              (build.props || parser_check_attrs(p, at));
    p->op = build.outer;
    return ok ? build_op_here(p, &build) : NULL;
}

static void note_dialects(OpParser *p, SrcPos at)
{
    StrBuf names = {0};
    for (size_t i = 0; i < dialect_count(p->ctx); i++) {
        if (i) strbuf_add_c(&names, ", ");
        strbuf_add_c(&names, dialect_at(p->ctx, i)->name);
    }
    diag_note(p->ctx, parser_loc_at(p, at), "Registered dialects: %s",
              names.data ? names.data : "");
    strbuf_free(&names);
}

static void fail_unknown_op(OpParser *p, Str written, const Ident *tried)
{
    if (parse_at(p, TOK_ERROR)) return;
    StrBuf also = {0};
    if (!str_eq(written, tried->str))
        strbuf_printf(&also, " (tried '%.*s' as well)", STR_ARG(tried->str));
    const char *more = also.data ? also.data : "";
    Str dialect = dialect_of(tried->str);
    if (dialect_lookup(p->ctx, dialect)) {
        parse_fail_at(p, written.data, "custom op '%.*s' is unknown%s", STR_ARG(written), more);
    } else {
        parse_fail_at(p, written.data, "Dialect `%.*s' not found for custom op '%.*s' %s",
                      STR_ARG(dialect), STR_ARG(written), more);
        note_dialects(p, written.data);
    }
    strbuf_free(&also);
}

/* A name without dialect is the default dialect's. */
static const Ident *parse_custom_name(OpParser *p)
{
    Str written = p->tok.text;
    parse_advance(p);
    const Ident *name = ident_get(p->ctx, written);
    if (!name->op && !memchr(written.data, '.', written.len)) {
        StrBuf full = {0};
        strbuf_add_str(&full, p->default_dialect);
        strbuf_add_char(&full, '.');
        strbuf_add_str(&full, written);
        name = ident_get(p->ctx, strbuf_str(&full));
        strbuf_free(&full);
    }
    if (name->op) return name;
    fail_unknown_op(p, written, name);
    return NULL;
}

/* Position of an entry whose name has come before, or `end`. */
static size_t find_duplicate(const OpParser *p, size_t begin, size_t end)
{
    const NamedAttr *items = p->named.data;
    if (end - begin <= FEW_ATTRS) {
        for (size_t i = begin + 1; i < end; i++) {
            for (size_t k = begin; k < i; k++) {
                if (items[i].name == items[k].name) return i;
            }
        }
        return end;
    }
    PtrMap seen = {0};
    size_t i = begin;
    while (i < end && !ptrmap_put(&seen, items[i].name, &seen)) i++;
    ptrmap_free(&seen);
    return i;
}

/* Drops the entry `name` that is not in the text's {…}, because the one in {…} overrules it. */
static void drop_overruled(OpParser *p, OpBuild *build, const Ident *name)
{
    size_t i = build->attrs;
    while (p->named.data[i].name != name || (i >= build->dict_begin && i < build->dict_end)) i++;
    size_t after = --p->named.len - i;
    memmove(&p->named.data[i], &p->named.data[i + 1], after * sizeof(NamedAttr));
    if (i < build->dict_begin) {
        build->dict_begin--;
        build->dict_end--;
    }
}

/* An attribute that an assembly format reads may be overruled in {…}; all else must be unique. */
static bool settle_duplicates(OpParser *p, OpBuild *build)
{
    for (;;) {
        size_t at = find_duplicate(p, build->attrs, p->named.len);
        if (at == p->named.len) return true;
        const Ident *name = p->named.data[at].name;
        if (build->info->def->parse || !opinfo_is_inherent(build->info, name)) {
            return parser_error_at(p, build->at,
                                   "attribute '%.*s' occurs more than once in the attribute list",
                                   STR_ARG(name->str));
        }
        drop_overruled(p, build, name);
    }
}

static bool run_hook(OpParser *p, const OpInfo *info)
{
    size_t errors = diag_error_count(p->ctx);
    bool ok;
    if (info->def->parse)
        ok = info->def->parse(p);
    else if (info->format)
        ok = parse_by_format(info->format, p, info);
    else
        ok = parser_error_at(p, p->op->at, "has no custom assembly form");
    return ok && diag_error_count(p->ctx) == errors;
}

static void add_terminator(OpParser *p, Block *block, const char *name, const Attr *loc)
{
    if (block->last && op_is_terminator(block->last)) return;
    OpState state = {.name = ident_get_c(p->ctx, name), .loc = loc};
    op_append(op_create(p->ctx, &state), block);
}

/* Whether the row lets the region have no blocks at all. */
static bool may_be_empty(const OpDef *def, size_t region)
{
    return def->implicit_terminator && def->regions[region].any_blocks;
}

/* Blocks and terminators that the custom form leaves out. */
static void complete_regions(OpParser *p, const OpBuild *build)
{
    const OpDef *def = build->info->def;
    if (!(def->traits & TRAIT_SINGLE_BLOCK) && !def->implicit_terminator) return;
    if (!def->format && !def->implicit_terminator) return;
    for (size_t i = build->regions; i < p->regions.len; i++) {
        Region *region = p->regions.data[i];
        if (region_is_empty(region)) {
            if (may_be_empty(def, i - build->regions)) continue;
            parse_new_block(p, region);
        }
        if (def->implicit_terminator)
            add_terminator(p, region->last, def->implicit_terminator, build->loc);
    }
}

static Str default_dialect_in(const OpDef *def)
{
    return def->dialect->is_default_in_functions ? str_from(def->dialect->name) : STR("");
}

/* custom-op ::= name what-its-table-row-says */
static Op *parse_custom_op(OpParser *p, size_t result_names)
{
    SrcPos at = p->tok.text.data;
    const Ident *name = parse_custom_name(p);
    if (!name) return NULL;
    OpBuild build = build_begin(p, name, at, result_names);
    build.is_custom = true;
    Str outer_dialect = p->default_dialect;
    p->default_dialect = default_dialect_in(build.info->def);
    p->op = &build;
    bool ok = run_hook(p, build.info) && settle_duplicates(p, &build) && check_props(p, &build);
    p->op = build.outer;
    p->default_dialect = outer_dialect;
    if (!ok) return NULL;
    complete_regions(p, &build);
    return build_op_here(p, &build);
}

/* result ::= '%' name (':' count)? */
static bool parse_result_name(OpParser *p, void *user)
{
    size_t *total = user;
    Str name = p->tok.text;
    if (!parse_token(p, TOK_PERCENT, "expected valid ssa identifier")) return false;
    uint64_t count = 1;
    if (parse_accept(p, TOK_COLON)) {
        if (!parse_at(p, TOK_INT)) {
            return parse_fail_missing(p, "expected integer number of results");
        }
        if (!token_u64(p->tok.text, &count) || count < 1 || count > UINT32_MAX) {
            return parse_fail(p, "expected named operation to have at least 1 result");
        }
        parse_advance(p);
    }
    *vec_push(&p->result_names) = (ResultName){name, (uint32_t)count};
    *total += count;
    return true;
}

static bool define_results(OpParser *p, const Op *op, size_t result_names)
{
    uint32_t result = 0;
    for (size_t i = result_names; i < p->result_names.len; i++) {
        ResultName group = p->result_names.data[i];
        for (uint32_t k = 0; k < group.count; k++) {
            OperandRef name = {group.name.data, group.name, k};
            if (!parse_define(p, &name, op_result(op, result++))) return false;
        }
    }
    return true;
}

static Op *parse_op_body(OpParser *p, size_t result_names)
{
    if (parse_at(p, TOK_BARE) || token_is_keyword(p->tok)) return parse_custom_op(p, result_names);
    if (parse_at(p, TOK_STRING)) return parse_generic_op(p, result_names);
    parse_fail_missing(p, "expected operation name in quotes");
    return NULL;
}

/* op ::= (result (',' result)* '=')? (generic-op | custom-op) trailing-location? */
bool parse_op(OpParser *p)
{
    SrcPos at = p->tok.text.data;
    size_t result_names = p->result_names.len, total = 0;
    bool named = parse_at(p, TOK_PERCENT);
    if (named) {
        if (!parse_list(p, LIST_BARE, "", parse_result_name, &total)) return false;
        if (!parse_token(p, TOK_EQUAL, "expected '=' after SSA name")) return false;
    }
    Op *op = parse_op_body(p, result_names);
    if (!op || !parse_trailing_loc(p, &op->loc)) return false;
    parse_passed(p, at);
    if (!named) return true;
    if (op->result_count == 0) {
        return parse_fail_at(p, at, "cannot name an operation with no results");
    }
    if (total != op->result_count) {
        return parse_fail_at(p, at, "operation defines %u results but was provided %zu to bind",
                             op->result_count, total);
    }
    bool ok = define_results(p, op, result_names);
    p->result_names.len = result_names;
    return ok;
}
