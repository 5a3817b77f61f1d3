/* Fuzz target for programs of overlays. The bytes are read as a file, which is refused with one
 * diagnostic or written again as it was; and as instructions, each of a row that the first byte
 * names with fields of the next ones, which are simulated: they end, with an error or without. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "sim/engine/engine.h"
#include "target/overlay/overlay.h"

enum { BYTES = 5, MOST_CYCLES = 20000, BANKS = 3, BANK_BYTES = 1 << 14, SMALL = 8 };

/* Of products, or of planes. */
static SaOverlay size_of(bool has_planes)
{
    return (SaOverlay){.rows = 2,
                       .cols = 4,
                       .acc = 24,
                       .act_pages = 2,
                       .w_words = 64,
                       .pe_words = 16,
                       .fill_words = 1,
                       .acc_words = 16,
                       .param_words = 8,
                       .pu_stages = 2,
                       .pu_kind = 1,
                       .weight_banks = 1,
                       .act_bits = has_planes ? 3 : 8,
                       .weight_bits = has_planes ? 1 : 16,
                       .act_is_unsigned = has_planes};
}

static void simulate(const Op *program)
{
    EngineOptions options = ENGINE_DEFAULTS;
    EngineResult result;
    uint8_t *bytes = xcalloc(BANKS, BANK_BYTES);
    EngineBank banks[BANKS];
    for (size_t i = 0; i < BANKS; i++) banks[i] = (EngineBank){bytes + i * BANK_BYTES, BANK_BYTES};
    options.max_cycles = MOST_CYCLES;
    options.latency = 3;
    size_t errors = diag_error_count(program->ctx);
    bool ok = engine_run(program, &options, banks, BANKS, &result);
    fuzz_check(ok == (diag_error_count(program->ctx) == errors), "not one of success and error",
               STR(""));
    fuzz_check(!ok || result.cycles <= MOST_CYCLES + 1, "too many cycles", STR(""));
    engine_result_free(&result);
    free(bytes);
}

static void check_file(Context *ctx, Str bytes)
{
    StrBuf again = {0};
    size_t errors = diag_error_count(ctx);
    Op *module = overlay_read_program(ctx, bytes, STR("fuzz"));
    errors = diag_error_count(ctx) - errors;
    fuzz_check(module || errors > 0, "a refused program without a diagnostic", STR(""));
    if (module) {
        const Op *program = overlay_find_program(module);
        fuzz_check(program && overlay_write_program(program, &again), "is not written", STR(""));
        fuzz_check(str_eq(strbuf_str(&again), bytes), "is written otherwise", STR(""));
        if (program) simulate(program);
        op_erase(module);
    }
    strbuf_free(&again);
}

/* A word of the row's form; its fields are small as a rule, since most large ones end at once. */
static uint32_t make_word(const SaForm *form, const uint8_t *bytes)
{
    uint32_t word = 0;
    memcpy(&word, bytes + 1, sizeof word);
    if (bytes[0] & 0x80) return form->fixed | (word & ~sa_form_mask(form));
    uint32_t made = form->fixed;
    for (const SaField *field = form->fields; field->attr; field++, word >>= 3) {
        bool is_there = field->flag < 0 || (word & 4);
        if (field->flag >= 0 && is_there) made |= UINT32_C(1) << field->flag;
        uint32_t value = (uint32_t)sa_field_max(field) + 1 < SMALL
                             ? word & (uint32_t)sa_field_max(field)
                             : word % SMALL;
        if (strcmp(field->attr, "register") == 0) value = (word ^ word >> 7) % SA_REG_COUNT;
        if (is_there) made |= value << field->low;
    }
    return made;
}

static void add_instructions(Op *program, const uint8_t *data, size_t size)
{
    Builder b = builder_at_end(region_entry(op_region(program, 0)), program->loc);
    for (; size >= BYTES; data += BYTES, size -= BYTES) {
        const SaForm *form = sa_form(&sa_ops[(data[0] & 0x7F) % SA_OP_COUNT]);
        if (!form || form == sa_form(SA(END))) continue;
        uint32_t word = make_word(form, data);
        Op *op = sa_decode(&b, word);
        if (op) fuzz_check(sa_encode(op) == word, "a word is written otherwise", STR(""));
    }
    fuzz_check(sa_decode(&b, sa_form(SA(END))->fixed) != NULL, "no end", STR(""));
}

void fuzz_overlay(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    Context *ctx = fuzz_context_take(&reused);
    const Attr *loc = loc_unknown(ctx);
    check_file(ctx, (Str){(const char *)data, size});
    Builder b = {.ctx = ctx, .loc = loc};
    const SaOverlay overlay = size_of(size > 0 && data[size - 1] % 2);
    NamedAttr attrs[] = {
        build_named_attr(ctx, "sym_name", attr_string(ctx, STR("p"))),
        build_named_attr(ctx, SA_ATTR_OVERLAY, sa_overlay_attr(ctx, &overlay, loc))};
    Op *program = build(&b, SA(PROGRAM), NULL, 0, NULL, 0, attrs, COUNT_OF(attrs));
    region_add_block(op_region(program, 0));
    add_instructions(program, data, size);
    simulate(program);
    op_erase(program);
    diag_flush(ctx);
    fuzz_context_give_back(&reused);
}
