/* Compilation of an assembly format from its text to elements.
 *
 *   format   ::= element*
 *   element  ::= `literal` | `` | ` ` | `\n` | $name | directive | optional
 *   directive ::= attr-dict | attr-dict-with-keyword | prop-dict | operands | regions
 *              | successors | type(source) | functional-type(source, source)
 *              | qualified(element) | custom<DynamicIndexList>($name, $name)
 *   source   ::= $name | operands | results
 *   optional ::= ( element+ ) [: ( element+ )] ?      with ^ behind the anchor
 *
 * The blanks that the printer writes are decided here, as upstream's generator decides them: each
 * by the element before it in the format, taken as one sequence through both parts of optional
 * groups. A mistake in a format is a mistake in a table; it panics, naming the op.
 * Tests: test/unit/ir/asm/format/format_test.c */
#include <ctype.h>
#include <string.h>

#include "ir/asm/format/format.h"
#include "ir/attr/attr.h"

typedef struct FormatCompiler {
    Context *ctx;
    const OpInfo *info;
    Format *format;
    const char *next;    /* unread text */
    uint32_t successors; /* $name that names neither operand, attribute nor region */
    /* what was printed last, for blanks */
    bool emit_space, last_was_punctuation;
    bool *elided;
} FormatCompiler;

NORETURN static void malformed(const FormatCompiler *c, const char *what)
{
    panic("'%.*s': assembly format: %s, at: %s", STR_ARG(c->info->name->str), what, c->next);
}

static void skip_blanks(FormatCompiler *c)
{
    while (isspace((unsigned char)*c->next)) c->next++;
}

static bool try_char(FormatCompiler *c, char wanted)
{
    skip_blanks(c);
    if (*c->next != wanted) return false;
    c->next++;
    return true;
}

static void expect_char(FormatCompiler *c, char wanted)
{
    char what[] = "expected 'x'";
    what[10] = wanted;
    if (!try_char(c, wanted)) malformed(c, what);
}

static Str read_name(FormatCompiler *c)
{
    skip_blanks(c);
    const char *begin = c->next;
    while (isalnum((unsigned char)*c->next) || *c->next == '_' || *c->next == '-') c->next++;
    if (c->next == begin) malformed(c, "expected a name");
    return (Str){.data = begin, .len = (size_t)(c->next - begin)};
}

/* Position of the group, attribute or region of that name; false if there is none. */
static bool find_group(const ArgDef *groups, Str name, uint32_t *index)
{
    for (uint32_t i = 0; groups && groups[i].name; i++)
        if (str_eq_c(name, groups[i].name)) {
            *index = i;
            return true;
        }
    return false;
}

static bool find_attr(const AttrArgDef *attrs, Str name, uint32_t *index)
{
    for (uint32_t i = 0; attrs && attrs[i].name; i++)
        if (str_eq_c(name, attrs[i].name)) {
            *index = i;
            return true;
        }
    return false;
}

static bool find_region(const RegionDef *regions, Str name, uint32_t *index)
{
    for (uint32_t i = 0; regions && regions[i].name; i++)
        if (str_eq_c(name, regions[i].name)) {
            *index = i;
            return true;
        }
    return false;
}

static Element read_variable(FormatCompiler *c)
{
    Str name = read_name(c);
    const OpDef *def = c->info->def;
    Element element = {0};
    if (find_group(def->operands, name, &element.index)) {
        element.kind = ELEMENT_OPERAND;
    } else if (find_attr(def->attrs, name, &element.index)) {
        element.kind = ELEMENT_ATTR;
        c->elided[element.index] = true;
    } else if (find_region(def->regions, name, &element.index)) {
        element.kind = ELEMENT_REGION;
    } else {
        element.kind = ELEMENT_SUCCESSOR;
        element.index = c->successors++;
        if (!def->variadic_successors && element.index >= def->successor_count)
            malformed(c, "unknown variable before");
    }
    return element;
}

static TypeTarget read_type_source(FormatCompiler *c)
{
    TypeTarget target = {0};
    const OpDef *def = c->info->def;
    if (!try_char(c, '$')) {
        Str name = read_name(c);
        target.source = str_eq_c(name, "operands") ? TYPES_OF_OPERANDS : TYPES_OF_RESULTS;
        if (target.source == TYPES_OF_RESULTS && !str_eq_c(name, "results"))
            malformed(c, "expected $name, operands or results before");
        return target;
    }
    Str name = read_name(c);
    if (find_group(def->operands, name, &target.group))
        target.source = TYPES_OF_OPERAND;
    else if (find_group(def->results, name, &target.group))
        target.source = TYPES_OF_RESULT;
    else
        malformed(c, "unknown operand or result before");
    return target;
}

static void mark_given(Format *format, TypeTarget target)
{
    switch (target.source) {
    case TYPES_OF_OPERAND: format->operands[target.group].rule = RULE_GIVEN; return;
    case TYPES_OF_RESULT: format->results[target.group].rule = RULE_GIVEN; return;
    case TYPES_OF_OPERANDS: format->all_operand_types = true; return;
    case TYPES_OF_RESULTS: format->all_result_types = true; return;
    }
}

/* A group whose types the text gives and determine all others; false if there is none. */
static bool find_given(const Format *format, bool operands_only, TypeTarget *out)
{
    const OpInfo *info = format->info;
    for (uint32_t i = 0; i < info->operand_groups; i++)
        if (format->operands[i].rule == RULE_GIVEN) {
            *out = (TypeTarget){.source = TYPES_OF_OPERAND, .group = i};
            return true;
        }
    for (uint32_t i = 0; !operands_only && i < info->result_groups; i++)
        if (format->results[i].rule == RULE_GIVEN) {
            *out = (TypeTarget){.source = TYPES_OF_RESULT, .group = i};
            return true;
        }
    return false;
}

static void decide_operand(FormatCompiler *c, uint32_t group)
{
    Format *format = c->format;
    GroupRule *rule = &format->operands[group];
    uint32_t traits = c->info->def->traits;
    if (rule->rule == RULE_GIVEN || format->all_operand_types) {
        rule->rule = RULE_GIVEN;
    } else if (c->info->def->operands[group].type->only) {
        rule->rule = RULE_ONLY;
    } else if ((traits & TRAIT_SAME_OPERANDS_AND_RESULT_TYPE &&
                find_given(format, false, &rule->like)) ||
               (traits & TRAIT_SAME_TYPE_OPERANDS && find_given(format, true, &rule->like))) {
        rule->rule = RULE_SAME;
    } else {
        malformed(c, "no way to know the type of an operand");
    }
}

static void decide_result(FormatCompiler *c, uint32_t group)
{
    Format *format = c->format;
    const OpDef *def = c->info->def;
    GroupRule *rule = &format->results[group];
    if (rule->rule == RULE_GIVEN || format->all_result_types) {
        rule->rule = RULE_GIVEN;
    } else if (def->results[group].type->only) {
        rule->rule = RULE_ONLY;
    } else if (def->traits & TRAIT_SAME_OPERANDS_AND_RESULT_TYPE &&
               find_given(format, false, &rule->like)) {
        rule->rule = RULE_SAME;
    } else if (def->infer) {
        rule->rule = RULE_INFER;
    } else if (def->traits & TRAIT_CONSTANT_LIKE) {
        rule->rule = RULE_CONSTANT;
    } else {
        malformed(c, "no way to know the type of a result");
    }
}

static ElementList read_elements(FormatCompiler *c, bool in_group, uint32_t *anchor);

static Element read_literal(FormatCompiler *c)
{
    const char *end = strchr(c->next, '`');
    if (!end) malformed(c, "unterminated literal");
    size_t len = (size_t)(end - c->next);
    char *text = arena_alloc(context_arena(c->ctx), len + 1);
    memcpy(text, c->next, len);
    c->next = end + 1;
    Element element = {.kind = ELEMENT_LITERAL, .text = text, .text_len = (uint32_t)len};
    if (len == 0 || strcmp(text, " ") == 0) element.kind = ELEMENT_SPACE;
    if (strcmp(text, "\\n") == 0) element.kind = ELEMENT_NEWLINE;
    return element;
}

static Element read_types(FormatCompiler *c, bool functional)
{
    Element element = {.kind = functional ? ELEMENT_FUNCTIONAL_TYPE : ELEMENT_TYPE};
    expect_char(c, '(');
    element.types = read_type_source(c);
    mark_given(c->format, element.types);
    if (functional) {
        expect_char(c, ',');
        element.results = read_type_source(c);
        mark_given(c->format, element.results);
    }
    expect_char(c, ')');
    return element;
}

static Element read_index_list(FormatCompiler *c)
{
    expect_char(c, '<');
    if (!str_eq_c(read_name(c), "DynamicIndexList")) malformed(c, "unknown directive before");
    expect_char(c, '>');
    expect_char(c, '(');
    expect_char(c, '$');
    Element element = read_variable(c);
    if (element.kind != ELEMENT_OPERAND) malformed(c, "expected an operand before");
    element.kind = ELEMENT_INDEX_LIST;
    expect_char(c, ',');
    expect_char(c, '$');
    Element constants = read_variable(c);
    if (constants.kind != ELEMENT_ATTR) malformed(c, "expected an attribute before");
    element.static_attr = constants.index;
    expect_char(c, ')');
    return element;
}

static Element read_directive(FormatCompiler *c)
{
    Str name = read_name(c);
    if (str_eq_c(name, "type")) return read_types(c, false);
    if (str_eq_c(name, "functional-type")) return read_types(c, true);
    if (str_eq_c(name, "custom")) return read_index_list(c);
    if (str_eq_c(name, "qualified")) {
        expect_char(c, '(');
        Element element = try_char(c, '$') ? read_variable(c) : read_directive(c);
        element.qualified = true;
        expect_char(c, ')');
        return element;
    }
    static const struct {
        const char *name;
        ElementKind kind;
    } plain[] = {
        {"attr-dict", ELEMENT_ATTR_DICT}, {"attr-dict-with-keyword", ELEMENT_ATTR_DICT},
        {"prop-dict", ELEMENT_PROP_DICT}, {"operands", ELEMENT_OPERANDS},
        {"regions", ELEMENT_REGIONS},     {"successors", ELEMENT_SUCCESSORS},
    };
    for (size_t i = 0; i < COUNT_OF(plain); i++)
        if (str_eq_c(name, plain[i].name)) {
            if (plain[i].kind == ELEMENT_OPERANDS) c->format->has_operands_directive = true;
            if (plain[i].kind == ELEMENT_PROP_DICT) c->format->has_prop_dict = true;
            return (Element){.kind = plain[i].kind,
                             .with_keyword = str_ends_with(name, "with-keyword")};
        }
    malformed(c, "unknown directive before");
}

#define NO_ANCHOR UINT32_MAX

static const Element *first_parsed(const ElementList *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].kind != ELEMENT_SPACE && list->items[i].kind != ELEMENT_NEWLINE)
            return &list->items[i];
    return NULL;
}

/* Whether the parser can see from the next token that the element is there. */
static bool can_tell(const Element *element)
{
    switch (element->kind) {
    case ELEMENT_LITERAL:
    case ELEMENT_OPERAND:
    case ELEMENT_OPERANDS:
    case ELEMENT_ATTR:
    case ELEMENT_REGION:
    case ELEMENT_INDEX_LIST: return true;
    default: return false;
    }
}

static bool is_unit_attr(const FormatCompiler *c, const Element *element)
{
    return element->kind == ELEMENT_ATTR &&
           c->info->def->attrs[element->index].attr->syntax == ATTR_SYNTAX_UNIT;
}

static Element read_optional(FormatCompiler *c)
{
    Element group = {.kind = ELEMENT_OPTIONAL};
    uint32_t anchor = NO_ANCHOR, else_anchor = NO_ANCHOR;
    group.then_part = read_elements(c, true, &anchor);
    expect_char(c, ')');
    if (try_char(c, ':')) {
        expect_char(c, '(');
        group.else_part = read_elements(c, true, &else_anchor);
        expect_char(c, ')');
    }
    expect_char(c, '?');
    if ((anchor == NO_ANCHOR) == (else_anchor == NO_ANCHOR))
        malformed(c, "an optional group needs one anchor, before");
    group.inverted = anchor == NO_ANCHOR;
    group.anchor =
        group.inverted ? &group.else_part.items[else_anchor] : &group.then_part.items[anchor];
    group.first = first_parsed(&group.then_part);
    if (!group.first || !can_tell(group.first))
        malformed(c, "the first element of a group cannot tell whether it is there, before");
    group.elides_anchor = is_unit_attr(c, group.anchor) && group.anchor != group.first &&
                          group.anchor != first_parsed(&group.else_part);
    return group;
}

static bool literal_wants_blank(const FormatCompiler *c, const char *text)
{
    if (text[1] != '\0' && strcmp(text, "->") != 0) return true;
    return !strchr(c->last_was_punctuation ? ">)}]," : "<>(){}[],", text[0]);
}

/* Decides the blank before an element, and what the next one will find before it. */
static void decide_blank(FormatCompiler *c, Element *element)
{
    switch (element->kind) {
    case ELEMENT_LITERAL: {
        const char *text = element->text;
        element->space_before = literal_wants_blank(c, text) && c->emit_space;
        c->emit_space = text[1] != '\0' || !strchr("<({[", text[0]);
        c->last_was_punctuation = text[0] != '_' && !isalpha((unsigned char)text[0]);
        return;
    }
    case ELEMENT_SPACE:
        c->last_was_punctuation = element->text[0] == '\0';
        c->emit_space = false;
        return;
    case ELEMENT_NEWLINE:
    case ELEMENT_OPTIONAL: /* its parts were seen already */ return;
    case ELEMENT_ATTR_DICT:
    case ELEMENT_PROP_DICT: c->last_was_punctuation = false; return;
    default:
        element->space_before = c->emit_space || !c->last_was_punctuation;
        c->last_was_punctuation = false;
        c->emit_space = true;
        return;
    }
}

static void decide_blanks(FormatCompiler *c, ElementList *list, const Element *elided)
{
    for (uint32_t i = 0; i < list->count; i++) {
        Element *element = &list->items[i];
        if (element == elided) continue;
        if (element->kind == ELEMENT_OPTIONAL) {
            const Element *anchor = element->elides_anchor ? element->anchor : NULL;
            decide_blanks(c, &element->then_part, anchor);
            decide_blanks(c, &element->else_part, anchor);
        } else {
            decide_blank(c, element);
        }
    }
}

static Element read_element(FormatCompiler *c)
{
    if (try_char(c, '`')) return read_literal(c);
    if (try_char(c, '$')) return read_variable(c);
    if (try_char(c, '(')) return read_optional(c);
    return read_directive(c);
}

static ElementList read_elements(FormatCompiler *c, bool in_group, uint32_t *anchor)
{
    VEC(Element) list = {0};
    for (;;) {
        skip_blanks(c);
        if (*c->next == '\0' || (in_group && *c->next == ')')) break;
        Element element = read_element(c);
        *vec_push(&list) = element;
        if (in_group && try_char(c, '^')) *anchor = (uint32_t)(list.len - 1);
    }
    if (in_group && list.len == 0) malformed(c, "an empty group");
    ElementList result = {.count = (uint32_t)list.len};
    if (list.len > 0)
        result.items = arena_copy(context_arena(c->ctx), list.data, list.len * sizeof(*list.data));
    vec_free(&list);
    return result;
}

static void init_rules(Format *format)
{
    for (uint32_t i = 0; i < FORMAT_MAX_GROUPS; i++)
        format->operands[i].rule = format->results[i].rule = RULE_INFER;
}

const Format *format_compile(Context *ctx, const OpInfo *info)
{
    FormatCompiler c = {.ctx = ctx, .info = info, .next = info->def->format, .emit_space = true};
    if (info->operand_groups > FORMAT_MAX_GROUPS || info->result_groups > FORMAT_MAX_GROUPS)
        malformed(&c, "too many operand or result groups");
    c.format = ARENA_NEW(context_arena(ctx), Format);
    c.format->ctx = ctx;
    c.format->info = info;
    c.elided = ARENA_ARRAY(context_arena(ctx), bool, info->attr_count);
    init_rules(c.format);
    c.format->elements = read_elements(&c, false, NULL);
    c.format->elided = c.elided;
    for (uint32_t i = 0; i < info->operand_groups; i++) decide_operand(&c, i);
    for (uint32_t i = 0; i < info->result_groups; i++) decide_result(&c, i);
    decide_blanks(&c, &c.format->elements, NULL);
    return c.format;
}
