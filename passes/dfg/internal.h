/* Shared by the files of load-weights. */
#ifndef MING_PASSES_DFG_INTERNAL_H
#define MING_PASSES_DFG_INTERNAL_H

#include "dialects/emithls/emithls.h"

enum { MAX_TABLE_RANK = 32 };

/* A table that is loaded into a variable of a function. */
typedef struct LoadedTable {
    Op *func, *table;
    Value *variable;
    /* Set by load_table_plan. */
    int64_t chunk;    /* elements that are taken in an iteration */
    int64_t per_word; /* elements of a word of the chain, a power of two */
    bool gathers;     /* rows of several chunks are gathered in registers */
    /* Set by load_table_declare. */
    Value *row;  /* these registers, or NULL */
    Value *word; /* a word of several chunks while it is taken apart, or NULL */
} LoadedTable;

/* Decides how a table comes; has_rows: elements along its last dimension make a word of the memory,
 * or are banks that are written together. word_bits: of the chain, no less than an element has. */
void load_table_plan(LoadedTable *t, bool has_rows, uint32_t word_bits);
/* Declares the registers that loading takes, in front of `place`. word: type of the chain's words. */
void load_table_declare(LoadedTable *t, Op *place, const Type *word);
/* Builds the nest that fills the variable from the words of the chain. */
void load_table(EmithlsNest *nest, const LoadedTable *t, Value *chain_in);

#endif
