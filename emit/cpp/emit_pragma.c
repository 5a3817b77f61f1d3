/* Prints the pragmas that are ops of emithls.
 * Warnings about code that synthesis takes long for: loops unrolled more than 4,096 times, arrays in
 * more than 1,024 parts. It is emitted all the same.
 * Tests: lit/emit/functions.mir, lit/emit/limits.mir */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"

bool emit_array_pragma(Function *f, Op *op)
{
    emit_pragma(f, "%s variable=%s type=complete dim=%lld", op->def->name,
                emit_name_of(f, op_operand(op, 0)), (long long)attr_int_value(op_attr(op, "dim")));
    return true;
}

bool emit_bind_storage(Function *f, Op *op)
{
    Str type = op_attr(op, "type")->u.string, impl = op_attr(op, EMITHLS_ATTR_IMPL)->u.string;
    if (str_eq_c(impl, "auto"))
        emit_pragma(f, "bind_storage variable=%s type=%.*s", emit_name_of(f, op_operand(op, 0)),
                    STR_ARG(type));
    else
        emit_pragma(f, "bind_storage variable=%s type=%.*s impl=%.*s",
                    emit_name_of(f, op_operand(op, 0)), STR_ARG(type), STR_ARG(impl));
    return true;
}

bool emit_dependence(Function *f, Op *op)
{
    emit_pragma(f, "dependence variable=%s type=inter direction=RAW distance=%lld dependent=true",
                emit_name_of(f, op_operand(op, 0)),
                (long long)attr_int_value(op_attr(op, EMITHLS_ATTR_DISTANCE)));
    return true;
}

bool emit_interface(Function *f, Op *op)
{
    Str mode = op_attr(op, "mode")->u.string;
    const char *port = emit_name_of(f, op_operand(op, 0));
    if (str_eq_c(mode, "axis")) {
        emit_pragma(f, "interface mode=axis port=%s", port);
        return true;
    }
    if (str_eq_c(mode, "s_axilite")) {
        emit_pragma(f, "interface mode=s_axilite port=%s", port);
        return true;
    }
    StrBuf bundle = {0};
    identifier_append(&bundle, op_attr(op, EMITHLS_ATTR_BUNDLE)->u.string);
    emit_pragma(f, "interface mode=m_axi port=%s bundle=gmem_%s offset=slave depth=%lld", port,
                bundle.data, (long long)attr_int_value(op_attr(op, DFG_ATTR_DEPTH)));
    emit_pragma(f, "interface mode=s_axilite port=%s", port);
    strbuf_free(&bundle);
    return true;
}

/* With memories, all that follows is in a loop over frames: dataflow in a loop, whose iterations
 * overlap as the calls of a dataflow function do. */
bool emit_dataflow(Function *f, Op *op)
{
    if (!f->frames) {
        emit_pragma(f, "interface mode=ap_ctrl_%s port=return", emithls_control(op));
        if (f->e->has_registers) emit_pragma(f, "interface mode=s_axilite port=return");
        emit_pragma(f, "dataflow");
        return true;
    }
    emit_pragma(f, "interface mode=s_axilite port=%s", f->frames);
    emit_pragma(f, "interface mode=s_axilite port=return");
    emit_label(f, emit_fresh_label(f, STR("each_frame")));
    emit_line(f, "for (int %s = 0; %s < %s; ++%s) {", f->frame, f->frame, f->frames, f->frame);
    f->depth++;
    emit_pragma(f, "dataflow");
    return true;
}

/* An array has a pragma for each dimension that is partitioned; it is noted at the first. */
static bool is_first_partition(const Op *partition)
{
    FOR_EACH_USE(use, op_operand(partition, 0)) {
        const Op *op = use->owner;
        bool is_other = op->def == EMITHLS(ARRAY_PARTITION) && op != partition;
        if (is_other && op->block == partition->block && op_is_before(op, partition)) return false;
    }
    return true;
}

static void note_copies(Op *loop, StrBuf *out)
{
    int64_t copies = emithls_body_copies(loop);
    if (copies <= EMITHLS_MAX_COPIES) return;
    strbuf_printf(out, "unrolls a loop %lld times\n", (long long)copies);
    op_warning(loop, "a loop is unrolled %lld times: synthesis may take long", (long long)copies);
}

static void note_parts(Op *partition, StrBuf *out)
{
    int64_t parts = emithls_array_parts(op_operand(partition, 0), false);
    if (parts <= EMITHLS_MAX_PARTS) return;
    strbuf_printf(out, "partitions an array into %lld parts\n", (long long)parts);
    op_warning(partition, "an array is in %lld parts: synthesis may take long", (long long)parts);
}

static bool add_note(Op *op, void *out)
{
    if (op->def == EMITHLS(FOR) && op_attr(op, EMITHLS_ATTR_UNROLL)) note_copies(op, out);
    if (op->def == EMITHLS(ARRAY_PARTITION) && is_first_partition(op)) note_parts(op, out);
    return true;
}

void emit_limit_notes(Op *func, StrBuf *out)
{
    bool done = op_walk(func, add_note, out);
    (void)done;
}
