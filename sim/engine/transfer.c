/* Commands that move words: between external memory and the buffers, and from the weight buffer to
 * the memories of the array. Words lie in external memory one behind the other, elements with the
 * least channel first, bytes with the least first. */
#include "sim/engine/internal.h"

enum { PARAM_BITS = 32, BEAT_BITS = 8 * SA_BEAT_BYTES };

/* One side of a load or store. */
typedef struct Stream {
    const Memory *memory;
    uint64_t word;    /* the first one */
    uint32_t bits;    /* of an element */
    uint32_t buffer;  /* of sa.addr */
    bool is_unsigned; /* its numbers */
    bool is_bipolar;  /* -1 and 1 as 0 and 1 */
} Stream;

static Stream stream_of(const Engine *e, const Command *cmd)
{
    const int32_t *regs = cmd->regs;
    const OpDef *def = cmd->op->def;
    if (def == SA(LOAD_W))
        return (Stream){.memory = &e->weights[sa_int(cmd->op, SA_ATTR_HALF, 0)],
                        .word = (uint64_t)regs[SA_REG_WB_BASE],
                        .bits = sa_stored_bits(e->size.weight_bits),
                        .buffer = SA_BUFFER_WEIGHTS,
                        .is_bipolar = e->size.weight_bits == 1};
    if (def == SA(LOAD_P))
        return (Stream){.memory = &e->params,
                        .word = (uint64_t)regs[SA_REG_P_BASE],
                        .bits = PARAM_BITS,
                        .buffer = SA_BUFFER_PARAMETERS};
    bool is_store = def == SA(STORE);
    return (Stream){.memory = &e->act,
                    .word = is_store ? engine_word(e, cmd, SA_REG_OUT_PAGE, SA_REG_OUT_BASE, 0, 0)
                                     : engine_word(e, cmd, SA_REG_ACT_PAGE, SA_REG_ACT_BASE, 0, 0),
                    .bits = sa_stored_bits(e->size.act_bits),
                    .buffer = is_store ? SA_BUFFER_OUTPUT : SA_BUFFER_ACTIVATIONS,
                    .is_unsigned = e->size.act_is_unsigned};
}

/* latency + (runs - 1) * restart + what the bytes take at the bank's rate, one beat a cycle at most.
 * Weights lie in several banks, beat by beat. */
static uint64_t external_cycles(const Engine *e, const Command *cmd)
{
    uint64_t runs = (uint64_t)cmd->regs[SA_REG_ROWS], beats = (uint64_t)cmd->regs[SA_REG_BEATS];
    uint64_t rate =
        e->options->rate < SA_BEAT_BYTES * 1000 ? e->options->rate : SA_BEAT_BYTES * 1000;
    if (cmd->op->def == SA(LOAD_W)) rate *= e->size.weight_banks;
    uint64_t moved = div_up(runs * beats * SA_BEAT_BYTES * 1000, rate);
    return e->options->latency + (runs > 0 ? runs - 1 : 0) * e->options->restart + moved;
}

uint64_t engine_transfer_cycles(const Engine *e, const Command *cmd)
{
    if (cmd->op->def == SA(FILL))
        return div_up((uint64_t)cmd->regs[SA_REG_FILL_COUNT] * e->size.cols, e->size.fill_words);
    return external_cycles(e, cmd);
}

/* Whether the bank holds all beats. */
static bool check_bank(const Engine *e, const Command *cmd, const Stream *s)
{
    uint64_t bank = (uint64_t)sa_int(cmd->op, SA_ATTR_BANK, 0);
    uint64_t rows = (uint64_t)cmd->regs[SA_REG_ROWS], beats = (uint64_t)cmd->regs[SA_REG_BEATS];
    if (bank >= e->bank_count)
        return op_error(cmd->op, "names bank %llu of %zu", (unsigned long long)bank, e->bank_count);
    uint64_t end = cmd->address[s->buffer] + beats;
    if (rows > 0) end += (rows - 1) * (uint64_t)cmd->regs[SA_REG_ROW_STRIDE];
    return rows == 0 || end * SA_BEAT_BYTES <= e->banks[bank].size ||
           op_error(cmd->op, "goes to byte %llu of bank %llu, which has %zu",
                    (unsigned long long)(end * SA_BEAT_BYTES), (unsigned long long)bank,
                    e->banks[bank].size);
}

bool engine_transfer_check(Engine *e, const Command *cmd)
{
    if (cmd->op->def == SA(FILL)) return true;
    Stream s = stream_of(e, cmd);
    uint64_t run = (uint64_t)cmd->regs[SA_REG_BEATS] * SA_BEAT_BYTES;
    uint64_t word_bits = (uint64_t)s.memory->lanes * s.bits;
    if (run * 8 % word_bits != 0)
        return op_error(cmd->op, "moves runs of %llu bytes, which are no whole words of %llu",
                        (unsigned long long)run, (unsigned long long)word_bits / 8);
    return check_bank(e, cmd, &s);
}

/* Element number `bit` / s->bits of a run. */
static int64_t get_element(const Stream *s, const uint8_t *from, uint64_t bit)
{
    uint64_t code = engine_get_bits(from, bit, s->bits), sign = UINT64_C(1) << (s->bits - 1);
    if (s->is_bipolar) return code ? 1 : -1;
    return s->is_unsigned ? (int64_t)code : (int64_t)((code ^ sign) - sign);
}

static bool load_word(const Stream *s, const Command *cmd, uint64_t word, const uint8_t *from,
                      uint64_t bit)
{
    int64_t *lanes = engine_memory_write(s->memory, cmd, word);
    if (!lanes) return false;
    for (uint32_t i = 0; i < s->memory->lanes; i++)
        lanes[i] = get_element(s, from, bit + (uint64_t)i * s->bits);
    return true;
}

static bool store_word(const Stream *s, const Command *cmd, uint64_t word, uint8_t *to,
                       uint64_t bit)
{
    const int64_t *lanes = engine_memory_read(s->memory, cmd, word, 0);
    if (!lanes) return false;
    for (uint32_t i = 0; i < s->memory->lanes; i++) {
        if (lanes[i] == MEMORY_EMPTY)
            return op_error(cmd->op,
                            "reads word %llu of the %s, lane %u of which nothing has "
                            "written",
                            (unsigned long long)word, s->memory->name, i);
        engine_put_bits(to, bit + (uint64_t)i * s->bits, s->bits, (uint64_t)lanes[i]);
    }
    return true;
}

static bool move_runs(Engine *e, const Command *cmd)
{
    Stream s = stream_of(e, cmd);
    const EngineBank *bank = &e->banks[sa_int(cmd->op, SA_ATTR_BANK, 0)];
    uint64_t word_bits = (uint64_t)s.memory->lanes * s.bits;
    uint64_t words = (uint64_t)cmd->regs[SA_REG_BEATS] * BEAT_BITS / word_bits;
    for (uint64_t run = 0; run < (uint64_t)cmd->regs[SA_REG_ROWS]; run++) {
        uint64_t beat = cmd->address[s.buffer] + run * (uint64_t)cmd->regs[SA_REG_ROW_STRIDE];
        uint8_t *bytes = bank->bytes + beat * SA_BEAT_BYTES;
        for (uint64_t i = 0; i < words; i++) {
            uint64_t word = s.word + run * words + i;
            if (!(s.buffer == SA_BUFFER_OUTPUT ? store_word(&s, cmd, word, bytes, i * word_bits)
                                               : load_word(&s, cmd, word, bytes, i * word_bits)))
                return false;
        }
    }
    return true;
}

/* A word of the array's memories has the weights of all processing elements, row by row. */
static bool fill(Engine *e, const Command *cmd)
{
    const Memory *from = &e->weights[sa_int(cmd->op, "source", 0)];
    const Memory *to = &e->pe[sa_int(cmd->op, SA_ATTR_HALF, 0)];
    uint32_t rows = e->size.rows, cols = e->size.cols;
    for (int32_t a = 0; a < cmd->regs[SA_REG_FILL_COUNT]; a++) {
        int64_t *array = engine_memory_write(to, cmd, (uint64_t)(cmd->regs[SA_REG_W_BASE] + a));
        if (!array) return false;
        for (uint32_t i = 0; i < cols; i++) {
            uint64_t word = (uint64_t)cmd->regs[SA_REG_WB_BASE] + (uint64_t)a * cols + i;
            const int64_t *column = engine_memory_read(from, cmd, word, 0);
            if (!column) return false;
            for (uint32_t j = 0; j < rows; j++) array[(size_t)j * cols + i] = column[j];
        }
    }
    return true;
}

void engine_count_bytes(Engine *e, const Command *cmd)
{
    uint64_t bytes =
        (uint64_t)cmd->regs[SA_REG_ROWS] * (uint64_t)cmd->regs[SA_REG_BEATS] * SA_BEAT_BYTES;
    *(cmd->op->def == SA(STORE) ? &e->result->stored : &e->result->loaded) += bytes;
}

bool engine_transfer_run(Engine *e, const Command *cmd)
{
    if (cmd->op->def == SA(FILL)) return fill(e, cmd);
    engine_count_bytes(e, cmd);
    return move_runs(e, cmd);
}
