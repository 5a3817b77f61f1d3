/* What no process can be lowered with: floats, memories at the boundary, streams without words.
 * Tests: lit/lowering/emithls_to_rtl/invalid.mir */
#include <string.h>

#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "lowering/emithls_to_rtl/internal.h"

/* The ops of a process that compute in floating point. */
typedef struct FloatOps {
    const Op *first;
    VEC(const OpDef *) kinds;
    StrBuf names; /* of the kinds, separated by commas */
} FloatOps;

static bool has_floats(const Op *op)
{
    if (op->result_count == 1 && type_is_float(type_elem(op_result(op, 0)->type))) return true;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (type_is_float(type_elem(op_operand(op, i)->type))) return true;
    return false;
}

static bool add_float_op(Op *op, void *user)
{
    FloatOps *found = user;
    bool computes = op->def && op->def->dialect != &emithls_dialect && op->operand_count > 0;
    if (!computes || !has_floats(op)) return true;
    if (!found->first) found->first = op;
    for (size_t i = 0; i < found->kinds.len; i++)
        if (found->kinds.data[i] == op->def) return true;
    *vec_push(&found->kinds) = op->def;
    strbuf_printf(&found->names, "%s%.*s", found->names.len > 0 ? ", " : "", STR_ARG(op_name(op)));
    return true;
}

/* An error at the first process's first op, a note at each other process's. */
static bool report_floats(const HlsProcess *p, const FloatOps *found, bool is_first)
{
    if (is_first)
        return op_error(found->first,
                        "cannot become hardware: process '%.*s' computes in floating point (%s), "
                        "and modules compute with integers",
                        STR_ARG(p->name), found->names.data);
    return op_note(found->first, "so does process '%.*s' (%s)", STR_ARG(p->name),
                   found->names.data);
}

static bool check_floats(const HlsDesign *design)
{
    bool ok = true;
    for (size_t i = 0; i < design->processes.len; i++) {
        const HlsProcess *p = &design->processes.data[i];
        FloatOps found = {.first = NULL};
        if (!p->func) continue;
        op_walk((Op *)p->func, add_float_op, &found);
        if (found.first) ok = report_floats(p, &found, ok);
        vec_free(&found.kinds);
        strbuf_free(&found.names);
    }
    return ok;
}

/* Words are rounded up to bytes at the boundary. */
static bool check_stream(const HlsDesign *design, const HlsStream *s)
{
    const Op *op = s->op ? s->op : design->top;
    uint64_t bits = (uint64_t)emithls_lanes(s->word) * type_width(emithls_scalar(s->word));
    if (bits + 7 > BIGINT_MAX_WIDTH)
        return op_error(op, "cannot become hardware: stream '%.*s' has words of %llu bits",
                        STR_ARG(s->name), (unsigned long long)bits);
    if (s->words == 0)
        return op_error(op, "cannot become hardware: stream '%.*s' carries nothing",
                        STR_ARG(s->name));
    if (s->writer == s->reader)
        return op_error(op, "cannot become hardware: stream '%.*s' goes from a process to itself",
                        STR_ARG(s->name));
    return type_is_integer(emithls_scalar(s->word)) ||
           op_error(op, "cannot become hardware: stream '%.*s' carries words of type '%s'",
                    STR_ARG(s->name), type_str(design->ctx, s->word));
}

static bool check_memories(const HlsDesign *design)
{
    if (design->memories.len == 0) return true;
    const Attr *names = op_attr(design->top, EMITHLS_ATTR_ARG_NAMES);
    Str name = names->u.array.items[design->memories.data[0].arg]->u.string;
    return op_error(design->top,
                    "cannot become hardware: it has a memory at the boundary, '%.*s'; ming compile "
                    "--interface=axis streams it",
                    STR_ARG(name));
}

bool to_rtl_check_design(const HlsDesign *design)
{
    if (!check_memories(design) || !check_floats(design)) return false;
    for (size_t i = 0; i < design->streams.len; i++)
        if (!check_stream(design, &design->streams.data[i])) return false;
    return true;
}
