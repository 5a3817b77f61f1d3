/* Inside of dialects/sparse_tensor: the parameters of an encoding, level types, and the functions
 * that its three sources call of each other. */
#ifndef MING_DIALECTS_SPARSE_TENSOR_INTERNAL_H
#define MING_DIALECTS_SPARSE_TENSOR_INTERNAL_H

#include "dialects/sparse_tensor/sparse_tensor.h"
#include "ir/asm/parse/parse.h"
#include "ir/attr/attr.h"

/* Parameters of the attribute, in order. Absent ones are unit. */
enum {
    ENC_DIM_TO_LVL, /* affine map */
    ENC_LEVELS,     /* array<i64>: one level type for each result of the map */
    ENC_LVL_TO_DIM, /* affine map as given or inferred */
    ENC_POS_WIDTH,  /* i64; 0: of index */
    ENC_CRD_WIDTH,
    ENC_EXPLICIT_VAL,
    ENC_IMPLICIT_VAL,
    ENC_SLICES, /* array of slices, empty or one for each dimension */
    ENC_PARAM_COUNT
};

/* A level type: its format, properties, and n and m of an n:m structure. */
typedef enum LevelFormat {
    LEVEL_DENSE,
    LEVEL_BATCH,
    LEVEL_COMPRESSED,
    LEVEL_SINGLETON,
    LEVEL_LOOSE_COMPRESSED,
    LEVEL_STRUCTURED,
    LEVEL_FORMAT_COUNT
} LevelFormat;
enum { LEVEL_NONUNIQUE = 1, LEVEL_NONORDERED = 2, LEVEL_SOA = 4, LEVEL_PROP_COUNT = 3 };
typedef struct LevelType {
    LevelFormat format;
    uint32_t props;
    uint8_t n, m;
} LevelType;

extern const char *const encoding_level_format_names[LEVEL_FORMAT_COUNT];
extern const char *const encoding_level_prop_names[LEVEL_PROP_COUNT]; /* by bit */

int64_t encoding_level_pack(LevelType level);
LevelType encoding_level_unpack(int64_t bits);

/* map ::= symbols? level-names? '(' dims ')' '->' '(' levels ')': fills the first three
 * parameters and the slices. */
bool encoding_parse_map(OpParser *p, const Attr **params) MUST_CHECK;
/* The inverse of a permutation or of a blocking; NULL when it cannot be told. */
const AffineMap *encoding_invert(const AffineMap *map);
/* The parameters fit together; else a message at loc. */
bool encoding_verify(const Attr *const *params, const Attr *loc) MUST_CHECK;

#endif
