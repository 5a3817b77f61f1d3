/* Types, uniqued in the context and compared with ==.
 * Tests: test/unit/type_test.c, lit/ir/types.mir, lit/ir/types-invalid.mir */
#ifndef MING_IR_TYPE_H
#define MING_IR_TYPE_H

#include "ir/attr/context.h"

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
    TYPE_OPAQUE,  /* of an unregistered dialect: !dialect<"...">, !dialect.rest */
    TYPE_DIALECT  /* of a registered dialect's TypeDef */
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
            const int64_t *dims; /* extents; DIM_DYNAMIC */
            const bool *scalable; /* vectors only: rank flags, or NULL when none is */
            const Attr *extra;   /* tensor encoding, memref layout; or NULL */
            const Attr *space;   /* memref memory space, or NULL */
        } shaped;                /* also unranked (rank 0, dims NULL), complex (elem only) */
        struct {
            uint32_t input_count, result_count;
            const Type *const *types; /* inputs, then results */
        } function;                   /* tuple: input_count elements */
        struct {
            const Ident *dialect;
            Str text;      /* what follows "!dialect": body with its <> or after the dot */
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
const Type *type_vector(const Type *elem, const int64_t *dims, uint32_t rank,
                        const bool *scalable);
const Type *type_tensor(const Type *elem, const int64_t *dims, uint32_t rank,
                        const Attr *encoding);
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
bool type_is_integer(const Type *type);            /* any integer, not index */
bool type_is_int_width(const Type *type, uint32_t width); /* signless of that width */
bool type_is_signless(const Type *type);
bool type_is_shaped(const Type *type);             /* vector, tensor, memref; ranked or not */
bool type_is_ranked(const Type *type);
bool type_is_tensor(const Type *type);             /* ranked or unranked */
bool type_is_memref(const Type *type);
bool type_is_static(const Type *type);             /* ranked, no dynamic extent */
uint32_t type_dynamic_extents(const Type *type);   /* number of them, of a ranked type */
bool type_is_a(const Type *type, const TypeDef *def);
/* Element type of a shaped or complex type; a scalar is its own element. */
const Type *type_elem(const Type *type);
/* Bits of an integer or float type; 64 for index; 0 for others. */
uint32_t type_width(const Type *type);
/* Elements of a static shape; false when dynamic or overflowing. */
bool type_element_count(const Type *type, int64_t *out) MUST_CHECK;

void type_print(StrBuf *out, const Type *type);

#endif
