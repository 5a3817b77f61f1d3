/* Declarative assembly formats. The format text of an op's row is compiled once, when its dialect
 * is registered, into a list of elements; ir/asm/parse (parse_by_format) and ir/asm/print
 * (print_by_format) interpret the elements.
 *
 * The language is upstream's (docs/assembly-format.md): `literals`, $operand, $attr, $region,
 * $successor, type($x), functional-type(a, b), attr-dict, attr-dict-with-keyword, prop-dict,
 * operands, results, regions, successors, qualified(x), optional groups (...^)? and (...^) :
 * (...)?, and custom<DynamicIndexList>($operands, $static) for lists like [%a, 4]. Types that the
 * text leaves out come from traits, from constraints that allow one type only, or from the row's
 * infer hook. A Format is immutable and belongs to the context's arena.
 * Tests: test/unit/ir/asm/format/format_test.c, lit/dialects */
#ifndef MING_IR_ASM_FORMAT_FORMAT_H
#define MING_IR_ASM_FORMAT_FORMAT_H

#include "ir/core/core.h"

/* Limit of the operand, result and region groups of a row with a format; checked when it is
 * compiled. */
#define FORMAT_MAX_GROUPS 16

/* One element of a format. */
typedef enum ElementKind {
    ELEMENT_LITERAL,
    ELEMENT_SPACE, /* a blank that only the printer knows */
    ELEMENT_NEWLINE,
    ELEMENT_OPERAND,
    ELEMENT_ATTR,
    ELEMENT_REGION,
    ELEMENT_SUCCESSOR,
    ELEMENT_ATTR_DICT,
    ELEMENT_PROP_DICT,
    ELEMENT_OPERANDS,
    ELEMENT_REGIONS,
    ELEMENT_SUCCESSORS,
    ELEMENT_TYPE,
    ELEMENT_FUNCTIONAL_TYPE,
    ELEMENT_INDEX_LIST, /* custom<DynamicIndexList>($operands, $static) */
    ELEMENT_OPTIONAL
} ElementKind;

/* The values whose types type(...) and functional-type(...) stand for. */
typedef enum TypeSource {
    TYPES_OF_OPERAND,
    TYPES_OF_RESULT,
    TYPES_OF_OPERANDS, /* all */
    TYPES_OF_RESULTS
} TypeSource;

typedef struct TypeTarget {
    TypeSource source;
    uint32_t group; /* of the first two */
} TypeTarget;

typedef struct Element Element;
typedef struct ElementList {
    Element *items;
    uint32_t count;
} ElementList;

struct Element {
    ElementKind kind;
    bool space_before; /* printed with a blank before it */
    bool qualified;
    const char *text; /* of a literal */
    uint32_t text_len;
    uint32_t index;            /* operand, attribute, region or successor */
    uint32_t static_attr;      /* of an index list: the attribute with the constants */
    bool with_keyword;         /* of the attribute dictionary */
    TypeTarget types, results; /* results: of a functional type */
    /* The fields below are those of an optional group. */
    ElementList then_part, else_part;
    const Element *anchor;
    const Element *first; /* of the then part: tells the parser whether the group is there */
    bool inverted;        /* the anchor is in the else part */
    bool elides_anchor;   /* the anchor is a unit attribute told by the group's presence */
};

/* The rule by which a result's or operand's type is found if the text does not give it. */
typedef enum TypeRule {
    RULE_GIVEN,    /* by the text */
    RULE_ONLY,     /* the constraint has one type */
    RULE_SAME,     /* a trait: like `like` */
    RULE_CONSTANT, /* the type of the attribute "value" */
    RULE_INFER     /* results: the row's hook */
} TypeRule;

typedef struct GroupRule {
    TypeRule rule;
    TypeTarget like; /* of RULE_SAME: a group with given types */
} GroupRule;

struct Format {
    Context *ctx;
    const OpInfo *info;
    ElementList elements;
    GroupRule operands[FORMAT_MAX_GROUPS], results[FORMAT_MAX_GROUPS];
    bool all_operand_types, all_result_types; /* by type(operands), type(results), … */
    bool has_operands_directive;
    bool has_prop_dict;
    const bool *elided; /* parallel to the row's attributes: printed elsewhere */
};

typedef struct Format Format;
/* Compiles info->def->format into the context's arena. Never NULL: a malformed format is a mistake
 * in a table and panics, naming the op. */
const Format *format_compile(Context *ctx, const OpInfo *info);

#endif
