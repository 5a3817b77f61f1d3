/* The emithls dialect: types, verifiers and rows. Text that declarative formats cannot express is
 * in emithls_syntax.c, building of bodies in emithls_build.c.
 * Tests: lit/dialects/emithls */
#include <assert.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/emithls/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/verify/verify.h"

enum { MAX_LOOPS = 16 };

static bool is_stream(const Type *type)
{
    return type_is_a(type, &emithls_type_stream);
}

static bool is_array(const Type *type)
{
    return type_is_a(type, &emithls_type_array);
}

static const TypeConstraint IS_STREAM = {is_stream, "stream", .parses = is_stream};
static const TypeConstraint IS_ARRAY = {is_array, "array", .parses = is_array};

static bool is_bits(const Type *type)
{
    return type->kind == TYPE_VECTOR && type->u.shaped.rank == 1 &&
           type_is_int_width(type_elem(type), 1);
}

static const TypeConstraint IS_BITS = {is_bits, "one-dimensional vector of i1", .parses = is_bits};

static const TypeConstraint IS_COUNT = {type_is_signless, "signless integer"};

static bool is_port(const Type *type)
{
    return is_stream(type) || is_array(type);
}

static const TypeConstraint IS_PORT = {is_port, "stream or array", .parses = is_port};

/* Whether a number is signed is what a port's attributes say. */
static bool is_scalar(const Type *type)
{
    return type_is_signless(type) || type_is_float(type);
}

/* Bits and words that are counted of streams and arrays stay in an int64_t. */
enum { MOST_LANES = 1 << 24, MOST_DIMS = 64 };
#define MOST_ELEMENTS (INT64_C(1) << 48)

static bool is_word(const Type *type)
{
    if (type->kind == TYPE_VECTOR)
        return type->u.shaped.rank == 1 && is_scalar(type_elem(type)) &&
               type->u.shaped.dims[0] <= MOST_LANES;
    return is_scalar(type);
}

const Type *emithls_stream(const Type *word)
{
    const Attr *param = attr_type(word);
    return type_dialect(word->ctx, &emithls_type_stream, &param, 1);
}

const Type *emithls_stream_word(const Type *stream)
{
    assert(is_stream(stream));
    return stream->u.dialect.params[0]->u.type_value;
}

const Type *emithls_array(const Type *elem, const int64_t *dims, uint32_t rank)
{
    const Attr *params[2] = {attr_type(elem), attr_i64_array(elem->ctx, dims, rank)};
    return type_dialect(elem->ctx, &emithls_type_array, params, 2);
}

const Type *emithls_array_elem(const Type *array)
{
    assert(is_array(array));
    return array->u.dialect.params[0]->u.type_value;
}

uint32_t emithls_array_rank(const Type *array)
{
    return (uint32_t)array->u.dialect.params[1]->u.dense_array.count;
}

int64_t emithls_array_dim(const Type *array, uint32_t index)
{
    return dense_array_i64(array->u.dialect.params[1], index);
}

int64_t emithls_lanes(const Type *word)
{
    return word->kind == TYPE_VECTOR ? word->u.shaped.dims[0] : 1;
}

const Type *emithls_scalar(const Type *word)
{
    return type_elem(word);
}

static int64_t power_of_two(int64_t at_least)
{
    int64_t power = 8;
    while (power < at_least) power *= 2;
    return power;
}

int64_t emithls_stride_bits(const Type *scalar, int64_t lanes)
{
    int64_t width = type_width(scalar);
    if (lanes == 1) return (width + 7) / 8 * 8;
    return width > 1 ? power_of_two(width) : 1;
}

int64_t emithls_beat_bits(const Type *scalar, int64_t lanes)
{
    return power_of_two(lanes * emithls_stride_bits(scalar, lanes));
}

static bool verify_stream_type(Context *ctx, const Attr *loc, const Attr *const *params,
                               size_t count)
{
    (void)count;
    const Type *word = params[0]->u.type_value;
    return is_word(word) || diag_error(ctx, loc,
                                       "a stream carries a scalar or a one-dimensional "
                                       "vector of at most 2^24 scalars, but got '%s'",
                                       type_str(ctx, word));
}

static bool verify_array_type(Context *ctx, const Attr *loc, const Attr *const *params,
                              size_t count)
{
    (void)count;
    const Type *elem = params[0]->u.type_value;
    if (!is_word(elem))
        return diag_error(
            ctx, loc,
            "an array holds scalars or one-dimensional vectors of at most 2^24, but got '%s'",
            type_str(ctx, elem));
    if (params[1]->u.dense_array.count > MOST_DIMS)
        return diag_error(ctx, loc, "an array has at most %d dimensions", MOST_DIMS);
    int64_t elements = emithls_lanes(elem);
    for (size_t i = 0; i < params[1]->u.dense_array.count; i++) {
        if (dense_array_i64(params[1], i) < 1)
            return diag_error(ctx, loc, "an array's extents must be positive");
        if (!i64_mul(elements, dense_array_i64(params[1], i), &elements) ||
            elements > MOST_ELEMENTS)
            return diag_error(ctx, loc, "an array has at most 2^48 elements");
    }
    return true;
}

const TypeDef emithls_type_stream = {.name = "stream",
                                     .dialect = &emithls_dialect,
                                     .summary = "hls::stream of words",
                                     .parse = emithls_parse_stream,
                                     .print = emithls_print_stream,
                                     .verify = verify_stream_type};
const TypeDef emithls_type_array = {.name = "array",
                                    .dialect = &emithls_dialect,
                                    .summary = "C array or variable",
                                    .parse = emithls_parse_array,
                                    .print = emithls_print_array,
                                    .verify = verify_array_type};

Op *emithls_top(const Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == EMITHLS(FUNC) && op_attr(op, "top")) return op;
    return NULL;
}

/* Beats hold at least a word of the stream. */
static bool verify_beat(const Op *op, uint32_t index)
{
    const Attr *ports = op_attr(op, "port_attrs");
    const Attr *port = ports ? ports->u.array.items[index] : NULL;
    const Attr *beat =
        port && port->kind == ATTR_DICT ? attr_dict_get_c(port, EMITHLS_ATTR_BEAT) : NULL;
    const Type *type = region_entry(op_region(op, 0))->args[index]->type;
    if (!beat) return true;
    const Type *word = is_stream(type) ? emithls_stream_word(type) : NULL;
    int64_t bits = beat->kind == ATTR_INTEGER ? attr_int_value(beat) : 0;
    return (word && bits % 8 == 0 &&
            bits >= emithls_beat_bits(emithls_scalar(word), emithls_lanes(word))) ||
           op_error(op, "argument %u has " EMITHLS_ATTR_BEAT " that do not hold a word", index);
}

static bool verify_func(Op *op)
{
    const Type *type = op_attr(op, "function_type")->u.type_value;
    const Attr *names = op_attr(op, "arg_names"), *ports = op_attr(op, "port_attrs");
    Block *body = region_entry(op_region(op, 0));
    uint32_t count = type->u.function.input_count;
    if (type->u.function.result_count != 0) return op_error(op, "must not have results");
    if (!body || body->arg_count != count || names->u.array.count != count)
        return op_error(op, "needs one argument and one name per input of its type");
    if (ports && ports->u.array.count != count)
        return op_error(op, "needs one port attribute dictionary per argument");
    for (uint32_t i = 0; i < count; i++) {
        if (body->args[i]->type != type->u.function.types[i] || !is_port(body->args[i]->type))
            return op_error(op, "argument %u must be the stream or array that its type says", i);
        if (is_array(body->args[i]->type) && emithls_array_rank(body->args[i]->type) != 1)
            return op_error(op, "argument %u must be an array of rank 1", i);
        if (names->u.array.items[i]->kind != ATTR_STRING)
            return op_error(op, "arg_names must be strings");
        if (!verify_beat(op, i)) return false;
    }
    return !ports || verify_arg_dicts(op, ports);
}

bool emithls_verify_callee(Op *op, SymbolTables *tables)
{
    const Attr *callee = op_attr(op, "callee");
    Op *func = symtabs_lookup(tables, op, callee);
    if (!func || func->def != EMITHLS(FUNC))
        return op_error(op, "'%.*s' does not reference an emithls.func",
                        STR_ARG(callee->u.symbol.names[0]->str));
    const Type *type = op_attr(func, "function_type")->u.type_value;
    if (type->u.function.input_count != op->operand_count)
        return op_error(op, "has %u arguments, but the function takes %u", op->operand_count,
                        type->u.function.input_count);
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (op_operand(op, i)->type != type->u.function.types[i])
            return op_error(op, "argument %u has type '%s', but the function takes '%s'", i,
                            type_str(op->ctx, op_operand(op, i)->type),
                            type_str(op->ctx, type->u.function.types[i]));
    return true;
}

static bool verify_call(Op *op)
{
    const Op *parent = block_parent_op(op->block);
    return (parent && parent->def == EMITHLS(FUNC)) ||
           op_error(op, "must stand in the body of an emithls.func: a call starts a process");
}

static bool verify_called(Op *op, SymbolTables *tables)
{
    if (!emithls_verify_callee(op, tables)) return false;
    const Op *func = symtabs_lookup(tables, op, op_attr(op, "callee"));
    FOR_EACH_OP(inner, region_entry(op_region(func, 0)))
        if (inner->def == EMITHLS(CALL))
            return op_error(op, "calls a function that calls others; processes call none");
    return true;
}

static const char *string_item(const Attr *names, uint32_t index)
{
    return names && index < names->u.array.count ? names->u.array.items[index]->u.string.data
                                                 : NULL;
}

static const char *name_func_arg(const Op *op, const Value *arg, StrBuf *scratch)
{
    (void)scratch;
    return string_item(op_attr(op, "arg_names"), arg->index);
}

static const char *name_counter(const Op *op, const Value *arg, StrBuf *scratch)
{
    (void)scratch;
    return string_item(op_attr(op, "counters"), arg->index);
}

static const char *name_by_attr(const Op *op, uint32_t index, StrBuf *scratch)
{
    (void)index, (void)scratch;
    const Attr *name = op_attr(op, "name");
    return name && name->kind == ATTR_STRING ? name->u.string.data : NULL;
}

static bool verify_table(Op *op)
{
    const Attr *value = op_attr(op, "value");
    if (value->type->kind != TYPE_RANKED_TENSOR || !is_scalar(type_elem(value->type)))
        return op_error(op, "value must be a ranked tensor of scalars");
    return emithls_loaded_is_valid(op) ||
           op_error(op,
                    "loaded tables are of integers of at most 64 bits; chain and per_word are of "
                    "loaded tables, of which words of at most 512 bits hold that many");
}

static bool verify_get(Op *op, SymbolTables *tables)
{
    const Attr *ref = op_attr(op, "table");
    Op *table = symtabs_lookup(tables, op, ref);
    if (!table || table->def != EMITHLS(TABLE))
        return op_error(op, "'%.*s' does not reference an emithls.table",
                        STR_ARG(ref->u.symbol.names[0]->str));
    const Type *tensor = op_attr(table, "value")->type, *elem = type_elem(tensor);
    const int64_t *dims = tensor->u.shaped.dims;
    uint32_t rank = tensor->u.shaped.rank;
    const Type *want = emithls_array(elem, dims, rank), *got = op_result(op, 0)->type;
    bool is_of_words = rank > 0 && got == emithls_array(type_vector(elem, &dims[rank - 1], 1, NULL),
                                                        dims, rank - 1);
    return got == want || is_of_words ||
           op_error(op, "result type must be '%s'", type_str(op->ctx, want));
}

static bool verify_array_dim(Op *op)
{
    int64_t dim = attr_int_value(op_attr(op, "dim"));
    uint32_t rank = emithls_array_rank(op_operand(op, 0)->type);
    return (dim >= 1 && dim <= rank) ||
           op_error(op, "dim must be between 1 and the rank %u, but got %lld", rank,
                    (long long)dim);
}

static bool is_one_of(Str text, const char *const *words)
{
    while (*words && !str_eq_c(text, *words)) words++;
    return *words != NULL;
}

int64_t emithls_latency(const Op *stream)
{
    const Attr *latency = op_attr(stream, EMITHLS_ATTR_LATENCY);
    return latency ? attr_int_value(latency) : 1;
}

static bool verify_stream(Op *op)
{
    static const char *const impls[] = {"srl", "lutram", "bram", "uram", NULL};
    int64_t depth = attr_int_value(op_attr(op, "depth"));
    const Attr *impl = op_attr(op, "impl");
    int64_t latency = emithls_latency(op);
    if (latency < 1 || latency > EMITHLS_MAX_LATENCY)
        return op_error(op, "latency must be from 1 to %d, but got %lld", EMITHLS_MAX_LATENCY,
                        (long long)latency);
    if (depth < 1) return op_error(op, "depth must be at least 1, but got %lld", (long long)depth);
    if (depth > DFG_MAX_DEPTH)
        return op_error(op, "depth must be at most %d, but got %lld", DFG_MAX_DEPTH,
                        (long long)depth);
    return !impl || is_one_of(impl->u.string, impls) ||
           op_error(op, "unknown FIFO implementation '%.*s'", STR_ARG(impl->u.string));
}

static bool verify_bind_storage(Op *op)
{
    static const char *const types[] = {"rom_1p", "rom_2p",  "rom_np",  "ram_1p",
                                        "ram_2p", "ram_s2p", "ram_t2p", NULL};
    static const char *const impls[] = {"bram", "uram", "lutram", "stream", "auto", NULL};
    Str type = op_attr(op, "type")->u.string, impl = op_attr(op, "impl")->u.string;
    if (!is_one_of(type, types)) return op_error(op, "unknown storage type '%.*s'", STR_ARG(type));
    return is_one_of(impl, impls) ||
           op_error(op, "unknown storage implementation '%.*s'", STR_ARG(impl));
}

static bool verify_dependence(Op *op)
{
    int64_t distance = attr_int_value(op_attr(op, EMITHLS_ATTR_DISTANCE));
    return distance >= 1 ||
           op_error(op, "distance must be at least 1, but got %lld", (long long)distance);
}

static bool verify_interface(Op *op)
{
    Str mode = op_attr(op, "mode")->u.string;
    const Attr *depth = op_attr(op, "depth");
    const bool is_memory = !is_stream(op_operand(op, 0)->type);
    if (!str_eq_c(mode, is_memory ? "m_axi" : "axis") &&
        !(is_memory && str_eq_c(mode, "s_axilite")))
        return op_error(op, "interface mode must be %s, but got '%.*s'",
                        is_memory ? "'m_axi' or 's_axilite'" : "'axis'", STR_ARG(mode));
    if (str_eq_c(mode, "m_axi") && (!op_attr(op, "bundle") || !depth || attr_int_value(depth) < 1))
        return op_error(op, "a memory needs a bundle and a positive depth");
    return true;
}

const char *emithls_control(const Op *dataflow)
{
    static const char *const names[] = {"chain", "hs", "none"};
    const Attr *control = op_attr(dataflow, EMITHLS_ATTR_CONTROL);
    if (!control) return names[0];
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_eq_c(control->u.string, names[i])) return names[i];
    return NULL;
}

static bool has_memory(const Op *dataflow)
{
    for (const Op *op = dataflow->prev; op; op = op->prev)
        if (op->def == EMITHLS(INTERFACE) && !str_eq_c(op_attr(op, "mode")->u.string, "axis"))
            return true;
    return false;
}

static bool verify_dataflow(Op *op)
{
    if (!emithls_control(op)) return op_error(op, "control must be 'chain', 'hs' or 'none'");
    return !op_attr(op, EMITHLS_ATTR_CONTROL) || !has_memory(op) ||
           op_error(op, "has no choice of control: registers start an accelerator with memories");
}

static bool infer_read(Op *op, const Type **results)
{
    results[0] = emithls_stream_word(op_operand(op, 0)->type);
    return true;
}

static bool verify_write(Op *op)
{
    const Type *want = emithls_stream_word(op_operand(op, 1)->type);
    return op_operand(op, 0)->type == want ||
           op_error(op, "value type '%s' must be the stream's word '%s'",
                    type_str(op->ctx, op_operand(op, 0)->type), type_str(op->ctx, want));
}

/* What is divided by is a positive number, which nothing that is computed with it lets overflow. */
static bool check_divisors(Op *op, const AffineExpr *expr)
{
    static const int64_t most = INT64_C(1) << 59;
    if (!expr->lhs) return true;
    bool divides = expr->kind != AFFINE_ADD && expr->kind != AFFINE_MUL;
    if (divides && expr->rhs->kind != AFFINE_CONST)
        return op_error(op, "divides an index by what is no number");
    if (divides && (expr->rhs->value < 1 || expr->rhs->value > most))
        return op_error(op, "divides an index by %lld; a divisor is 1 to %lld",
                        (long long)expr->rhs->value, (long long)most);
    return check_divisors(op, expr->lhs) && check_divisors(op, expr->rhs);
}

/* The largest number that an index is, where that is known: of a counter. */
static int64_t largest_index(const Value *index)
{
    int64_t extents[MAX_LOOPS];
    size_t count = 0;
    const Op *loop = index->is_arg ? block_parent_op(index->owner.block) : NULL;
    if (!loop || loop->def != EMITHLS(FOR) ||
        !attr_int_list(op_attr(loop, "extents"), extents, MAX_LOOPS, &count) ||
        index->index >= count)
        return 0;
    return extents[index->index] - 1;
}

/* A bound of the magnitude of all that an expression over the op's last `dims` operands computes.
 * False: it is too large for the sums and the lanes that are yet to come in 64 bits. */
static bool bound_size(const Op *op, uint32_t dims, const AffineExpr *expr, int64_t *out)
{
    static const int64_t most = INT64_C(1) << 60;
    int64_t left, right;
    *out = 0;
    if (expr->kind == AFFINE_DIM)
        *out = largest_index(op_operand(op, op->operand_count - dims + (uint32_t)expr->value));
    else if (expr->kind == AFFINE_CONST)
        *out = expr->value < 0 ? -i64_max(expr->value, -INT64_MAX) : expr->value;
    if (!expr->lhs) return *out <= most;
    if (!bound_size(op, dims, expr->lhs, &left) || !bound_size(op, dims, expr->rhs, &right))
        return false;
    switch (expr->kind) {
    case AFFINE_ADD: return i64_add(left, right, out) && *out <= most;
    case AFFINE_MUL: return i64_mul(left, right, out) && *out <= most;
    case AFFINE_MOD: *out = right - 1; return true;
    default: *out = left / right + 1; return true;
    }
}

static bool check_index(Op *op, uint32_t dims, const AffineExpr *expr)
{
    int64_t size;
    if (!check_divisors(op, expr)) return false;
    return bound_size(op, dims, expr, &size) ||
           op_error(op, "computes numbers beyond 2^60 with its indices");
}

static bool check_results(Op *op, uint32_t dims, const AffineExpr *const *exprs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!check_index(op, dims, exprs[i])) return false;
    return true;
}

/* Type that `count` indices reach: the element, or a lane of it. NULL: diagnosed. */
static const Type *accessed_type(Op *op, const Type *array, uint32_t index_operands)
{
    const AffineMap *map = op_attr(op, "map")->u.map;
    const Type *elem = emithls_array_elem(array);
    uint32_t rank = emithls_array_rank(array);
    if (map->dim_count != index_operands || map->symbol_count != 0) {
        op_error(op, "map has %u dimensions and %u symbols for %u indices", map->dim_count,
                 map->symbol_count, index_operands);
        return NULL;
    }
    if (!check_results(op, index_operands, map->results, map->result_count)) return NULL;
    if (map->result_count == rank) return elem;
    if (map->result_count == rank + 1 && elem->kind == TYPE_VECTOR) return type_elem(elem);
    op_error(op, "map has %u results, but the array has rank %u", map->result_count, rank);
    return NULL;
}

static bool infer_load(Op *op, const Type **results)
{
    results[0] = accessed_type(op, op_operand(op, 0)->type, op->operand_count - 1);
    return results[0] != NULL;
}

static bool verify_store(Op *op)
{
    const Type *want = accessed_type(op, op_operand(op, 1)->type, op->operand_count - 2);
    if (!want) return false;
    return op_operand(op, 0)->type == want ||
           op_error(op, "value type '%s' must be '%s'", type_str(op->ctx, op_operand(op, 0)->type),
                    type_str(op->ctx, want));
}

static bool infer_index(Op *op, const Type **results)
{
    results[0] = type_index(op->ctx);
    return true;
}

static bool verify_index(Op *op)
{
    const AffineMap *map = op_attr(op, "map")->u.map;
    if (map->dim_count == op->operand_count && map->symbol_count == 0 && map->result_count == 1)
        return check_index(op, map->dim_count, map->results[0]);
    return op_error(op, "map has %u dimensions, %u symbols and %u results for %u indices",
                    map->dim_count, map->symbol_count, map->result_count, op->operand_count);
}

/* The count is read as a signed number. */
static bool verify_popcount(Op *op)
{
    int64_t bits = emithls_lanes(op_operand(op, 0)->type);
    const Type *count = op_result(op, 0)->type;
    uint32_t width = type_width(count);
    return width > 62 || (width > 0 && (int64_t)1 << (width - 1) > bits) ||
           op_error(op, "counts up to %lld, which '%s' does not hold", (long long)bits,
                    type_str(op->ctx, count));
}

static bool verify_condition(Op *op)
{
    const IntegerSet *set = op_attr(op, "condition")->u.set;
    if (set->dim_count == op->operand_count && set->symbol_count == 0)
        return check_results(op, set->dim_count, set->constraints, set->constraint_count);
    return op_error(op, "condition has %u dimensions and %u symbols for %u indices", set->dim_count,
                    set->symbol_count, op->operand_count);
}

size_t emithls_for_extents(const Op *loop, int64_t *extents, size_t max)
{
    size_t count = 0;
    bool ok = attr_int_list(op_attr(loop, "extents"), extents, max, &count);
    assert(ok);
    (void)ok;
    return count;
}

void emithls_for_range(const Op *loop, int64_t *begin, int64_t *end)
{
    int64_t extents[MAX_LOOPS];
    size_t count = emithls_for_extents(loop, extents, MAX_LOOPS);
    const Attr *first = op_attr(loop, "begin"), *last = op_attr(loop, "end");
    *begin = first ? attr_int_value(first) : 0;
    *end = 1;
    for (size_t i = 0; i < count; i++) *end *= extents[i];
    if (last) *end = attr_int_value(last);
}

static bool verify_for(Op *op)
{
    int64_t extents[MAX_LOOPS], total = 1, begin, end;
    size_t count = 0;
    Block *body = region_entry(op_region(op, 0));
    const Attr *names = op_attr(op, "counters");
    if (!attr_int_list(op_attr(op, "extents"), extents, MAX_LOOPS, &count) || count == 0)
        return op_error(op, "needs between 1 and %d extents", MAX_LOOPS);
    for (size_t i = 0; i < count; i++)
        if (extents[i] < 1 || !i64_mul(total, extents[i], &total))
            return op_error(op, "extents must be positive and their product below 2^63");
    if (body->arg_count != count || names->u.array.count != count)
        return op_error(op, "needs one counter and one name per extent");
    for (uint32_t i = 0; i < count; i++)
        if (body->args[i]->type->kind != TYPE_INDEX || names->u.array.items[i]->kind != ATTR_STRING)
            return op_error(op, "counters are named and of type index");
    emithls_for_range(op, &begin, &end);
    if (begin < 0 || end > total || begin >= end)
        return op_error(op, "range %lld to %lld is not inside the box of %lld iterations",
                        (long long)begin, (long long)end, (long long)total);
    const Attr *ii = op_attr(op, "ii");
    if (ii && attr_int_value(ii) < 1) return op_error(op, "initiation interval must be at least 1");
    if (ii && op_attr(op, "unroll")) return op_error(op, "cannot be both pipelined and unrolled");
    if (!emithls_verify_intervals(op)) return false;
    const char *obstacle = op_attr(op, EMITHLS_ATTR_FLUSH) ? emithls_flush_obstacle(op) : NULL;
    if (obstacle) return op_error(op, "cannot flush, because it %s", obstacle);
    obstacle = op_attr(op, EMITHLS_ATTR_REWIND) ? emithls_rewind_obstacle(op) : NULL;
    return !obstacle || op_error(op, "cannot rewind, because it %s", obstacle);
}

/* Of ports of weights; what else ports have is read where it is known what is needed. */
static bool verify_port_attr(Op *func, uint32_t index, const NamedAttr *attr)
{
    return !str_eq_c(attr->name->str, EMITHLS_ATTR_PORT_CHAIN) || ATTR_IS_I64.test(attr->value) ||
           op_error(func, "argument %u has an " EMITHLS_ATTR_PORT_CHAIN " that is no i64", index);
}

#define OP(ID, NAME, ...)                                                                          \
    [EMITHLS_##ID] = {.id = #ID, .name = NAME, .dialect = &emithls_dialect, __VA_ARGS__},
const OpDef emithls_ops[] = {
#include "dialects/emithls/emithls_ops.def"
};
#undef OP

static const TypeDef *const emithls_types[] = {&emithls_type_stream, &emithls_type_array, NULL};

const DialectDef emithls_dialect = {
    .name = "emithls",
    .summary = "HLS C++: functions, loop nests, arrays, streams, pragmas",
    .ops = emithls_ops,
    .op_count = EMITHLS_OP_COUNT,
    .types = emithls_types,
    .verify_op_attr = emithls_verify_op_attr,
    .verify_arg_attr = verify_port_attr,
};
