/* Attributes and locations, uniqued in the context and compared with ==.
 * Every builtin attribute of upstream MLIR 19 has its kind here; locations are attributes
 * as they are upstream.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/attributes.mir,
 * lit/ir/asm/parse/attributes-invalid.mir */
#ifndef MING_IR_ATTR_ATTR_H
#define MING_IR_ATTR_ATTR_H

#include "ir/support/support.h"

/* The context owns everything immutable and uniqued: identifiers, types,
 * attributes, affine expressions and maps, dialects and their op tables; and it
 * carries the diagnostic handler. There are no globals: two contexts may live in
 * two threads. Uniqued objects are compared with == and live as long as the context.
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

/* Uniqued byte string: compare with ==. data is NUL-terminated (and may hold NULs before). */
typedef struct Ident {
    Str str;
    uint64_t hash;
    const OpInfo *op; /* the registered op of this name, or NULL */
} Ident;

Context *context_create(void);
void context_destroy(Context *ctx);

/* What the modules above keep in the context, each its own. Parts are freed with the context, the
 * last of the enum first, since diagnostics that wait may show ops. */
typedef enum ContextPart { CONTEXT_OPS, CONTEXT_DIAGS, CONTEXT_PART_COUNT } ContextPart;
typedef void ContextPartFree(Context *ctx, void *part);
/* NULL until it is set. */
void *context_part(const Context *ctx, ContextPart part);
void context_set_part(Context *ctx, ContextPart which, void *part, ContextPartFree *free);

/* Memory that lives as long as the context. */
Arena *context_arena(Context *ctx);

const Ident *ident_get(Context *ctx, Str str);
const Ident *ident_get_c(Context *ctx, const char *cstr);

/* A number that no call before gave, for distinct[N]. */
uint64_t context_next_distinct(Context *ctx);

/* Affine expressions, maps and integer sets over dimensions and symbols, uniqued in the
 * context and simplified at construction exactly as upstream's are (constants folded and
 * moved right, sums canonicalised, (d0 * 4) floordiv 2 -> d0 * 2, ...), so text agrees.
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

/* Input with deeper expressions is rejected by the parser. */
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
/* Arithmetic with a constant on the right. */
const AffineExpr *affine_add_c(const AffineExpr *lhs, int64_t rhs);
const AffineExpr *affine_mul_c(const AffineExpr *lhs, int64_t rhs);

bool affine_is_const(const AffineExpr *expr);
/* Only constants and symbols (no dims): legal on the right of mod and division. */
bool affine_is_symbolic(const AffineExpr *expr);
/* No product, division or modulus by anything but a constant. */
bool affine_is_pure(const AffineExpr *expr);
bool affine_uses_dim(const AffineExpr *expr, uint32_t position);
bool affine_uses_symbol(const AffineExpr *expr, uint32_t position);
/* Value with dims and symbols bound; false on division by zero or overflow. */
bool affine_eval(const AffineExpr *expr, const int64_t *dims, const int64_t *symbols, int64_t *out)
    MUST_CHECK;
/* Replaces dims and symbols; a NULL array keeps them. */
const AffineExpr *affine_replace(const AffineExpr *expr, const AffineExpr *const *dims,
                                 uint32_t dim_count, const AffineExpr *const *symbols,
                                 uint32_t symbol_count);
/* The same value written as a sum in upstream's order, terms collected; the expression itself
 * where a divisor is not positive or a coefficient overflows. Quadratic in its size. */
const AffineExpr *affine_simplify(const AffineExpr *expr, uint32_t dims, uint32_t symbols);
/* Decomposes a linear expression: coeffs[dim] and *constant; false when it is not linear in
 * the dims alone (mod, division, symbols). coeffs has dim_count entries, overwritten. */
bool affine_linear(const AffineExpr *expr, uint32_t dim_count, int64_t *coeffs, int64_t *constant)
    MUST_CHECK;
/* Smallest and largest value over the box 0 <= d_i < extents[i] (interval arithmetic;
 * exact for linear expressions). A negative extent is unbounded; a bound that is not known
 * or does not fit is INT64_MIN or INT64_MAX. No symbols. */
void affine_bounds(const AffineExpr *expr, const int64_t *extents, int64_t *min, int64_t *max);

const AffineMap *map_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t result_count,
                         const AffineExpr *const *results);
const AffineMap *map_identity(Context *ctx, uint32_t rank);
/* (d0, ...) -> (d_perm[0], d_perm[1], ...) */
const AffineMap *map_permutation(Context *ctx, uint32_t rank, const uint32_t *perm);
const AffineMap *map_constant(Context *ctx, int64_t value);
/* f(g(x)): g's results feed f's dims. */
const AffineMap *map_compose(const AffineMap *f, const AffineMap *g);
bool map_is_identity(const AffineMap *map);
bool map_is_permutation(const AffineMap *map);
/* Whether a result depends on the dim. */
bool map_uses_dim(const AffineMap *map, uint32_t position);
/* Every result is a distinct dim (allow_zero: or the constant 0). */
bool map_is_projected_permutation(const AffineMap *map, bool allow_zero);
/* The results of all maps in one map; dims are shared, symbols follow each other. */
const AffineMap *map_concat(Context *ctx, const AffineMap *const *maps, size_t count);
/* The map with inverse(map(x)) = x that reads every dim from the first result that is
 * exactly this dim; NULL when some dim has none. For maps without symbols. */
const AffineMap *map_inverse_permutation(const AffineMap *map);
const AffineMap *map_simplify(const AffineMap *map); /* affine_simplify of every result */
/* All results at a point; false as affine_eval. */
bool map_eval(const AffineMap *map, const int64_t *dims, const int64_t *symbols, int64_t *out)
    MUST_CHECK;
/* Position of the result that is exactly d_dim, or -1. */
int map_result_of_dim(const AffineMap *map, uint32_t dim);

const IntegerSet *set_get(Context *ctx, uint32_t dims, uint32_t symbols, uint32_t count,
                          const AffineExpr *const *constraints, const bool *is_eq);
bool set_contains(const IntegerSet *set, const int64_t *dims, const int64_t *symbols);

/* Text as upstream prints it: "d0 + d1 * 2", "(d0) -> (d0)", "(d0) : (d0 >= 0)". */
void affine_print(StrBuf *out, const AffineExpr *expr);
void map_print(StrBuf *out, const AffineMap *map);
void set_print(StrBuf *out, const IntegerSet *set);

/* Types, uniqued in the context and compared with ==.
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
    TYPE_OPAQUE, /* of an unregistered dialect: !dialect<"...">, !dialect.rest */
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
/* scalable may be NULL. */
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
/* Element type of a shaped or complex type; a scalar is its own element. */
const Type *type_elem(const Type *type);
/* Bits of an integer or float type; 64 for index; 0 for others. */
uint32_t type_width(const Type *type);
/* Elements of a static shape; false when dynamic or overflowing. */
bool type_element_count(const Type *type, int64_t *out) MUST_CHECK;

void type_print(StrBuf *out, const Type *type);

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
/* Sorts a copy; names must be distinct. */
const Attr *attr_dict(Context *ctx, const NamedAttr *items, size_t count);
const Attr *attr_dict_empty(const Context *ctx);
const Attr *attr_symbol(Context *ctx, const Ident *name);
const Attr *attr_symbol_nested(Context *ctx, const Ident *const *names, size_t count);
const Attr *attr_map(const AffineMap *map);
const Attr *attr_set(const IntegerSet *set);
/* Raw storage as described in the struct; one element for a splat. Equal elements collapse to a
 * splat, as upstream. The context copies data; size must be what the static shape needs. */
const Attr *attr_dense_raw(const Type *type, const void *data, size_t size, bool is_splat);
/* The same for memory from xmalloc, which now belongs to the context: large data is not copied. */
const Attr *attr_dense_adopt(const Type *type, uint8_t *data, size_t size, bool is_splat);
/* From one value per element (row-major); collapses to a splat when all are equal, as upstream. */
const Attr *attr_dense_i64(const Type *type, const int64_t *values, size_t count);
const Attr *attr_dense_f64(const Type *type, const double *values, size_t count);
const Attr *attr_dense_splat(const Type *type, const Attr *value);
/* Equal strings collapse too. */
const Attr *attr_dense_strings(const Type *type, const Str *items, size_t count, bool is_splat);
const Attr *attr_dense_resource(const Type *type, const Ident *key);
const Attr *attr_sparse(const Type *type, const Attr *indices, const Attr *values);
const Attr *attr_dense_array(const Type *elem, const void *data, size_t count);
const Attr *attr_i64_array(Context *ctx, const int64_t *values, size_t count); /* array<i64: …> */
const Attr *attr_strided_layout(Context *ctx, int64_t offset, const int64_t *strides,
                                uint32_t rank);
const Attr *attr_opaque(Context *ctx, const Ident *dialect, Str text, bool is_dotted,
                        const Type *type);
/* Distinct attributes are equal only to those of their own id. */
const Attr *attr_distinct(Context *ctx, uint64_t id, const Attr *inner);
uint64_t context_new_distinct(Context *ctx); /* an id not yet used */
const Attr *attr_dialect(Context *ctx, const AttrDef *def, const Attr *const *params, size_t count);
/* The same as a typed attribute, printed with " : type". */
const Attr *attr_dialect_typed(Context *ctx, const AttrDef *def, const Type *type,
                               const Attr *const *params, size_t count);

const Attr *loc_unknown(Context *ctx);
const Attr *loc_file(Context *ctx, const Ident *file, uint32_t line, uint32_t col);
const Attr *loc_name(const Ident *name, const Attr *child);
/* Flattens, drops unknowns and duplicates; may return its only location, as upstream does. */
const Attr *loc_fused(Context *ctx, const Attr *const *locs, size_t count, const Attr *metadata);
const Attr *loc_callsite(const Attr *callee, const Attr *caller);
/* The first place in a file inside a location, the callee of a call before its caller; NULL: there
 * is none. */
const Attr *loc_find_file(const Attr *loc);
bool attr_is_loc(const Attr *attr);

/* Reading. */

bool attr_is_a(const Attr *attr, const AttrDef *def);
bool attr_is_true(const Attr *attr); /* i1 integer that is 1 */
/* Value of an integer attribute of any type that fits; sign-extended unless ui, so that a true
 * i1 is -1: ask attr_is_true. */
int64_t attr_int_value(const Attr *attr);
double attr_float_value(const Attr *attr);
/* Item of a dictionary, or NULL; what is no dictionary (NULL too) has none. */
const Attr *attr_dict_get(const Attr *dict, const Ident *name);
const Attr *attr_dict_get_c(const Attr *dict, const char *name);
/* Value of an item that is an integer of at most 64 bits; else the fallback. */
int64_t attr_dict_int(const Attr *dict, const char *name, int64_t fallback);
/* The dictionary with that item set, or removed when value is NULL. */
const Attr *attr_dict_set(const Attr *dict, const Ident *name, const Attr *value);

/* Dense elements: number of elements of the type, and one element as a number.
 * attr must be ATTR_DENSE (or a dense resource whose blob is present) with a static shape. */
int64_t dense_count(const Attr *attr);
/* Integer or index elements up to 64 bits, extended as by attr_int_value. */
int64_t dense_i64(const Attr *attr, int64_t index);
double dense_f64(const Attr *attr, int64_t index); /* float elements */
/* As an integer or float attribute; complex as the array [re, im], a string as a string. */
const Attr *dense_elem(const Attr *attr, int64_t index);
/* Bytes of storage per element; 0 for i1 (packed). */
uint32_t dense_elem_bytes(const Type *elem);
int64_t dense_array_i64(const Attr *attr, size_t index);
/* Reads an integer list from array<i64>, array<i32>, a dense elements attribute or an array of
 * integers; out has room for max entries. False when it is none of these or too long. */
bool attr_int_list(const Attr *attr, int64_t *out, size_t max, size_t *count) MUST_CHECK;

/* Blobs of dense_resource: contents of the {-# #-} section. The context copies data. */
typedef struct ResourceBlob {
    const Ident *dialect, *key;
    uint32_t align;
    size_t size;
    const uint8_t *data; /* NULL: declared, not given */
} ResourceBlob;
void context_add_resource(Context *ctx, const ResourceBlob *blob);
/* The same for data inside `memory` from xmalloc, which now belongs to the context. */
void context_adopt_resource(Context *ctx, const ResourceBlob *blob, void *memory);
/* NULL: never added. The address stays the same when a blob is added again with contents. */
const ResourceBlob *context_resource(const Context *ctx, const Ident *dialect, const Ident *key);
size_t context_resource_count(const Context *ctx);
const ResourceBlob *context_resource_at(const Context *ctx, size_t index); /* as first added */

/* Entries of the external_resources section: nobody here reads them, they are kept and printed
 * back. The context copies text and data. */
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
/* Forgets a group, if it is there. */
void context_drop_external(Context *ctx, const Ident *group);
/* Groups in order of appearance; the first entry of one, NULL if it was
 * dropped. */
size_t context_external_group_count(const Context *ctx);
const ExternalResource *context_external_group(const Context *ctx, size_t index,
                                               const Ident **name);

void attr_print(StrBuf *out, const Attr *attr); /* with its type where upstream prints it */
void loc_print(StrBuf *out, const Attr *loc, bool pretty);

/* Bytes of one element of array<...>, and of all. */
size_t dense_array_elem_bytes(const Type *elem);
size_t dense_array_size(const Attr *attr);

/* Elements of a dense attribute or of a resource's blob, wherever they lie. */
typedef struct DenseView {
    const uint8_t *data; /* NULL: a resource without blob */
    size_t size;
    const Type *elem;
    bool is_splat;  /* data holds one element */
    bool is_packed; /* i1, eight per byte */
} DenseView;
DenseView dense_view(const Attr *attr);
/* The bytes of one element that is not packed. */
const uint8_t *dense_view_at(const DenseView *view, int64_t index);
bool dense_view_bit(const DenseView *view, int64_t index);
/* One integer of `width` bits from its storage; words (little endian) has room for it. */
BigInt dense_load_int(uint32_t width, const uint8_t *data, uint64_t *words);
/* Bits of one float. */
void dense_load_float(const Type *elem, const uint8_t *data, uint64_t words[2]);

/* Whether the body of a dialect's type or attribute is written behind a dot (!ns.body) rather than
 * in angle brackets, as upstream decides. */
bool attr_body_is_dotted(Str body);

/* Elements of a tensor at run time: what an interpreter or a constant folder computes with.
 *
 * An element is kept in a native container whatever its type: an integer of N bits in the smallest
 * of 8, 16, 32 or 64 bits that holds it, extended to it by its sign (a signless one too; i1 is 0 or
 * 1 in a byte); index in 64; f64 as double; f32 and every narrower float as float, always a value
 * of its own format. Row-major, without gaps. Integers and floats of more than 64 bits, complex
 * numbers and strings have no array.
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

/* Whether elements of that type can be kept; *kind then says how. */
bool array_kind_of(const Type *elem, ArrayKind *kind) MUST_CHECK;
size_t array_kind_bytes(ArrayKind kind);
bool array_is_float(const Array *array);

/* A new array of zeros with one reference. type is a static tensor type or a scalar's; NULL if
 * there is no such array. */
Array *array_new(const Type *type) MUST_CHECK;
Array *array_ref(Array *array);
void array_unref(Array *array); /* NULL is fine */
/* An array that only the caller holds: the same one if it is, else a copy; takes the reference. */
Array *array_own(Array *array) MUST_CHECK;
/* The same elements under another static shape of as many elements; takes the reference. */
Array *array_reshape(Array *array, const Type *type) MUST_CHECK;

/* One element as a number. Setting wraps an integer to its width and rounds a float to its
 * format, half to even. */
int64_t array_get_i64(const Array *array, int64_t index);
double array_get_f64(const Array *array, int64_t index);
void array_set_i64(Array *array, int64_t index, int64_t value);
void array_set_f64(Array *array, int64_t index, double value);
/* Copies element `from` of one array to `to` of another of the same element type. */
void array_copy(Array *to_array, int64_t to, const Array *from_array, int64_t from);
/* value wrapped to an integer type (index too), as the containers keep it. */
int64_t array_wrap(const Type *elem, int64_t value);
/* value rounded to a float type of at most 64 bits. */
double array_round(const Type *elem, double value);

/* From dense elements, a present dense resource, or a scalar integer or float attribute; NULL if
 * there is no such array. */
Array *array_from_attr(const Attr *attr) MUST_CHECK;
/* The elements as a dense attribute of the array's type. */
const Attr *array_to_attr(const Array *array);

#endif
