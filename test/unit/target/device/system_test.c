/* System files: what is read, and what is refused with one diagnostic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "target/device/device.h"
#include "test/unit/text_file.h"

static int setup(void **state)
{
    TextFile *file = *state = xcalloc(1, sizeof(*file));
    return text_file_open(file);
}

static int teardown(void **state)
{
    text_file_close(*state);
    free(*state);
    return 0;
}

static bool read_text(TextFile *file, const char *text, System *out)
{
    text_file_write(file, text);
    return system_read(file->ctx, file->path, MING_SYSTEM_SCHEMA, out);
}

#define CARD(name) "<card name='" name "' device='u280'/>"
#define LINK(from, to) "<link from='" from "' to='" to "'/>"
#define SYSTEM(content) "<system name='s'>" content "</system>"

static void reads_cards_and_links(void **state)
{
    System system;
    assert_true(read_text(
        *state,
        SYSTEM(CARD("a") "<card name='b' device='x/y.xml' clock='120'/>" LINK("b.eth7", "a.eth0")),
        &system));
    assert_true(str_eq_c(system.name, "s"));
    assert_int_equal(system.card_count, 2);
    assert_true(str_eq_c(system.cards[1].device_name, "x/y.xml"));
    assert_int_equal(system.cards[0].clock, 0);
    assert_int_equal(system.cards[1].clock, 120);
    assert_int_equal(system.link_count, 1);
    assert_int_equal(system.links[0].from, 1);
    assert_int_equal(system.links[0].from_port, 7);
    assert_int_equal(system.links[0].payload, 1408);
    assert_int_equal(system.links[0].protocol, LINK_EITHER);
    assert_int_equal(system.pcie_gbytes, 12);
}

static void refuse(TextFile *file, const char *text, const char *why)
{
    System system;
    size_t before = diag_error_count(file->ctx);
    assert_false(read_text(file, text, &system));
    diag_flush(file->ctx);
    assert_int_equal(diag_error_count(file->ctx), before + 1);
    assert_non_null(strstr(file->message.data, why));
}

static void refuses_bad_files(void **state)
{
    refuse(*state, "", "ocument is empty");
    refuse(*state, "<device/>", "No matching global declaration");
    refuse(*state, SYSTEM(""), "Missing child element(s)");
    refuse(*state, SYSTEM("<card name='a;b' device='u280'/>"), "'name'");
    refuse(*state, SYSTEM("<card name='a' device='$(x)'/>"), "'device'");
    refuse(*state, SYSTEM("<card name='a' device='u280' clock='0'/>"), "'clock'");
    refuse(*state, SYSTEM(CARD("a") CARD("a")), "key-sequence");
    refuse(*state, SYSTEM(CARD("a") CARD("b") LINK("a.eth9", "b.eth0")), "'from'");
    refuse(*state, SYSTEM(CARD("a") CARD("b") "<link from='a.eth0' to='b.eth0' protocol='tcp'/>"),
           "'protocol'");
    refuse(*state,
           SYSTEM(CARD("a") CARD("b") CARD("c") CARD("d") CARD("e") CARD("f") CARD("g") CARD("h")
                      CARD("i") CARD("j") CARD("k") CARD("l") CARD("m") CARD("n") CARD("o")
                          CARD("p") CARD("q")),
           "not expected");
}

static void refuses_bad_links(void **state)
{
    refuse(*state, SYSTEM(CARD("card1") CARD("b") LINK("card2.eth0", "b.eth0")),
           "unknown card 'card2' (did you mean 'card1'?)");
    refuse(*state, SYSTEM(CARD("a") LINK("a.eth0", "a.eth1")), "joins card 'a' to itself");
    refuse(*state,
           SYSTEM(CARD("a") CARD("b") CARD("c") LINK("a.eth0", "b.eth0") LINK("c.eth0", "b.eth0")),
           "two links end at b.eth0");
    refuse(*state, SYSTEM(CARD("a") CARD("b") LINK("a.eth0", "b.eth0") LINK("b.eth1", "a.eth1")),
           "'b' and 'a' are connected twice");
    refuse(*state,
           SYSTEM(CARD("a") CARD("b") CARD("c") LINK("a.eth0", "b.eth0") LINK("b.eth1", "c.eth0")
                      LINK("c.eth1", "a.eth1")),
           "'c' and 'a' are connected twice");
    refuse(*state, SYSTEM(CARD("a") CARD("b") CARD("c") LINK("a.eth0", "b.eth0")),
           "no links connect cards 'a' and 'c'");
}

static void refuses_document_types(void **state)
{
    refuse(*state,
           "<!DOCTYPE system [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>" SYSTEM(CARD("a")),
           "a system file must not declare a document type");
}

static void refuses_large_files(void **state)
{
    TextFile *file = *state;
    StrBuf text = {0};
    enum { MORE_THAN_ENOUGH = (1 << 20) + 1 };
    strbuf_add_c(&text, SYSTEM(CARD("a")));
    while (text.len < MORE_THAN_ENOUGH) strbuf_add_c(&text, "\n");
    refuse(file, text.data, "a system file has at most 1048576 bytes");
    strbuf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_cards_and_links, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bad_files, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bad_links, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_document_types, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_large_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
