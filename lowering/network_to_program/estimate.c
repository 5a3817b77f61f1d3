/* Cycles of a whole network: its program passes instruction by instruction, without being built, and
 * units run their commands as docs/overlay.md says, for as long as model.c says. What is not looked at
 * is who of two units comes first to the bank of maps: they have it in the order of the program.
 * Tests: test/e2e/overlay_model_check.py */
#include "ir/asm/print/print.h"
#include "lowering/network_to_program/internal.h"

enum { UNITS = UNIT_STORE + 1, BANKS = SA_BANK_PARAMETERS + 1 };

/* A unit's commands. Those that wait, and the one that runs, began or will begin in these cycles. */
typedef struct UnitTime {
    uint64_t starts[SA_QUEUE]; /* of the last ones, a ring */
    uint64_t count, free;
} UnitTime;

/* When a semaphore was counted up, and how often somebody has waited for it. Each has one unit that
 * signals and one that waits. */
typedef struct SemaphoreTimes {
    VEC(uint64_t) signals;
    size_t waits;
} SemaphoreTimes;

struct Timing {
    ProgramEstimate *out;
    uint64_t fetched; /* the cycle after the last instruction's */
    UnitTime units[UNITS];
    uint64_t banks[BANKS]; /* from when on they are free */
    SemaphoreTimes semaphores[SA_SEMAPHORES];
};

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void to_program_time_words(Timing *timing, uint64_t count)
{
    timing->fetched += count;
}

static uint32_t unit_of(const OpDef *def, const CommandFields *fields)
{
    if (def == SA(NOP)) return (uint32_t)fields->unit - 1;
    if (def == SA(LOAD_A)) return UNIT_LOAD_A;
    if (def == SA(LOAD_W) || def == SA(LOAD_P)) return UNIT_LOAD_W;
    if (def == SA(FILL)) return UNIT_FILL;
    return def == SA(RUN) ? UNIT_COMPUTE : UNIT_STORE;
}

static uint64_t reg(const Writer *w, uint32_t which)
{
    return (uint64_t)w->regs[which];
}

/* Of a load or store, which are told from others by their bank. */
static uint64_t transfer_cycles(const Writer *w, const OpDef *def)
{
    uint64_t banks = def == SA(LOAD_W) ? w->plan->size.weight_banks : 1;
    uint64_t bytes = reg(w, SA_REG_ROWS) * reg(w, SA_REG_BEATS) * SA_BEAT_BYTES;
    ProgramEstimate *out = w->timing->out;
    if (def == SA(LOAD_W)) out->weight_bytes += bytes;
    if (def == SA(LOAD_A) || def == SA(STORE)) out->map_bytes += bytes;
    return to_program_banks_cycles(w->plan, banks, reg(w, SA_REG_ROWS), reg(w, SA_REG_BEATS));
}

static uint64_t command_cycles(const Writer *w, const OpDef *def, const CommandFields *fields)
{
    const SaOverlay *size = &w->plan->size;
    if (fields->bank) return transfer_cycles(w, def);
    if (def == SA(FILL))
        return to_program_up(reg(w, SA_REG_FILL_COUNT) * size->cols, size->fill_words);
    if (def != SA(RUN)) return 1;
    w->timing->out->array += w->run_cycles;
    w->timing->out->runs++;
    return w->run_cycles;
}

/* Programs wait for what stands in front of them. */
static uint64_t next_signal(SemaphoreTimes *s)
{
    size_t index = s->waits++;
    return index < s->signals.len ? s->signals.data[index] : 0;
}

void to_program_time_command(Writer *w, const OpDef *def, const CommandFields *fields)
{
    Timing *t = w->timing;
    UnitTime *unit = &t->units[unit_of(def, fields)];
    uint64_t *place = &unit->starts[unit->count++ % SA_QUEUE];
    uint64_t *bank = fields->bank ? &t->banks[fields->bank - 1] : NULL;
    uint64_t queued =
        greater(t->fetched, *place); /* it has the place of the one that begins then */
    t->fetched = queued + 1;
    uint64_t begin = greater(t->fetched, unit->free);
    if (fields->wait) begin = greater(begin, next_signal(&t->semaphores[fields->wait]));
    if (bank) begin = greater(begin, *bank);
    *place = begin;
    unit->free = begin + greater(command_cycles(w, def, fields), 1);
    if (bank) *bank = unit->free;
    if (fields->signal) *vec_push(&t->semaphores[fields->signal].signals) = unit->free;
}

static bool time_program(const Plan *plan, ProgramEstimate *out)
{
    Timing timing = {.out = out};
    bool ok = to_program_time(plan, &timing);
    out->cycles = timing.fetched;
    for (size_t i = 0; i < UNITS; i++) out->cycles = greater(out->cycles, timing.units[i].free);
    out->cycles++; /* the end */
    for (size_t i = 0; i < SA_SEMAPHORES; i++) vec_free(&timing.semaphores[i].signals);
    return ok;
}

static uint64_t products_of(const Layer *layer)
{
    const int64_t *out = sa_map_dims(op_result(layer->op, 0));
    const int64_t *in = sa_map_dims(op_operand(layer->op, 0));
    if (!layer->has_weights) return 0;
    uint64_t columns = layer->mode == SA_MODE_DEPTHWISE ? 1 : (uint64_t)in[2] / layer->groups;
    SaPool pool = {.map = {out[0] / sa_images(layer->op), out[1]}};
    (void)sa_pool(layer->op, &pool);
    return (uint64_t)(sa_images(layer->op) * pool.map[0] * pool.map[1] * out[2]) * layer->taps *
           columns;
}

bool to_program_estimate(const Op *network, const ProgramMemory *memory, ProgramEstimate *out)
{
    Plan plan;
    *out = (ProgramEstimate){0};
    bool ok = to_program_plan_estimate(&plan, network, memory) && time_program(&plan, out);
    for (size_t i = 0; ok && i < plan.layers.len; i++) {
        const Layer *layer = &plan.layers.data[i];
        out->products += products_of(layer);
        if (layer->has_weights)
            out->weights += (uint64_t)dense_count(op_attr(layer->op, "weights"));
    }
    for (size_t i = 0; ok && i < plan.maps.len; i++) {
        const Map *map = &plan.maps.data[i];
        out->outside += map->is_spilled;
        if (!map->is_spilled && map->page + map->pages > out->pages)
            out->pages = map->page + map->pages;
    }
    if (out->outside > 0) out->pages = plan.size.act_pages;
    out->vectors = plan.parameter_vectors;
    out->weight_space = plan.weight_beats * SA_BEAT_BYTES;
    out->map_space = plan.map_beats * SA_BEAT_BYTES;
    to_program_plan_free(&plan);
    return ok;
}
