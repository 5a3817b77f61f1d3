/* What the host does behind an overlay's program: ops that compute in floats behind the last layer, those
 * that put the elements of outputs in another order, and those that find the greatest channels. Values
 * that go from the network to the host are maps; numbers that do not fit a map's elements are several maps, one for each `act` bits, of which each is the result of a layer of
 * its own. The host's function takes these maps, in the order of the network's outputs, and gives
 * what the function gave.
 * Tests: lit/lowering/linalg_to_sa/host.mir, test/e2e/overlay_check.py */
#include "dialects/arith/arith.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "lowering/linalg_to_sa/internal.h"

enum { MOST_PARTS = 32 };

static bool is_float_tensor(const Type *type)
{
    return type_is_tensor(type) && type_is_float(type_elem(type));
}

/* Constants and tensors without numbers belong to whoever reads them. */
static bool is_neutral(const Op *op)
{
    return op && (op_has_trait(op, TRAIT_CONSTANT_LIKE) || op->def == TENSOR(EMPTY) ||
                  kernel_fill_value(op));
}

bool to_sa_is_host(const Lowering *lw, const Op *op)
{
    return ptrmap_get(&lw->host, op) != NULL;
}

/* Calls `use` for each value of the function's body that the op or something in it reads. False: a
 * call gave false. */
typedef struct Reader {
    const Lowering *lw;
    bool (*use)(void *user, const Value *value);
    void *user;
} Reader;

static bool visit_operands(Op *op, void *user)
{
    const Reader *reader = user;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Value *value = op_operand(op, i);
        if (value_block(value) == func_entry(reader->lw->func) && !reader->use(reader->user, value))
            return false;
    }
    return true;
}

static bool read_values(const Lowering *lw, const Op *op,
                        bool (*use)(void *user, const Value *value), void *user)
{
    Reader reader = {.lw = lw, .use = use, .user = user};
    return op_walk((Op *)op, visit_operands, &reader);
}

static bool is_no_float(void *user, const Value *value)
{
    const Op *def = value_def(value);
    return !(def && to_sa_is_host(user, def)) && (!is_float_tensor(value->type) || is_neutral(def));
}

static bool reads_floats(Lowering *lw, const Op *op)
{
    return !read_values(lw, op, is_no_float, lw);
}

/* Products of floats are work for an engine, which this one has not. */
static bool sums_products(const Op *op)
{
    uint32_t read = 0, products = 0;
    if (op->def != LINALG(GENERIC) || !linalg_reduces(op)) return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) read += linalg_reads_operand(op, i);
    FOR_EACH_OP(inner, linalg_body(op))
        products += inner->def == ARITH(MULI) || inner->def == ARITH(MULF);
    return read > 1 && products > 0;
}

/* Whether a reduction's loop counts the last dimension of an operand. */
static bool reduces_last(const Op *op, uint32_t operand)
{
    const AffineMap *map = linalg_operand_map(op, operand);
    const AffineExpr *last = map->result_count > 0 ? map->results[map->result_count - 1] : NULL;
    return last && last->kind == AFFINE_DIM && linalg_is_reduction(op, (uint32_t)last->value) &&
           op_operand(op, operand)->type->u.shaped.dims[map->result_count - 1] > 1;
}

/* Finds places among the channels, as ArgMax and TopK do: no sum of a map's channels. */
static bool ranks_channels(const Op *op)
{
    uint32_t maps = 0;
    bool reduces_channels = false;
    if (op->def != LINALG(GENERIC) || !linalg_reduces(op) || sums_products(op)) return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++) {
        if (!linalg_reads_operand(op, i) || fold_constant_of(op_operand(op, i))) continue;
        reduces_channels |= reduces_last(op, i);
        maps++;
    }
    const Op *sum = value_def(op_operand(linalg_body(op)->last, 0));
    return reduces_channels && (maps > 1 || !sum || sum->def != ARITH(ADDI));
}

bool to_sa_moves(const Op *op)
{
    if (op->def != LINALG(GENERIC) || linalg_reduces(op) || op->result_count != 1) return false;
    const Value *yielded = op_operand(linalg_body(op)->last, 0);
    return yielded->is_arg && value_block(yielded) == linalg_body(op) &&
           yielded->index < linalg_input_count(op);
}

static bool moves_elements(const Op *op)
{
    return reshape_is(op) || to_sa_moves(op);
}

/* A move that no map shows, since elements stay in their order in none. */
static bool permutes(const Op *op)
{
    return to_sa_moves(op) &&
           linalg_operand_map(op, 0) != linalg_operand_map(op, linalg_input_count(op));
}

static bool is_float_op(const Op *op)
{
    return op->result_count > 0 && is_float_tensor(op_result(op, 0)->type);
}

static bool moves_or_floats(const Op *op)
{
    return moves_elements(op) || is_float_op(op);
}

static bool sums_no_products(const Op *op)
{
    return !sums_products(op);
}

/* Ops behind which, and themselves, nothing comes but what `allows` says. */
static void find_ends(const Block *body, bool (*allows)(const Op *op), PtrMap *ends)
{
    for (const Op *op = body->last->prev; op; op = op->prev) {
        bool ends_here = allows(op);
        for (uint32_t i = 0; ends_here && i < op->result_count; i++)
            FOR_EACH_USE(use, op_result(op, i))
                ends_here &= use->owner == body->last || ptrmap_get(ends, use->owner) != NULL;
        if (ends_here) ptrmap_put(ends, op, (void *)op);
    }
}

/* What moves elements to a tensor that is no map, for ops of the host alone, is one, too. */
static void mark_moves(Lowering *lw, const Block *body)
{
    for (const Op *op = body->last->prev; op; op = op->prev) {
        Extents extents;
        bool is_host = moves_elements(op) && !extents_of(op_result(op, 0)->type, 1, &extents);
        for (uint32_t i = 0; is_host && i < op->result_count; i++)
            FOR_EACH_USE(use, op_result(op, i)) is_host &= ptrmap_has(&lw->host, use->owner);
        if (is_host) ptrmap_put(&lw->host, op, (void *)op);
    }
}

bool to_sa_mark_host(Lowering *lw)
{
    const Block *body = func_entry(lw->func);
    PtrMap ends = {0}, behind_products = {0};
    bool ok = true;
    find_ends(body, moves_or_floats, &ends);
    find_ends(body, sums_no_products, &behind_products);
    FOR_EACH_OP(op, body) {
        bool is_host = is_float_op(op) || reads_floats(lw, op) ||
                       (permutes(op) && ptrmap_get(&ends, op)) ||
                       (ranks_channels(op) && ptrmap_get(&behind_products, op));
        if (op == body->last || is_neutral(op) || !is_host) continue;
        ok = !sums_products(op) || to_sa_refuse(op, "sums products behind floats");
        if (!ok) break;
        ptrmap_put(&lw->host, op, op);
    }
    mark_moves(lw, body);
    ptrmap_free(&ends);
    ptrmap_free(&behind_products);
    return ok;
}

/* Whether the function gives nothing that its maps are not. */
static bool is_needed(Lowering *lw)
{
    const Op *ret = func_entry(lw->func)->last;
    if (lw->host.live > 0) return true;
    for (uint32_t i = 0; i < ret->operand_count; i++) {
        const Tensor *tensor = ptrmap_get(&lw->tensors, op_operand(ret, i));
        int64_t offset;
        if (tensor && !tensor->map && !to_sa_find_offset(lw, tensor->lo, tensor->hi, &offset))
            return true;
    }
    return false;
}

typedef struct Host {
    Lowering *lw;
    Op *func;
    Builder b;
    PtrMap copies; /* Value* of the network's function -> Value* of the host's */
    uint32_t maps;
} Host;

/* The parts of a layer's result, lowest bits first: the last one has its sign, those before are
 * signed numbers of `act` bits; of activations without sign all are numbers without one, equal to
 * the result modulo 2^width. */
static size_t split_number(const Lowering *lw, Numbers *n, uint32_t number, uint32_t width,
                           uint32_t parts[MOST_PARTS])
{
    uint32_t bits = lw->size.act_bits;
    size_t count = 0;
    for (;;) {
        const Number *rest = number_at(n, number);
        bool fits = to_sa_fits_map(lw, rest->lo, rest->hi);
        uint32_t part = fits                       ? number
                        : lw->size.act_is_unsigned ? number_unsigned(n, number, bits)
                                                   : number_signed(n, number, bits);
        parts[count++] = part;
        if (fits || count * bits >= width || part == NO_NUMBER) return count;
        uint32_t above = number_binary(n, NUMBER_SUB, number, part);
        number = number_binary(n, NUMBER_SHIFT, above, number_const(n, bits));
        if (number == NO_NUMBER) return count;
    }
}

static Value *add_map(Host *host, const Value *value, Value *map)
{
    StrBuf name = {0};
    Lowering *lw = host->lw;
    const Type *own = value->type;
    const Type *type = type_tensor(type_i(lw->ctx, lw->size.act_bits), own->u.shaped.dims,
                                   own->u.shaped.rank, NULL);
    strbuf_printf(&name, "map%u", host->maps++);
    to_sa_build_port(lw, SA(OUTPUT), strbuf_str(&name), type, map, NULL);
    strbuf_free(&name);
    return block_add_arg(host->b.block, type, lw->func->loc);
}

/* A layer's result in parts, each by a layer. 0: diagnosed. */
static size_t add_parts(Host *host, const Value *value, Tensor *tensor, Value *args[MOST_PARTS])
{
    Lowering *lw = host->lw;
    Layer *layer = tensor->layer;
    uint32_t parts[MOST_PARTS];
    size_t count = split_number(lw, &layer->numbers, layer->result, tensor->width, parts);
    for (size_t i = 0; i < count; i++) {
        if (parts[i] == NO_NUMBER) {
            to_sa_refuse(layer->op, "%s", layer->numbers.why.data);
            return 0;
        }
        Value *map = to_sa_build_number(lw, layer, parts[i]);
        if (!map) return 0;
        args[i] = add_map(host, value, map);
    }
    return count;
}

static Value *to_width(const Host *host, Builder *b, Value *value, const Type *type)
{
    uint32_t from = type_width(value->type), to = type_width(type);
    const OpDef *extension = host->lw->size.act_is_unsigned ? ARITH(EXTUI) : ARITH(EXTSI);
    if (from == to) return value;
    return build_unary(b, from < to ? extension : ARITH(TRUNCI), type, value);
}

/* A tensor of the value's type from its parts, and what these are less by. */
static Value *join_parts(Host *host, const Type *type, Value *const *args, size_t count,
                         int64_t offset)
{
    Builder *b = &host->b;
    uint32_t rank = type->u.shaped.rank;
    const Type *elem = type_elem(type);
    const AffineMap *maps[MOST_PARTS + 1];
    bool is_reduction[KERNEL_MAX_LOOPS] = {false};
    MixedIndex sizes[KERNEL_MAX_LOOPS];
    for (size_t i = 0; i <= count; i++) maps[i] = map_identity(b->ctx, rank);
    for (uint32_t i = 0; i < rank; i++) sizes[i] = mixed_constant(type->u.shaped.dims[i]);
    Value *init = tensor_empty(b, sizes, rank, elem);
    Op *generic = linalg_build_generic(b, args, (uint32_t)count, &init, 1,
                                       linalg_maps_attr(b->ctx, maps, count + 1),
                                       linalg_iterators_attr(b->ctx, is_reduction, rank));
    Block *block = linalg_body(generic);
    Builder body = builder_at_end(block, b->loc);
    Value *sum = to_width(host, &body, block->args[count - 1], elem);
    for (size_t i = count - 1; i-- > 0;) {
        Value *bits = arith_constant_int(&body, elem, host->lw->size.act_bits);
        Value *above = build_binary(&body, ARITH(SHLI), elem, sum, bits);
        sum = build_binary(&body, ARITH(ADDI), elem, above,
                           to_width(host, &body, block->args[i], elem));
    }
    if (offset != 0)
        sum = build_binary(&body, ARITH(ADDI), elem, sum, arith_constant_int(&body, elem, offset));
    linalg_yield(&body, &sum, 1);
    return op_result(generic, 0);
}

/* A value that the network gives. False: diagnosed. */
static bool enter_value(Host *host, const Value *value)
{
    Lowering *lw = host->lw;
    Value *args[MOST_PARTS];
    size_t count = 1;
    int64_t offset = 0;
    Tensor *tensor = to_sa_tensor(lw, value);
    if (!tensor) return false;
    if (value->type->u.shaped.rank > KERNEL_MAX_LOOPS)
        return to_sa_refuse(value_def(value), "has more dimensions than kernels have loops");
    if (!tensor->map && !to_sa_find_offset(lw, tensor->lo, tensor->hi, &offset)) {
        offset = 0;
        count = add_parts(host, value, tensor, args);
    } else {
        Value *map = to_sa_output_map(lw, tensor);
        if (!map) return false;
        args[0] = add_map(host, value, map);
        offset = tensor->offset;
    }
    if (count == 0) return false;
    ptrmap_put(&host->copies, value, join_parts(host, value->type, args, count, offset));
    return true;
}

static bool enter_read_value(void *user, const Value *value);

/* The values that an op of the host reads. */
static bool enter_operands(Host *host, const Op *op)
{
    return read_values(host->lw, op, enter_read_value, host);
}

static bool enter_read_value(void *user, const Value *value)
{
    Host *host = user;
    const Op *def = value_def(value);
    if (ptrmap_get(&host->copies, value)) return true;
    if (!is_neutral(def)) return enter_value(host, value);
    if (!enter_operands(host, def)) return false;
    builder_insert(&host->b, op_clone(def, &host->copies));
    return true;
}

static void finish(Host *host)
{
    Lowering *lw = host->lw;
    const Op *ret = func_entry(lw->func)->last;
    builder_insert(&host->b, op_clone(ret, &host->copies));
    func_update_type(host->func);
    if (op_attr(lw->func, "res_attrs"))
        op_set_attr(host->func, "res_attrs", op_attr(lw->func, "res_attrs"));
}

static bool build_function(Lowering *lw)
{
    StrBuf name = {0};
    Builder b = builder_before((Op *)lw->func);
    strbuf_printf(&name, "%.*s_host", STR_ARG(op_attr(lw->func, "sym_name")->u.string));
    Host host = {.lw = lw,
                 .func =
                     func_build(&b, strbuf_str(&name), type_function(lw->ctx, NULL, 0, NULL, 0))};
    strbuf_free(&name);
    op_set_attr(host.func, "sym_visibility", attr_string(lw->ctx, STR("private")));
    host.b = builder_at_end(region_add_block(op_region(host.func, 0)), lw->func->loc);
    bool ok = true;
    FOR_EACH_OP(op, func_entry(lw->func)) {
        if (!ok || !(to_sa_is_host(lw, op) || !op->next)) continue;
        ok = enter_operands(&host, op);
        if (ok && op->next) builder_insert(&host.b, op_clone(op, &host.copies));
    }
    if (ok) finish(&host);
    if (!ok) op_erase(host.func);
    ptrmap_free(&host.copies);
    lw->host_func = ok ? host.func : NULL;
    return ok;
}

bool to_sa_build_host(Lowering *lw)
{
    return !is_needed(lw) || build_function(lw);
}
