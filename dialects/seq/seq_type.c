/* Types and attributes of the seq dialect.
 * Tests: lit/dialects/seq/ops.mir, lit/dialects/seq/invalid.mir */
#include "dialects/seq/internal.h"

const Type *seq_clock(Context *ctx)
{
    return type_dialect(ctx, &seq_type_clock, NULL, 0);
}

static const Type *parse_clock(OpParser *p)
{
    return seq_clock(parser_ctx(p));
}

const TypeDef seq_type_clock = {
    .name = "clock", .dialect = &seq_dialect, .summary = "A clock.", .parse = parse_clock};

enum { DEPTH, WIDTH, MASK, FIRMEM_PARAMS };

const Type *seq_firmem(Context *ctx, uint64_t depth, uint32_t width, uint32_t mask)
{
    const Attr *params[FIRMEM_PARAMS] = {attr_i64(ctx, (int64_t)depth), attr_i64(ctx, width),
                                         attr_i64(ctx, mask)};
    return type_dialect(ctx, &seq_type_firmem, params, FIRMEM_PARAMS);
}

static uint64_t firmem_param(const Type *memory, int which)
{
    return (uint64_t)attr_int_value(memory->u.dialect.params[which]);
}

uint64_t seq_firmem_depth(const Type *memory)
{
    return firmem_param(memory, DEPTH);
}

uint32_t seq_firmem_width(const Type *memory)
{
    return (uint32_t)firmem_param(memory, WIDTH);
}

uint32_t seq_firmem_mask(const Type *memory)
{
    return (uint32_t)firmem_param(memory, MASK);
}

uint32_t seq_firmem_address_width(const Type *memory)
{
    uint32_t bits = 1;
    while ((seq_firmem_depth(memory) - 1) >> bits) bits++;
    return bits;
}

static bool verify_firmem_type(Context *ctx, const Attr *loc, const Attr *const *params,
                               size_t count)
{
    int64_t depth = attr_int_value(params[DEPTH]), width = attr_int_value(params[WIDTH]);
    int64_t mask = attr_int_value(params[MASK]);
    (void)count;
    if (depth < 1 || width < 1 || width > BIGINT_MAX_WIDTH)
        return diag_error(ctx, loc, "a memory has one word or more, of 1 to %u bits",
                          BIGINT_MAX_WIDTH);
    return (mask >= 0 && (mask == 0 || width % mask == 0)) ||
           diag_error(ctx, loc, "a mask must divide the word's %lld bits evenly", (long long)width);
}

/* "<" depth "x" width ("," "mask" bits)? ">" */
static const Type *parse_firmem_type(OpParser *p)
{
    int64_t depth, width, mask = 0;
    const Attr *loc = parser_loc(p);
    Context *ctx = parser_ctx(p);
    if (!parser_expect(p, "<") || !parser_int(p, &depth) || !parser_expect(p, "x") ||
        !parser_int(p, &width))
        return NULL;
    if (parser_try(p, ",") && (!parser_expect(p, "mask") || !parser_int(p, &mask))) return NULL;
    if (!parser_expect(p, ">")) return NULL;
    const Attr *params[FIRMEM_PARAMS] = {attr_i64(ctx, depth), attr_i64(ctx, width),
                                         attr_i64(ctx, mask)};
    if (!verify_firmem_type(ctx, loc, params, FIRMEM_PARAMS)) return NULL;
    return type_dialect(ctx, &seq_type_firmem, params, FIRMEM_PARAMS);
}

static void print_firmem_type(StrBuf *out, const Type *type)
{
    strbuf_printf(out, "<%llu x %u", (unsigned long long)seq_firmem_depth(type),
                  seq_firmem_width(type));
    if (seq_firmem_mask(type)) strbuf_printf(out, ", mask %u", seq_firmem_mask(type));
    strbuf_add_char(out, '>');
}

const TypeDef seq_type_firmem = {.name = "firmem",
                                 .dialect = &seq_dialect,
                                 .summary = "A memory: words and bits of a word.",
                                 .parse = parse_firmem_type,
                                 .print = print_firmem_type,
                                 .verify = verify_firmem_type};

const Type *seq_immutable(const Type *inner)
{
    const Attr *param = attr_type(inner);
    return type_dialect(inner->ctx, &seq_type_immutable, &param, 1);
}

const Type *seq_immutable_inner(const Type *type)
{
    return type->u.dialect.params[0]->u.type_value;
}

/* "<" type ">" */
static const Type *parse_immutable(OpParser *p)
{
    const Type *inner = parser_expect(p, "<") ? parser_type(p) : NULL;
    return inner && parser_expect(p, ">") ? seq_immutable(inner) : NULL;
}

static void print_immutable(StrBuf *out, const Type *type)
{
    strbuf_add_char(out, '<');
    type_print(out, seq_immutable_inner(type));
    strbuf_add_char(out, '>');
}

const TypeDef seq_type_immutable = {.name = "immutable",
                                    .dialect = &seq_dialect,
                                    .summary = "A value that does not change.",
                                    .parse = parse_immutable,
                                    .print = print_immutable};

/* "true" | "false" */
static bool parse_bool(OpParser *p, bool *out)
{
    *out = parser_try(p, "true");
    return *out || parser_expect(p, "false");
}

/* "<" file "," is-binary "," is-inline ">" */
static const Attr *parse_init(OpParser *p, const Type *type)
{
    (void)type;
    Context *ctx = parser_ctx(p);
    Str file;
    bool is_binary, is_inline;
    if (!parser_expect(p, "<") || !parser_string(p, &file) || !parser_expect(p, ",") ||
        !parse_bool(p, &is_binary) || !parser_expect(p, ",") || !parse_bool(p, &is_inline) ||
        !parser_expect(p, ">"))
        return NULL;
    const Attr *params[] = {attr_string(ctx, file), attr_bool(ctx, is_binary),
                            attr_bool(ctx, is_inline)};
    return attr_dialect(ctx, &seq_attr_init, params, COUNT_OF(params));
}

static void print_init(StrBuf *out, const Attr *attr)
{
    strbuf_add_char(out, '<');
    for (uint32_t i = 0; i < attr->u.dialect.param_count; i++) {
        if (i) strbuf_add_c(out, ", ");
        attr_print(out, attr->u.dialect.params[i]);
    }
    strbuf_add_char(out, '>');
}

const AttrDef seq_attr_init = {.name = "firmem.init",
                               .dialect = &seq_dialect,
                               .summary = "The file with a memory's contents.",
                               .parse = parse_init,
                               .print = print_init};
