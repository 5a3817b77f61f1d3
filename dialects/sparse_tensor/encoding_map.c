/* Parsing of an encoding's map from dimensions to levels:
 *   map ::= ('[' symbols? ']')? ('{' levels? '}')? '(' dims? ')' '->' '(' specs? ')'
 *   dim ::= name ('=' affine-expr)? (':' slice)?
 *   spec ::= (level '=')? affine-expr ':' level-type
 * Levels are named either in front and in every spec, or not at all.
 * Tests: lit/dialects/sparse_tensor */
#include "dialects/sparse_tensor/internal.h"
#include "dialects/sparse_tensor/sparse_tensor.h"

typedef enum VarKind { VAR_SYMBOL, VAR_LEVEL, VAR_DIM, VAR_KIND_COUNT } VarKind;

typedef struct Var {
    Str name;
    VarKind kind;
    uint32_t number;
} Var;

typedef struct MapReader {
    VEC(Var) vars;
    uint32_t counts[VAR_KIND_COUNT]; /* of named ones */
    VEC(AffineVar) dims, levels;     /* what expressions of levels and of dims may name */
    VEC(const AffineExpr *) level_exprs, dim_exprs;
    VEC(int64_t) types;
    VEC(const Attr *) slices; /* one for each dim, NULL where there is none */
    bool has_slices;
} MapReader;

typedef bool ReadItem(OpParser *p, MapReader *reader);

static bool read_items(OpParser *p, MapReader *reader, const char *close, const char *context,
                       ReadItem *item)
{
    if (parser_try(p, close)) return true;
    do {
        if (!item(p, reader)) return false;
    } while (parser_try(p, ","));
    return parser_expect_in(p, close, context);
}

static const Var *find_var(const MapReader *reader, Str name)
{
    for (size_t i = 0; i < reader->vars.len; i++)
        if (str_eq(reader->vars.data[i].name, name)) return &reader->vars.data[i];
    return NULL;
}

static bool read_new_var(OpParser *p, MapReader *reader, VarKind kind)
{
    SrcPos at = parser_pos(p);
    Str name;
    if (!parser_try_keyword(p, &name)) return parser_error_at(p, at, "expected bare identifier");
    if (find_var(reader, name))
        return parser_error_at(p, at, "redefinition of identifier '%.*s'", STR_ARG(name));
    uint32_t number = reader->counts[kind]++;
    *vec_push(&reader->vars) = (Var){name, kind, number};
    Context *ctx = parser_ctx(p);
    AffineVar var = {name,
                     kind == VAR_SYMBOL ? affine_symbol(ctx, number) : affine_dim(ctx, number)};
    if (kind != VAR_LEVEL) *vec_push(&reader->dims) = var;
    if (kind != VAR_DIM) *vec_push(&reader->levels) = var;
    return true;
}

static bool read_symbol(OpParser *p, MapReader *reader)
{
    return read_new_var(p, reader, VAR_SYMBOL);
}

static bool read_level_name(OpParser *p, MapReader *reader)
{
    return read_new_var(p, reader, VAR_LEVEL);
}

static bool read_slice(OpParser *p, const Attr **slice)
{
    SrcPos at = parser_pos(p);
    *slice = parser_attr(p, NULL);
    if (!*slice) return false;
    return attr_is_a(*slice, &sparse_tensor_slice) ||
           parser_error_at(p, at, "expected SparseTensorDimSliceAttr");
}

static bool read_dim(OpParser *p, MapReader *reader)
{
    if (!read_new_var(p, reader, VAR_DIM)) return false;
    if (parser_try(p, "=")) {
        const AffineExpr *expr = parser_affine_expr(p, reader->levels.data, reader->levels.len);
        if (!expr) return false;
        *vec_push(&reader->dim_exprs) = expr;
    }
    const Attr *slice = NULL;
    if (parser_try(p, ":") && !read_slice(p, &slice)) return false;
    reader->has_slices |= slice != NULL;
    *vec_push(&reader->slices) = slice;
    return true;
}

static const char *ordinal_suffix(uint32_t number)
{
    return number == 1 ? "st" : number == 2 ? "nd" : "th";
}

/* level '=', where levels have names */
static bool read_bound_level(OpParser *p, MapReader *reader)
{
    if (reader->counts[VAR_LEVEL] == 0) return true;
    SrcPos at = parser_pos(p);
    Str name;
    if (!parser_try_keyword(p, &name)) return parser_error_at(p, at, "expected bare identifier");
    const Var *var = find_var(reader, name);
    if (!var || var->kind != VAR_LEVEL)
        return parser_error_at(p, at, "use of undeclared identifier '%.*s'", STR_ARG(name));
    uint32_t spec = (uint32_t)reader->types.len;
    if (var->number != spec)
        return parser_error_at(p, at,
                               "Level-variable ordering mismatch. The variable '%.*s' was "
                               "forward-declared as the %u%s level; but is bound by the %u%s "
                               "specification.",
                               STR_ARG(name), var->number, ordinal_suffix(var->number), spec,
                               ordinal_suffix(spec));
    return parser_expect(p, "=");
}

static bool read_structured_size(OpParser *p, int64_t *out)
{
    SrcPos at = parser_pos(p);
    bool present;
    if (!parser_try_int(p, out, &present))
        return parser_error_at(p, at, "failed to parse structured size");
    if (!present) return parser_error_at(p, at, "expected valid integer for structured size");
    return *out >= 0 || parser_error_at(p, at, "expected structured size to be >= 0");
}

/* ('[' n ',' m ']')? */
static bool read_structured(OpParser *p, SrcPos at, LevelType *level)
{
    int64_t size, sizes[2];
    uint32_t count = 0;
    if (parser_try(p, "[") && !parser_try(p, "]")) {
        do {
            if (!read_structured_size(p, &size)) return false;
            if (count < COUNT_OF(sizes)) sizes[count] = size;
            count++;
        } while (parser_try(p, ","));
        if (!parser_expect_in(p, "]", " in structured n out of m")) return false;
    }
    if (count != COUNT_OF(sizes))
        return parser_error_at(p, at, "expected exactly 2 structured sizes");
    if (sizes[0] > sizes[1]) return parser_error_at(p, at, "expected n <= m in n_out_of_m");
    if (sizes[1] > UINT8_MAX)
        return parser_error_at(p, at, "expected structured size to be <= 255");
    level->n = (uint8_t)sizes[0];
    level->m = (uint8_t)sizes[1];
    return true;
}

static bool read_property(OpParser *p, LevelType *level)
{
    SrcPos at = parser_pos(p);
    Str name;
    if (!parser_try_keyword(p, &name))
        return parser_error_at(p, at,
                               "expected valid level property (e.g. nonordered, nonunique "
                               "or high)");
    for (uint32_t i = 0; i < LEVEL_PROP_COUNT; i++) {
        if (!str_eq_c(name, encoding_level_prop_names[i])) continue;
        level->props |= 1u << i;
        return true;
    }
    return parser_error_at(p, at, "unknown level property: %.*s", STR_ARG(name));
}

/* ('(' (property (',' property)*)? ')')? */
static bool read_properties(OpParser *p, LevelType *level)
{
    if (!parser_try(p, "(") || parser_try(p, ")")) return true;
    do {
        if (!read_property(p, level)) return false;
    } while (parser_try(p, ","));
    return parser_expect_in(p, ")", " in level property list");
}

static bool has_properties(LevelFormat format)
{
    return format == LEVEL_COMPRESSED || format == LEVEL_SINGLETON ||
           format == LEVEL_LOOSE_COMPRESSED;
}

/* level-type ::= format structured? properties? */
static bool read_level_type(OpParser *p, LevelType *level)
{
    SrcPos at = parser_pos(p);
    Str name;
    *level = (LevelType){LEVEL_FORMAT_COUNT, 0, 0, 0};
    if (!parser_try_keyword(p, &name))
        return parser_error_at(p, at,
                               "expected valid level format (e.g. dense, compressed or "
                               "singleton)");
    for (int i = 0; i < LEVEL_FORMAT_COUNT; i++)
        if (str_eq_c(name, encoding_level_format_names[i])) level->format = (LevelFormat)i;
    if (level->format == LEVEL_STRUCTURED && !read_structured(p, at, level)) return false;
    if (!read_properties(p, level)) return false;
    if (level->format == LEVEL_FORMAT_COUNT)
        return parser_error_at(p, at, "unknown level format: %.*s", STR_ARG(name));
    return level->props == 0 || has_properties(level->format) ||
           parser_error_at(p, at,
                           "invalid level type: level format doesn't support the "
                           "properties");
}

static bool read_level(OpParser *p, MapReader *reader)
{
    if (!read_bound_level(p, reader)) return false;
    const AffineExpr *expr = parser_affine_expr(p, reader->dims.data, reader->dims.len);
    LevelType level;
    if (!expr || !parser_expect(p, ":") || !read_level_type(p, &level)) return false;
    *vec_push(&reader->level_exprs) = expr;
    *vec_push(&reader->types) = encoding_level_pack(level);
    return true;
}

static bool read_levels(OpParser *p, MapReader *reader)
{
    SrcPos at = parser_pos(p);
    uint32_t declared = reader->counts[VAR_LEVEL];
    if (!parser_expect_in(p, "(", " in level-specifier list") ||
        !read_items(p, reader, ")", " in level-specifier list", read_level))
        return false;
    if (declared == 0 || declared == reader->types.len) return true;
    return parser_error_at(p, at,
                           "Level-rank mismatch between forward-declarations and specifiers. "
                           "Declared %u level-variables; but got %zu level-specifiers.",
                           declared, reader->types.len);
}

/* The slices, the whole dimension where there is none; empty when there are none at all. */
static const Attr *complete_slices(Context *ctx, MapReader *reader)
{
    const int64_t all[] = {0, DIM_DYNAMIC, 1};
    const Attr *param = attr_i64_array(ctx, all, COUNT_OF(all));
    const Attr *whole = attr_dialect(ctx, &sparse_tensor_slice, &param, 1);
    for (size_t i = 0; i < reader->slices.len; i++)
        if (!reader->slices.data[i]) reader->slices.data[i] = whole;
    return attr_array(ctx, reader->slices.data, reader->has_slices ? reader->slices.len : 0);
}

static void fill_params(Context *ctx, MapReader *reader, const Attr **params)
{
    uint32_t symbols = reader->counts[VAR_SYMBOL], levels = (uint32_t)reader->types.len;
    const AffineMap *map =
        map_get(ctx, reader->counts[VAR_DIM], symbols, levels, reader->level_exprs.data);
    const AffineMap *inverse =
        reader->dim_exprs.len
            ? map_get(ctx, levels, symbols, (uint32_t)reader->dim_exprs.len, reader->dim_exprs.data)
            : encoding_invert(map);
    params[ENC_DIM_TO_LVL] = attr_map(map);
    params[ENC_LVL_TO_DIM] = inverse ? attr_map(inverse) : attr_unit(ctx);
    params[ENC_LEVELS] = attr_i64_array(ctx, reader->types.data, levels);
    params[ENC_SLICES] = complete_slices(ctx, reader);
}

static bool read_map(OpParser *p, MapReader *reader)
{
    if (parser_try(p, "[") && !read_items(p, reader, "]", " in symbol binding list", read_symbol))
        return false;
    if (parser_try(p, "{") &&
        !read_items(p, reader, "}", " in level declaration list", read_level_name))
        return false;
    return parser_expect_in(p, "(", " in dimension-specifier list") &&
           read_items(p, reader, ")", " in dimension-specifier list", read_dim) &&
           parser_expect(p, "->") && read_levels(p, reader);
}

bool encoding_parse_map(OpParser *p, const Attr **params)
{
    MapReader reader = {0};
    bool ok = read_map(p, &reader);
    if (ok) fill_params(parser_ctx(p), &reader, params);
    vec_free(&reader.vars);
    vec_free(&reader.dims);
    vec_free(&reader.levels);
    vec_free(&reader.level_exprs);
    vec_free(&reader.dim_exprs);
    vec_free(&reader.types);
    vec_free(&reader.slices);
    return ok;
}
