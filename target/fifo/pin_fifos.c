/* pin-fifos: sets the FIFOs that a folding file names, for fit-fifos to keep.
 * Requires: a top function of emithls streams.
 * Changes: depth, fixed and impl of streams.
 * Tests: lit/target/fifo/folding-fifos.mir, lit/target/dse/folding-invalid.test */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "target/dse/dse.h"
#include "target/fifo/fifo.h"
#include "target/fifo/internal.h"

enum { MIN_DEPTH = 2, MAX_DEPTH = 1 << 30 };

typedef struct Pins {
    const FoldingFile *file;
    const Op *module;
    PtrMap streams; /* Ident of a name -> op */
} Pins;

static bool pin_depth(const Pins *pins, Op *stream, const char *key, const json_t *value)
{
    json_int_t depth = json_integer_value(value);
    if (!json_is_integer(value) || depth < MIN_DEPTH || depth > MAX_DEPTH)
        return diag_error(stream->ctx, folding_value_place(pins->file, value, key),
                          "a FIFO's depth is a number from %d to %d", MIN_DEPTH, MAX_DEPTH);
    op_set_attr(stream, DFG_ATTR_DEPTH, attr_i64(stream->ctx, depth));
    op_set_attr(stream, EMITHLS_ATTR_FIXED, attr_unit(stream->ctx));
    return true;
}

static bool pin_kind(const Pins *pins, Op *stream, const char *key, const json_t *value)
{
    FifoKind kind;
    if (!json_is_string(value) || !fifo_kind(str_from(json_string_value(value)), &kind))
        return diag_error(stream->ctx, folding_value_place(pins->file, value, key),
                          "a FIFO is built of 'srl', 'lutram', 'bram' or 'uram'");
    op_set_attr(stream, EMITHLS_ATTR_IMPL, attr_string(stream->ctx, fifo_kind_name(kind)));
    return true;
}

static bool pin_key(const Pins *pins, Op *stream, const char *key, const json_t *value)
{
    if (strcmp(key, "depth") == 0) return pin_depth(pins, stream, key, value);
    if (strcmp(key, "impl") == 0) return pin_kind(pins, stream, key, value);
    return diag_error(stream->ctx, folding_key_place(pins->file, key),
                      "nothing of a FIFO is called '%s'", key);
}

/* Whether a FIFO was in front of a fork that another process does the work of (merge-forks). */
static bool was_before_fork(const Op *module, const char *name)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        const Attr *forks = attr_dict_get_c(op_attr(op, DFG_ATTR_REPORT), DFG_REPORT_FORKS);
        for (uint32_t i = 0; forks && i < forks->u.dict.count; i++) {
            Str fork = forks->u.dict.items[i].name->str, all = str_from(name);
            const Str to = STR("_to_");
            if (all.len > fork.len + to.len &&
                str_eq((Str){all.data + all.len - fork.len, fork.len}, fork) &&
                str_eq((Str){all.data + all.len - fork.len - to.len, to.len}, to))
                return true;
        }
    }
    return false;
}

static bool pin_fifo(const Pins *pins, Context *ctx, const char *name, const json_t *entry)
{
    const char *key;
    json_t *value;
    Op *stream = ptrmap_get(&pins->streams, ident_get_c(ctx, name));
    if (!stream && was_before_fork(pins->module, name)) return true;
    if (!stream)
        return diag_error(ctx, folding_key_place(pins->file, name), "the design has no FIFO '%s'",
                          name);
    bool ok = json_is_object(entry) || diag_error(ctx, folding_value_place(pins->file, entry, name),
                                                  "FIFO '%s' must be an object", name);
    json_object_foreach((json_t *)(uintptr_t)entry, key, value) ok =
        ok && pin_key(pins, stream, key, value);
    return ok;
}

static bool pin_fifos(Pass *pass, Op *module)
{
    const char *name;
    json_t *entry;
    FoldingFile file;
    Op *top = emithls_top(module);
    if (!folding_read(pass->ctx, pass_string(pass, "file"), &file)) return false;
    Pins pins = {.file = &file, .module = module};
    if (top)
        FOR_EACH_OP(op, region_entry(op_region(top, 0)))
            if (op->def == EMITHLS(STREAM))
                ptrmap_put(&pins.streams, ident_get(pass->ctx, op_attr(op, "name")->u.string), op);
    bool ok = true;
    json_object_foreach(file.fifos, name, entry) ok = ok && pin_fifo(&pins, pass->ctx, name, entry);
    ptrmap_free(&pins.streams);
    folding_free(&file);
    return ok;
}

const PassDef pass_pin_fifos = {
    .name = "pin-fifos",
    .summary = "Set the FIFO depths that a folding file gives, for fit-fifos to keep",
    .anchor = "builtin.module",
    .options = OPTIONS({"file", OPTION_STRING, "", "the folding file"}),
    .run = pin_fifos,
};
