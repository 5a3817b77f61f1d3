/* The accelerator's boundary: reads from the top function's port_attrs what each stream carries and
 * how it relates to the model's tensors. Everything that the testbench relies on is checked here.
 * Tests: lit/emit/testbench.mir, lit/emit/invalid-ports.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"

typedef struct Uses {
    bool reads, writes;
} Uses;

static void add_use(const Op *op, Uses *out)
{
    out->reads |= op->def == EMITHLS(READ) || op->def == EMITHLS(LOAD);
    out->writes |= op->def == EMITHLS(WRITE) || op->def == EMITHLS(STORE);
}

/* Whether words are taken from a port or given to it, here and in the functions called. */
static void find_uses(const Value *port, Uses *out)
{
    FOR_EACH_USE(use, port) {
        Op *op = use->owner;
        if (op->def == EMITHLS(CALL)) {
            Op *callee = symbol_lookup(op, op_attr(op, "callee"));
            const Value *arg = region_entry(op_region(callee, 0))->args[use_index(use)];
            FOR_EACH_USE(inner, arg) add_use(inner->owner, out);
        }
        add_use(op, out);
    }
}

static bool read_rounding(const Op *top, const Attr *dict, Str *out)
{
    static const char *const modes[] = {"ROUND", "HALF_EVEN", "HALF_UP", "HALF_DOWN",
                                        "UP",    "DOWN",      "CEIL",    "FLOOR"};
    const Attr *mode = attr_dict_get_c(dict, DFG_QUANT_ROUNDING);
    *out = mode && mode->kind == ATTR_STRING ? mode->u.string : STR("ROUND");
    for (size_t i = 0; i < COUNT_OF(modes); i++)
        if (str_eq_c(*out, modes[i])) return true;
    return op_error(top, "dfg.quant: unknown rounding mode '%.*s'", STR_ARG(*out));
}

/* [low, high] of a quantizer of `bits` bits. */
static void set_range(EmitQuantizer *q, int64_t bits, bool narrow)
{
    uint64_t ones = ~(uint64_t)0 >> (64 - bits);
    q->high = (int64_t)(q->is_signed ? ones >> 1 : ones);
    q->low = q->is_signed ? -q->high - 1 : 0;
    if (narrow && q->is_signed)
        q->low++;
    else if (narrow)
        q->high--;
}

static bool read_quantizer(Emitter *e, const Attr *dict, EmitPort *port)
{
    const Op *top = e->top;
    const Type *elem = emithls_scalar(port->word);
    EmitQuantizer *q = ARENA_NEW(&e->arena, EmitQuantizer);
    int64_t bits, is_signed, narrow, bipolar;
    if (dict->kind != ATTR_DICT || !type_is_integer(elem))
        return op_error(top, "dfg.quant must be a dictionary at a port of integers");
    const Attr *scale = attr_dict_get_c(dict, DFG_QUANT_SCALE);
    q->scale = scale && scale->kind == ATTR_FLOAT ? attr_float_value(scale) : 0;
    if (!(q->scale > 0) || q->scale - q->scale != 0)
        return op_error(top, "dfg.quant: 'scale' must be a positive number");
    if (!dfg_quant_int(top, dict, DFG_QUANT_ZERO_POINT, 0, &q->zero_point) ||
        !dfg_quant_int(top, dict, DFG_QUANT_DIVISOR, 1, &q->divisor) ||
        !dfg_quant_int(top, dict, DFG_QUANT_BITS, type_width(elem), &bits) ||
        !dfg_quant_int(top, dict, DFG_QUANT_SIGNED, 1, &is_signed) ||
        !dfg_quant_int(top, dict, DFG_QUANT_NARROW, 0, &narrow) ||
        !dfg_quant_int(top, dict, DFG_QUANT_BIPOLAR, 0, &bipolar) ||
        !read_rounding(top, dict, &q->rounding))
        return false;
    if (q->divisor < 1) return op_error(top, "dfg.quant: 'divisor' must be positive");
    q->is_signed = is_signed != 0;
    port->is_unsigned = !q->is_signed && bits == EMIT_MAX_PORT_WIDTH && bits == type_width(elem) &&
                        q->scale == 1.0 && q->zero_point == 0 && q->divisor == 1;
    if (port->is_unsigned) return true;
    if (bits < 1 || bits > type_width(elem) || (bits == EMIT_MAX_PORT_WIDTH && !q->is_signed))
        return op_error(top, "dfg.quant: %lld bits do not fit the port's %s", (long long)bits,
                        type_str(e->ctx, elem));
    q->is_bipolar = bipolar != 0;
    if (q->is_bipolar && (bits != 1 || !q->is_signed || q->zero_point != 0))
        return op_error(top, "dfg.quant: 'bipolar' is one signed bit, without zero point");
    set_range(q, bits, narrow != 0);
    port->quant = q;
    return true;
}

static bool read_order(Emitter *e, const Attr *attrs, EmitPort *port)
{
    const Attr *layout = attr_dict_get_c(attrs, DFG_ATTR_LAYOUT);
    for (uint32_t i = 0; i < port->rank; i++) port->order[i] = i;
    if (!layout) return true;
    if (layout->kind != ATTR_AFFINE_MAP || !map_is_permutation(layout->u.map) ||
        layout->u.map->dim_count != port->rank)
        return op_error(e->top, "dfg.layout must permute the dimensions of emithls.frame");
    for (uint32_t i = 0; i < port->rank; i++)
        port->order[i] = (uint32_t)layout->u.map->results[i]->value;
    return true;
}

/* Extents of a word; absent: one element. Their product must be the stream's lanes. */
static bool read_word(Emitter *e, const Attr *attrs, const Type *frame, EmitPort *port)
{
    const Attr *word = attr_dict_get_c(attrs, EMITHLS_ATTR_WORD);
    size_t count = port->rank;
    int64_t lanes = 1, elements;
    if (!type_element_count(frame, &elements) || elements == 0)
        return op_error(e->top, "emithls.frame must have elements");
    if (elements > DFG_MAX_FRAME)
        return op_error(e->top, "emithls.frame has more than 2^40 elements");
    for (uint32_t i = 0; i < port->rank; i++) port->word_extents[i] = 1;
    if (word &&
        (!attr_int_list(word, port->word_extents, port->rank, &count) || count != port->rank))
        return op_error(e->top, "emithls.word needs one extent per dimension of emithls.frame");
    for (uint32_t i = 0; i < port->rank; i++) {
        int64_t extent = port->word_extents[i];
        if (extent < 1 || frame->u.shaped.dims[i] % extent != 0)
            return op_error(e->top, "emithls.word: %lld does not divide the extent %lld",
                            (long long)extent, (long long)frame->u.shaped.dims[i]);
        lanes *= extent;
    }
    if (port->bus)
        port->word = lanes == 1 ? type_elem(frame) : type_vector(type_elem(frame), &lanes, 1, NULL);
    if (lanes != emithls_lanes(port->word))
        return op_error(e->top, "emithls.word has %lld elements, but the stream carries %s",
                        (long long)lanes, type_str(e->ctx, port->word));
    port->words_per_frame = elements / lanes;
    return true;
}

static bool read_frame(Emitter *e, const Attr *attrs, EmitPort *port)
{
    const Attr *frame = attr_dict_get_c(attrs, EMITHLS_ATTR_FRAME);
    bool is_type = frame && frame->kind == ATTR_TYPE && type_is_shaped(frame->u.type_value);
    if (port->bus)
        port->word = is_type ? type_elem(frame->u.type_value) : emithls_scalar(port->bus);
    const Type *elem = emithls_scalar(port->word);
    if (!is_type || frame->u.type_value->kind != TYPE_RANKED_TENSOR ||
        !type_is_static(frame->u.type_value) || type_elem(frame->u.type_value) != elem)
        return op_error(e->top, "needs emithls.frame, a static tensor of %s, for each port",
                        type_str(e->ctx, elem));
    if (type_width(elem) > EMIT_MAX_PORT_WIDTH)
        return op_error(e->top, "a port of %s has no form in a .npy file", type_str(e->ctx, elem));
    const Type *tensor = frame->u.type_value;
    port->rank = tensor->u.shaped.rank;
    port->shape = ARENA_ARRAY(&e->arena, int64_t, port->rank + 1);
    port->order = ARENA_ARRAY(&e->arena, uint32_t, port->rank + 1);
    port->word_extents = ARENA_ARRAY(&e->arena, int64_t, port->rank + 1);
    if (!read_order(e, attrs, port) || !read_word(e, attrs, tensor, port)) return false;
    for (uint32_t i = 0; i < port->rank; i++)
        port->shape[port->order[i]] = tensor->u.shaped.dims[i];
    return true;
}

/* The words of a frame, as they lie in the memory, must fill it. */
static bool check_memory(const Emitter *e, const EmitPort *port)
{
    int64_t lanes = emithls_lanes(port->bus), capacity = port->bus_words * lanes;
    return capacity >= port->words_per_frame * emithls_lanes(port->word) &&
                   capacity % port->words_per_frame == 0
               ? true
               : op_error(e->top, "argument '%s' has %lld elements for %lld words", port->name,
                          (long long)capacity, (long long)port->words_per_frame);
}

static void set_packing(EmitPort *port)
{
    const Type *elem = emithls_scalar(port->word);
    int64_t lanes = emithls_lanes(port->word);
    port->element_bits = emithls_stride_bits(elem, lanes);
    port->word_bits = port->beat_bits ? port->beat_bits : (lanes * port->element_bits + 7) / 8 * 8;
    if (!port->bus) return;
    port->element_bits = type_width(emithls_scalar(port->bus));
    port->word_bits =
        port->bus_words * emithls_lanes(port->bus) / port->words_per_frame * port->element_bits;
}

bool emit_read_carrier(Emitter *e, const Attr *attrs, const Attr *quant, EmitPort *port)
{
    if (!read_frame(e, attrs, port) || (quant && !read_quantizer(e, quant, port))) return false;
    set_packing(port);
    return true;
}

bool emit_port_is_signed(const EmitPort *port)
{
    if (type_width(emithls_scalar(port->word)) <= 1) return false;
    return port->quant ? port->quant->is_signed : !port->is_unsigned;
}

static bool is_mapped(const Value *arg)
{
    FOR_EACH_USE(use, arg)
        if (use->owner->def == EMITHLS(INTERFACE))
            return str_eq_c(op_attr(use->owner, "mode")->u.string, "s_axilite");
    return false;
}

static bool read_port(Emitter *e, const Value *arg, const Attr *attrs, EmitPort *port)
{
    Uses uses = {false, false};
    const Attr *name = attr_dict_get_c(attrs, DFG_ATTR_NAME);
    const Attr *quant = attr_dict_get_c(attrs, DFG_ATTR_QUANT);
    find_uses(arg, &uses);
    if (uses.reads == uses.writes)
        return op_error(e->top, "argument %u must be either read or written", arg->index);
    port->tensor = name && name->kind == ATTR_STRING ? name->u.string : str_from(port->name);
    port->is_input = uses.reads;
    port->is_weights = attr_dict_get_c(attrs, EMITHLS_ATTR_WEIGHTS) != NULL;
    port->beat_bits = attr_dict_int(attrs, EMITHLS_ATTR_BEAT, 0);
    port->loading_cycles = attr_dict_int(attrs, EMITHLS_ATTR_LOADING, 0);
    if (type_is_a(arg->type, &emithls_type_array)) {
        port->bus = emithls_array_elem(arg->type);
        port->bus_words = emithls_array_dim(arg->type, 0);
        port->is_mapped = is_mapped(arg);
    } else {
        port->word = emithls_stream_word(arg->type);
    }
    if (!read_frame(e, attrs, port) || (quant && !read_quantizer(e, quant, port)) ||
        (port->bus && !check_memory(e, port)))
        return false;
    set_packing(port);
    return true;
}

bool emit_ports(Emitter *e)
{
    const Attr *all = op_attr(e->top, DFG_ATTR_PORT_ATTRS),
               *names = op_attr(e->top, EMITHLS_ATTR_ARG_NAMES);
    Block *body = region_entry(op_region(e->top, 0));
    VEC(const char *) used = {0};
    bool ok = (all && body->arg_count > 0) ||
              op_error(e->top, "needs arguments, and port_attrs that describe them");
    for (uint32_t i = 0; ok && i < body->arg_count; i++) {
        EmitPort *port = vec_push(&e->ports);
        *port = (EmitPort){
            .name = cpp_fresh_name(e, names->u.array.items[i]->u.string, used.data, used.len)};
        *vec_push(&used) = port->name;
        ok = read_port(e, body->args[i], all->u.array.items[i], port);
        int64_t instance, first;
        if (sys_tile_size(e->module) == 1 || /* a kernel has ports of one instance only */
            !sys_port_instance(all->u.array.items[i], &instance, &first))
            continue;
        port->instance = instance;
        port->first = (uint32_t)first;
    }
    vec_free(&used);
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        e->has_registers |= port->bus != NULL;
        e->has_memories |= port->bus && !port->is_weights;
        if (port->is_weights && !port->bus) e->weights = port;
    }
    return ok && emit_dma_ports(e);
}
