/* Inside of sim/engine. */
#ifndef MING_SIM_ENGINE_INTERNAL_H
#define MING_SIM_ENGINE_INTERNAL_H

#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "sim/engine/engine.h"

/* A command on its way through a unit, with its copy of the registers. */
typedef struct Command {
    const Op *op;
    uint32_t number; /* of the instruction, from 1 */
    uint32_t unit;
    uint64_t queued, start, end; /* cycles */
    int32_t regs[SA_REG_COUNT];
    uint32_t address[4];   /* of the buffers, in beats */
    uint32_t wait, signal; /* semaphores; SA_SEMAPHORES: none */
} Command;

/* When a word was last written, and last read: the commands' ends and the writer. */
typedef struct WordUse {
    uint64_t write_end, read_end;
    uint32_t writer; /* instruction; 0: never */
    uint32_t reader;
} WordUse;

/* A memory on the chip: words of so many lanes. Lanes that nothing was written to hold
 * MEMORY_EMPTY. */
typedef struct Memory {
    const char *name;
    uint64_t words;
    uint32_t lanes;
    uint32_t page_words; /* of a page, which has one port to read and one to write; 0: no pages */
    int64_t *data;
    WordUse *uses;
    WordUse *pages;
    const Op *const *instructions; /* of the program, by number - 1; not owned */
} Memory;

#define MEMORY_EMPTY INT64_MIN

typedef struct Engine {
    Context *ctx;
    SaOverlay size;
    const EngineOptions *options;
    EngineBank *banks;
    size_t bank_count;
    EngineResult *result;
    const Op **instructions; /* by number - 1 */
    Memory act, weights[2], pe[2], params, partial;
    const Op *pu[SA_PU_WORDS];
    int64_t *regs;  /* of the processing unit: SA_PU_REGS vectors of `rows` lanes */
    int64_t *sums;  /* `rows` lanes: what the array gives, or the input of a pool */
    int64_t *input; /* a word of padding */
} Engine;

/* memory.c */
void engine_memory_create(Memory *memory, const char *name, uint64_t words, uint32_t lanes,
                          uint32_t page_words);
void engine_memory_free(Memory *memory);
/* A word that the command reads through its port `port`, or lanes of one that it writes. The lanes
 * belong to the memory. NULL: diagnosed. */
const int64_t *engine_memory_read(const Memory *memory, const Command *cmd, uint64_t word,
                                  uint32_t port);
int64_t *engine_memory_write(const Memory *memory, const Command *cmd, uint64_t word);
/* One that it reads first, through its page's port. */
int64_t *engine_memory_update(const Memory *memory, const Command *cmd, uint64_t word);

/* transfer.c: cycles of a command, and what it does. */
uint64_t engine_transfer_cycles(const Engine *engine, const Command *cmd);
bool engine_transfer_check(Engine *engine, const Command *cmd);
bool engine_transfer_run(Engine *engine, const Command *cmd);
void engine_count_bytes(Engine *engine, const Command *cmd);

/* array.c */
uint64_t engine_array_cycles(const Engine *engine, const Command *cmd);
bool engine_array_check(Engine *engine, const Command *cmd);
bool engine_array_run(Engine *engine, const Command *cmd);
/* Whether it stores the maxima of windows over its results. */
bool engine_has_pool(const Command *cmd);

/* pu.c: runs `length` instructions from `first` on for the output vector m of pixel (y, x). *emitted
 * counts the vectors that were stored; they go to the output. */
typedef struct PuPlace {
    const Command *cmd;
    uint64_t m, y, x;
} PuPlace;
bool engine_pu_run(Engine *engine, const PuPlace *at, uint32_t first, uint32_t length,
                   uint32_t *emitted);
/* Whether an accumulator holds the number. */
bool engine_pu_fits(const Engine *engine, int64_t value);

/* Words of the activations. */
uint64_t engine_word(const Engine *engine, const Command *cmd, int page, int base, uint64_t y,
                     uint64_t x);
/* The lanes m * rows … of a pixel whose words begin at `word`, copied to `out`. */
bool engine_read_vector(Engine *engine, const Command *cmd, uint64_t word, uint64_t m,
                        uint32_t port, int64_t *out);

/* `count` bits, a power of two or whole bytes, from bit `at` on. */
static inline uint64_t engine_get_bits(const uint8_t *from, uint64_t at, uint32_t count)
{
    uint64_t bits = 0;
    if (count < 8) return ((uint32_t)from[at / 8] >> at % 8) & ((1u << count) - 1);
    for (uint32_t i = 0; i < count / 8; i++) bits |= (uint64_t)from[at / 8 + i] << 8 * i;
    return bits;
}

static inline void engine_put_bits(uint8_t *to, uint64_t at, uint32_t count, uint64_t bits)
{
    if (count < 8) {
        uint32_t mask = ((1u << count) - 1) << at % 8;
        to[at / 8] = (uint8_t)((to[at / 8] & ~mask) | ((uint32_t)(bits << at % 8) & mask));
        return;
    }
    for (uint32_t i = 0; i < count / 8; i++) to[at / 8 + i] = (uint8_t)(bits >> 8 * i & 0xFF);
}

static inline uint64_t div_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

#endif
