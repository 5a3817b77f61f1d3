/* Programs of the processing unit in its memory, a ring in which the next one takes the place of the
 * oldest. A command of the array may still need what is replaced: so many of them can be on their way
 * that a program is free when that many have been queued behind the last one that runs it.
 * Tests: lit/lowering/network_to_program/programs.mir, test/e2e/overlay_check.py */
#include <stdlib.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

/* The array's queue holds four commands, and one is running. */
enum { ON_THEIR_WAY = 5, MAX_PLACE = 8191 };

int64_t to_program_parameter_place(const Layer *layer, const Op *load)
{
    return sa_int(load, "address", 0) * layer->m_blocks;
}

bool to_program_check_programs(const Layer *layer)
{
    for (uint32_t r = 0; r < layer->op->region_count; r++)
        FOR_EACH_OP(inner, region_entry(op_region(layer->op, r)))
            if (sa_reads_parameter(inner) && to_program_parameter_place(layer, inner) > MAX_PLACE)
                return op_error(inner,
                                "loads a vector %lld behind the layer's first, more than an "
                                "instruction counts",
                                (long long)to_program_parameter_place(layer, inner));
    uint32_t length = layer->tap_length + layer->pu_length;
    return length <= SA_PU_WORDS ||
           op_error(layer->op, "has programs of %u instructions, and the processing unit holds %d",
                    length, SA_PU_WORDS);
}

static uint32_t word_of(const Layer *layer, const Op *op)
{
    uint32_t word = sa_encode(op);
    if (!sa_reads_parameter(op)) return word;
    return (word & ~(uint32_t)MAX_PLACE) | (uint32_t)to_program_parameter_place(layer, op);
}

static PuProgram program_of(const Layer *layer)
{
    PuProgram program = {.count = layer->tap_length + layer->pu_length,
                         .tap_length = layer->tap_length};
    uint32_t index = 0;
    program.words = xcalloc(program.count, sizeof *program.words);
    for (uint32_t r = 0; r < layer->op->region_count; r++)
        FOR_EACH_OP(inner, region_entry(op_region(layer->op, r)))
            program.words[index++] = word_of(layer, inner);
    return program;
}

static bool is_same(const PuProgram *a, const PuProgram *b)
{
    return a->count == b->count && a->tap_length == b->tap_length &&
           memcmp(a->words, b->words, a->count * sizeof *a->words) == 0;
}

void to_program_free_memory(PuMemory *memory)
{
    for (size_t i = 0; i < memory->programs.len; i++) free(memory->programs.data[i].words);
    vec_free(&memory->programs);
}

/* Takes away what overlaps the program's place. */
static void evict(PuMemory *memory, const PuProgram *program, uint64_t *free_from)
{
    for (size_t i = 0; i < memory->programs.len; i++) {
        PuProgram *other = &memory->programs.data[i];
        bool overlaps = other->is_there && other->at < program->at + program->count &&
                        program->at < other->at + other->count;
        if (!overlaps) continue;
        other->is_there = false;
        if (other->last_run + ON_THEIR_WAY > *free_from)
            *free_from = other->last_run + ON_THEIR_WAY;
    }
}

PuProgram *to_program_find_program(PuMemory *memory, const Layer *layer, bool *is_new,
                                   uint64_t *free_from)
{
    PuProgram program = program_of(layer), *found = NULL;
    *is_new = false;
    *free_from = 0;
    for (size_t i = 0; i < memory->programs.len && !found; i++)
        if (is_same(&memory->programs.data[i], &program)) found = &memory->programs.data[i];
    if (found)
        free(program.words);
    else
        *(found = vec_push(&memory->programs)) = program;
    if (found->is_there) return found;
    *is_new = true;
    found->at = memory->next + found->count > SA_PU_WORDS ? 0 : memory->next;
    evict(memory, found, free_from);
    found->is_there = true;
    memory->next = found->at + found->count;
    return found;
}
