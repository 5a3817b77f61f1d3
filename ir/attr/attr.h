/* Attributes and locations, uniqued in the context and compared with ==.
 * Every builtin attribute of upstream MLIR 19 has its kind here; locations are attributes
 * as they are upstream.
 * Tests: test/unit/attr_test.c, lit/ir/attributes.mir, lit/ir/attributes-invalid.mir */
#ifndef MING_IR_ATTR_H
#define MING_IR_ATTR_H

#include "ir/attr/affine.h"
#include "ir/support/bigint.h"
#include "ir/support/float.h"
#include "ir/attr/type.h"

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
    ATTR_DENSE,          /* DenseIntOrFPElements */
    ATTR_DENSE_STRINGS,  /* DenseStringElements */
    ATTR_DENSE_RESOURCE,
    ATTR_SPARSE,
    ATTR_DENSE_ARRAY,    /* array<i32: 1, 2> */
    ATTR_STRIDED_LAYOUT,
    ATTR_OPAQUE,
    ATTR_DISTINCT,
    ATTR_DIALECT,        /* of a registered dialect's AttrDef */
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
const Attr *attr_float(const Type *type, double value); /* rounds half-even to the type */
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
const Attr *attr_dialect(Context *ctx, const AttrDef *def, const Attr *const *params,
                         size_t count);
/* The same as a typed attribute, printed with " : type". */
const Attr *attr_dialect_typed(Context *ctx, const AttrDef *def, const Type *type,
                               const Attr *const *params, size_t count);

const Attr *loc_unknown(Context *ctx);
const Attr *loc_file(Context *ctx, const Ident *file, uint32_t line, uint32_t col);
const Attr *loc_name(const Ident *name, const Attr *child);
/* Flattens, drops unknowns and duplicates; may return its only location, as upstream does. */
const Attr *loc_fused(Context *ctx, const Attr *const *locs, size_t count, const Attr *metadata);
const Attr *loc_callsite(const Attr *callee, const Attr *caller);
bool attr_is_loc(const Attr *attr);

/* --- reading ------------------------------------------------------------- */

bool attr_is_a(const Attr *attr, const AttrDef *def);
bool attr_is_true(const Attr *attr); /* i1 integer that is 1 */
/* Value of an integer attribute of any type that fits; sign-extended unless ui, so that a true
 * i1 is -1: ask attr_is_true. */
int64_t attr_int_value(const Attr *attr);
double attr_float_value(const Attr *attr);
/* Item of a dictionary, or NULL; what is no dictionary (NULL too) has none. */
const Attr *attr_dict_get(const Attr *dict, const Ident *name);
const Attr *attr_dict_get_c(const Attr *dict, const char *name);
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

void attr_print(StrBuf *out, const Attr *attr);          /* with its type where upstream prints it */
void loc_print(StrBuf *out, const Attr *loc, bool pretty);

/* Bytes of one element of array<...>, and of all. */
size_t dense_array_elem_bytes(const Type *elem);
size_t dense_array_size(const Attr *attr);

/* Elements of a dense attribute or of a resource's blob, wherever they lie. */
typedef struct DenseView {
    const uint8_t *data; /* NULL: a resource without blob */
    size_t size;
    const Type *elem;
    bool is_splat; /* data holds one element */
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

/* Whether the body of a dialect's type or attribute is written behind a dot (!ns.body) rather than in
 * angle brackets, as upstream decides. */
bool attr_body_is_dotted(Str body);

#endif
