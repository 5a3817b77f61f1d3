/* The encodings of instructions: no word stands for two of them, and one that is read is written
 * again as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "dialects/sa/sa.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

typedef struct Program {
    Context *ctx;
    Op *module;
    Block *body;
} Program;

static const char EMPTY[] = "sa.program @p overlay(#sa.overlay<rows = 4, cols = 4, act = i8, "
                            "weight = i8, acc = 32, act_pages = 4, "
                            "w_words = 64, pe_words = 64, fill_words = 1, acc_words = 64, "
                            "param_words = 64, pu_stages = 1>) { sa.end }";

static void ignore(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t note_count)
{
    (void)user, (void)ctx, (void)diag, (void)notes, (void)note_count;
}

static int set_up(void **state)
{
    static Program p;
    p.ctx = context_create();
    dialects_register_all(p.ctx);
    p.module = parse_module(p.ctx, STR(EMPTY), STR("test"), NULL);
    p.body = region_entry(op_region(op_first_inner(p.module), 0));
    diag_set_handler(p.ctx, ignore, NULL, NULL, NULL);
    *state = &p;
    return 0;
}

static int tear_down(void **state)
{
    Program *p = *state;
    op_erase(p->module);
    context_destroy(p->ctx);
    return 0;
}

static void forms_exclude_each_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < SA_OP_COUNT; i++) {
        const SaForm *a = sa_form(&sa_ops[i]);
        if (!a) continue;
        assert_int_equal(a->fixed & ~sa_form_mask(a), 0);
        for (size_t k = 0; k < i; k++) {
            const SaForm *b = sa_form(&sa_ops[k]);
            if (!b) continue;
            uint32_t both = sa_form_mask(a) & sa_form_mask(b);
            assert_int_not_equal(a->fixed & both, b->fixed & both);
        }
    }
}

/* xorshift: 2^32 - 1 different words. */
static uint32_t next(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Writes what it reads, if the word stands for an instruction. */
static bool reads(const Program *p, uint32_t word)
{
    Builder b = builder_before(p->body->last);
    Op *op = sa_decode(&b, word);
    if (!op) return false;
    assert_int_equal(sa_encode(op), word);
    op_erase(op);
    return true;
}

static void random_words_are_read_and_written(void **state)
{
    enum { COUNT = 100000 };
    uint32_t seed = 1;
    size_t read = 0;
    for (size_t i = 0; i < COUNT; i++) read += reads(*state, next(&seed));
    assert_true(read > COUNT / 10);
    assert_true(read < COUNT);
}

/* Words of each form, whose free bits are random: those whose fields have any meaning are read. */
static void words_of_each_form_are_read(void **state)
{
    uint32_t seed = 7;
    for (size_t i = 0; i < SA_OP_COUNT; i++) {
        const SaForm *form = sa_form(&sa_ops[i]);
        size_t read = 0;
        if (!form || &sa_ops[i] == SA(END)) continue;
        for (int k = 0; k < 2000; k++)
            read += reads(*state, form->fixed | (next(&seed) & ~sa_form_mask(form)));
        assert_int_not_equal(read, 0);
    }
}

/* By hand from Table III of the paper: type 1, opcode 2, both bits, registers 3, 4, 5. */
static void sub_is_as_published(void **state)
{
    Program *p = *state;
    Builder b = builder_before(p->body->last);
    Op *op = sa_decode(&b, 0x4u << 28 | 2u << 27 | 3u << 25 | 3u << 21 | 4u << 17 | 5u << 13);
    assert_non_null(op);
    assert_ptr_equal(op->def, SA(PU_SUB));
    assert_int_equal(sa_int(op, "dest", -1), 3);
    assert_int_equal(sa_int(op, "src0", -1), 4);
    assert_int_equal(sa_int(op, "src1", -1), 5);
    op_erase(op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_exclude_each_other),
        cmocka_unit_test_setup_teardown(random_words_are_read_and_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(words_of_each_form_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sub_is_as_published, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
