/* Kernels that compute a constant from constants: an element-wise one becomes the ops of its payload
 * on whole tensors, which fold one after the other. A padding of a constant is written out, so that
 * weights remain tables.
 *   generic(constants), element-wise  ->  constant
 *   pad(constant) by numbers          ->  constant
 * Tests: lit/passes/linalg/simplify-kernels-constants.mir */
#include "dialects/arith/arith.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "dialects/tensor/tensor.h"
#include "ir/rewrite/rewrite.h"
#include "passes/linalg/internal.h"

/* Elements that are computed at compile time. */
static const int64_t max_elements = (int64_t)1 << 20;

typedef struct KernelFold {
    Rewriter *rw;
    Op *op;
    const Type *type;          /* of the result */
    const AffineMap *to_loops; /* from an index of the result to the loops */
    PtrMap values;             /* of the payload -> constants */
    VEC(Op *) built;           /* in order */
} KernelFold;

static bool is_number(const Type *type)
{
    return type_is_integer(type) || type_is_float(type);
}

static bool is_candidate(const Op *op)
{
    int64_t count = 0;
    if (!linalg_has_tensor_semantics(op) || op->result_count != 1 || linalg_reduces(op) ||
        linalg_init_count(op) != 1 || linalg_input_count(op) == 0 || parts_body_has_index(op))
        return false;
    const Type *type = op_result(op, 0)->type;
    uint32_t init = linalg_input_count(op);
    return !linalg_reads_operand(op, init) && map_is_permutation(linalg_operand_map(op, init)) &&
           type_element_count(type, &count) && count <= max_elements &&
           linalg_body(op)->first != linalg_body(op)->last;
}

/* A constant of numbers that are written out or all equal, else NULL. */
static const Attr *constant_numbers(const Value *value)
{
    const Attr *attr = fold_constant_of(value);
    bool is_dense = attr && attr->kind == ATTR_DENSE && is_number(type_elem(attr->type));
    bool is_scalar = attr && (attr->kind == ATTR_INTEGER || attr->kind == ATTR_FLOAT);
    return is_dense || is_scalar ? attr : NULL;
}

/* Place of the operand's element for an index of the result; -1: it is not known. */
static int64_t element_at(const AffineMap *map, const Type *operand, const int64_t *index)
{
    int64_t flat = 0;
    for (uint32_t r = 0; r < map->result_count; r++) {
        int64_t at = 0, extent = operand->u.shaped.dims[r];
        if (!affine_eval(map->results[r], index, NULL, &at) || at < 0 || at >= extent) return -1;
        flat = flat * extent + at;
    }
    return flat;
}

/* The elements that a kernel reads, in the order of its result; NULL: not known. */
static const Attr *gathered(const KernelFold *f, const Attr *dense, const AffineMap *map)
{
    const Type *type =
        type_tensor(type_elem(dense->type), f->type->u.shaped.dims, f->type->u.shaped.rank, NULL);
    if (dense->u.dense.is_splat) return attr_dense_splat(type, dense_elem(dense, 0));
    int64_t count = 0, from = 0, *index = xcalloc(type->u.shaped.rank + 1, sizeof *index);
    bool counted = type_element_count(type, &count);
    uint32_t bytes = dense_elem_bytes(type_elem(type));
    size_t size = bytes ? (size_t)count * bytes : (size_t)(count + 7) / 8;
    uint8_t *data = xcalloc(size, 1);
    const AffineMap *at = map_compose(map, f->to_loops);
    for (int64_t i = 0; counted && i < count && from >= 0; i++) {
        from = element_at(at, dense->type, index);
        if (from >= 0) dense_copy_elem(data, i, dense->u.dense.data, from, bytes);
        for (uint32_t d = type->u.shaped.rank; d-- > 0;) {
            if (++index[d] < type->u.shaped.dims[d]) break;
            index[d] = 0;
        }
    }
    free_ptr((void **)&index);
    if (from >= 0) return attr_dense_adopt(type, data, size, false);
    free_ptr((void **)&data);
    return NULL;
}

static Value *build_constant(KernelFold *f, const Attr *value)
{
    Value *made = arith_constant(&f->rw->b, value);
    *vec_push(&f->built) = value_def(made);
    return made;
}

static const Type *tensor_of(const KernelFold *f, const Type *elem)
{
    return type_tensor(elem, f->type->u.shaped.dims, f->type->u.shaped.rank, NULL);
}

/* Constants for the arguments that the payload reads. */
static bool take_inputs(KernelFold *f)
{
    for (uint32_t i = 0; i < linalg_input_count(f->op); i++) {
        if (!linalg_reads_operand(f->op, i)) continue;
        const Attr *value = constant_numbers(op_operand(f->op, i));
        if (value && value->kind != ATTR_DENSE)
            value = attr_dense_splat(tensor_of(f, value->type), value);
        else if (value)
            value = gathered(f, value, linalg_operand_map(f->op, i));
        if (!value) return false;
        ptrmap_put(&f->values, linalg_body(f->op)->args[i], build_constant(f, value));
    }
    return true;
}

/* A scalar constant, of the payload or from outside, becomes a tensor of it. */
static bool take_scalar(KernelFold *f, Value *value)
{
    const Attr *attr = constant_numbers(value);
    if (ptrmap_has(&f->values, value)) return true;
    if (!attr || attr->kind == ATTR_DENSE) return false;
    ptrmap_put(&f->values, value,
               build_constant(f, attr_dense_splat(tensor_of(f, attr->type), attr)));
    return true;
}

/* One op of the payload, on tensors. False: it does not fold. */
static bool fold_step(KernelFold *f, Op *op)
{
    bool is_scalar_op =
        op->def && (op->def->dialect == &arith_dialect || op->def->dialect == &math_dialect);
    if (op->def == ARITH(CONSTANT)) return take_scalar(f, op_result(op, 0));
    if (!is_scalar_op || op->result_count != 1 || !is_number(op_result(op, 0)->type)) return false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (!take_scalar(f, op_operand(op, i))) return false;
    Op *made = op_clone(op, &f->values);
    op_result(made, 0)->type = tensor_of(f, op_result(op, 0)->type);
    Value *value = fold_build(&f->rw->b, made);
    *vec_push(&f->built) = value_def(value);
    ptrmap_put(&f->values, op_result(op, 0), value);
    return fold_constant_of(value) != NULL;
}

static void erase_built(KernelFold *f)
{
    for (size_t i = f->built.len; i-- > 0;) {
        bool is_known = false; /* a step may have folded to an older value */
        for (size_t k = 0; k < i; k++) is_known |= f->built.data[k] == f->built.data[i];
        if (!is_known && !value_has_uses(op_result(f->built.data[i], 0)))
            rewriter_erase(f->rw, f->built.data[i]);
    }
}

static bool fold_payload(KernelFold *f)
{
    Block *body = linalg_body(f->op);
    if (!take_inputs(f)) return false;
    for (Op *op = body->first; op != body->last; op = op->next)
        if (!fold_step(f, op)) return false;
    return take_scalar(f, op_operand(body->last, 0));
}

static bool is_number_list(const MixedIndices *list)
{
    for (size_t i = 0; i < list->len; i++)
        if (list->data[i].value || list->data[i].constant < 0) return false;
    return true;
}

/* The elements with borders of `fill` around them. */
static const Attr *padded(const Attr *dense, const Attr *fill, const Type *type,
                          const PadBorders *borders, int64_t count)
{
    const Attr *border = attr_dense_splat(type, fill);
    const int64_t *dims = type->u.shaped.dims, *own = dense->type->u.shaped.dims;
    uint32_t rank = type->u.shaped.rank, bytes = dense_elem_bytes(type_elem(type));
    size_t size = bytes ? (size_t)count * bytes : (size_t)(count + 7) / 8;
    int64_t *index = xcalloc(rank + 1, sizeof *index);
    uint8_t *data = xcalloc(size, 1);
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0;
        for (uint32_t d = 0; d < rank && from >= 0; d++) {
            int64_t at = index[d] - borders->low.data[d].constant;
            from = at >= 0 && at < own[d] ? from * own[d] + at : -1;
        }
        const Attr *source = from < 0 ? border : dense;
        dense_copy_elem(data, i, source->u.dense.data, source->u.dense.is_splat ? 0 : from, bytes);
        for (uint32_t d = rank; d-- > 0;) {
            if (++index[d] < dims[d]) break;
            index[d] = 0;
        }
    }
    free_ptr((void **)&index);
    return attr_dense_adopt(type, data, size, false);
}

static bool fold_constant_pad(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    const Type *type = op_result(op, 0)->type;
    const Attr *dense = constant_numbers(op_operand(op, 0));
    Value *padding = tensor_padding(op);
    const Attr *fill = padding ? constant_numbers(padding) : NULL;
    int64_t count;
    PadBorders borders;
    if (!dense || dense->kind != ATTR_DENSE || !fill || fill->kind == ATTR_DENSE ||
        !type_element_count(type, &count) || count > max_elements)
        return false;
    tensor_pad_read(op, &borders);
    bool ok = is_number_list(&borders.low) && is_number_list(&borders.high);
    if (ok)
        rewriter_replace_one(rw, op,
                             arith_constant(&rw->b, padded(dense, fill, type, &borders, count)));
    tensor_pad_free(&borders);
    return ok;
}

static bool fold_constant_kernel(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    if (!is_candidate(op)) return false;
    for (uint32_t i = 0; i < linalg_input_count(op); i++)
        if (linalg_reads_operand(op, i) && !constant_numbers(op_operand(op, i))) return false;
    KernelFold f = {.rw = rw, .op = op, .type = op_result(op, 0)->type};
    f.to_loops = map_inverse_permutation(linalg_operand_map(op, linalg_input_count(op)));
    bool ok = fold_payload(&f);
    if (ok)
        rewriter_replace_one(rw, op, ptrmap_get(&f.values, op_operand(linalg_body(op)->last, 0)));
    else
        erase_built(&f);
    ptrmap_free(&f.values);
    vec_free(&f.built);
    return ok;
}

void fuse_add_constant_kernels(PatternSet *set)
{
    pattern_add(set, "fold-constant-kernel", LINALG(GENERIC), 1, fold_constant_kernel);
    pattern_add(set, "fold-constant-pad", TENSOR(PAD), 1, fold_constant_pad);
}
