/* Loops of emithls in C++: a perfect nest of for statements, or, where only part of the counters'
 * box is run through, one flat loop that advances its counters by hand. Synthesis narrows the
 * counter of a for statement; those that are advanced by hand have as many bits as they need.
 * Tests: lit/emit/functions.mir */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"

enum { MAX_LOOPS = 16 };

typedef struct PrintedLoop {
    Op *op;
    int64_t extents[MAX_LOOPS];
    const char *names[MAX_LOOPS];
    size_t count;
    const char *label;
} PrintedLoop;

static void loop_pragma(Function *f, const Op *op, bool is_innermost)
{
    const Attr *ii = op_attr(op, EMITHLS_ATTR_II);
    if (ii)
        emit_pragma(f, "pipeline II=%lld%s%s", (long long)attr_int_value(ii),
                    op_attr(op, EMITHLS_ATTR_REWIND) ? " rewind" : "",
                    op_attr(op, EMITHLS_ATTR_FLUSH) ? " style=frp" : "");
    if (op_attr(op, EMITHLS_ATTR_UNROLL)) emit_pragma(f, "unroll");
    if (is_innermost && op_attr(op, EMITHLS_ATTR_ORDERED)) emit_pragma(f, "expression_balance off");
}

static void declare_counters(Function *f, PrintedLoop *loop)
{
    const Attr *names = op_attr(loop->op, "counters");
    Block *body = region_entry(op_region(loop->op, 0));
    for (uint32_t i = 0; i < loop->count; i++) {
        loop->names[i] = emit_declare_name(f, body->args[i], names->u.array.items[i]->u.string);
        ptrmap_put(&f->extents, body->args[i], (void *)(uintptr_t)loop->extents[i]);
    }
}

/* Of the counter of a for statement, which also has the end as a value. */
static const char *counter_type(int64_t end)
{
    return end > INT32_MAX ? "long long" : "int";
}

/* for (…) for (…) { body }: a perfect nest. Unrolling names every level, pipelining the
 * innermost. */
static bool print_nest(Function *f, PrintedLoop *loop)
{
    bool unroll = op_attr(loop->op, EMITHLS_ATTR_UNROLL) != NULL, ok;
    for (size_t i = 0; i < loop->count; i++) {
        if (i == 0) emit_label(f, loop->label);
        emit_line(f, "for (%s %s = 0; %s < %lld; ++%s) {", counter_type(loop->extents[i]),
                  loop->names[i], loop->names[i], (long long)loop->extents[i], loop->names[i]);
        if (unroll || i + 1 == loop->count) loop_pragma(f, loop->op, i + 1 == loop->count);
        f->depth += i + 1 < loop->count;
    }
    ok = emit_body(f, loop->op);
    for (size_t i = loop->count; i-- > 0;) {
        emit_line(f, "}");
        f->depth -= i > 0;
    }
    return ok;
}

/* The outermost counter that the body uses: those before it need not be kept. */
static size_t first_used_counter(const PrintedLoop *loop)
{
    Block *body = region_entry(op_region(loop->op, 0));
    size_t i = 0;
    while (i < loop->count && !value_has_uses(body->args[i])) i++;
    return i;
}

/* if (c != C - 1) { ++c; } else { c = 0; if (b != B - 1) { ++b; } else { b = 0; ++a; } }: the
 * comparison stands beside the sum instead of behind it, and the end is no value of the counter. */
static void print_carry(Function *f, const PrintedLoop *loop, size_t first)
{
    int opened = 0;
    for (size_t i = loop->count; i-- > first;) {
        if (i == first && i == 0) {
            emit_line(f, "++%s;", loop->names[i]);
            break;
        }
        emit_line(f, "if (%s != %lld) {", loop->names[i], (long long)loop->extents[i] - 1);
        f->depth++;
        emit_line(f, "++%s;", loop->names[i]);
        f->depth--;
        emit_line(f, "} else {");
        f->depth++;
        opened++;
        emit_line(f, "%s = 0;", loop->names[i]);
    }
    while (opened-- > 0) {
        f->depth--;
        emit_line(f, "}");
    }
}

/* A loop that rewinds has nothing executed before it, so its counters last from frame to frame. */
static void print_counters(Function *f, const PrintedLoop *loop, size_t first, const int64_t *start)
{
    bool rewinds = op_attr(loop->op, EMITHLS_ATTR_REWIND) != NULL;
    for (size_t i = first; i < loop->count; i++) {
        emit_line(f, "%sap_uint<%lld> %s = %lld;", rewinds ? "static " : "",
                  (long long)i64_max(i64_log2_up(loop->extents[i]), 1), loop->names[i],
                  (long long)start[i]);
        if (rewinds) emit_pragma(f, "reset variable=%s", loop->names[i]);
    }
}

/* Advances the counters; those that last are back at their start behind the last step. */
static void print_advance(Function *f, const PrintedLoop *loop, size_t first, const int64_t *start,
                          const char *step, int64_t trips)
{
    bool rewinds = op_attr(loop->op, EMITHLS_ATTR_REWIND) != NULL;
    if (first == loop->count) return;
    if (rewinds) {
        emit_line(f, "if (%s == %lld) {", step, (long long)trips - 1);
        f->depth++;
        for (size_t i = first; i < loop->count; i++)
            emit_line(f, "%s = %lld;", loop->names[i], (long long)start[i]);
        f->depth--;
        emit_line(f, "} else {");
        f->depth++;
    }
    print_carry(f, loop, first);
    if (!rewinds) return;
    f->depth--;
    emit_line(f, "}");
}

/* Part of a box: one flat loop whose counters are carried along. */
static bool print_flat(Function *f, PrintedLoop *loop, int64_t begin, int64_t end)
{
    size_t first = first_used_counter(loop);
    int64_t rest = begin, start[MAX_LOOPS];
    for (size_t i = loop->count; i-- > 0;) {
        start[i] = i ? rest % loop->extents[i] : rest;
        rest /= loop->extents[i];
    }
    print_counters(f, loop, first, start);
    const char *step = emit_function_name(f, STR("step"));
    emit_label(f, loop->label);
    emit_line(f, "for (%s %s = 0; %s < %lld; ++%s) {", counter_type(end - begin), step, step,
              (long long)(end - begin), step);
    loop_pragma(f, loop->op, true);
    bool ok = emit_body(f, loop->op);
    f->depth++;
    print_advance(f, loop, first, start, step, end - begin);
    f->depth--;
    emit_line(f, "}");
    return ok;
}

bool emit_for(Function *f, Op *op)
{
    PrintedLoop loop = {.op = op};
    size_t visible = f->scope.changes.len;
    int64_t begin, end;
    emit_flush_pending(f);
    loop.count = emithls_for_extents(op, loop.extents, MAX_LOOPS);
    loop.label = emit_fresh_label(f, op_attr(op, "name")->u.string);
    declare_counters(f, &loop);
    emithls_for_range(op, &begin, &end);
    bool ok = op_attr(op, "begin") ? print_flat(f, &loop, begin, end) : print_nest(f, &loop);
    if (!op_attr(op, "begin")) emit_scope_leave(&f->scope, visible);
    return ok;
}
