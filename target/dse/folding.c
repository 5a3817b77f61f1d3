/* What reading and writing a folding file have in common: its sections, and the names of a
 * process's memories.
 * Tests: lit/target/dse/folding.test, lit/target/dse/folding-invalid.test */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"
#include "dialects/tensor/tensor.h"
#include "ir/asm/print/print.h"
#include "schedule/schedule.h"
#include "target/dse/dse.h"

static const int64_t max_file_bytes = INT64_C(1) << 24;

static bool read_section(FoldingFile *file, const char *key, json_t *value)
{
    json_t **section = strcmp(key, "layers") == 0  ? &file->layers
                       : strcmp(key, "fifos") == 0 ? &file->fifos
                       : strcmp(key, "place") == 0 ? &file->places
                                                   : NULL;
    if (!section)
        return diag_error(file->json.ctx, folding_key_place(file, key),
                          "a folding file has 'layers', 'fifos' and 'place', but no '%s'", key);
    *section = value;
    return json_is_object(value) ||
           diag_error(file->json.ctx, folding_value_place(file, value, key),
                      "'%s' must be an object", key);
}

bool folding_read(Context *ctx, Str path, FoldingFile *out)
{
    const char *key;
    json_t *value;
    *out = (FoldingFile){.layers = NULL};
    if (!json_file_read(ctx, path, "folding file", max_file_bytes, &out->json)) return false;
    bool ok = json_is_object(out->json.root) ||
              diag_error(ctx, json_file_place(&out->json, out->json.root, NULL),
                         "a folding file is an object with 'layers' and 'fifos'");
    json_object_foreach(out->json.root, key, value) ok = ok && read_section(out, key, value);
    if (!ok) folding_free(out);
    return ok;
}

void folding_free(FoldingFile *file)
{
    json_file_free(&file->json);
}

const Attr *folding_key_place(const FoldingFile *file, const char *key)
{
    return json_file_place(&file->json, key, NULL);
}

const Attr *folding_value_place(const FoldingFile *file, const json_t *value, const char *key)
{
    return json_file_place(&file->json, value, key);
}

static void add_memory(FoldingMemories *out, Op *op, uint32_t level, const char *role)
{
    *vec_push(out) = (FoldingMemory){op, level, role};
}

/* What a constant is to the kernel that reads it; NULL if no memory keeps it. */
static const char *constant_role(const Op *op, const ComputeSchedule *sched)
{
    const Use *use = op->result_count == 1 ? op_result(op, 0)->uses : NULL;
    if (!use || !op_has_trait(op, TRAIT_CONSTANT_LIKE) || !type_is_shaped(op_result(op, 0)->type))
        return NULL;
    if (use->owner->def == DFG(MERGE)) return "parts";
    if (use->owner->def == TENSOR(EXTRACT)) return "levels";
    if (sched && use->owner == sched->main)
        return use_index(use) < linalg_input_count(sched->main) ? "weights" : "initial";
    return "params";
}

static uint32_t window_levels(const Op *window)
{
    WindowParams params;
    return dfg_window_params(window, &params) ? params.count : 0;
}

bool folding_memories(Op *process, FoldingMemories *out)
{
    ProcessKind kind;
    ComputeSchedule sched;
    if (!sched_process_kind(process, &kind) ||
        (kind == PROCESS_COMPUTE && !sched_compute_now(process, &sched)))
        return false;
    bool computes = kind == PROCESS_COMPUTE;
    FOR_EACH_OP(op, region_entry(op_region(process, 0))) {
        const char *role = constant_role(op, computes ? &sched : NULL);
        if (role)
            add_memory(out, op, 0, role);
        else if (computes && op == sched.main)
            add_memory(out, op, 0, "partial");
        else if (op->def == DFG(REORDER))
            add_memory(out, op, 0, "buffer");
        else if (computes && op->def == DFG(PULL))
            add_memory(out, op, 0, "kept");
        for (uint32_t i = 0; op->def == DFG(WINDOW) && i < window_levels(op); i++)
            add_memory(out, op, i, "lines");
    }
    return true;
}
