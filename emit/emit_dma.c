/* Streams of DMAs: ports whose beats have a padded word, TKEEP and TLAST. Inside the design streams
 * carry words; a function per port turns one into the other, where the port is read or written:
 *
 *   word_of_x(x.read())        out.write(beat_of_y(word, i == 9))
 *
 * Tests: lit/emit/dma-ports.mir, test/e2e/dma_check.py */
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"

/* The argument of the process that takes a port; NULL: not one process does. */
static const Value *process_argument(const Value *port)
{
    const Value *found = NULL;
    FOR_EACH_USE(use, port) {
        Op *op = use->owner;
        if (op->def != EMITHLS(CALL)) continue;
        if (found) return NULL;
        Op *callee = symbol_lookup(op, op_attr(op, "callee"));
        found = region_entry(op_region(callee, 0))->args[use_index(use)];
    }
    return found;
}

/* Writes of a frame, where the last iteration of all loops around the only write is the last one. */
static int64_t written_words(const Value *arg)
{
    const Op *write = NULL;
    int64_t words = 1;
    FOR_EACH_USE(use, arg) {
        if (use->owner->def != EMITHLS(WRITE) || write) return 0;
        write = use->owner;
    }
    if (!write) return 0;
    for (const Op *op = block_parent_op(write->block); op->def != EMITHLS(FUNC);
         op = block_parent_op(op->block)) {
        int64_t extents[NEST_MAX_COUNTERS], begin, end, whole = 1;
        if (op->def != EMITHLS(FOR)) return 0;
        size_t count = emithls_for_extents(op, extents, NEST_MAX_COUNTERS);
        for (size_t i = 0; i < count; i++) whole *= extents[i];
        emithls_for_range(op, &begin, &end);
        if (begin != 0 || end != whole || !i64_mul(words, whole, &words)) return 0;
    }
    return words;
}

static bool check_port(const Emitter *e, const EmitPort *port, const Value *arg)
{
    const Type *elem = emithls_scalar(port->word);
    if (port->bus || port->beat_bits != emithls_beat_bits(elem, emithls_lanes(port->word)))
        return op_error(e->top, "argument '%s': %lld bits are no beat of its words", port->name,
                        (long long)port->beat_bits);
    if (!arg) return op_error(e->top, "argument '%s' is not one process's", port->name);
    return port->is_input || written_words(arg) == port->words_per_frame ||
           op_error(e->top,
                    "argument '%s' is not written once in each iteration of loops over "
                    "the %lld words of a frame, so that the last one is not known",
                    port->name, (long long)port->words_per_frame);
}

bool emit_dma_ports(Emitter *e)
{
    Block *body = region_entry(op_region(e->top, 0));
    for (size_t i = 0; i < e->ports.len; i++) {
        EmitPort *port = &e->ports.data[i];
        if (port->beat_bits == 0) continue;
        const Value *arg = process_argument(body->args[i]);
        if (!check_port(e, port, arg)) return false;
        const char *kind = port->is_input ? "word_of" : "beat_of";
        port->beat = cpp_file_name(e, emit_arena_printf(&e->arena, "%s_beat_t", port->name));
        port->convert = cpp_file_name(e, emit_arena_printf(&e->arena, "%s_%s", kind, port->name));
        ptrmap_put(&e->beats, body->args[i], (void *)(uintptr_t)(i + 1));
        ptrmap_put(&e->beats, arg, (void *)(uintptr_t)(i + 1));
        e->has_beats = true;
    }
    return true;
}

const EmitPort *emit_dma_port(const Emitter *e, const Value *stream)
{
    uintptr_t number = (uintptr_t)ptrmap_get(&e->beats, stream);
    return number ? &e->ports.data[number - 1] : NULL;
}

void emit_dma_types(Emitter *e, StrBuf *out)
{
    for (size_t i = 0; i < e->ports.len; i++)
        if (e->ports.data[i].beat)
            strbuf_printf(out, "using %s = ap_axiu<%lld, 0, 0, 0>;\n", e->ports.data[i].beat,
                          (long long)e->ports.data[i].beat_bits);
    if (e->has_beats) strbuf_add_char(out, '\n');
}

static bool is_wide(const Type *elem)
{
    return type_width(elem) > 32;
}

/* An element of the type from bits of the beat. */
static const char *element_of_bits(Emitter *e, const Type *elem, const char *bits)
{
    if (!type_is_float(elem))
        return emit_arena_printf(&e->arena, "%s(%s)", cpp_type(e, elem), bits);
    e->needs |= EMIT_NEEDS_BITS_AS;
    return emit_arena_printf(&e->arena, "bits_as<%s>(%s.%s())", cpp_type(e, elem), bits,
                             is_wide(elem) ? "to_uint64" : "to_uint");
}

/* The bits of an element, with its sign in those that it leaves. */
static const char *bits_of_element(Emitter *e, const EmitPort *port, const char *element)
{
    const Type *elem = emithls_scalar(port->word);
    if (type_is_float(elem)) {
        e->needs |= EMIT_NEEDS_BITS_AS;
        return emit_arena_printf(&e->arena, "bits_as<%s>(%s)",
                                 is_wide(elem) ? "unsigned long long" : "unsigned", element);
    }
    if (port->element_bits == type_width(elem)) return element;
    return emit_arena_printf(&e->arena, "ap_int<%lld>(%s)", (long long)port->element_bits, element);
}

/* "beat.data.range(lane * 8 + 7, lane * 8)" */
static const char *lane_bits(Emitter *e, const EmitPort *port, int64_t width)
{
    long long step = port->element_bits;
    if (emithls_lanes(port->word) == 1)
        return emit_arena_printf(&e->arena, "beat.data.range(%lld, 0)", (long long)width - 1);
    if (width == 1)
        return emit_arena_printf(&e->arena, "beat.data.range(lane * %lld, lane * %lld)", step,
                                 step);
    return emit_arena_printf(&e->arena, "beat.data.range(lane * %lld + %lld, lane * %lld)", step,
                             (long long)width - 1, step);
}

static bool is_bits(const EmitPort *port)
{
    return emithls_lanes(port->word) > 1 && type_width(emithls_scalar(port->word)) == 1;
}

static void add_lanes(const EmitPort *port, StrBuf *out, const char *to, const char *from)
{
    int64_t lanes = emithls_lanes(port->word);
    if (lanes == 1) {
        strbuf_printf(out, "    %s = %s;\n", to, from);
        return;
    }
    strbuf_printf(out,
                  "lanes:\n    for (int lane = 0; lane < %lld; ++lane) {\n#pragma HLS unroll\n"
                  "        %s = %s;\n    }\n",
                  (long long)lanes, to, from);
}

static void add_receiver(Emitter *e, const EmitPort *port, StrBuf *out)
{
    const Type *elem = emithls_scalar(port->word);
    const char *type = cpp_type(e, port->word);
    const char *element = emithls_lanes(port->word) > 1 ? "word[lane]" : "word";
    strbuf_printf(out, "static %s %s(const %s &beat)\n{\n#pragma HLS inline\n", type, port->convert,
                  port->beat);
    if (is_bits(port)) {
        strbuf_printf(out, "    return %s(beat.data);\n}\n\n", type);
        return;
    }
    strbuf_printf(out, "    %s word;\n", type);
    add_lanes(port, out, element, element_of_bits(e, elem, lane_bits(e, port, type_width(elem))));
    strbuf_add_c(out, "    return word;\n}\n\n");
}

static void add_sender(Emitter *e, const EmitPort *port, StrBuf *out)
{
    const char *element = emithls_lanes(port->word) > 1 ? "word[lane]" : "word";
    strbuf_printf(out,
                  "static %s %s(const %s &word, bool last)\n{\n#pragma HLS inline\n    %s beat;\n",
                  port->beat, port->convert, cpp_type(e, port->word), port->beat);
    if (is_bits(port)) {
        strbuf_add_c(out, "    beat.data = word;\n");
    } else {
        strbuf_add_c(out, "    beat.data = 0;\n");
        add_lanes(port, out, lane_bits(e, port, port->element_bits),
                  bits_of_element(e, port, element));
    }
    strbuf_add_c(out, "    beat.keep = -1;\n    beat.strb = -1;\n    beat.last = last;\n"
                      "    return beat;\n}\n\n");
}

void emit_dma_functions(Emitter *e, StrBuf *out)
{
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        if (port->beat_bits == 0) continue;
        strbuf_printf(out, "// %s a beat of %s: %lld elements in %lld bits each\n",
                      port->is_input ? "The word in" : "A word as", port->name,
                      (long long)emithls_lanes(port->word), (long long)port->element_bits);
        if (port->is_input)
            add_receiver(e, port, out);
        else
            add_sender(e, port, out);
    }
}
