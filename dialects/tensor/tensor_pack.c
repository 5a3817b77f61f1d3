/* Checks of pack and unpack. The packed shape is the outer shape (extents divided by their tiles
 * and permuted by outer_dims_perm) followed by the tiles.
 * Tests: lit/dialects/tensor/invalid.mir */
#include "dialects/tensor/internal.h"
#include "ir/asm/print/print.h"

typedef struct PackShape {
    const Type *unpacked, *packed;
    MixedIndices tiles;
    IntList positions, outer; /* inner_dims_pos, outer_dims_perm (empty: identity) */
} PackShape;

static void packing_read(const Op *op, PackShape *out)
{
    bool is_pack = op->def == TENSOR(PACK);
    *out = (PackShape){.unpacked = op_operand(op, is_pack ? 0 : 1)->type,
                       .packed = op_operand(op, is_pack ? 1 : 0)->type};
    mixed_indices_read(op, "static_inner_tiles", is_pack ? 3 : 2, &out->tiles);
    mixed_read_int_list(op, "inner_dims_pos", &out->positions);
    mixed_read_int_list(op, "outer_dims_perm", &out->outer);
}

static void packing_free(PackShape *packing)
{
    vec_free(&packing->tiles);
    vec_free(&packing->positions);
    vec_free(&packing->outer);
}

/* Distinct dimensions of that rank. */
static bool are_positions(const IntList *list, uint32_t rank)
{
    if (list->len > rank) return false;
    for (size_t i = 0; i < list->len; i++) {
        if (list->data[i] < 0 || list->data[i] >= rank) return false;
        for (size_t k = 0; k < i; k++)
            if (list->data[k] == list->data[i]) return false;
    }
    return true;
}

static bool verify_lists(Op *op, const PackShape *p)
{
    uint32_t rank = p->unpacked->u.shaped.rank;
    for (size_t i = 0; i < p->tiles.len; i++) {
        int64_t tile;
        if (mixed_known(p->tiles.data[i], &tile) && tile == 0)
            return op_emit_error(op, "invalid zero tile factor");
    }
    if (!are_positions(&p->positions, rank))
        return op_emit_error(op, "invalid inner_dims_pos vector");
    if (!are_positions(&p->outer, rank)) return op_emit_error(op, "invalid outer_dims_perm vector");
    if (p->outer.len > 0 && p->outer.len != rank)
        return op_emit_error(op, "outer_dims_perm must be a permutation or empty");
    if (p->tiles.len > rank)
        return op_emit_error(op, "tiling factors must be less than or equal to the input rank for "
                                 "pack or output rank for unpack");
    if (p->tiles.len != p->positions.len)
        return op_emit_error(op, "tiling factors must equal the number of dimensions to tile");
    if (rank + p->tiles.len != p->packed->u.shaped.rank)
        return op_emit_error(op, "packed rank must equal unpacked rank + tiling factors");
    return true;
}

/* The least packed shape that holds the unpacked one. */
static void packed_dims(const PackShape *p, int64_t *dims)
{
    uint32_t rank = p->unpacked->u.shaped.rank;
    IntList outer = {0};
    for (uint32_t i = 0; i < rank; i++) *vec_push(&outer) = p->unpacked->u.shaped.dims[i];
    for (size_t i = 0; i < p->tiles.len; i++) {
        int64_t *extent = &outer.data[p->positions.data[i]];
        int64_t tile = p->tiles.data[i].value ? DIM_DYNAMIC : p->tiles.data[i].constant;
        if (tile == DIM_DYNAMIC || *extent == DIM_DYNAMIC)
            *extent = DIM_DYNAMIC;
        else
            *extent = *extent / tile + (*extent % tile != 0);
        dims[rank + i] = tile;
    }
    for (uint32_t i = 0; i < rank; i++)
        dims[i] = outer.data[p->outer.len ? (uint32_t)p->outer.data[i] : i];
    vec_free(&outer);
}

static bool verify_packed_type(Op *op, const PackShape *p)
{
    uint32_t rank = p->packed->u.shaped.rank;
    const int64_t *got = p->packed->u.shaped.dims;
    IntList want = {0};
    vec_reserve(&want, rank);
    packed_dims(p, want.data);
    bool ok = true;
    for (uint32_t i = 0; ok && i < rank; i++)
        ok = want.data[i] == DIM_DYNAMIC || got[i] == DIM_DYNAMIC || want.data[i] <= got[i];
    if (!ok)
        (void)op_emit_error(
            op,
            "the shape of output is not large enough to hold the packed data. Expected at least "
            "'%s', got '%s'",
            type_str(op->ctx, type_tensor(type_elem(p->unpacked), want.data, rank, NULL)),
            type_str(op->ctx, p->packed));
    vec_free(&want);
    return ok;
}

static bool verify_tile_extents(Op *op, const PackShape *p)
{
    const int64_t *inner = p->packed->u.shaped.dims + p->unpacked->u.shaped.rank;
    for (size_t i = 0; i < p->tiles.len; i++) {
        int64_t tile;
        bool known = mixed_known(p->tiles.data[i], &tile);
        bool ok = inner[i] == DIM_DYNAMIC || (known && inner[i] == tile);
        if (!ok)
            return op_emit_error(op, "mismatch in inner tile sizes specified and shaped of tiled "
                                     "dimension in the packed type");
    }
    return true;
}

static bool verify_packing(Op *op, const PackShape *p)
{
    return verify_lists(op, p) && verify_packed_type(op, p) && verify_tile_extents(op, p);
}

static bool verify_result(Op *op)
{
    if (op_result(op, 0)->type == op_operand(op, 1)->type) return true;
    return op_error(op, "failed to verify that result type matches type of dest");
}

/* Position in the packed outer shape of an unpacked dimension. */
static size_t outer_position(const PackShape *p, int64_t dim)
{
    for (size_t i = 0; i < p->outer.len; i++)
        if (p->outer.data[i] == dim) return i;
    return (size_t)dim;
}

/* Whether some tile is known from static extents not to be full. */
static bool has_partial_tiles(const PackShape *p)
{
    for (size_t i = 0; i < p->tiles.len; i++) {
        int64_t dim = p->positions.data[i], tile;
        int64_t extent = p->unpacked->u.shaped.dims[dim];
        if (extent == DIM_DYNAMIC) continue;
        if (!mixed_known(p->tiles.data[i], &tile))
            tile = p->packed->u.shaped.dims[outer_position(p, dim)];
        if (tile != DIM_DYNAMIC && tile != 0 && extent % tile != 0) return true;
    }
    return false;
}

static bool verify_padding(Op *op, const PackShape *p)
{
    uint32_t begin, count;
    op_operand_group(op, 2, &begin, &count);
    const Type *elem = type_elem(op_operand(op, 0)->type);
    if (count > 0 && op_operand(op, begin)->type != elem)
        return op_error(op, "expected padding_value has '%s' but got: '%s'",
                        type_str(op->ctx, elem), type_str(op->ctx, op_operand(op, begin)->type));
    if (count == 0 && has_partial_tiles(p))
        return op_error(op, "invalid tile factor or output size provided. Only full tiles are "
                            "supported when padding_value is not set");
    return true;
}

static bool verify_tile_values(Op *op)
{
    return mixed_indices_verify(op, "static_inner_tiles", op->def == TENSOR(PACK) ? 3 : 2, "tile");
}

bool tensor_verify_pack(Op *op)
{
    PackShape packing;
    if (!verify_tile_values(op)) return false;
    packing_read(op, &packing);
    bool ok = verify_result(op) && verify_packing(op, &packing) && verify_padding(op, &packing);
    packing_free(&packing);
    return ok;
}

bool tensor_verify_unpack(Op *op)
{
    PackShape packing;
    if (!verify_tile_values(op)) return false;
    packing_read(op, &packing);
    bool ok = verify_result(op) && verify_packing(op, &packing);
    packing_free(&packing);
    return ok;
}

static bool is_tiled(const PackShape *p, int64_t dim)
{
    for (size_t i = 0; i < p->positions.len; i++)
        if (p->positions.data[i] == dim) return true;
    return false;
}

bool tensor_fills_tiles(const Op *pack)
{
    PackShape packing;
    packing_read(pack, &packing);
    bool full = !has_partial_tiles(&packing);
    for (size_t i = 0; i < packing.tiles.len; i++)
        full = full && !packing.tiles.data[i].value &&
               packing.unpacked->u.shaped.dims[packing.positions.data[i]] != DIM_DYNAMIC;
    packing_free(&packing);
    return full;
}

static const Type *with_dims(const Type *type, const IntList *dims)
{
    return type_with_shape(type, dims->data, (uint32_t)dims->len);
}

static void read_dims(const Type *type, IntList *out)
{
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) *vec_push(out) = type->u.shaped.dims[i];
}

bool tensor_shared_extents(const Op *op, const Type **source, const Type **dest)
{
    PackShape packing;
    IntList unpacked = {0}, packed = {0};
    bool changed = false, is_pack = op->def == TENSOR(PACK);
    packing_read(op, &packing);
    read_dims(packing.unpacked, &unpacked);
    read_dims(packing.packed, &packed);
    for (size_t i = 0; i < unpacked.len; i++) {
        int64_t *a = &unpacked.data[i], *b = &packed.data[outer_position(&packing, (int64_t)i)];
        if (is_tiled(&packing, (int64_t)i) || (*a == DIM_DYNAMIC) == (*b == DIM_DYNAMIC)) continue;
        *a = *b = *a == DIM_DYNAMIC ? *b : *a;
        changed = true;
    }
    *(is_pack ? source : dest) = with_dims(packing.unpacked, &unpacked);
    *(is_pack ? dest : source) = with_dims(packing.packed, &packed);
    vec_free(&unpacked);
    vec_free(&packed);
    packing_free(&packing);
    return changed;
}
