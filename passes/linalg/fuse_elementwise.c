/* Fusion of a linalg.generic with only parallel loops into its one reader, another generic, which
 * takes over the producer's operands and body and so computes the elements where it needs them.
 *
 * Let P be the map of the producer's result, a permutation of its loops, and C the reader's map of
 * that operand. Then the reader's loops l correspond to the producer's loops P^-1(C(l)), and an
 * operand that the producer indexes by A is indexed by A(P^-1(C(l))).
 * Tests: lit/passes/linalg/linalg-fuse-elementwise-ops.mir */
#include "dialects/affine/affine.h"
#include "dialects/linalg/linalg.h"
#include "passes/linalg/internal.h"

typedef struct Fusion {
    Op *producer, *consumer, *fused;
    uint32_t operand, result; /* which of the consumer's reads which of the producer's */
    bool *kept;               /* results of the producer that the fused op has too */
    const AffineMap *loops;   /* from the consumer's loops to the producer's */
    PtrMap values;            /* from both bodies to the fused one */
} Fusion;

static const AffineMap *result_map(const Op *op, uint32_t result)
{
    return linalg_operand_map(op, linalg_input_count(op) + result);
}

/* From the consumer's loops to the producer's. */
static const AffineMap *loops_map(const Op *producer, uint32_t result, const Op *consumer,
                                  uint32_t operand)
{
    const AffineMap *inverse = map_inverse_permutation(result_map(producer, result));
    return map_compose(inverse, linalg_operand_map(consumer, operand));
}

static void mark_dims(const AffineMap *map, bool *covered)
{
    for (uint32_t i = 0; i < map->result_count; i++)
        if (map->results[i]->kind == AFFINE_DIM) covered[map->results[i]->value] = true;
}

/* Once the producer's result is no operand any more, each loop still has a trip count. Parallel
 * loops have one by the inits. */
static bool keeps_trip_counts(const Op *producer, uint32_t result, const Op *consumer,
                              uint32_t operand)
{
    uint32_t loops = linalg_loop_count(consumer), count = 0;
    if (!linalg_reduces(consumer)) return true;
    bool *covered = xcalloc(loops, sizeof *covered);
    const AffineMap *to_producer = loops_map(producer, result, consumer, operand);
    for (uint32_t i = 0; i < consumer->operand_count; i++)
        if (op_operand(consumer, i) != op_operand(consumer, operand))
            mark_dims(linalg_operand_map(consumer, i), covered);
    for (uint32_t i = 0; i < linalg_input_count(producer); i++)
        mark_dims(map_compose(linalg_operand_map(producer, i), to_producer), covered);
    for (uint32_t i = 0; i < loops; i++) count += covered[i];
    free_ptr((void **)&covered);
    return count == loops;
}

/* Within the consumer the producer reads what it may, and updates each element of an init once. */
static bool keeps_accesses(const Op *producer, uint32_t result, const Op *consumer,
                           uint32_t operand)
{
    uint32_t inputs = linalg_input_count(producer);
    const AffineMap *to_producer = loops_map(producer, result, consumer, operand);
    for (uint32_t i = 0; i < producer->operand_count; i++) {
        const AffineMap *map = map_compose(linalg_operand_map(producer, i), to_producer);
        if (i < inputs ? !linalg_fits_loops(consumer, op_operand(producer, i), map)
                       : linalg_reads_operand(producer, i) && !map_is_permutation(map))
            return false;
    }
    return true;
}

static bool is_fusable(const Op *consumer, uint32_t operand)
{
    const Value *value = op_operand(consumer, operand);
    const Op *producer = value_def(value);
    if (!producer || producer->def != LINALG(GENERIC) || !linalg_has_tensor_semantics(producer) ||
        value->type->kind != TYPE_RANKED_TENSOR)
        return false;
    if (linalg_reduces(producer) || operand >= linalg_input_count(consumer)) return false;
    if (linalg_operand_map(consumer, operand)->result_count != linalg_loop_count(producer))
        return false;
    return map_is_permutation(result_map(producer, 0)) &&
           map_is_permutation(result_map(producer, value->index)) &&
           keeps_trip_counts(producer, value->index, consumer, operand) &&
           keeps_accesses(producer, value->index, consumer, operand);
}

/* Results that others read, whose init's elements count, or without whose init a loop of the
 * producer has no trip count. */
static void find_kept(Fusion *f)
{
    uint32_t inputs = linalg_input_count(f->producer);
    bool *dropped = xcalloc(f->producer->operand_count, sizeof *dropped);
    for (uint32_t i = 0; i < f->producer->result_count; i++) {
        dropped[inputs + i] = true;
        f->kept[i] = linalg_reads_operand(f->producer, inputs + i) ||
                     !parts_operands_cover_loops(f->producer, dropped);
        dropped[inputs + i] = false;
        FOR_EACH_USE(use, op_result(f->producer, i))
            f->kept[i] = f->kept[i] || use->owner != f->consumer;
    }
    free_ptr((void **)&dropped);
}

static void take_consumer_inputs(const Fusion *f, uint32_t begin, uint32_t end, GenericParts *out)
{
    for (uint32_t i = begin; i < end; i++)
        parts_add_input(out, op_operand(f->consumer, i), linalg_operand_map(f->consumer, i));
}

static const AffineMap *producer_map(const Fusion *f, uint32_t operand)
{
    return map_compose(linalg_operand_map(f->producer, operand), f->loops);
}

/* The producer's inputs take the place of the consumer's input that was its result. */
static void collect_parts(const Fusion *f, GenericParts *out)
{
    const Op *producer = f->producer, *consumer = f->consumer;
    uint32_t producer_inputs = linalg_input_count(producer);
    uint32_t consumer_inputs = linalg_input_count(consumer);
    take_consumer_inputs(f, 0, f->operand, out);
    for (uint32_t i = 0; i < producer_inputs; i++)
        parts_add_input(out, op_operand(producer, i), producer_map(f, i));
    take_consumer_inputs(f, f->operand + 1, consumer_inputs, out);
    for (uint32_t i = 0; i < producer->result_count; i++)
        if (f->kept[i])
            parts_add_init(out, op_operand(producer, producer_inputs + i),
                           producer_map(f, producer_inputs + i));
    for (uint32_t i = consumer_inputs; i < consumer->operand_count; i++)
        parts_add_init(out, op_operand(consumer, i), linalg_operand_map(consumer, i));
}

static void map_arg(Fusion *f, const Block *from, uint32_t index, uint32_t *next)
{
    Value *arg = linalg_body(f->fused)->args[(*next)++];
    arg->loc = from->args[index]->loc;
    ptrmap_put(&f->values, from->args[index], arg);
}

/* In the order of collect_parts. */
static void map_args(Fusion *f)
{
    const Block *producer = linalg_body(f->producer), *consumer = linalg_body(f->consumer);
    uint32_t producer_inputs = linalg_input_count(f->producer);
    uint32_t consumer_inputs = linalg_input_count(f->consumer), next = 0;
    for (uint32_t i = 0; i < f->operand; i++) map_arg(f, consumer, i, &next);
    for (uint32_t i = 0; i < producer_inputs; i++) map_arg(f, producer, i, &next);
    for (uint32_t i = f->operand + 1; i < consumer_inputs; i++) map_arg(f, consumer, i, &next);
    for (uint32_t i = 0; i < f->producer->result_count; i++)
        if (f->kept[i]) map_arg(f, producer, producer_inputs + i, &next);
    for (uint32_t i = consumer_inputs; i < consumer->arg_count; i++) map_arg(f, consumer, i, &next);
}

/* The producer's loop indices in terms of the consumer's. */
static void map_indices(Rewriter *rw, Fusion *f)
{
    uint32_t loops = linalg_loop_count(f->consumer);
    Builder saved = rw->b;
    ValueList indices = {0};
    if (!parts_body_has_index(f->producer)) return;
    builder_set_end(&rw->b, linalg_body(f->fused));
    rw->b.loc = f->producer->loc;
    for (uint32_t i = 0; i < loops; i++) *vec_push(&indices) = linalg_index(&rw->b, i);
    FOR_EACH_OP(op, linalg_body(f->producer)) {
        if (op->def != LINALG(INDEX)) continue;
        int64_t dim = attr_int_value(op_attr(op, "dim"));
        const AffineMap *map = map_get(rw->b.ctx, loops, 0, 1, &f->loops->results[dim]);
        Value *index = affine_apply(&rw->b, map, indices.data, loops);
        ptrmap_put(&f->values, op_result(op, 0), index);
    }
    rw->b = saved;
    vec_free(&indices);
}

static void copy_producer(Rewriter *rw, Fusion *f)
{
    Block *body = linalg_body(f->fused);
    const Block *from = linalg_body(f->producer);
    Builder saved = rw->b;
    builder_set_end(&rw->b, body);
    for (Op *op = from->first; op != from->last; op = op->next)
        if (op->def != LINALG(INDEX)) rewriter_insert(rw, op_clone(op, &f->values));
    rw->b = saved;
}

static void fill_body(Rewriter *rw, Fusion *f)
{
    Block *body = linalg_body(f->fused), *consumer = linalg_body(f->consumer);
    const Op *yield = linalg_body(f->producer)->last;
    ValueList yielded = {0};
    map_args(f);
    map_indices(rw, f);
    copy_producer(rw, f);
    ptrmap_put(&f->values, consumer->args[f->operand],
               parts_body_mapped(&f->values, op_operand(yield, f->result)));
    parts_body_copy(rw, body, consumer, consumer->last, &f->values);
    for (uint32_t i = 0; i < yield->operand_count; i++)
        if (f->kept[i]) *vec_push(&yielded) = parts_body_mapped(&f->values, op_operand(yield, i));
    for (uint32_t i = 0; i < consumer->last->operand_count; i++)
        *vec_push(&yielded) = parts_body_mapped(&f->values, op_operand(consumer->last, i));
    parts_body_yield(rw, body, &yielded, f->fused->loc);
    vec_free(&yielded);
}

static void replace_consumer(Rewriter *rw, const Fusion *f)
{
    ValueList values = {0};
    uint32_t first = f->fused->result_count - f->consumer->result_count;
    for (uint32_t i = 0; i < f->consumer->result_count; i++)
        *vec_push(&values) = op_result(f->fused, first + i);
    rewriter_replace(rw, f->consumer, values.data, f->consumer->result_count);
    vec_free(&values);
}

static bool fuse(Rewriter *rw, Op *consumer, uint32_t operand)
{
    Value *value = op_operand(consumer, operand);
    Op *producer = value_def(value);
    GenericParts parts = {0};
    Fusion f = {.producer = producer,
                .consumer = consumer,
                .operand = operand,
                .result = value->index,
                .kept = xcalloc(producer->result_count, sizeof(bool)),
                .loops = loops_map(producer, value->index, consumer, operand)};
    find_kept(&f);
    collect_parts(&f, &parts);
    bool ok = parts_maps_cover_loops(rw->b.ctx, &parts.maps);
    if (ok) {
        f.fused = parts_build(&rw->b, &parts, op_attr(consumer, "iterator_types"));
        fill_body(rw, &f);
        replace_consumer(rw, &f);
    }
    parts_free(&parts);
    ptrmap_free(&f.values);
    free_ptr((void **)&f.kept);
    return ok;
}

static bool fuse_producer(Rewriter *rw, Op *op, void *user)
{
    (void)user;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (is_fusable(op, i) && parts_op_has_one_use(value_def(op_operand(op, i))))
            return fuse(rw, op, i);
    return false;
}

void fuse_add_elementwise(PatternSet *set)
{
    pattern_add(set, "fuse-elementwise", LINALG(GENERIC), 1, fuse_producer);
}
