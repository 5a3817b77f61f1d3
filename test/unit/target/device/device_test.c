/* Device files: what is read, and what is refused with one diagnostic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/device/device.h"
#include "test/unit/text_file.h"

typedef struct Fixture {
    TextFile file;
} Fixture;

static int setup(void **state)
{
    Fixture *f = *state = xcalloc(1, sizeof(*f));
    return text_file_open(&f->file);
}

static int teardown(void **state)
{
    Fixture *f = *state;
    text_file_close(&f->file);
    free(f);
    return 0;
}

static bool read_text(Fixture *f, const char *text, Device *out)
{
    text_file_write(&f->file, text);
    return device_read(f->file.ctx, f->file.path, MING_DEVICE_SCHEMA, out);
}

#define HEAD "<device name='d' title='D' part='p-1' dspKind='DSP58'>"
#define CLOCK "<clock default='100' maximum='200'/>"
#define DIE(name, bram) "<die name='" name "' lut='5' ff='6' bram18='" bram "' uram='8' dsp='9'/>"
#define SHARES "<utilization lut='70' ff='50' bram18='80' uram='60' dsp='40' mean='30'/></device>"

static void reads_dies(void **state)
{
    Device device;
    assert_true(read_text(
        *state,
        HEAD CLOCK DIE("a", "7")
            DIE("b", "70") "<links sll='12'/>"
                           "<memory kind='uram' shapes='4096x72' initial='false'/>" SHARES,
        &device));
    assert_true(str_eq_c(device.name, "d"));
    assert_true(str_eq_c(device.part, "p-1"));
    assert_true(str_eq_c(device.dsp_kind, "DSP58"));
    assert_int_equal(device.clock_default, 100);
    assert_int_equal(device.delay_percent, 100);
    assert_int_equal(device.die_count, 2);
    assert_int_equal(device.dies[1].resources.bram18, 70);
    assert_int_equal(device.total.bram18, 77);
    assert_int_equal(device.sll, 12);
    assert_int_equal(device.registers, 4);
    assert_int_equal(device.ethernet, 0);
    assert_int_equal(device.memory_count, 1);
    assert_false(device.memories[0].has_contents);
}

#define SHELL(name) "<shell name='" name "' lut='1' ff='1' bram18='1' uram='1' dsp='1'/>"
/* Two banks. */
#define BANKS(first, die)                                                                          \
    "<bank name='DDR' count='2' mbytes='4' mbps='5' portBits='64' "                                \
    "first='" first "' die='" die "'/>"
#define SLR(name, rest) "<die name='" name "' lut='5' ff='6' bram18='7' uram='8' dsp='9' " rest "/>"

static void reads_what_dies_have(void **state)
{
    Device device;
    assert_true(read_text(*state,
                          HEAD CLOCK SLR("a", "memory='  hbm\tddr '") DIE("b", "7")
                              SLR("c", "ethernet='3 0'") "<links sll='12' registers='2'>"
                                                         "<link from='c' to='b' sll='99'/>"
                                                         "<link from='a' to='c' sll='2'/>"
                                                         "</links>" BANKS("0", "a") BANKS("2", "b")
                                                             SHELL("ddr") SHELL("hbm") SHARES,
                          &device));
    assert_true(str_eq_c(device.dies[0].memory, "hbm ddr"));
    assert_int_equal(device.dies[1].memory.len, 0);
    assert_int_equal(device.dies[2].ethernet, 9);
    assert_true(device_has_port(&device, 3));
    assert_false(device_has_port(&device, 1));
    assert_int_equal(device.registers, 2);
    assert_int_equal(device.wires[0][1], 12);
    assert_int_equal(device.wires[1][2], 99);
    assert_int_equal(device.wires[2][1], 99);
    assert_int_equal(device.wires[2][0], 2);
    assert_int_equal(device.bank_count, 2);
    assert_int_equal(device.banks[1].first, 2);
    assert_int_equal(device.banks[1].die, 1);
    assert_int_equal(device.banks[1].port_bits, 64);
}

static void reads_the_speed_grade(void **state)
{
    Device device;
    assert_true(read_text(
        *state, HEAD "<clock default='100' maximum='200' delay='127'/>" DIE("a", "7") SHARES,
        &device));
    assert_int_equal(device.delay_percent, 127);
}

static void takes_shares(void **state)
{
    Device device;
    assert_true(read_text(*state, HEAD CLOCK DIE("a", "7") SHARES, &device));
    assert_int_equal(device_budget(&device, 0).bram18, 5);
    assert_int_equal(device_budget(&device, 0).dsp, 3);
    assert_int_equal(device_budget(&device, 100).bram18, 7);
    assert_int_equal(device_budget(&device, 50).lut, 2);
}

static void refuse(Fixture *f, const char *text, const char *why)
{
    Device device;
    size_t before = diag_error_count(f->file.ctx);
    assert_false(read_text(f, text, &device));
    diag_flush(f->file.ctx);
    assert_int_equal(diag_error_count(f->file.ctx), before + 1);
    assert_non_null(strstr(f->file.message.data, why));
}

static void refuses_bad_files(void **state)
{
    refuse(*state, "", "ocument is empty");
    refuse(*state, "<device name='d'", "");
    refuse(*state, "<board/>", "No matching global declaration");
    refuse(*state, HEAD "</device>", "Missing child element(s)");
    refuse(*state, HEAD CLOCK DIE("a", "x") SHARES, "'bram18'");
    refuse(*state, HEAD CLOCK DIE("a", "-1") SHARES, "'bram18'");
    refuse(*state, HEAD CLOCK DIE("a", "99999999999999999999") SHARES, "'bram18'");
    refuse(*state, HEAD CLOCK DIE("a; exec", "1") SHARES, "'name'");
    refuse(*state, HEAD CLOCK SHARES, "not expected");
    refuse(*state, HEAD "<clock default='300' maximum='200'/>" DIE("a", "7") SHARES,
           "default clock is above");
    refuse(*state, "<device title='D' part='p' dspKind='DSP58'/>", "");
}

#define LINKS(content) "<links sll='1'>" content "</links>"

static void refuses_what_does_not_agree(void **state)
{
    refuse(*state, HEAD CLOCK DIE("a", "7") DIE("a", "7") SHARES, "key-sequence");
    refuse(*state, HEAD CLOCK DIE("a", "7") BANKS("0", "b") SHARES, "key-sequence");
    refuse(*state, HEAD CLOCK DIE("a", "7") LINKS("<link from='a' to='b' sll='1'/>") SHARES,
           "key-sequence");
    refuse(*state, HEAD CLOCK DIE("a", "7") LINKS("<link from='a' to='a' sll='1'/>") SHARES,
           "joins 'a' to itself");
    refuse(*state,
           HEAD CLOCK DIE("a", "7") DIE("b", "7")
               LINKS("<link from='a' to='b' sll='1'/><link from='b' to='a' sll='1'/>") SHARES,
           "'b' has two links to the same die");
    refuse(*state, HEAD CLOCK DIE("a", "7") BANKS("0", "a") BANKS("1", "a") SHARES,
           "a bank of 'DDR' is there twice");
    refuse(*state, HEAD CLOCK SLR("a", "memory='hbm'") SHELL("ddr") SHARES,
           "no shell of that name");
    refuse(*state, HEAD CLOCK SLR("a", "ethernet='1'") SLR("b", "ethernet='0 1'") SHARES,
           "two Ethernet ports 1");
    refuse(*state, HEAD CLOCK SLR("a", "ethernet='8'") SHARES, "'ethernet'");
    refuse(*state, HEAD CLOCK DIE("a", "7") SHELL("x") SHELL("x") SHARES, "key-sequence");
}

static void refuses_document_types(void **state)
{
    refuse(*state,
           "<!DOCTYPE device [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>" HEAD CLOCK DIE("a", "7")
               SHARES,
           "document type");
    refuse(*state,
           "<!DOCTYPE device [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>"
           "<device name='d' title='D' part='&a;' dspKind='DSP58'/>",
           "external entity");
}

static void refuses_a_missing_schema(void **state)
{
    Fixture *f = *state;
    Device device;
    assert_true(read_text(f, HEAD CLOCK DIE("a", "7") SHARES, &device));
    assert_false(device_read(f->file.ctx, f->file.path, "/nonexistent/device.xsd", &device));
    diag_flush(f->file.ctx);
    assert_non_null(strstr(f->file.message.data, "no usable schema"));
}

static void refuses_missing_files(void **state)
{
    Fixture *f = *state;
    Device device;
    assert_false(device_read(f->file.ctx, "/nonexistent/device.xml", MING_DEVICE_SCHEMA, &device));
    assert_false(device_read(f->file.ctx, "/tmp", MING_DEVICE_SCHEMA, &device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_dies, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_what_dies_have, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_the_speed_grade, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_what_does_not_agree, setup, teardown),
        cmocka_unit_test_setup_teardown(takes_shares, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_a_missing_schema, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bad_files, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_document_types, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_missing_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
