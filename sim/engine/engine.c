/* The fetch unit and the five units behind it, event by event. In every cycle commands that are
 * over signal, then units begin with what waits in front of them, then an instruction is fetched. A
 * command does all its work when it begins; memories find what overlaps (memory.c).
 * Tests: test/e2e/engine_check.py, lit/sim/engine */
#include <stdlib.h>
#include <string.h>

#include "sim/engine/internal.h"

/* A unit with the commands in front of it, the oldest first, and the one that it runs. */
typedef struct Unit {
    Command queue[SA_QUEUE];
    uint32_t count;
    Command active;
    bool is_active;
} Unit;

typedef struct Sequencer {
    Engine *engine;
    Unit units[ENGINE_UNITS];
    uint32_t semaphores[SA_SEMAPHORES];
    const Op *signalled[SA_SEMAPHORES]; /* the last command that did */
    uint64_t bank_free[ENGINE_MAX_BANKS];
    int32_t regs[SA_REG_COUNT];
    uint32_t address[4];
    const Op *next;  /* instruction to fetch; NULL behind the last one */
    uint32_t number; /* of `next`, from 1 */
    uint64_t now;
} Sequencer;

static const char *const UNIT_NAMES[] = {"load_a", "load_w", "fill", "compute", "store"};

const char *engine_unit_name(uint32_t unit)
{
    return UNIT_NAMES[unit];
}

static bool uses_bank(const Command *cmd)
{
    return op_attr(cmd->op, SA_ATTR_BANK) != NULL;
}

static uint32_t unit_of(const Op *op)
{
    if (op->def == SA(NOP)) return (uint32_t)sa_int(op, "unit", 0);
    if (op->def == SA(LOAD_A)) return ENGINE_LA;
    if (op->def == SA(LOAD_W) || op->def == SA(LOAD_P)) return ENGINE_LW;
    if (op->def == SA(FILL)) return ENGINE_FL;
    return op->def == SA(RUN) ? ENGINE_CO : ENGINE_ST;
}

static uint64_t command_cycles(const Engine *e, const Command *cmd)
{
    if (cmd->op->def == SA(NOP)) return 1;
    return cmd->op->def == SA(RUN) ? engine_array_cycles(e, cmd) : engine_transfer_cycles(e, cmd);
}

static bool command_check(Engine *e, const Command *cmd)
{
    if (cmd->op->def == SA(NOP)) return true;
    return cmd->op->def == SA(RUN) ? engine_array_check(e, cmd) : engine_transfer_check(e, cmd);
}

static bool command_run(Engine *e, const Command *cmd)
{
    if (cmd->op->def == SA(NOP)) return true;
    if (e->options->is_timed_only) {
        if (uses_bank(cmd)) engine_count_bytes(e, cmd);
        return true;
    }
    return cmd->op->def == SA(RUN) ? engine_array_run(e, cmd) : engine_transfer_run(e, cmd);
}

/* Commands that are over in this cycle. */
static void finish(Sequencer *s)
{
    for (uint32_t u = 0; u < ENGINE_UNITS; u++) {
        Unit *unit = &s->units[u];
        if (!unit->is_active || unit->active.end > s->now) continue;
        unit->is_active = false;
        if (unit->active.signal == SA_SEMAPHORES) continue;
        s->semaphores[unit->active.signal]++;
        s->signalled[unit->active.signal] = unit->active.op;
    }
}

/* One that there is not is never busy: the command's check refuses it. */
static bool bank_is_free(const Sequencer *s, const Command *cmd)
{
    uint64_t bank = (uint64_t)sa_int(cmd->op, SA_ATTR_BANK, 0);
    return !uses_bank(cmd) || bank >= ENGINE_MAX_BANKS || s->bank_free[bank] <= s->now;
}

static bool can_begin(const Sequencer *s, const Unit *unit)
{
    const Command *cmd = &unit->queue[0];
    if (unit->is_active || unit->count == 0 || cmd->queued >= s->now) return false;
    if (cmd->wait < SA_SEMAPHORES && s->semaphores[cmd->wait] == 0) return false;
    return bank_is_free(s, cmd);
}

static bool begin(Sequencer *s, uint32_t u)
{
    Unit *unit = &s->units[u];
    Engine *e = s->engine;
    Command *cmd = &unit->active;
    *cmd = unit->queue[0];
    memmove(unit->queue, unit->queue + 1, --unit->count * sizeof *unit->queue);
    if (!command_check(e, cmd)) return false;
    if (cmd->wait < SA_SEMAPHORES) s->semaphores[cmd->wait]--;
    uint64_t cycles = command_cycles(e, cmd);
    uint64_t most = e->options->max_cycles;
    if (most && cycles > most - s->now)
        return op_error(cmd->op, "would end after cycle %llu, the most that are simulated",
                        (unsigned long long)most);
    cmd->start = s->now;
    cmd->end = s->now + (cycles > 0 ? cycles : 1);
    if (uses_bank(cmd)) s->bank_free[sa_int(cmd->op, SA_ATTR_BANK, 0)] = cmd->end;
    unit->is_active = true;
    e->result->busy[u] += cmd->end - cmd->start;
    *vec_push(&e->result->events) = (EngineEvent){cmd->op, u, cmd->start, cmd->end};
    return command_run(e, cmd);
}

static bool begin_all(Sequencer *s)
{
    for (uint32_t u = 0; u < ENGINE_UNITS; u++)
        if (can_begin(s, &s->units[u]) && !begin(s, u)) return false;
    return true;
}

/* Whether a run that is not over has the instruction in one of its programs. */
static bool needs_pu(const Command *cmd, uint32_t index)
{
    const int32_t *regs = cmd->regs;
    if (cmd->op->def != SA(RUN)) return false;
    uint32_t out = index - (uint32_t)regs[SA_REG_PU_OUT];
    uint32_t tap = index - (uint32_t)regs[SA_REG_PU_TAP];
    return (regs[SA_REG_C_LAST] && out < (uint32_t)regs[SA_REG_PU_OUT_LENGTH]) ||
           (regs[SA_REG_MODE] == SA_MODE_POOL && tap < (uint32_t)regs[SA_REG_PU_TAP_LENGTH]);
}

/* An instruction of the processing unit goes to its memory. */
static bool store_pu(Sequencer *s, const Op *op)
{
    uint32_t index = (uint32_t)s->regs[SA_REG_PU_PC]++;
    const Unit *unit = &s->units[ENGINE_CO];
    if (index >= SA_PU_WORDS)
        return op_error(op, "does not fit the %d instructions of the processing unit", SA_PU_WORDS);
    bool is_needed = unit->is_active && needs_pu(&unit->active, index);
    for (uint32_t i = 0; i < unit->count; i++) is_needed |= needs_pu(&unit->queue[i], index);
    if (is_needed)
        return op_error(op,
                        "replaces instruction %u of the processing unit, which a run that is "
                        "not over needs",
                        index);
    s->engine->pu[index] = op;
    return true;
}

static bool set_register(Sequencer *s, const Op *op)
{
    int32_t value = (int32_t)sa_int(op, "value", 0);
    uint32_t reg = (uint32_t)sa_int(op, "register", 0);
    const SaOverlay *size = &s->engine->size;
    if (reg == SA_REG_PAD_VALUE && (value < sa_act_min(size) || value > sa_act_max(size)))
        return op_error(op, "pads with a number of more than %u bits", s->engine->size.act_bits);
    s->regs[reg] = value;
    return true;
}

static void enqueue(Sequencer *s, const Op *op)
{
    Unit *unit = &s->units[unit_of(op)];
    Command *cmd = &unit->queue[unit->count++];
    *cmd = (Command){.op = op,
                     .number = s->number,
                     .unit = unit_of(op),
                     .queued = s->now,
                     .wait = (uint32_t)sa_int(op, SA_ATTR_WAIT, SA_SEMAPHORES),
                     .signal = (uint32_t)sa_int(op, SA_ATTR_SIGNAL, SA_SEMAPHORES)};
    memcpy(cmd->regs, s->regs, sizeof cmd->regs);
    memcpy(cmd->address, s->address, sizeof cmd->address);
}

static bool is_command(const Op *op)
{
    return op->def == SA(NOP) || op->def == SA(LOAD_A) || op->def == SA(LOAD_W) ||
           op->def == SA(LOAD_P) || op->def == SA(FILL) || op->def == SA(RUN) ||
           op->def == SA(STORE);
}

static bool is_idle(const Sequencer *s)
{
    for (uint32_t u = 0; u < ENGINE_UNITS; u++)
        if (s->units[u].is_active || s->units[u].count > 0) return false;
    return true;
}

static bool can_fetch(const Sequencer *s)
{
    if (!s->next) return false;
    if (s->next->def == SA(END)) return is_idle(s);
    return !is_command(s->next) || s->units[unit_of(s->next)].count < SA_QUEUE;
}

static bool fetch(Sequencer *s)
{
    const Op *op = s->next;
    bool ok = true;
    if (is_command(op))
        enqueue(s, op);
    else if (op->def == SA(SET))
        ok = set_register(s, op);
    else if (op->def == SA(ADDR))
        s->address[sa_int(op, "buffer", 0)] = (uint32_t)sa_int(op, "address", 0);
    else if (op->def != SA(END))
        ok = store_pu(s, op);
    s->next = op->next;
    s->number++;
    return ok;
}

/* The next cycle in which something may happen; UINT64_MAX: none. */
static uint64_t next_event(const Sequencer *s)
{
    uint64_t next = can_fetch(s) ? s->now + 1 : UINT64_MAX;
    for (uint32_t u = 0; u < ENGINE_UNITS; u++) {
        const Unit *unit = &s->units[u];
        if (unit->is_active && unit->active.end < next) next = unit->active.end;
        if (!unit->is_active && unit->count > 0 && unit->queue[0].queued >= s->now &&
            s->now + 1 < next)
            next = s->now + 1;
    }
    return next;
}

/* Nothing will happen any more: each unit says what it waits for. */
static bool report_deadlock(const Sequencer *s)
{
    Context *ctx = s->engine->ctx;
    op_error(s->next, "is never reached: all units wait from cycle %llu on",
             (unsigned long long)s->now);
    for (uint32_t u = 0; u < ENGINE_UNITS; u++)
        if (s->units[u].count > 0)
            diag_note(ctx, s->units[u].queue[0].op->loc, "unit %s waits here for semaphore %u",
                      UNIT_NAMES[u], s->units[u].queue[0].wait);
    return false;
}

/* A semaphore that is not 0 at the end would let something of the next inference begin too early. */
static bool check_balance(const Sequencer *s)
{
    for (uint32_t i = 0; i < SA_SEMAPHORES; i++)
        if (s->semaphores[i] > 0)
            return op_error(s->signalled[i], "leaves semaphore %u at %u when the program ends", i,
                            s->semaphores[i]);
    return true;
}

static bool sequence(Sequencer *s)
{
    while (s->next) {
        finish(s);
        if (!begin_all(s)) return false;
        if (can_fetch(s) && !fetch(s)) return false;
        if (!s->next) break;
        uint64_t next = next_event(s);
        if (next == UINT64_MAX) return report_deadlock(s);
        if (s->engine->options->max_cycles && next > s->engine->options->max_cycles)
            return op_error(s->next, "is not reached within %llu cycles",
                            (unsigned long long)s->engine->options->max_cycles);
        s->now = next;
    }
    s->engine->result->cycles = s->now + 1;
    return check_balance(s);
}

/* Numbers in all memories. */
static uint64_t lane_count(const SaOverlay *size)
{
    uint64_t rows = size->rows, cols = size->cols;
    return (uint64_t)size->act_pages * sa_page_words(size) * cols + 2 * size->w_words * rows +
           2 * size->pe_words * rows * cols + size->acc_words * rows + size->param_words * rows;
}

/* Instructions by their number, for messages. */
static const Op **list_instructions(const Op *program)
{
    const Block *body = region_entry(op_region(program, 0));
    size_t count = 0;
    FOR_EACH_OP(op, body) count++;
    const Op **list = xmalloc(count * sizeof *list);
    count = 0;
    FOR_EACH_OP(op, body) list[count++] = op;
    return list;
}

static void create_memories(Engine *e)
{
    const SaOverlay *size = &e->size;
    engine_memory_create(&e->act, "activations", (uint64_t)size->act_pages * sa_page_words(size),
                         size->cols, sa_page_words(size));
    for (int half = 0; half < 2; half++) {
        engine_memory_create(&e->weights[half], half ? "weight buffer B" : "weight buffer A",
                             size->w_words, size->rows, 0);
        engine_memory_create(&e->pe[half], half ? "array's memories B" : "array's memories A",
                             size->pe_words, size->rows * size->cols, 0);
    }
    engine_memory_create(&e->params, "parameters", size->param_words, size->rows, 0);
    engine_memory_create(&e->partial, "partial sums", size->acc_words, size->rows, 0);
    Memory *all[] = {&e->act,   &e->weights[0], &e->weights[1], &e->pe[0],
                     &e->pe[1], &e->params,     &e->partial};
    for (size_t i = 0; i < COUNT_OF(all); i++) all[i]->instructions = e->instructions;
    e->regs = xcalloc((size_t)SA_PU_REGS * size->rows, sizeof *e->regs);
    e->sums = xcalloc(size->rows, sizeof *e->sums);
    e->input = xcalloc(size->cols, sizeof *e->input);
}

static void free_memories(Engine *e)
{
    engine_memory_free(&e->act);
    for (int half = 0; half < 2; half++) {
        engine_memory_free(&e->weights[half]);
        engine_memory_free(&e->pe[half]);
    }
    engine_memory_free(&e->params);
    engine_memory_free(&e->partial);
    free(e->instructions);
    free(e->regs);
    free(e->sums);
    free(e->input);
}

bool engine_run(const Op *program, const EngineOptions *options, EngineBank *banks,
                size_t bank_count, EngineResult *result)
{
    Engine engine = {.ctx = program->ctx,
                     .size = sa_overlay(op_attr(program, SA_ATTR_OVERLAY)),
                     .options = options,
                     .banks = banks,
                     .bank_count = bank_count,
                     .result = result};
    Sequencer *s = xcalloc(1, sizeof *s);
    *result = (EngineResult){0};
    bool ok = lane_count(&engine.size) <= ENGINE_MAX_LANES ||
              op_error(program, "has memories of %llu numbers, more than %d that are simulated",
                       (unsigned long long)lane_count(&engine.size), ENGINE_MAX_LANES);
    if (ok) {
        engine.instructions = list_instructions(program);
        create_memories(&engine);
        s->engine = &engine;
        s->next = region_entry(op_region(program, 0))->first;
        s->number = 1;
        ok = sequence(s);
        free_memories(&engine);
    }
    free(s);
    return ok;
}

void engine_result_free(EngineResult *result)
{
    vec_free(&result->events);
    *result = (EngineResult){0};
}
