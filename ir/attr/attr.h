/* The context and what is uniqued in it: identifiers, affine expressions, types, attributes
 * (locations are attributes, as upstream) and resources; and tensors at run time (Array). It has a
 * kind for every builtin type and attribute of MLIR 19.
 *
 * A Context owns everything here but Arrays. Uniqued objects are immutable, live as long as their
 * context and are compared with ==, since equal ones have one address; objects of two contexts must
 * not be mixed. Constructors copy their arrays and simplify to the canonical form that upstream
 * prints; a precondition that is violated is an assertion, so that constructors never fail. There
 * are no globals: two contexts may live in two threads. Every module above ir/support builds on
 * this one.
 * Tests: test/unit/ir/attr, lit/ir/attr, lit/ir/asm/parse */
#ifndef MING_IR_ATTR_ATTR_H
#define MING_IR_ATTR_ATTR_H

#include "ir/support/support.h"

/* The context, and names for the types of higher modules that its objects refer to.
 * Tests: test/unit/ir/attr/context_test.c */

typedef struct Context Context;
typedef struct Type Type;
typedef struct Attr Attr;
typedef struct AffineExpr AffineExpr;
typedef struct AffineMap AffineMap;
typedef struct IntegerSet IntegerSet;
typedef struct Op Op;
typedef struct Block Block;
typedef struct Region Region;
typedef struct Value Value;
typedef struct OpDef OpDef;
typedef struct OpInfo OpInfo;
typedef struct DialectDef DialectDef;
typedef struct TypeDef TypeDef;
typedef struct AttrDef AttrDef;
typedef struct PassDef PassDef;

/* A uniqued byte string, compared with ==. data is NUL-terminated and may hold NULs before. */
typedef struct Ident {
    Str str;
    uint64_t hash;
    const OpInfo *op; /* the registered op of this name, or NULL */
} Ident;

/* The caller destroys the context, and with it everything that was made in it, ops included.
 * context_destroy(NULL) does nothing. */
Context *context_create(void);
void context_destroy(Context *ctx);

/* State that modules above keep in the context, one part each: the ops of ir/core, the diagnostics
 * of ir/asm/print. Parts are freed with the context, the last of the enum first, because pending
 * diagnostics may show ops. */
typedef enum ContextPart { CONTEXT_OPS, CONTEXT_DIAGS, CONTEXT_PART_COUNT } ContextPart;
typedef void ContextPartFree(Context *ctx, void *part);
/* The part, or NULL as long as none is set. context_set_part hands the ownership to the context,
 * which calls `free`. */
void *context_part(const Context *ctx, ContextPart part);
void context_set_part(Context *ctx, ContextPart which, void *part, ContextPartFree *free);

/* Memory that lives as long as the context. */
Arena *context_arena(Context *ctx);

/* The identifier with these bytes, which are copied when it is new. */
const Ident *ident_get(Context *ctx, Str str);
const Ident *ident_get_c(Context *ctx, const char *cstr);

/* A number that no earlier call gave, for distinct[N]. */
uint64_t context_next_distinct(Context *ctx);

/* Affine expressions, maps and integer sets over dimensions and symbols. They are simplified when
 * they are built exactly as upstream simplifies them (constants folded and moved right, sums
 * brought into canonical form, (d0 * 4) floordiv 2 -> d0 * 2, ...), because printed text shows the
 * result.
 * Tests: test/unit/ir/attr/affine_test.c, lit/ir/attr/affine.mir */

typedef enum AffineKind {
    AFFINE_DIM,
    AFFINE_SYMBOL,
    AFFINE_CONST,
    AFFINE_ADD,
    AFFINE_MUL,
    AFFINE_MOD,
    AFFINE_FLOORDIV,
    AFFINE_CEILDIV
} AffineKind;

struct AffineExpr {
    AffineKind kind;
    Context *ctx;
    int64_t value;               /* dim or symbol position, or the constant */
    const AffineExpr *lhs, *rhs; /* of binary kinds */
    /* derived at construction */
    uint64_t divisor; /* a known divisor of every value; 0: the value is 0 */
    uint32_t depth;   /* of operands below; functions recurse this deep */
    bool is_symbolic; /* no dims */
};

/* The largest depth; the parser rejects deeper input, since functions recurse over expressions. */
#define AFFINE_MAX_DEPTH 10000

struct AffineMap {
    Context *ctx;
    uint32_t dim_count, symbol_count, result_count;
    const AffineExpr *const *results;
};

struct IntegerSet {
    Context *ctx;
    uint32_t dim_count, symbol_count, constraint_count;
    const AffineExpr *const *constraints; /* each >= 0, or == 0 where is_eq */
    const bool *is_eq;
};

const AffineExpr *affine_dim(Context *ctx, uint32_t position);
const AffineExpr *affine_symbol(Context *ctx, uint32_t position);
const AffineExpr *affine_const(Context *ctx, int64_t value);
const AffineExpr *affine_add(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_sub(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_neg(const AffineExpr *expr);
const AffineExpr *affine_mul(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_mod(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_floordiv(const AffineExpr *lhs, const AffineExpr *rhs);
const AffineExpr *affine_ceildiv(const AffineExpr *lhs, const AffineExpr *rhs);
/* The same with a constant on the right. */
const AffineExpr *affine_add_c(const AffineExpr *lhs, int64_t rhs);
const AffineExpr *affine_mul_c(const AffineExpr *lhs, int64_t rhs);

bool affine_is_const(const AffineExpr *expr);
/* Whether the expression has no dims. Only such an expression is legal on the right of a mod or a
 * division. */
bool affine_is_symbolic(const AffineExpr *expr);
/* Whether no product, division or modulus is by anything but a constant. */
bool affine_is_pure(const AffineExpr *expr);
bool affine_uses_dim(const AffineExpr *expr, uint32_t position);
bool affine_uses_symbol(const AffineExpr *expr, uint32_t position);
/* The value for given dims and symbols. False: a division by zero or an overflow. */
bool affine_eval(const AffineExpr *expr, const int64_t *dims, const int64_t *symbols, int64_t *out)
    MUST_CHECK;
/* The expression with dims and symbols replaced, simplified anew; a NULL array keeps its
 * variables. */
const AffineExpr *affine_replace(const AffineExpr *expr, const AffineExpr *const *dims,
                                 uint32_t dim_count, const AffineExpr *const *symbols,
                                 uint32_t symbol_count);
/* The same value written as a sum in upstream's order with equal terms collected; the expression
 * itself if a divisor is not positive or a coefficient overflows. `dims` and `symbols` are their
 * numbers. Takes time quadratic in the size. */
const AffineExpr *affine_simplify(const AffineExpr *expr, uint32_t dims, uint32_t symbols);
/* Decomposes a linear expression into coeffs[dim] and *constant. coeffs has dim_count entries,
 * which are overwritten. False: the expression is not linear in the dims alone (it has a mod, a
 * division or a symbol). */
bool affine_linear(const AffineExpr *expr, uint32_t dim_count, int64_t *coeffs, int64_t *constant)
    MUST_CHECK;
/* The smallest and largest value over the box 0 <= d_i < extents[i], by interval arithmetic, which
 * is exact for linear expressions. A negative extent means unbounded; a bound that is unknown or
 * does not fit is INT64_MIN or INT64_MAX. The expression must not have symbols. */
void affine_bounds(const AffineExpr *expr, const int64_t *extents, int64_t *min, int64_t *max);

const AffineMap *map_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t result_count,
                         const AffineExpr *const *results);
const AffineMap *map_identity(Context *ctx, uint32_t rank);
/* (d0, ...) -> (d_perm[0], d_perm[1], ...) */
const AffineMap *map_permutation(Context *ctx, uint32_t rank, const uint32_t *perm);
/* () -> (value) */
const AffineMap *map_constant(Context *ctx, int64_t value);
/* The composition f(g(x)), where the results of g are the dims of f. */
const AffineMap *map_compose(const AffineMap *f, const AffineMap *g);
bool map_is_identity(const AffineMap *map);
bool map_is_permutation(const AffineMap *map);
/* Whether a result depends on the dim. */
bool map_uses_dim(const AffineMap *map, uint32_t position);
/* Whether every result is a different dim (allow_zero: or the constant 0). */
bool map_is_projected_permutation(const AffineMap *map, bool allow_zero);
/* One map with the results of all maps. They share their dims; their symbols follow each other. */
const AffineMap *map_concat(Context *ctx, const AffineMap *const *maps, size_t count);
/* The map with inverse(map(x)) = x, which reads every dim from the first result that is just this
 * dim; NULL if some dim has no such result. The map must not have symbols. */
const AffineMap *map_inverse_permutation(const AffineMap *map);
const AffineMap *map_simplify(const AffineMap *map); /* affine_simplify of every result */
/* All results at a point; out has result_count entries. False: as for affine_eval. */
bool map_eval(const AffineMap *map, const int64_t *dims, const int64_t *symbols, int64_t *out)
    MUST_CHECK;
/* Position of the first result that is just d_dim, or -1. */
int map_result_of_dim(const AffineMap *map, uint32_t dim);

const IntegerSet *set_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t count,
                          const AffineExpr *const *constraints, const bool *is_eq);
bool set_contains(const IntegerSet *set, const int64_t *dims, const int64_t *symbols);

/* Append the text that upstream prints: "d0 + d1 * 2", "(d0) -> (d0)", "(d0) : (d0 >= 0)". */
void affine_print(StrBuf *out, const AffineExpr *expr);
void map_print(StrBuf *out, const AffineMap *map);
void set_print(StrBuf *out, const IntegerSet *set);

/* Types.
 * Tests: test/unit/ir/attr/type_test.c, lit/ir/asm/parse/types.mir,
 * lit/ir/asm/parse/types-invalid.mir */

typedef enum TypeKind {
    TYPE_INTEGER,
    TYPE_INDEX,
    /* floats, contiguous */
    TYPE_F8E5M2,
    TYPE_F8E4M3,
    TYPE_F8E4M3FN,
    TYPE_F8E5M2FNUZ,
    TYPE_F8E4M3FNUZ,
    TYPE_F8E4M3B11FNUZ,
    TYPE_BF16,
    TYPE_F16,
    TYPE_TF32,
    TYPE_F32,
    TYPE_F64,
    TYPE_F80,
    TYPE_F128,
    TYPE_NONE,
    TYPE_COMPLEX,
    TYPE_FUNCTION,
    TYPE_TUPLE,
    TYPE_VECTOR,
    TYPE_RANKED_TENSOR,
    TYPE_UNRANKED_TENSOR,
    TYPE_MEMREF,
    TYPE_UNRANKED_MEMREF,
    TYPE_OPAQUE, /* of a dialect that is not registered: !dialect<"...">, !dialect.rest */
    TYPE_DIALECT /* of a registered dialect's TypeDef */
} TypeKind;

typedef enum Signedness { SIGNLESS, SIGNED, UNSIGNED } Signedness;

/* A dynamic extent of a shape, as upstream's ShapedType::kDynamic. */
#define DIM_DYNAMIC INT64_MIN

struct Type {
    TypeKind kind;
    Context *ctx;
    union {
        struct {
            uint32_t width; /* bits */
            Signedness sign;
        } integer;
        struct {
            const Type *elem;
            uint32_t rank;
            const int64_t *dims;  /* extents; DIM_DYNAMIC */
            const bool *scalable; /* vectors only: rank flags, or NULL when none is */
            const Attr *extra;    /* tensor encoding, memref layout; or NULL */
            const Attr *space;    /* memref memory space, or NULL */
        } shaped;                 /* also unranked (rank 0, dims NULL), complex (elem only) */
        struct {
            uint32_t input_count, result_count;
            const Type *const *types; /* inputs, then results */
        } function;                   /* tuple: input_count elements */
        struct {
            const Ident *dialect;
            Str text;       /* what follows "!dialect": body with its <> or after the dot */
            bool is_dotted; /* !dialect.text rather than !dialect<text> */
        } opaque;
        struct {
            const TypeDef *def;
            uint32_t param_count;
            const Attr *const *params; /* meaning: the TypeDef's */
        } dialect;
    } u;
};

const Type *type_integer(Context *ctx, uint32_t width, Signedness sign);
const Type *type_i(Context *ctx, uint32_t width); /* signless */
const Type *type_index(Context *ctx);
const Type *type_none(Context *ctx);
const Type *type_float(Context *ctx, TypeKind kind);
const Type *type_complex(const Type *elem);
const Type *type_function(Context *ctx, const Type *const *inputs, size_t input_count,
                          const Type *const *results, size_t result_count);
const Type *type_tuple(Context *ctx, const Type *const *elems, size_t count);
/* Shaped types: `dims` has `rank` extents, each non-negative or DIM_DYNAMIC. `scalable`,
 * `encoding`, `layout` and `space` may be NULL for the default. */
const Type *type_vector(const Type *elem, const int64_t *dims, uint32_t rank, const bool *scalable);
const Type *type_tensor(const Type *elem, const int64_t *dims, uint32_t rank, const Attr *encoding);
const Type *type_unranked_tensor(const Type *elem);
const Type *type_memref(const Type *elem, const int64_t *dims, uint32_t rank, const Attr *layout,
                        const Attr *space);
const Type *type_unranked_memref(const Type *elem, const Attr *space);
const Type *type_opaque(Context *ctx, const Ident *dialect, Str text, bool is_dotted);
const Type *type_dialect(Context *ctx, const TypeDef *def, const Attr *const *params,
                         size_t param_count);
/* The same shaped type with another element type, or another shape (ranked only). */
const Type *type_with_elem(const Type *shaped, const Type *elem);
const Type *type_with_shape(const Type *shaped, const int64_t *dims, uint32_t rank);

/* Questions about types. None accepts NULL. */
bool type_is_float(const Type *type);
bool type_is_integer(const Type *type);                   /* any integer, not index */
bool type_is_int_width(const Type *type, uint32_t width); /* signless of that width */
bool type_is_signless(const Type *type);
bool type_is_shaped(const Type *type); /* vector, tensor, memref; ranked or not */
bool type_is_ranked(const Type *type);
bool type_is_tensor(const Type *type); /* ranked or unranked */
bool type_is_memref(const Type *type);
bool type_is_static(const Type *type);           /* ranked, no dynamic extent */
uint32_t type_dynamic_extents(const Type *type); /* number of them, of a ranked type */
bool type_is_a(const Type *type, const TypeDef *def);
/* Element type of a shaped or complex type; any other type is its own element. */
const Type *type_elem(const Type *type);
/* Width in bits of an integer or float type; 64 for index, 0 for others. */
uint32_t type_width(const Type *type);
/* Number of elements of a static shape. False: the shape is dynamic, or its extents, even if one is
 * 0, multiply to 2^63 or more without it. If true, all products of extents fit an int64_t. */
bool type_element_count(const Type *type, int64_t *out) MUST_CHECK;

/* Appends the type in upstream's syntax, without aliases. */
void type_print(StrBuf *out, const Type *type);

/* Attributes.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/attributes.mir,
 * lit/ir/asm/parse/attributes-invalid.mir */
typedef enum AttrKind {
    ATTR_UNIT,
    ATTR_INTEGER, /* booleans too: type i1 */
    ATTR_FLOAT,
    ATTR_STRING,
    ATTR_TYPE,
    ATTR_ARRAY,
    ATTR_DICT,
    ATTR_SYMBOL_REF,
    ATTR_AFFINE_MAP,
    ATTR_INTEGER_SET,
    ATTR_DENSE,         /* DenseIntOrFPElements */
    ATTR_DENSE_STRINGS, /* DenseStringElements */
    ATTR_DENSE_RESOURCE,
    ATTR_SPARSE,
    ATTR_DENSE_ARRAY, /* array<i32: 1, 2> */
    ATTR_STRIDED_LAYOUT,
    ATTR_OPAQUE,
    ATTR_DISTINCT,
    ATTR_DIALECT, /* of a registered dialect's AttrDef */
    ATTR_LOC_UNKNOWN,
    ATTR_LOC_FILE,
    ATTR_LOC_NAME,
    ATTR_LOC_FUSED,
    ATTR_LOC_CALLSITE
} AttrKind;

typedef struct NamedAttr {
    const Ident *name;
    const Attr *value;
} NamedAttr;

struct Attr {
    AttrKind kind;
    Context *ctx;
    const Type *type; /* of typed attributes (integer, float, string, elements); else NULL */
    union {
        BigInt integer;
        struct {
            uint64_t float_bits; /* in the format of `type` */
            uint64_t float_high; /* bits 64 and up of f80 and f128, else 0 */
        };
        Str string;
        const Type *type_value;
        struct {
            uint32_t count;
            const Attr *const *items;
        } array;
        struct {
            uint32_t count;
            const NamedAttr *items; /* sorted by name, no duplicates */
        } dict;
        struct {
            uint32_t count;            /* 1 + nested */
            const Ident *const *names; /* root first */
        } symbol;
        const AffineMap *map;
        const IntegerSet *set;
        struct {
            bool is_splat;       /* data holds one element */
            size_t size;         /* bytes */
            const uint8_t *data; /* little endian; i1 packed 8 per byte (bit 0 first); others
                                    ceil(width/8) bytes each; index 8; complex re, im */
        } dense;
        struct {
            bool is_splat;
            size_t count;
            const Str *items;
        } dense_strings;
        struct {
            const Ident *key; /* blob: context_resource(ctx, "builtin", key) */
        } resource;
        struct {
            const Attr *indices, *values;
        } sparse;
        struct {
            const Type *elem; /* i1 i8 i16 i32 i64 f32 f64 */
            size_t count;
            const uint8_t *data; /* count elements, little endian; i1 one byte each */
        } dense_array;
        struct {
            int64_t offset;
            uint32_t rank;
            const int64_t *strides;
        } layout; /* DIM_DYNAMIC prints as ? */
        struct {
            const Ident *dialect;
            Str text;
            bool is_dotted;
        } opaque;
        struct {
            const Attr *inner;
            uint64_t id;
        } distinct;
        struct {
            const AttrDef *def;
            uint32_t param_count;
            const Attr *const *params;
        } dialect;
        struct {
            const Ident *file;
            uint32_t line, col;
        } loc_file;
        struct {
            const Ident *name;
            const Attr *child; /* never NULL: unknown if none */
        } loc_name;
        struct {
            uint32_t count;
            const Attr *const *locs;
            const Attr *metadata; /* or NULL */
        } loc_fused;
        struct {
            const Attr *callee, *caller;
        } loc_callsite;
    } u;
};

/* Constructors of attributes. Each copies its arrays and strings into the context, unless it says
 * that it adopts them. */
const Attr *attr_unit(Context *ctx);
const Attr *attr_bool(Context *ctx, bool value);
const Attr *attr_int(const Type *type, int64_t value); /* integer or index; truncates to width */
const Attr *attr_bigint(const Type *type, const BigInt *value);
const Attr *attr_i64(Context *ctx, int64_t value);
const Attr *attr_index(Context *ctx, int64_t value);
const Attr *attr_float(const Type *type, double value);       /* rounds half-even to the type */
const Attr *attr_float_bits(const Type *type, uint64_t bits); /* up to 64 bits wide */
const Attr *attr_float_words(const Type *type, const uint64_t words[2]);
const Attr *attr_string(Context *ctx, Str value);
const Attr *attr_string_c(Context *ctx, const char *value);
const Attr *attr_typed_string(const Type *type, Str value);
const Attr *attr_type(const Type *value);
const Attr *attr_array(Context *ctx, const Attr *const *items, size_t count);
/* Sorts a copy by name; names must be distinct. */
const Attr *attr_dict(Context *ctx, const NamedAttr *items, size_t count);
const Attr *attr_dict_empty(const Context *ctx);
const Attr *attr_symbol(Context *ctx, const Ident *name);
const Attr *attr_symbol_nested(Context *ctx, const Ident *const *names, size_t count);
const Attr *attr_map(const AffineMap *map);
const Attr *attr_set(const IntegerSet *set);
/* Dense elements from raw storage as described in struct Attr; one element for a splat. Equal
 * elements collapse to a splat, as upstream. The context copies data; `size` in bytes must be what
 * the static shape needs. */
const Attr *attr_dense_raw(const Type *type, const void *data, size_t size, bool is_splat);
/* The same for memory from xmalloc, which the context takes over, so that large data is not
 * copied. */
const Attr *attr_dense_adopt(const Type *type, uint8_t *data, size_t size, bool is_splat);
/* Dense elements from one value each, in row-major order. They collapse to a splat if all are
 * equal, as upstream. */
const Attr *attr_dense_i64(const Type *type, const int64_t *values, size_t count);
const Attr *attr_dense_f64(const Type *type, const double *values, size_t count);
const Attr *attr_dense_splat(const Type *type, const Attr *value);
/* Dense strings; equal ones collapse to a splat too. */
const Attr *attr_dense_strings(const Type *type, const Str *items, size_t count, bool is_splat);
const Attr *attr_dense_resource(const Type *type, const Ident *key);
const Attr *attr_sparse(const Type *type, const Attr *indices, const Attr *values);
const Attr *attr_dense_array(const Type *elem, const void *data, size_t count);
const Attr *attr_i64_array(Context *ctx, const int64_t *values, size_t count); /* array<i64: …> */
const Attr *attr_strided_layout(Context *ctx, int64_t offset, const int64_t *strides,
                                uint32_t rank);
const Attr *attr_opaque(Context *ctx, const Ident *dialect, Str text, bool is_dotted,
                        const Type *type);
/* A distinct attribute equals only those of its own id. */
const Attr *attr_distinct(Context *ctx, uint64_t id, const Attr *inner);
const Attr *attr_dialect(Context *ctx, const AttrDef *def, const Attr *const *params, size_t count);
/* The same with a type of its own, which is printed as " : type". */
const Attr *attr_dialect_typed(Context *ctx, const AttrDef *def, const Type *type,
                               const Attr *const *params, size_t count);

/* Locations: where in a source something comes from. */
const Attr *loc_unknown(Context *ctx);
const Attr *loc_file(Context *ctx, const Ident *file, uint32_t line, uint32_t col);
const Attr *loc_name(const Ident *name, const Attr *child);
/* A fused location. Nested ones are flattened, unknown and repeated ones dropped; if one location
 * is left and there is no metadata, the result may be that location itself, as upstream. */
const Attr *loc_fused(Context *ctx, const Attr *const *locs, size_t count, const Attr *metadata);
const Attr *loc_callsite(const Attr *callee, const Attr *caller);
/* The first place in a file inside a location, the callee of a call before its caller; NULL: there
 * is none. */
const Attr *loc_find_file(const Attr *loc);
/* The first name inside a location; an empty Str: there is none. */
Str loc_find_name(const Attr *loc);
bool attr_is_loc(const Attr *attr);

/* Reading attributes. */

/* Whether the attribute is one of that definition of a dialect. */
bool attr_is_a(const Attr *attr, const AttrDef *def);
bool attr_is_true(const Attr *attr); /* i1 integer that is 1 */
/* Value of an integer attribute of any type that fits 64 bits, sign-extended unless the type is
 * unsigned. A true i1 therefore is -1: ask attr_is_true. */
int64_t attr_int_value(const Attr *attr);
double attr_float_value(const Attr *attr);
/* Item of a dictionary, or NULL. Anything that is not a dictionary, NULL included, has no items. */
const Attr *attr_dict_get(const Attr *dict, const Ident *name);
const Attr *attr_dict_get_c(const Attr *dict, const char *name);
/* Value of an item that is an integer of at most 64 bits; else the fallback. */
int64_t attr_dict_int(const Attr *dict, const char *name, int64_t fallback);
/* A dictionary with that item set, or removed if value is NULL. */
const Attr *attr_dict_set(const Attr *dict, const Ident *name, const Attr *value);

/* Elements of dense attributes. `attr` must be an ATTR_DENSE, or a dense resource whose blob is
 * present, of static shape; `index` counts in row-major order. */
int64_t dense_count(const Attr *attr);
/* An integer or index element of at most 64 bits, extended as by attr_int_value. */
int64_t dense_i64(const Attr *attr, int64_t index);
/* `count` of them, at least one, from `begin` on. */
void dense_i64_row(const Attr *attr, int64_t begin, size_t count, int64_t *out);
double dense_f64(const Attr *attr, int64_t index); /* float elements */
/* One element as an integer or float attribute, a complex number as the array [re, im], a string as
 * a string attribute. */
const Attr *dense_elem(const Attr *attr, int64_t index);
/* Bytes of storage of one element; 0 for i1, which is packed. */
uint32_t dense_elem_bytes(const Type *elem);
/* Copies an element of so many bytes (dense_elem_bytes) between storages; `to` is zero there. */
void dense_copy_elem(uint8_t *to, int64_t at, const uint8_t *from, int64_t index, uint32_t bytes);
int64_t dense_array_i64(const Attr *attr, size_t index);
/* Whether it is an array of integers (attr may be NULL). */
bool attr_is_int_array(const Attr *attr);
/* Reads a list of integers from an array<i64>, array<i32>, dense elements or an array of integers.
 * `out` has room for `max` entries. False: the attribute is none of these, or it has more. */
bool attr_int_list(const Attr *attr, int64_t *out, size_t max, size_t *count) MUST_CHECK;

/* Bytes of one element of array<...>, and of all its elements. */
size_t dense_array_elem_bytes(const Type *elem);
size_t dense_array_size(const Attr *attr);

/* Direct access to the elements of a dense attribute or of a resource's blob. A view owns
 * nothing. */
typedef struct DenseView {
    const uint8_t *data; /* NULL: a resource without blob */
    size_t size;
    const Type *elem;
    bool is_splat;  /* data holds one element */
    bool is_packed; /* i1, eight per byte */
} DenseView;
DenseView dense_view(const Attr *attr);
/* Whether an attribute is dense with bytes for every element; a resource's blob may be absent or too
 * short. */
bool dense_is_complete(const Attr *attr) MUST_CHECK;
/* The bytes of one element, which must not be packed; dense_view_bit reads packed ones. */
const uint8_t *dense_view_at(const DenseView *view, int64_t index);
bool dense_view_bit(const DenseView *view, int64_t index);
/* One integer of `width` bits from its storage, little endian. `words` is the room for a wide
 * number, to which the result then points. */
BigInt dense_load_int(uint32_t width, const uint8_t *data, uint64_t *words);
/* Bits of one float from its storage, low word first. */
void dense_load_float(const Type *elem, const uint8_t *data, uint64_t words[2]);

/* Resources: the blobs that dense_resource attributes name, from the {-# #-} section of a file. The
 * context copies data. */
typedef struct ResourceBlob {
    const Ident *dialect, *key;
    uint32_t align;
    size_t size;
    const uint8_t *data; /* NULL: declared, not given */
} ResourceBlob;
void context_add_resource(Context *ctx, const ResourceBlob *blob);
/* The same for data inside `memory` from xmalloc, which the context takes over. */
void context_adopt_resource(Context *ctx, const ResourceBlob *blob, void *memory);
/* The blob of that key, or NULL if it was never added. Its address stays the same when the blob is
 * added again with contents. */
const ResourceBlob *context_resource(const Context *ctx, const Ident *dialect, const Ident *key);
size_t context_resource_count(const Context *ctx);
/* In the order in which keys were first added. */
const ResourceBlob *context_resource_at(const Context *ctx, size_t index);

/* Entries of the external_resources section, which tools write for themselves. ming does not
 * interpret them; it keeps them and prints them back. The context copies text and data. */
typedef struct ExternalResource {
    const Ident *key;
    enum { EXTERNAL_BOOL, EXTERNAL_STRING, EXTERNAL_BLOB } kind;
    bool truth;
    Str text;
    uint32_t align; /* of a blob */
    size_t size;
    const uint8_t *data;
    const struct ExternalResource *next; /* of the group */
} ExternalResource;
void context_add_external(Context *ctx, const Ident *group, const ExternalResource *entry);
/* Removes a group if it exists, so that it is not printed. */
void context_drop_external(Context *ctx, const Ident *group);
/* Groups in order of appearance, and the first entry of one; NULL if that group was dropped. */
size_t context_external_group_count(const Context *ctx);
const ExternalResource *context_external_group(const Context *ctx, size_t index,
                                               const Ident **name);

/* Text of attributes and locations, without aliases. */
void attr_print(StrBuf *out, const Attr *attr); /* with its type where upstream prints it */
void loc_print(StrBuf *out, const Attr *loc, bool pretty);

/* Whether the body of a dialect's type or attribute is written behind a dot (!ns.body) rather than
 * in angle brackets, as upstream decides. */
bool attr_body_is_dotted(Str body);
/* The same of text that nobody understands, whose last bracket need not close the first. */
bool attr_opaque_is_dotted(Str text);

/* Arrays: the elements of a tensor at run time, with which interpreters and constant folders
 * compute.
 *
 * An element is kept in a native container that depends on its type. An integer of N bits is in the
 * smallest of 8, 16, 32 or 64 bits that holds it, sign-extended (a signless one too) or
 * zero-extended; i1 is 0 or 1 in a byte, index has 64 bits. f64 is a double; f32 and every narrower
 * float is a float whose value belongs to its own format. Elements are in row-major order without
 * gaps. Integers and floats of more than 64 bits, complex numbers and strings have no array. Arrays
 * are counted references, mutable, and belong to no context arena, but their types do.
 * Tests: test/unit/ir/attr/array_test.c */

typedef enum ArrayKind {
    ARRAY_I8,
    ARRAY_U8, /* i1 too */
    ARRAY_I16,
    ARRAY_U16,
    ARRAY_I32,
    ARRAY_U32,
    ARRAY_I64,
    ARRAY_U64,
    ARRAY_F32,
    ARRAY_F64
} ArrayKind;

typedef struct Array {
    const Type *type; /* ranked tensor of static shape; rank 0 for a scalar */
    const Type *elem;
    ArrayKind kind;
    uint32_t refs;
    int64_t count; /* elements */
    void *data;    /* owned */
} Array;

/* Whether elements of that type can be kept; if so, *kind says how. */
bool array_kind_of(const Type *elem, ArrayKind *kind) MUST_CHECK;
size_t array_kind_bytes(ArrayKind kind);
bool array_is_float(const Array *array);

/* A new array of zeros with one reference. `type` is a static tensor type or a scalar's. NULL: such
 * elements have no array. */
Array *array_new(const Type *type) MUST_CHECK;
/* Whether an array of the type has at most ARRAY_MAX_BYTES: what computes shapes asks before it makes
 * results. */
#define ARRAY_MAX_BYTES ((int64_t)1 << 36)
bool array_fits(const Type *type);
/* array_new for a shape that an input may have made arbitrarily large. NULL also: it has more than
 * `most` elements or ARRAY_MAX_BYTES, or there is no memory for it. */
Array *array_try_new(const Type *type, int64_t most) MUST_CHECK;
/* Adds a reference, and drops one; the last drop frees the array. */
Array *array_ref(Array *array);
void array_unref(Array *array); /* NULL is fine */
/* An array that only the caller holds and so may change: the same one if nobody else refers to it,
 * else a copy. Takes over the caller's reference. */
Array *array_own(Array *array) MUST_CHECK;
/* The same elements under another static type with as many elements. Takes over the caller's
 * reference. */
Array *array_reshape(Array *array, const Type *type) MUST_CHECK;

/* One element as a number. The setters wrap an integer to its width and round a float to its
 * format, half to even. */
int64_t array_get_i64(const Array *array, int64_t index);
double array_get_f64(const Array *array, int64_t index);
void array_set_i64(Array *array, int64_t index, int64_t value);
void array_set_f64(Array *array, int64_t index, double value);
/* Copies element `from` of one array to element `to` of another with the same element type. */
void array_copy(Array *to_array, int64_t to, const Array *from_array, int64_t from);
/* The value wrapped to an integer type (or index), as the containers keep it. */
int64_t array_wrap(const Type *elem, int64_t value);
/* The value rounded to a float type of at most 64 bits: to nearest, ties to even, unless the thread
 * rounds otherwise. */
double array_round(const Type *elem, double value);

/* What a type of at most 32 bits does not hold goes to one of its two neighbours: to any, as the next bits
 * of `state` say, or always to that on one side. `inexact` counts such numbers. Results that differ between such runs are
 * decided by roundings. */
typedef enum RoundTo {
    ROUND_TO_ANY,
    ROUND_TO_SMALLER,
    ROUND_TO_LARGER,
    ROUND_TO_ZERO,
    ROUND_FROM_ZERO,
    ROUND_TO_COUNT
} RoundTo;
typedef struct OtherRounding {
    RoundTo to;
    uint64_t state;
    int64_t inexact;
} OtherRounding;
/* From now on, or with NULL no more, in this thread. The numbers are the caller's until then. */
void array_round_otherwise(OtherRounding *rounding);
bool array_rounds_otherwise(void);

/* A new array with the elements of a dense attribute, of a dense resource whose blob has all of them,
 * or of a scalar integer or float attribute. NULL: the attribute is none of these, or its elements
 * have no array. */
Array *array_from_attr(const Attr *attr) MUST_CHECK;
/* The elements as a dense attribute of the array's type; the array stays the caller's. */
const Attr *array_to_attr(const Array *array);

/* Floating-point formats, by their bits and independent of the host's arithmetic and locale.
 *
 * `kind` is one of the float kinds of TypeKind (ir/attr/attr.h). Formats of up to 64 bits are held
 * in one word, f80 and f128 in two with the low word first. The *_words functions take every kind,
 * the others those of up to 64 bits.
 * Tests: test/unit/ir/attr/float_test.c */

/* The value of the bits. It is exact, except that f80 and f128 are rounded half to even. */
double float_from_bits(int kind, uint64_t bits);
double float_from_words(int kind, const uint64_t words[2]);
/* The bits of a value, rounded half to even. Overflow gives the infinity of the format, or its NaN
 * if it has no infinity. */
uint64_t float_to_bits(int kind, double value);
void float_to_words(int kind, double value, uint64_t words[2]);
/* The number whose magnitude follows, or precedes, that of a finite one; of 0 only follows. Behind the
 * largest it is an infinity, or a NaN where there is none. Kinds of up to 64 bits. */
double float_neighbour(int kind, double value, bool away);
/* The largest finite number, of the kinds of up to 64 bits. */
double float_largest(int kind);
/* Whether zero and NaN have a sign bit; where they have not, a zero with that bit is the NaN. */
bool float_has_signed_zero(int kind);
/* Width of the storage in bits: 8, 16, 19, 32, 64, 80 or 128. */
uint32_t float_width(int kind);
/* Replaces bits of f80 whose explicit leading bit contradicts the exponent, and which therefore are
 * no number, by those that upstream keeps: the same with the largest exponent. All other bits stay
 * as they are. */
void float_settle(int kind, uint64_t words[2]);

/* Appends a float of that kind as upstream prints it: with 6 digits after the first if they
 * round-trip, else with as many as always do, else (and for infinities and NaNs) its bits in
 * hexadecimal. */
void float_print(StrBuf *out, int kind, uint64_t bits);
void float_print_words(StrBuf *out, int kind, const uint64_t words[2]);
/* Appends d.dddddde+xx, as messages show a double; an infinity is INF. */
void float_print_scientific(StrBuf *out, double value);
/* Reads [-+]digits[.digits][e[-+]digits], correctly rounded to double (infinity when too large).
 * False: the text is malformed. */
bool float_parse(Str text, double *out) MUST_CHECK;

#endif
