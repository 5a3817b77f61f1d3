/* The folding file: every choice of a design, by the names of its processes, to be read, changed and
 * given back. apply-folding pins what a file says before choose-unroll, pin-fifos before fit-fifos;
 * choose-unroll leaves what it chose in the processes' reports, from where emit/ writes the file.
 * docs/folding.md describes it.
 * Tests: lit/target/folding.test, lit/target/folding-invalid.test, test/e2e/run.py */
#ifndef MING_TARGET_FOLDING_H
#define MING_TARGET_FOLDING_H

#include "ir/core/op.h"
#include "target/device/json_file.h"

/* A memory of a process, as the file names it. */
typedef struct FoldingMemory {
    Op *op;           /* that has dfg.storage */
    uint32_t level;   /* of a window's memories; else 0 */
    const char *role; /* "weights", "initial", "params", "levels", "partial", "lines", "buffer", "parts" */
} FoldingMemory;

typedef VEC(FoldingMemory) FoldingMemories;

/* The memories that a process may have, in order of its body; the caller frees the list. False:
 * diagnosed (no streaming form). */
bool folding_memories(Op *process, FoldingMemories *out) MUST_CHECK;

/* Adds `folding` to the report of each process of the module: what was chosen for it. Converters have
 * an empty one. */
void folding_record(Op *module);

/* Reads a folding file. Its sections are objects, or NULL where there is none. False: diagnosed. */
typedef struct FoldingFile {
    JsonFile json;
    json_t *layers, *fifos;
} FoldingFile;
bool folding_read(Context *ctx, Str path, FoldingFile *out) MUST_CHECK;
void folding_free(FoldingFile *file);

/* Where a member of an object stands, by its key, or its value. */
const Attr *folding_key_place(const FoldingFile *file, const char *key);
const Attr *folding_value_place(const FoldingFile *file, const json_t *value, const char *key);

#endif
