/* The boundary of a design: which elements of a frame each word of a port carries. The order comes
 * from emithls.frame and emithls.word: words go row by row over the frame, elements row by row
 * inside a word.
 * Tests: lit/sim/hls/values.mir, lit/sim/hls/once.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "ir/asm/print/print.h"
#include "sim/design/design.h"

static const Attr *argument_attr(const HlsDesign *design, uint32_t arg, const char *name)
{
    const Attr *all = op_attr(design->top, DFG_ATTR_PORT_ATTRS);
    return all ? attr_dict_get_c(all->u.array.items[arg], name) : NULL;
}

static Str argument_name(const HlsDesign *design, uint32_t arg)
{
    return op_attr(design->top, EMITHLS_ATTR_ARG_NAMES)->u.array.items[arg]->u.string;
}

HlsDirection design_argument_direction(const HlsDesign *design, uint32_t arg)
{
    if (argument_attr(design, arg, EMITHLS_ATTR_WEIGHTS)) return HLS_NO_DATA;
    for (size_t i = 0; i < design->memories.len; i++)
        if (design->memories.data[i].arg == arg)
            return design->memories.data[i].is_input ? HLS_DATA_IN : HLS_DATA_OUT;
    for (uint32_t i = 0; i < design->port_count; i++) {
        const HlsStream *stream = &design->streams.data[i];
        if (stream->arg == arg && stream->words > 0 && !stream->is_once)
            return design->processes.data[stream->writer].func ? HLS_DATA_OUT : HLS_DATA_IN;
    }
    return HLS_NO_DATA;
}

const Type *design_argument_frame(const HlsDesign *design, uint32_t arg)
{
    const Attr *frame = argument_attr(design, arg, EMITHLS_ATTR_FRAME);
    bool is_known = frame && frame->kind == ATTR_TYPE && type_is_static(frame->u.type_value);
    return is_known ? frame->u.type_value : NULL;
}

static void fill_order(int64_t *elements, int64_t count, int64_t lanes, const Type *frame,
                       const int64_t *word)
{
    for (int64_t n = 0; n < count; n++) {
        int64_t which = n / lanes, lane = n % lanes, step = 1, at = 0;
        for (uint32_t i = frame->u.shaped.rank; i-- > 0;) {
            int64_t extent = frame->u.shaped.dims[i], words = extent / word[i];
            at += (which % words * word[i] + lane % word[i]) * step;
            which /= words;
            lane /= word[i];
            step *= extent;
        }
        elements[n] = at;
    }
}

enum { MAX_RANK = 32 };

/* The elements of frames in words of these extents. False: they do not fit. */
static bool init_elements(const Type *frame, const Attr *words, Arena *arena, HlsPort *out)
{
    int64_t word[MAX_RANK];
    size_t rank = 0;
    if (!frame || !words || !attr_int_list(words, word, MAX_RANK, &rank) ||
        rank != frame->u.shaped.rank || !type_element_count(frame, &out->count))
        return false;
    out->lanes = 1;
    for (size_t i = 0; i < rank; i++) {
        if (word[i] < 1 || frame->u.shaped.dims[i] % word[i] != 0) return false;
        out->lanes *= word[i];
    }
    out->elements = ARENA_ARRAY(arena, int64_t, out->count);
    fill_order(out->elements, out->count, out->lanes, frame, word);
    return true;
}

const Type *design_stream_frame(const HlsStream *stream)
{
    const Attr *frame = stream->op ? op_attr(stream->op, EMITHLS_ATTR_FRAME) : NULL;
    bool is_known = frame && frame->kind == ATTR_TYPE && type_is_tensor(frame->u.type_value) &&
                    type_is_static(frame->u.type_value);
    return is_known ? frame->u.type_value : NULL;
}

bool design_stream_port_init(const HlsDesign *design, const HlsStream *stream, Arena *arena,
                             HlsPort *out)
{
    const Type *frame = design_stream_frame(stream);
    const Attr *words = stream->op ? op_attr(stream->op, EMITHLS_ATTR_WORD) : NULL;
    *out = (HlsPort){.lanes = 1};
    return (init_elements(frame, words, arena, out) && out->lanes == emithls_lanes(stream->word) &&
            type_elem(frame) == emithls_scalar(stream->word) &&
            out->count == stream->words * out->lanes) ||
           op_error(design->top, "has a stream '%.*s' that does not carry its emithls.frame",
                    STR_ARG(stream->name));
}

/* The words of all tables that come through the port, in the module's order. stream: NULL, if it is a
 * memory. */
static bool init_weights(const HlsDesign *design, const HlsStream *stream, HlsPort *port)
{
    int64_t used = 0;
    const Attr *attrs = op_attr(design->top, DFG_ATTR_PORT_ATTRS)->u.array.items[port->arg];
    const Type *type = region_entry(op_region(design->top, 0))->args[port->arg]->type;
    const Type *word = stream ? stream->word : emithls_array_elem(type);
    port->lanes = emithls_lanes(word);
    port->count = (stream ? stream->words : emithls_array_dim(type, 0)) * port->lanes;
    port->weights = array_new(type_tensor(emithls_scalar(word), &port->count, 1, NULL));
    port->array = port->weights;
    FOR_EACH_OP(op, design->top->block) {
        if (!port->weights || !emithls_is_loaded_by(op, attrs)) continue;
        const int64_t units = emithls_loaded_units(op), all = emithls_loaded_words(op) * units;
        for (int64_t i = 0; i < all && used < port->count; i++)
            array_set_i64(port->weights, used++, emithls_loaded_word(op, i / units, i % units));
    }
    return (port->weights && used == port->count) ||
           op_error(design->top, "port '%.*s' takes %lld words, but the tables have %lld",
                    STR_ARG(argument_name(design, port->arg)),
                    (long long)(port->count / port->lanes), (long long)(used / port->lanes));
}

bool design_port_init(const HlsDesign *design, const HlsStream *stream, uint32_t arg, Arena *arena,
                      HlsPort *out)
{
    const Type *frame = design_argument_frame(design, arg);
    const Attr *words = argument_attr(design, arg, EMITHLS_ATTR_WORD);
    *out = (HlsPort){.arg = arg, .lanes = 1};
    if (argument_attr(design, arg, EMITHLS_ATTR_WEIGHTS)) {
        out->elements = NULL;
        return init_weights(design, stream, out);
    }
    return init_elements(frame, words, arena, out) ||
           op_error(design->top,
                    "cannot be simulated with data: port '%.*s' has no "
                    "emithls.frame and emithls.word",
                    STR_ARG(argument_name(design, arg)));
}
