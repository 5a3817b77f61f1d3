/* Parsing of an op by its compiled assembly format.
 *
 * Operand references and types are collected in the order of the text, and each group remembers its
 * range. When the text has been read, the missing types are found by the format's rules, and the
 * operands are resolved in the order of the op's table.
 * Tests: test/unit/ir/asm/format/format_test.c, lit/dialects */
#include "ir/asm/format/format.h"
#include "ir/asm/parse/internal.h"
#include "ir/asm/parse/parse.h"
#include "ir/attr/attr.h"

typedef struct GroupRange {
    size_t begin, count;
    SrcPos at;
} GroupRange;

typedef struct Reading {
    const Format *format;
    OpParser *p;
    const OpInfo *info;
    OperandRefs refs;
    TypeList types;
    GroupRange operands[FORMAT_MAX_GROUPS];      /* in refs */
    GroupRange operand_types[FORMAT_MAX_GROUPS]; /* in types */
    GroupRange result_types[FORMAT_MAX_GROUPS];
    /* of the directives operands and results */
    GroupRange all_operands, all_operand_types, all_result_types;
    uint32_t regions; /* read so far */
} Reading;

static bool parse_elements(Reading *r, const ElementList *list, const Element *first_done,
                           const Element *elided);

static bool parse_operand_element(Reading *r, uint32_t group)
{
    GroupRange *range = &r->operands[group];
    Arity arity = r->info->def->operands[group].arity;
    OperandRef ref;
    bool present = true;
    *range = (GroupRange){.begin = r->refs.len, .at = parser_pos(r->p)};
    if (arity == ARITY_VARIADIC) {
        if (!parser_operand_list(r->p, &r->refs)) return false;
    } else {
        bool ok = arity == ARITY_ONE ? parser_operand(r->p, &ref)
                                     : parser_try_operand(r->p, &ref, &present);
        if (!ok) return false;
        if (present) *vec_push(&r->refs) = ref;
    }
    range->count = r->refs.len - range->begin;
    return true;
}

static bool parse_operands_directive(Reading *r)
{
    r->all_operands = (GroupRange){.begin = r->refs.len, .at = parser_pos(r->p)};
    if (!parser_operand_list(r->p, &r->refs)) return false;
    r->all_operands.count = r->refs.len - r->all_operands.begin;
    return true;
}

static GroupRange *types_range(Reading *r, TypeTarget target)
{
    switch (target.source) {
    case TYPES_OF_OPERAND: return &r->operand_types[target.group];
    case TYPES_OF_RESULT: return &r->result_types[target.group];
    case TYPES_OF_OPERANDS: return &r->all_operand_types;
    case TYPES_OF_RESULTS: return &r->all_result_types;
    }
    return NULL;
}

static Arity types_arity(const Reading *r, TypeTarget target)
{
    if (target.source == TYPES_OF_OPERAND) return r->info->def->operands[target.group].arity;
    if (target.source == TYPES_OF_RESULT) return r->info->def->results[target.group].arity;
    return ARITY_VARIADIC;
}

/* Constraint of one operand's or result's type, or NULL. */
static const TypeConstraint *target_constraint(const Reading *r, TypeTarget target)
{
    if (target.source == TYPES_OF_OPERAND) return r->info->def->operands[target.group].type;
    if (target.source == TYPES_OF_RESULT) return r->info->def->results[target.group].type;
    return NULL;
}

static bool parse_one_type(Reading *r, TypeTarget target)
{
    const TypeConstraint *constraint = target_constraint(r, target);
    SrcPos at = parser_pos(r->p);
    const Type *type = parser_type(r->p);
    if (!type) return false;
    if (constraint && constraint->parses && !constraint->parses(type))
        return parser_error_at(r->p, at, "invalid kind of type specified");
    *vec_push(&r->types) = type;
    return true;
}

/* Whether the types are those of no operands. They are printed as nothing, which upstream does, too,
 * but does not read. */
static bool has_no_operands(const Reading *r, TypeTarget target)
{
    return target.source == TYPES_OF_OPERAND && r->operands[target.group].at &&
           r->operands[target.group].count == 0;
}

static bool parse_types_element(Reading *r, TypeTarget target)
{
    GroupRange *range = types_range(r, target);
    Arity arity = types_arity(r, target);
    *range = (GroupRange){.begin = r->types.len, .at = parser_pos(r->p)};
    bool may_lack = arity == ARITY_OPTIONAL || has_no_operands(r, target);
    if (may_lack && !parser_at_type(r->p)) return true;
    bool ok =
        arity == ARITY_VARIADIC ? parser_type_list(r->p, &r->types) : parse_one_type(r, target);
    range->count = r->types.len - range->begin;
    return ok;
}

static bool parse_functional_type(Reading *r, const Element *element)
{
    GroupRange *inputs = types_range(r, element->types),
               *results = types_range(r, element->results);
    TypeList result_types = parser_borrow_types(r->p);
    *inputs = (GroupRange){.begin = r->types.len, .at = parser_pos(r->p)};
    bool ok = parser_function_type(r->p, &r->types, &result_types);
    inputs->count = r->types.len - inputs->begin;
    *results = (GroupRange){.begin = r->types.len, .count = result_types.len, .at = inputs->at};
    for (size_t i = 0; i < result_types.len; i++) *vec_push(&r->types) = result_types.data[i];
    parser_return_types(r->p, &result_types);
    return ok;
}

static void set_attr(Reading *r, uint32_t index, const Attr *attr)
{
    parser_set_attr(r->p, r->info->def->attrs[index].name, attr);
}

static bool unknown_keyword(Reading *r, const AttrArgDef *row, SrcPos at)
{
    StrBuf text = {0};
    for (const char *const *name = row->attr->enum_names; *name; name++)
        strbuf_printf(&text, "%s%s", text.len > 0 ? ", " : "", *name);
    bool result = parser_error_at(r->p, at,
                                  "expected string or keyword containing one of the following enum "
                                  "values for attribute '%s' [%s]",
                                  row->name, text.data ? text.data : "");
    strbuf_free(&text);
    return result;
}

/* Number of the case at the next token, which may be a string; -1 if it is none. */
static int64_t case_at(OpParser *p, const AttrConstraint *constraint)
{
    for (int64_t i = 0; constraint->enum_names[i]; i++)
        if (parser_at(p, constraint->enum_names[i])) return i;
    return -1;
}

static int64_t case_of(const AttrConstraint *constraint, Str name)
{
    for (int64_t i = 0; constraint->enum_names[i]; i++)
        if (str_eq_c(name, constraint->enum_names[i])) return i;
    return -1;
}

/* enum ::= case | string with a case in it */
static bool parse_enum(Reading *r, uint32_t index)
{
    const AttrArgDef *row = &r->info->def->attrs[index];
    SrcPos at = parser_pos(r->p);
    int64_t value = case_at(r->p, row->attr);
    Str text = {0};
    if (value >= 0) {
        if (!parser_keyword(r->p, &text)) return false;
    } else {
        if (!parser_at(r->p, "\"")) return unknown_keyword(r, row, at);
        if (!parser_string(r->p, &text)) return false;
        value = case_of(row->attr, text);
    }
    if (value < 0)
        return parser_error_at(r->p, at, "invalid %s attribute specification: \"%.*s\"", row->name,
                               STR_ARG(text));
    Context *ctx = parser_ctx(r->p);
    const Type *type = row->attr->bare_type ? row->attr->bare_type(ctx) : type_i(ctx, 64);
    set_attr(r, index, attr_int(type, value));
    return true;
}

/* The attribute's type in the text: given by its constraint, none for strings, or NULL. */
static const Type *attr_text_type(const Reading *r, const AttrConstraint *constraint)
{
    if (constraint->bare_type) return constraint->bare_type(parser_ctx(r->p));
    return constraint->syntax == ATTR_SYNTAX_STRING ? type_none(parser_ctx(r->p)) : NULL;
}

static bool is_stripped(const Element *element, const AttrConstraint *constraint)
{
    return constraint->param && !element->qualified;
}

static bool check_attr(Reading *r, const AttrConstraint *constraint, const Attr *attr, SrcPos at)
{
    return constraint_stores(constraint, attr) ||
           parser_error_at(r->p, at, "invalid kind of attribute specified");
}

/* "[" (integer ("," integer)*)? "]"; NULL: diagnosed. */
static const Attr *parse_int_list(Reading *r)
{
    DimList values = {0};
    bool ok = parser_expect(r->p, "[");
    if (ok && !parser_try(r->p, "]")) {
        do {
            ok = parser_int(r->p, vec_push(&values));
        } while (ok && parser_try(r->p, ","));
        ok = ok && parser_expect(r->p, "]");
    }
    const Attr *attr = ok ? attr_i64_array(parser_ctx(r->p), values.data, values.len) : NULL;
    vec_free(&values);
    return attr;
}

static bool parse_attr_element(Reading *r, const Element *element)
{
    const AttrConstraint *constraint = r->info->def->attrs[element->index].attr;
    SrcPos at = parser_pos(r->p);
    if (constraint->syntax == ATTR_SYNTAX_ENUM && constraint->enum_names)
        return parse_enum(r, element->index);
    const Attr *attr;
    if (constraint->syntax == ATTR_SYNTAX_SYMBOL_NAME)
        attr = parser_symbol_name(r->p);
    else if (is_stripped(element, constraint))
        attr = constraint->param->parse(r->p, NULL);
    else if (constraint->syntax == ATTR_SYNTAX_INT_LIST)
        attr = parse_int_list(r);
    else
        attr = parser_attr(r->p, attr_text_type(r, constraint));
    if (!attr || !check_attr(r, constraint, attr, at)) return false;
    set_attr(r, element->index, attr);
    return true;
}

/* Like parse_attr_element, but it may be missing. */
static bool try_attr_element(Reading *r, const Element *element, bool *present)
{
    const AttrConstraint *constraint = r->info->def->attrs[element->index].attr;
    const Attr *attr = NULL;
    if (constraint->syntax == ATTR_SYNTAX_ENUM && constraint->enum_names) {
        *present = case_at(r->p, constraint) >= 0;
        return !*present || parse_enum(r, element->index);
    }
    if (constraint->syntax == ATTR_SYNTAX_SYMBOL_NAME)
        (void)parser_try_symbol_name(r->p, &attr);
    else if (!parser_try_attr(r->p, attr_text_type(r, constraint), &attr))
        return false;
    *present = attr != NULL;
    if (attr) set_attr(r, element->index, attr);
    return true;
}

/* index ::= ssa-use | integer, which may be in brackets; a missing closing bracket is not diagnosed
 * here */
static bool parse_index(Reading *r, DimList *constants)
{
    OperandRef ref;
    bool is_operand = false;
    if (!parser_try_operand(r->p, &ref, &is_operand)) return false;
    bool in_brackets = parser_try(r->p, "[");
    int64_t value = DIM_DYNAMIC;
    if (is_operand)
        *vec_push(&r->refs) = ref;
    else if (!parser_int(r->p, &value))
        return false;
    *vec_push(constants) = value;
    return !in_brackets || parser_try(r->p, "]");
}

/* index-list ::= `[` (index (`,` index)*)? `]` */
static bool parse_index_items(Reading *r, DimList *constants)
{
    if (!parser_expect_in(r->p, "[", " in dynamic index list")) return false;
    if (parser_try(r->p, "]")) return true;
    do {
        if (!parse_index(r, constants)) return false;
    } while (parser_try(r->p, ","));
    return parser_expect_in(r->p, "]", " in dynamic index list");
}

static bool parse_index_list(Reading *r, const Element *element)
{
    DimList constants = {0};
    GroupRange *range = &r->operands[element->index];
    *range = (GroupRange){.begin = r->refs.len, .at = parser_pos(r->p)};
    bool ok = parse_index_items(r, &constants) ||
              parser_error_at(r->p, parser_op_pos(r->p), "expected SSA value or integer");
    range->count = r->refs.len - range->begin;
    if (ok)
        set_attr(r, element->static_attr,
                 attr_i64_array(parser_ctx(r->p), constants.data, constants.len));
    vec_free(&constants);
    return ok;
}

/* Reads the element that tells whether a group is there. */
static bool try_first(Reading *r, const Element *first, bool *present)
{
    switch (first->kind) {
    case ELEMENT_LITERAL: *present = parser_try(r->p, first->text); return true;
    case ELEMENT_ATTR: return try_attr_element(r, first, present);
    case ELEMENT_OPERAND: {
        uint32_t group = first->index;
        if (r->info->def->operands[group].arity == ARITY_ONE && !parser_at(r->p, "%")) return true;
        if (!parse_operand_element(r, group)) return false;
        *present = r->operands[group].count > 0;
        return true;
    }
    case ELEMENT_OPERANDS:
        if (!parse_operands_directive(r)) return false;
        *present = r->all_operands.count > 0;
        return true;
    case ELEMENT_REGION:
        if (!parser_try_region(r->p, NULL, 0, present)) return false;
        if (*present) r->regions++;
        return true;
    case ELEMENT_INDEX_LIST:
        *present = parser_at(r->p, "[");
        return !*present || parse_index_list(r, first);
    default: return false; /* refused by the compiler */
    }
}

static bool parse_group(Reading *r, const Element *group)
{
    const Element *elided = group->elides_anchor ? group->anchor : NULL;
    bool present = false;
    if (!try_first(r, group->first, &present)) return false;
    if (elided && present != group->inverted)
        set_attr(r, elided->index, attr_unit(parser_ctx(r->p)));
    const ElementList *part = present ? &group->then_part : &group->else_part;
    return parse_elements(r, part, present ? group->first : NULL, elided);
}

static bool parse_regions(Reading *r)
{
    do {
        if (!parser_region(r->p, NULL, 0)) return false;
        r->regions++;
    } while (parser_try(r->p, ","));
    return true;
}

static bool parse_region_element(Reading *r)
{
    r->regions++;
    return parser_region(r->p, NULL, 0);
}

static bool parse_successors(Reading *r)
{
    do
        if (!parser_successor(r->p)) return false;
    while (parser_try(r->p, ","));
    return true;
}

/* props ::= (`<` dictionary `>`)? */
static bool parse_prop_dict(Reading *r)
{
    if (!parser_try(r->p, "<")) return true;
    const Attr *dict = parser_attr(r->p, NULL);
    if (!dict) return false;
    if (dict->kind != ATTR_DICT) return parser_error(r->p, "expected a dictionary of properties");
    for (uint32_t i = 0; i < dict->u.dict.count; i++)
        parser_set_attr(r->p, dict->u.dict.items[i].name->str.data, dict->u.dict.items[i].value);
    return parser_expect(r->p, ">");
}

static bool parse_attr_dict(Reading *r, bool with_keyword)
{
    SrcPos at = parser_pos(r->p);
    return parser_attr_dict(r->p, with_keyword) && parser_check_attrs(r->p, at);
}

static bool parse_element(Reading *r, const Element *element)
{
    switch (element->kind) {
    case ELEMENT_LITERAL: return parser_expect(r->p, element->text);
    case ELEMENT_SPACE:
    case ELEMENT_NEWLINE: return true;
    case ELEMENT_OPERAND: return parse_operand_element(r, element->index);
    case ELEMENT_ATTR: return parse_attr_element(r, element);
    case ELEMENT_REGION: return parse_region_element(r);
    case ELEMENT_SUCCESSOR:
        return r->info->def->variadic_successors ? parse_successors(r) : parser_successor(r->p);
    case ELEMENT_ATTR_DICT: return parse_attr_dict(r, element->with_keyword);
    case ELEMENT_PROP_DICT: return parse_prop_dict(r);
    case ELEMENT_OPERANDS: return parse_operands_directive(r);
    case ELEMENT_REGIONS: return parse_regions(r);
    case ELEMENT_SUCCESSORS: return parse_successors(r);
    case ELEMENT_TYPE: return parse_types_element(r, element->types);
    case ELEMENT_FUNCTIONAL_TYPE: return parse_functional_type(r, element);
    case ELEMENT_INDEX_LIST: return parse_index_list(r, element);
    case ELEMENT_OPTIONAL: return parse_group(r, element);
    }
    return false;
}

static bool parse_elements(Reading *r, const ElementList *list, const Element *first_done,
                           const Element *elided)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const Element *element = &list->items[i];
        if (element == first_done || element == elided) continue;
        if (!parse_element(r, element)) return false;
    }
    return true;
}

/* First type of a group given by the text, or NULL. */
static const Type *given_type(Reading *r, TypeTarget target)
{
    const GroupRange *range = types_range(r, target);
    return range->count > 0 ? r->types.data[range->begin] : NULL;
}

static const Type *ruled_type(Reading *r, const GroupRule *rule, const TypeConstraint *constraint)
{
    switch (rule->rule) {
    case RULE_ONLY: return constraint->only(parser_ctx(r->p));
    case RULE_SAME: return given_type(r, rule->like);
    case RULE_CONSTANT: {
        const Attr *value = parser_get_attr(r->p, "value");
        if (value && value->kind == ATTR_STRING && !value->type) return type_none(value->ctx);
        return value ? value->type : NULL;
    }
    default: return NULL;
    }
}

static void push_types(Reading *r, GroupRange *range, const Type *type, size_t count)
{
    *range = (GroupRange){.begin = r->types.len, .count = count, .at = range->at};
    for (size_t i = 0; i < count; i++) *vec_push(&r->types) = type;
}

static bool add_results(Reading *r)
{
    const Format *format = r->format;
    const OpDef *def = r->info->def;
    if (format->all_result_types) {
        const GroupRange *all = &r->all_result_types;
        parser_add_results(r->p, vec_from(&r->types, all->begin), all->count);
        return true;
    }
    for (uint32_t i = 0; i < r->info->result_groups; i++)
        if (format->results[i].rule == RULE_INFER) {
            bool one = r->info->result_groups == 1 && def->results[i].arity == ARITY_ONE;
            parser_infer_results(r->p, one ? 1 : parser_result_count(r->p));
            return true;
        }
    for (uint32_t i = 0; i < r->info->result_groups; i++) {
        GroupRange *range = &r->result_types[i];
        if (format->results[i].rule != RULE_GIVEN) {
            const Type *type = ruled_type(r, &format->results[i], def->results[i].type);
            if (!type) return parser_error(r->p, "invalid kind of attribute specified");
            push_types(r, range, type, 1);
        }
        parser_add_results(r->p, vec_from(&r->types, range->begin), range->count);
    }
    return true;
}

/* Types of one group's operands, from the text or by its rule. */
static bool find_operand_types(Reading *r, uint32_t group)
{
    const GroupRule *rule = &r->format->operands[group];
    const GroupRange *refs = &r->operands[group];
    if (rule->rule == RULE_GIVEN || refs->count == 0) return true;
    const Type *type = ruled_type(r, rule, r->info->def->operands[group].type);
    if (!type)
        return parser_error_at(r->p, refs->at, "no type given for operand '%s'",
                               r->info->def->operands[group].name);
    push_types(r, &r->operand_types[group], type, refs->count);
    return true;
}

static bool resolve_groups(Reading *r)
{
    for (uint32_t i = 0; i < r->info->operand_groups; i++) {
        const GroupRange *refs = &r->operands[i], *types = &r->operand_types[i];
        OperandRefs part = {.data = vec_from(&r->refs, refs->begin), .len = refs->count};
        if (!parser_resolve_all(r->p, &part, vec_from(&r->types, types->begin), types->count,
                                refs->at))
            return false;
    }
    return true;
}

/* One list of references or types for all groups, in their order. */
static bool resolve_together(Reading *r)
{
    const Format *format = r->format;
    OperandRefs refs = {0};
    TypeList types = {0};
    for (uint32_t i = 0; i < r->info->operand_groups; i++) {
        const GroupRange *group_refs = &r->operands[i], *group_types = &r->operand_types[i];
        for (size_t k = 0; k < group_refs->count; k++)
            *vec_push(&refs) = r->refs.data[group_refs->begin + k];
        for (size_t k = 0; k < group_types->count; k++)
            *vec_push(&types) = r->types.data[group_types->begin + k];
    }
    OperandRefs all_refs = {.data = vec_from(&r->refs, r->all_operands.begin),
                            .len = r->all_operands.count};
    const GroupRange *all = &r->all_operand_types;
    bool ok =
        parser_resolve_all(r->p, format->has_operands_directive ? &all_refs : &refs,
                           format->all_operand_types ? vec_from(&r->types, all->begin) : types.data,
                           format->all_operand_types ? all->count : types.len, r->all_operands.at);
    vec_free(&refs);
    vec_free(&types);
    return ok;
}

static bool resolve_operands(Reading *r)
{
    bool together = r->format->has_operands_directive || r->format->all_operand_types;
    for (uint32_t i = 0; !together && i < r->info->operand_groups; i++)
        if (!find_operand_types(r, i)) return false;
    return together ? resolve_together(r) : resolve_groups(r);
}

static void set_segments(Reading *r)
{
    int32_t sizes[FORMAT_MAX_GROUPS];
    const Type *i32 = type_i(parser_ctx(r->p), 32);
    uint32_t traits = r->info->def->traits;
    if (traits & TRAIT_ATTR_SIZED_OPERANDS && !r->format->has_operands_directive) {
        for (uint32_t i = 0; i < r->info->operand_groups; i++)
            sizes[i] = (int32_t)r->operands[i].count;
        parser_set_attr(r->p, "operandSegmentSizes",
                        attr_dense_array(i32, sizes, r->info->operand_groups));
    }
    if (traits & TRAIT_ATTR_SIZED_RESULTS && !r->format->all_result_types) {
        for (uint32_t i = 0; i < r->info->result_groups; i++)
            sizes[i] = (int32_t)r->result_types[i].count;
        parser_set_attr(r->p, "resultSegmentSizes",
                        attr_dense_array(i32, sizes, r->info->result_groups));
    }
}

static void add_missing_regions(Reading *r)
{
    for (; r->regions < r->info->region_groups; r->regions++) parser_add_empty_region(r->p);
}

bool parse_by_format(const Format *format, OpParser *p, const OpInfo *info)
{
    Reading r = {.format = format,
                 .p = p,
                 .info = info,
                 .refs = parser_borrow_refs(p),
                 .types = parser_borrow_types(p)};
    bool ok = parse_elements(&r, &format->elements, NULL, NULL);
    if (ok) {
        add_missing_regions(&r);
        ok = add_results(&r) && resolve_operands(&r);
        if (ok) set_segments(&r);
    }
    parser_return_refs(p, &r.refs);
    parser_return_types(p, &r.types);
    return ok;
}
