/* Instructions one by one, and semaphores between units. */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

static NamedAttr number(Writer *w, const char *name, int64_t value)
{
    return build_named_attr(w->b->ctx, name, attr_i64(w->b->ctx, value));
}

void to_program_set(Writer *w, uint32_t reg, uint64_t value)
{
    if (w->is_set[reg] && w->regs[reg] == (int32_t)value) return;
    w->is_set[reg] = true;
    w->regs[reg] = (int32_t)value;
    if (w->timing) {
        to_program_time_words(w->timing, 1);
        return;
    }
    NamedAttr attrs[] = {number(w, "register", reg), number(w, "value", (int32_t)value)};
    build(w->b, SA(SET), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
}

void to_program_address(Writer *w, int64_t buffer, uint64_t beat)
{
    if (w->timing) {
        to_program_time_words(w->timing, 1);
        return;
    }
    NamedAttr attrs[] = {number(w, "buffer", buffer), number(w, "address", (int64_t)beat)};
    build(w->b, SA(ADDR), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
}

/* Whether the array runs it. */
static bool is_of_array(const OpDef *def, const CommandFields *fields)
{
    return def == SA(RUN) || (def == SA(NOP) && fields->unit == there(UNIT_COMPUTE));
}

void to_program_command(Writer *w, const OpDef *def, const CommandFields *fields)
{
    NamedAttr attrs[6];
    uint32_t count = 0;
    if (is_of_array(def, fields)) w->array_commands++;
    if (w->timing) {
        to_program_time_command(w, def, fields);
        return;
    }
    if (fields->unit) attrs[count++] = number(w, "unit", fields->unit - 1);
    if (fields->half) attrs[count++] = number(w, SA_ATTR_HALF, fields->half - 1);
    if (fields->source) attrs[count++] = number(w, "source", fields->source - 1);
    if (fields->bank) attrs[count++] = number(w, SA_ATTR_BANK, fields->bank - 1);
    if (fields->wait) attrs[count++] = number(w, SA_ATTR_WAIT, fields->wait);
    if (fields->signal) attrs[count++] = number(w, SA_ATTR_SIGNAL, fields->signal);
    build(w->b, def, NULL, 0, NULL, 0, attrs, count);
}

bool to_program_set_beats(Writer *w, uint64_t beats, const Op *op)
{
    uint64_t runs = beats / MAX_COUNT + (beats % MAX_COUNT != 0);
    if (runs == 0) runs = 1;
    while (runs <= MAX_COUNT && beats % runs) runs++;
    if (runs > MAX_COUNT || beats / runs > MAX_COUNT)
        return op_error(op, "has %llu beats, which are no runs that registers count",
                        (unsigned long long)beats);
    to_program_set(w, SA_REG_ROWS, runs);
    to_program_set(w, SA_REG_BEATS, beats / runs);
    to_program_set(w, SA_REG_ROW_STRIDE, beats / runs);
    return true;
}

static const struct {
    uint32_t from, to; /* units */
} ENDS[] = {{UNIT_LOAD_A, UNIT_COMPUTE},
            {UNIT_COMPUTE, UNIT_LOAD_A},
            {UNIT_COMPUTE, UNIT_STORE},
            {UNIT_STORE, UNIT_COMPUTE}};

uint64_t to_program_count_signal(Writer *w, int channel, uint32_t *field)
{
    *field = FIRST_PART + (uint32_t)channel;
    return ++w->channels[channel].signals;
}

uint64_t to_program_signal(Writer *w, int channel)
{
    CommandFields fields = {.unit = there(ENDS[channel].from)};
    uint64_t count = to_program_count_signal(w, channel, &fields.signal);
    to_program_command(w, SA(NOP), &fields);
    return count;
}

void to_program_wait(Writer *w, int channel, uint64_t count)
{
    for (; w->channels[channel].waits < count; w->channels[channel].waits++)
        to_program_command(
            w, SA(NOP),
            FIELDS(.unit = there(ENDS[channel].to), .wait = FIRST_PART + (uint32_t)channel));
}
