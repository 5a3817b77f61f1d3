/* Layers as ops of the sa dialect: numbers become instructions of the processing unit, each number
 * that is needed one to three of them, in a register from there to its last use.
 * Tests: lit/lowering/linalg_to_sa, test/e2e/overlay_check.py */
#include <string.h>

#include "ir/asm/print/print.h"
#include "lowering/linalg_to_sa/internal.h"

enum {
    ZERO = SA_PU_REGS - 1, /* nothing writes it, so it is 0 */
    IMMEDIATE_BITS = 13,
    PARAMETER_BITS = 1 << SA_LOG2_PARAMETER_BITS,
    WORD_BITS = 24 /* of the lower part of a constant that no parameter holds */
};

/* An instruction on virtual registers: it writes the one that is its index, of up to two others. */
typedef struct Instruction {
    const OpDef *def;
    uint32_t src[2]; /* instructions; NO_SOURCE: none, FROM_ZERO: the register that is 0 */
    int64_t immediate, rounding, source;
    int64_t log2_bits; /* of a table's entries; of thresholds their planes */
    uint32_t last_use, reg;
} Instruction;

#define NO_SOURCE UINT32_MAX
#define FROM_ZERO (UINT32_MAX - 1)

typedef VEC(const Attr *) Parameters;

typedef struct Writer {
    Lowering *lw;
    const Layer *layer;
    Numbers *n;
    uint32_t *done; /* of each number its instruction + 1 */
    VEC(Instruction) code;
    Parameters *parameters;
} Writer;

static uint32_t emit(Writer *w, Instruction instruction)
{
    *vec_push(&w->code) = instruction;
    return (uint32_t)w->code.len - 1;
}

static bool is_immediate(int64_t value)
{
    return value >= NUMBER_LEAST_IMMEDIATE && value <= NUMBER_MOST_IMMEDIATE;
}

static uint32_t emit_immediate(Writer *w, const OpDef *def, uint32_t src, int64_t value)
{
    return emit(w, (Instruction){.def = def, .src = {src, NO_SOURCE}, .immediate = value});
}

static uint32_t emit_registers(Writer *w, const OpDef *def, uint32_t a, uint32_t b)
{
    return emit(w, (Instruction){.def = def, .src = {a, b}});
}

static uint32_t emit_load(Writer *w, int64_t source, int64_t address)
{
    return emit(w, (Instruction){.def = SA(PU_LOAD),
                                 .src = {NO_SOURCE, NO_SOURCE},
                                 .source = source,
                                 .immediate = address});
}

/* Constants: immediates, two of them, or vectors of parameters. */

static int64_t low_part(int64_t value, uint32_t bits)
{
    return value - ((value >> bits) * (INT64_C(1) << bits));
}

/* The numbers' bits from `shift` on, `bits` of them (0: all). */
static uint32_t load_parameter(Writer *w, const Number *number, uint32_t shift, uint32_t bits)
{
    const int64_t channels = w->layer->extents.c;
    int64_t *values = ARENA_ARRAY(w->lw->arena, int64_t, channels);
    for (int64_t c = 0; c < channels; c++) {
        int64_t value = number->values[number->count > 1 ? c : 0] >> shift;
        values[c] = bits ? low_part(value, bits) : value;
    }
    const Type *type = type_tensor(type_i(w->lw->ctx, PARAMETER_BITS), &channels, 1, NULL);
    const Attr *attr = attr_dense_i64(type, values, (size_t)channels);
    Parameters *list = w->parameters;
    for (size_t i = 0; i < list->len; i++)
        if (list->data[i] == attr) return emit_load(w, SA_SOURCE_PARAMETER, (int64_t)i);
    *vec_push(list) = attr;
    return emit_load(w, SA_SOURCE_PARAMETER, (int64_t)list->len - 1);
}

/* The same from `shift` on, of which parameters have the highest ones and WORD_BITS each of the others. */
static uint32_t load_parts(Writer *w, const Number *number, uint32_t shift)
{
    if (number->lo >> shift >= INT32_MIN && number->hi >> shift <= INT32_MAX)
        return load_parameter(w, number, shift, 0);
    uint32_t upper = load_parts(w, number, shift + WORD_BITS);
    uint32_t factor = emit(w, (Instruction){.def = SA(PU_MVHI),
                                            .src = {NO_SOURCE, NO_SOURCE},
                                            .immediate = 1 << (WORD_BITS - IMMEDIATE_BITS)});
    uint32_t scaled = emit_registers(w, SA(PU_MUL), upper, factor);
    return emit_registers(w, SA(PU_ADD), scaled, load_parameter(w, number, shift, WORD_BITS));
}

static uint32_t emit_constant(Writer *w, const Number *number)
{
    int64_t value = number->lo, low = low_part(value + NUMBER_MOST_IMMEDIATE + 1, IMMEDIATE_BITS);
    low -= NUMBER_MOST_IMMEDIATE + 1;
    int64_t high = (value - low) >> IMMEDIATE_BITS;
    if (number->count == 1 && is_immediate(value))
        return emit_immediate(w, SA(PU_ADDI), FROM_ZERO, value);
    if (number->count == 1 && is_immediate(high)) {
        uint32_t upper = emit(
            w, (Instruction){.def = SA(PU_MVHI), .src = {NO_SOURCE, NO_SOURCE}, .immediate = high});
        return low == 0 ? upper : emit_immediate(w, SA(PU_ADDI), upper, low);
    }
    return load_parts(w, number, 0);
}

/* Numbers. */

static uint32_t code_of(Writer *w, uint32_t number);

/* An operand of an instruction, for which 0 is in a register. */
static uint32_t source_of(Writer *w, uint32_t number)
{
    int64_t value;
    bool is_zero = number_is_const(w->n, number, &value) && value == 0;
    return is_zero ? FROM_ZERO : code_of(w, number);
}

static const OpDef *register_form(NumberKind kind)
{
    switch (kind) {
    case NUMBER_ADD: return SA(PU_ADD);
    case NUMBER_SUB: return SA(PU_SUB);
    case NUMBER_MUL: return SA(PU_MUL);
    case NUMBER_MAX: return SA(PU_MAX);
    case NUMBER_MIN: return SA(PU_MIN);
    default: return SA(PU_RSHIFT);
    }
}

static const OpDef *immediate_form(NumberKind kind)
{
    switch (kind) {
    case NUMBER_ADD: return SA(PU_ADDI);
    case NUMBER_MUL: return SA(PU_MULI);
    case NUMBER_MAX: return SA(PU_MAXI);
    case NUMBER_MIN: return SA(PU_MINI);
    default: return NULL;
    }
}

static uint32_t emit_shift(Writer *w, uint32_t src, int64_t shift, int64_t rounding)
{
    return emit(w, (Instruction){.def = SA(PU_RSHIFTI),
                                 .src = {src, NO_SOURCE},
                                 .immediate = shift > 63 ? 63 : shift,
                                 .rounding = rounding});
}

static uint32_t code_of_binary(Writer *w, const Number *number)
{
    int64_t value;
    bool is_constant = number_is_const(w->n, number->b, &value);
    uint32_t a = source_of(w, number->a);
    if (number->kind == NUMBER_SHIFT && is_constant) return emit_shift(w, a, value, SA_ROUND_FLOOR);
    const OpDef *def = immediate_form(number->kind);
    if (def && is_constant && is_immediate(value)) return emit_immediate(w, def, a, value);
    return emit_registers(w, register_form(number->kind), a, source_of(w, number->b));
}

/* x - (x >> k) * 2^k */
static uint32_t code_of_mod(Writer *w, const Number *number)
{
    uint32_t x = code_of(w, number->a), factor;
    int64_t size = INT64_C(1) << number->shift;
    uint32_t down = emit_shift(w, x, number->shift, SA_ROUND_FLOOR);
    if (is_immediate(size)) {
        factor = emit_immediate(w, SA(PU_MULI), down, size);
    } else {
        const Number constant = {.values = &size, .count = 1, .lo = size, .hi = size};
        factor = emit_registers(w, SA(PU_MUL), down, emit_constant(w, &constant));
    }
    return emit_registers(w, SA(PU_SUB), x, factor);
}

/* Vectors of a table's entries are parameters one behind the other. */
static void add_table_vector(Writer *w, const Number *table, size_t vector)
{
    const int64_t channels = w->layer->extents.c;
    int64_t *values = ARENA_ARRAY(w->lw->arena, int64_t, channels);
    uint32_t bits = 1u << table->shift;
    size_t per_vector = PARAMETER_BITS / bits, first = vector * per_vector;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t *row = table->values + (table->count > 1 ? (size_t)c * table->length : 0);
        uint64_t packed = 0;
        for (size_t i = 0; i < per_vector && first + i < table->length; i++)
            packed |= (uint64_t)row[first + i] << (i * bits);
        values[c] = (int32_t)packed;
    }
    const Type *type = type_tensor(type_i(w->lw->ctx, PARAMETER_BITS), &channels, 1, NULL);
    *vec_push(w->parameters) = attr_dense_i64(type, values, (size_t)channels);
}

/* Where a table's vectors are: behind the other parameters, or where the same ones are, as a search reads
 * its table at each step. */
static int64_t place_table(Writer *w, const Number *table)
{
    size_t before = w->parameters->len, bits = table->length << table->shift;
    for (size_t v = 0; v * PARAMETER_BITS < bits; v++) add_table_vector(w, table, v);
    const size_t count = w->parameters->len - before;
    const Attr *const *vectors = w->parameters->data;
    for (size_t at = 0; at + count <= before; at++) {
        if (memcmp(&vectors[at], &vectors[before], count * sizeof *vectors) != 0) continue;
        w->parameters->len = before;
        return (int64_t)at;
    }
    return (int64_t)before;
}

/* What fills up a map's last word has indices that mean nothing, so a clamp is not left out there. */
static uint32_t code_of_lookup(Writer *w, const Number *number)
{
    uint32_t index = code_of(w, number->a);
    int64_t last = (int64_t)number->length - 1;
    const Number most = {.values = &last, .count = 1, .lo = last, .hi = last};
    bool is_clamped = number_at(w->n, number->a)->kind == NUMBER_MIN;
    if (!is_clamped && is_immediate(last))
        index = emit_immediate(w, SA(PU_MINI), index, last);
    else if (!is_clamped)
        index = emit_registers(w, SA(PU_MIN), index, emit_constant(w, &most));
    return emit(w, (Instruction){.def = SA(PU_LOOKUP),
                                 .src = {index, NO_SOURCE},
                                 .immediate = place_table(w, number),
                                 .log2_bits = number->shift});
}

static uint32_t emit_number(Writer *w, const Number *number)
{
    switch (number->kind) {
    case NUMBER_CONST: return emit_constant(w, number);
    case NUMBER_SUMS: return emit_load(w, SA_SOURCE_SUMS, 0);
    case NUMBER_OPERAND: return emit_load(w, SA_SOURCE_OPERAND, 0);
    case NUMBER_MOD: return code_of_mod(w, number);
    case NUMBER_LOOKUP: return code_of_lookup(w, number);
    case NUMBER_ROUND_UP:
        return emit_shift(w, code_of(w, number->a), number->shift, SA_ROUND_HALF_UP);
    case NUMBER_ROUND_EVEN:
        return emit_shift(w, code_of(w, number->a), number->shift, SA_ROUND_HALF_EVEN);
    default: return code_of_binary(w, number);
    }
}

static uint32_t code_of(Writer *w, uint32_t number)
{
    if (w->done[number] == 0) {
        const Number copy = *number_at(w->n, number);
        w->done[number] = emit_number(w, &copy) + 1;
    }
    return w->done[number] - 1;
}

/* r0 of a pool is there before the first instruction. */
static void enter_accumulator(Writer *w)
{
    for (size_t i = 0; i < w->n->all.len; i++)
        if (w->n->all.data[i].kind == NUMBER_ACCUMULATOR)
            w->done[i] = emit(w, (Instruction){.src = {NO_SOURCE, NO_SOURCE}}) + 1;
}

/* Registers. */

static void find_last_uses(Writer *w, uint32_t result)
{
    for (uint32_t i = 0; i < w->code.len; i++)
        for (int k = 0; k < 2; k++)
            if (w->code.data[i].src[k] < w->code.len)
                w->code.data[w->code.data[i].src[k]].last_use = i;
    w->code.data[result].last_use = (uint32_t)w->code.len;
}

/* The result of a pool's tap goes to r0; so does what r0 held before it is written. */
static bool assign_registers(Writer *w, uint32_t result, bool is_tap)
{
    uint32_t busy[SA_PU_REGS] = {0}; /* instruction behind which it is free */
    for (uint32_t i = 0; i < w->code.len; i++) {
        Instruction *instruction = &w->code.data[i];
        uint32_t reg = is_tap && instruction->def && i != result;
        if (is_tap && i == result) reg = 0;
        for (; reg < ZERO && busy[reg] > i && !(is_tap && i == result); reg++) {
        }
        if (reg == ZERO)
            return to_sa_refuse(w->layer->op, "needs more than %d registers of the processing unit",
                                ZERO);
        instruction->reg = reg;
        busy[reg] = instruction->last_use > i ? instruction->last_use : i;
    }
    return true;
}

static bool check_ranges(const Writer *w)
{
    for (size_t i = 0; i < w->n->all.len; i++) {
        const Number *number = &w->n->all.data[i];
        int64_t bits = payload_range_bits(number->lo, number->hi);
        if (w->done[i] && bits > w->lw->size.acc)
            return to_sa_refuse(w->layer->op,
                                "has numbers of %lld bits, and the overlay's accumulators %u",
                                (long long)bits, w->lw->size.acc);
    }
    return true;
}

/* Ops. */

static NamedAttr number_attr(Context *ctx, const char *name, int64_t value)
{
    return build_named_attr(ctx, name, attr_i64(ctx, value));
}

static uint32_t register_of(const Writer *w, uint32_t src)
{
    return src == FROM_ZERO ? ZERO : w->code.data[src].reg;
}

static void build_instruction(const Writer *w, Builder *b, const Instruction *instruction)
{
    static const char *const names[] = {"src0", "src1"};
    Context *ctx = b->ctx;
    NamedAttr attrs[5];
    uint32_t count = 0;
    attrs[count++] = number_attr(ctx, "dest", instruction->reg);
    for (uint32_t k = 0; k < 2; k++)
        if (instruction->src[k] != NO_SOURCE)
            attrs[count++] = number_attr(ctx, names[k], register_of(w, instruction->src[k]));
    if (instruction->def == SA(PU_LOAD)) {
        attrs[count++] = number_attr(ctx, "source", instruction->source);
        attrs[count++] = number_attr(ctx, "address", instruction->immediate);
    } else if (instruction->def == SA(PU_LOOKUP)) {
        attrs[count++] = number_attr(ctx, "address", instruction->immediate);
        attrs[count++] = number_attr(ctx, "log2_bits", instruction->log2_bits);
    } else if (instruction->def == SA(PU_THRESHOLD)) {
        attrs[count++] = number_attr(ctx, "address", instruction->immediate);
        attrs[count++] = number_attr(ctx, "planes", instruction->log2_bits);
    } else if (instruction->def == SA(PU_RSHIFTI)) {
        attrs[count++] = number_attr(ctx, "shift", instruction->immediate);
        attrs[count++] = number_attr(ctx, "rounding", instruction->rounding);
    } else if (instruction->src[1] == NO_SOURCE) {
        attrs[count++] = number_attr(ctx, "immediate", instruction->immediate);
    }
    build(b, instruction->def, NULL, 0, NULL, 0, attrs, count);
}

static void build_store(const Writer *w, Builder *b, uint32_t result)
{
    NamedAttr attrs[] = {number_attr(b->ctx, "src0", w->code.data[result].reg)};
    build(b, SA(PU_STORE), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
}

/* How many thresholds the sum, or what a pool gives, reaches. */
static uint32_t code_of_thresholds(Writer *w, const Thresholds *thresholds)
{
    uint32_t leaf = code_of(w, (uint32_t)(thresholds->leaf - w->n->all.data));
    const int64_t channels = w->layer->extents.c;
    const Type *type = type_tensor(type_i(w->lw->ctx, PARAMETER_BITS), &channels, 1, NULL);
    int64_t address = (int64_t)w->parameters->len;
    for (size_t k = 0; k < thresholds->count; k++)
        *vec_push(w->parameters) =
            attr_dense_i64(type, thresholds->values + k * (size_t)channels, (size_t)channels);
    uint32_t count = emit(w, (Instruction){.def = SA(PU_THRESHOLD),
                                           .src = {leaf, NO_SOURCE},
                                           .immediate = address,
                                           .log2_bits = thresholds->planes});
    return thresholds->base == 0 ? count : emit_immediate(w, SA(PU_ADDI), count, thresholds->base);
}

/* Fills a region of the layer's op with what gives the number, by thresholds if they are given. */
static bool build_program(Lowering *lw, const Layer *layer, Numbers *n, uint32_t number,
                          const Thresholds *thresholds, Region *region, Parameters *parameters)
{
    Writer w = {.lw = lw, .layer = layer, .n = n, .parameters = parameters};
    w.done = ARENA_ARRAY(lw->arena, uint32_t, n->all.len);
    for (size_t i = 0; i < n->all.len; i++) w.done[i] = 0;
    bool is_tap = n == &layer->tap;
    Builder b = builder_at_end(region_add_block(region), layer->op->loc);
    enter_accumulator(&w);
    uint32_t result = thresholds ? code_of_thresholds(&w, thresholds) : code_of(&w, number);
    find_last_uses(&w, result);
    bool ok = check_ranges(&w) && assign_registers(&w, result, is_tap);
    for (size_t i = 0; ok && i < w.code.len; i++)
        if (w.code.data[i].def) build_instruction(&w, &b, &w.code.data[i]);
    if (ok && !is_tap) build_store(&w, &b, result);
    vec_free(&w.code);
    return ok;
}

static const Type *map_type(const Lowering *lw, const Extents *extents)
{
    const int64_t dims[] = {extents->h, extents->w, extents->c};
    return type_tensor(sa_act_type(lw->ctx, &lw->size), dims, 3, NULL);
}

static const Attr *weights_attr(const Lowering *lw, const Layer *layer,
                                const Thresholds *thresholds)
{
    int64_t dims[] = {layer->extents.c, layer->kernel[0], layer->kernel[1],
                      layer->is_depthwise ? 1 : layer->input->extents.c / layer->groups};
    const Type *type = type_tensor(sa_weight_type(lw->ctx, &lw->size), dims, 4, NULL);
    size_t each = (size_t)(dims[1] * dims[2] * dims[3]), count = (size_t)dims[0] * each;
    if (!thresholds) return attr_dense_i64(type, layer->weights, count);
    int64_t *weights = ARENA_ARRAY(lw->arena, int64_t, count);
    for (size_t i = 0; i < count; i++)
        weights[i] = thresholds->changes_sign[i / each] ? -layer->weights[i] : layer->weights[i];
    return attr_dense_i64(type, weights, count);
}

/* A store saturates, so a clamp to what maps hold is left to it. */
static uint32_t without_clamp(const Lowering *lw, const Numbers *n, uint32_t number)
{
    int64_t most = sa_act_max(&lw->size), least = sa_act_min(&lw->size), value;
    for (;;) {
        const Number *top = number_at(n, number);
        bool is_min =
            top->kind == NUMBER_MIN && number_is_const(n, top->b, &value) && value == most;
        bool is_max =
            top->kind == NUMBER_MAX && number_is_const(n, top->b, &value) && value == least;
        if (!is_min && !is_max) return number;
        number = top->a;
    }
}

static Op *build_layer(Lowering *lw, const Layer *layer, const Thresholds *thresholds)
{
    Context *ctx = lw->ctx;
    NamedAttr attrs[9];
    uint32_t count = 0;
    Value *operands[] = {layer->input->map, layer->operand ? layer->operand->map : NULL};
    const Type *type = map_type(lw, &layer->extents);
    attrs[count++] = build_named_attr(ctx, "strides", attr_i64_array(ctx, layer->strides, 2));
    if (layer->def != SA(ELTWISE)) {
        attrs[count++] =
            build_named_attr(ctx, "dilations", attr_i64_array(ctx, layer->dilations, 2));
        attrs[count++] = build_named_attr(ctx, "pads", attr_i64_array(ctx, layer->pads, 2));
        attrs[count++] = number_attr(ctx, "pad_value", layer->pad_value);
    }
    if (layer->repeats[0] > 1 || layer->repeats[1] > 1)
        attrs[count++] =
            build_named_attr(ctx, SA_ATTR_REPEATS, attr_i64_array(ctx, layer->repeats, 2));
    if (layer->spreads) attrs[count++] = number_attr(ctx, "pad_value", layer->pad_value);
    if (layer->def == SA(POOL))
        attrs[count++] = build_named_attr(ctx, "kernel", attr_i64_array(ctx, layer->kernel, 2));
    if (layer->def == SA(CONV))
        attrs[count++] = build_named_attr(ctx, "weights", weights_attr(lw, layer, thresholds));
    if (layer->groups > 1) attrs[count++] = number_attr(ctx, SA_ATTR_GROUPS, layer->groups);
    if (layer->is_depthwise) attrs[count++] = build_named_attr(ctx, "depthwise", attr_unit(ctx));
    attrs[count++] = build_named_attr(ctx, "parameters", attr_array(ctx, NULL, 0));
    Builder b = lw->b;
    b.loc = layer->op->loc;
    return build(&b, layer->def, operands, layer->operand ? 2 : 1, &type, 1, attrs, count);
}

static bool check_instructions(const Lowering *lw, const Layer *layer, const Op *op)
{
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_OP(inner, region_entry(op_region(op, r))) {
            Str name = op_name(inner);
            if (!sa_pu_has(&lw->size, inner))
                return to_sa_refuse(
                    layer->op,
                    "needs '%.*s', which the overlay's processing unit has not (pu_kind)",
                    STR_ARG(name));
        }
    return true;
}

Value *to_sa_build(Lowering *lw, Layer *layer)
{
    Parameters parameters = {0};
    Thresholds found;
    const Thresholds *thresholds =
        to_sa_find_thresholds(lw, layer, layer->result, &found) ? &found : NULL;
    Op *op = build_layer(lw, layer, thresholds);
    bool is_pool = layer->def == SA(POOL);
    uint32_t result = without_clamp(lw, &layer->numbers, layer->result);
    bool ok = (!is_pool || build_program(lw, layer, &layer->tap, layer->tap_result, NULL,
                                         op_region(op, 0), &parameters)) &&
              build_program(lw, layer, &layer->numbers, result, thresholds, op_region(op, is_pool),
                            &parameters) &&
              check_instructions(lw, layer, op);
    op_set_attr(op, "parameters", attr_array(lw->ctx, parameters.data, parameters.len));
    Str name = layer_name_source(layer->op);
    if (name.len > 0) op_set_attr(op, SA_ATTR_NAME, attr_string(lw->ctx, name));
    vec_free(&parameters);
    return ok ? op_result(op, 0) : NULL;
}
