/* The word of a stream that a compute process holds. Where an iteration takes all of it, it is one
 * variable. Where its elements are taken in turn, each turn's are a register of their own:
 *
 *   in_word[turn][lane] = word[place of the turn's lane]
 *
 * so that every lane has a constant place in the word, and the turn chooses among as many registers
 * as there are turns. An index that moves within the word would be a shifter as wide as the word.
 * Tests: lit/lowering/dfg_to_emithls/word-turns.mir */
#include "dialects/emithls/emithls.h"
#include "dialects/linalg/linalg.h"
#include "lowering/dfg_to_emithls/internal.h"

static const AffineMap *stream_map(const ComputeLowering *c, uint32_t stream)
{
    return linalg_operand_map(c->sched.main, c->sched.stream_operand[stream]);
}

void to_emithls_declare_word(ComputeLowering *c, uint32_t stream)
{
    static const char *const names[] = {"in_word",  "in_word2", "in_word3", "in_word4",
                                        "in_word5", "in_word6", "in_word7", "in_word8"};
    EmithlsNest *nest = &c->l->nest;
    uint32_t port = c->sched.stream_port[stream];
    const Type *word = emithls_stream_word(to_emithls_port_stream(c->l, port)->type);
    WordTurns turns;
    int64_t dims[SCHED_MAX_LOOPS];
    sched_word_turns(&c->sched, stream, &turns);
    for (uint32_t i = 0; i < turns.loop_count; i++) dims[i] = c->sched.loops[turns.loops[i]].trip;
    if (turns.loop_count)
        word = turns.lanes > 1 ? type_vector(emithls_scalar(word), &turns.lanes, 1, NULL)
                               : emithls_scalar(word);
    Value *array = emithls_nest_variable(nest, names[stream], word, dims, turns.loop_count);
    for (uint32_t i = 1; i <= turns.loop_count; i++) emithls_nest_partition(nest, array, i);
    if (turns.loop_count) emithls_nest_temporary(nest, array);
    c->words[stream] = array;
}

/* The current lane among those that an iteration takes. */
static const AffineExpr *lane_of(const ComputeLowering *c, uint32_t stream)
{
    const AffineMap *map = stream_map(c, stream);
    const AffineExpr *lane = affine_const(c->ctx, 0);
    for (uint32_t r = 0; r < map->result_count; r++) {
        if (map->results[r]->kind != AFFINE_DIM) continue;
        int64_t loop = map->results[r]->value;
        lane = affine_add(affine_mul_c(lane, c->sched.unroll[loop]), c->lane[loop]);
    }
    return lane;
}

/* Place in the word of the current lane, of the turn that the counters `at` give. */
static const AffineExpr *place_in_word(const ComputeLowering *c, uint32_t stream,
                                       const WordTurns *turns, const AffineExpr *const *at)
{
    const AffineMap *map = stream_map(c, stream);
    const AffineExpr *place = affine_const(c->ctx, 0);
    for (uint32_t r = 0; r < map->result_count; r++) {
        const AffineExpr *element = affine_const(c->ctx, 0);
        if (map->results[r]->kind == AFFINE_DIM) {
            uint32_t loop = (uint32_t)map->results[r]->value;
            element = c->lane[loop];
            for (uint32_t i = 0; i < turns->loop_count; i++) {
                const ScheduleLoop *turn = &c->sched.loops[turns->loops[i]];
                if (turn->loop == loop)
                    element = affine_add(element, affine_mul_c(at[i], turn->scale));
            }
        }
        place = affine_add(affine_mul_c(place, c->word[stream][r]), element);
    }
    return place;
}

/* Opens an unrolled loop over all turns and their lanes; at: the turns' counters. */
static NestMark open_elements(ComputeLowering *c, uint32_t stream, const WordTurns *turns,
                              const AffineExpr **at)
{
    LoopSpec loops[SCHED_MAX_LOOPS + KERNEL_MAX_LOOPS];
    StrBuf names[COUNT_OF(loops)] = {0};
    const AffineMap *map = stream_map(c, stream);
    uint32_t count = 0, first = c->l->nest.count;
    for (uint32_t i = 0; i < turns->loop_count; i++) {
        const ScheduleLoop *turn = &c->sched.loops[turns->loops[i]];
        at[i] = affine_dim(c->ctx, first + count);
        strbuf_printf(&names[count], "%s_g", to_emithls_loop_name(&c->sched, turn->loop));
        loops[count] = (LoopSpec){names[count].data, turn->trip};
        count++;
    }
    for (uint32_t r = 0; r < map->result_count; r++) {
        if (map->results[r]->kind != AFFINE_DIM) continue;
        uint32_t loop = (uint32_t)map->results[r]->value;
        if (c->sched.unroll[loop] == 1) continue;
        c->lane[loop] = affine_dim(c->ctx, first + count);
        strbuf_printf(&names[count], "%s_u", to_emithls_loop_name(&c->sched, loop));
        loops[count] = (LoopSpec){names[count].data, c->sched.unroll[loop]};
        count++;
    }
    NestMark mark = emithls_nest_open(&c->l->nest, "hold", loops, count, LOOP_UNROLLED, -1, -1);
    for (uint32_t i = 0; i < count; i++) strbuf_free(&names[i]);
    return mark;
}

Value *to_emithls_open_word(ComputeLowering *c, uint32_t stream)
{
    uint32_t port = c->sched.stream_port[stream];
    const Type *word = emithls_stream_word(to_emithls_port_stream(c->l, port)->type);
    if (emithls_array_rank(c->words[stream]->type) == 0) return c->words[stream];
    return emithls_nest_variable(&c->l->nest, "word", word, NULL, 0);
}

void to_emithls_hold_word(ComputeLowering *c, uint32_t stream, Value *whole)
{
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    EmithlsNest *nest = &c->l->nest;
    WordTurns turns;
    sched_word_turns(&c->sched, stream, &turns);
    if (turns.loop_count == 0) return;
    NestMark mark = open_elements(c, stream, &turns, index);
    const AffineExpr *place = place_in_word(c, stream, &turns, index);
    index[turns.loop_count] = lane_of(c, stream);
    emithls_nest_store(nest, emithls_nest_load(nest, whole, &place, 1), c->words[stream], index,
                       turns.loop_count + (turns.lanes > 1));
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++) c->lane[i] = affine_const(c->ctx, 0);
    emithls_nest_close(nest, mark);
}

/* The indices of what is held, the current lane's place last. Gives the number of the others. */
static uint32_t held_index(const ComputeLowering *c, uint32_t stream, const AffineExpr **index)
{
    WordTurns turns;
    sched_word_turns(&c->sched, stream, &turns);
    for (uint32_t i = 0; i < turns.loop_count; i++)
        index[i] = to_emithls_counter(c, turns.loops[i]);
    index[turns.loop_count] =
        turns.loop_count ? lane_of(c, stream) : place_in_word(c, stream, &turns, NULL);
    return turns.loop_count;
}

Value *to_emithls_load_word(ComputeLowering *c, uint32_t stream)
{
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    Value *array = c->words[stream];
    uint32_t count = held_index(c, stream, index);
    bool has_lanes = emithls_array_elem(array->type)->kind == TYPE_VECTOR;
    return emithls_nest_load(&c->l->nest, array, index, count + has_lanes);
}

bool to_emithls_takes_whole_word(ComputeLowering *c, uint32_t stream)
{
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    const Type *held = emithls_array_elem(c->words[stream]->type);
    if (held->kind != TYPE_VECTOR || emithls_lanes(held) != c->sched.reduction_lanes) return false;
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++)
        if (c->sched.kernel.is_reduction[i] && c->sched.unroll[i] > 1)
            c->lane[i] = affine_dim(c->ctx, i);
    bool is_whole = index[held_index(c, stream, index)] == to_emithls_term_lane(c);
    for (uint32_t i = 0; i < c->sched.kernel.loop_count; i++) c->lane[i] = affine_const(c->ctx, 0);
    return is_whole;
}

Value *to_emithls_load_whole_word(ComputeLowering *c, uint32_t stream)
{
    const AffineExpr *index[SCHED_MAX_LOOPS + 1];
    uint32_t count = held_index(c, stream, index);
    return emithls_nest_load(&c->l->nest, c->words[stream], index, count);
}
