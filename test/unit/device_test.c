/* Device files: what is read, and what is refused with one diagnostic. */
#include "target/device.h"

#include "ir/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Fixture {
    Context *ctx;
    char path[32];
    StrBuf message; /* of the last error */
} Fixture;

static void record(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t count)
{
    Fixture *f = user;
    (void)ctx, (void)notes, (void)count;
    strbuf_clear(&f->message);
    strbuf_add_str(&f->message, diag->text);
}

static int setup(void **state)
{
    Fixture *f = xcalloc(1, sizeof(*f));
    f->ctx = context_create();
    context_set_diag_handler(f->ctx, record, f, NULL, NULL);
    strcpy(f->path, "/tmp/ming-device-XXXXXX");
    int fd = mkstemp(f->path);
    close(fd);
    *state = f;
    return fd < 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    unlink(f->path);
    context_destroy(f->ctx);
    strbuf_free(&f->message);
    free(f);
    return 0;
}

static bool read_text(Fixture *f, const char *text, Device *out)
{
    FILE *file = fopen(f->path, "w");
    fputs(text, file);
    fclose(file);
    return device_read(f->ctx, f->path, out);
}

static void reads_resources(void **state)
{
    Device device;
    assert_true(read_text(*state,
                          "<device name='d' part='p-1'><resources lut='5' ff='6' bram18='7' "
                          "uram='8' dsp='9'/></device>",
                          &device));
    assert_true(str_eq_c(device.name, "d"));
    assert_true(str_eq_c(device.part, "p-1"));
    assert_int_equal(device.bram18, 7);
    assert_int_equal(device.dsp, 9);
}

static void refuse(Fixture *f, const char *text, const char *why)
{
    Device device;
    size_t before = context_error_count(f->ctx);
    assert_false(read_text(f, text, &device));
    diag_flush(f->ctx);
    assert_int_equal(context_error_count(f->ctx), before + 1);
    assert_non_null(strstr(f->message.data, why));
}

static void refuses_bad_files(void **state)
{
    refuse(*state, "", "ocument is empty");
    refuse(*state, "<device name='d'", "");
    refuse(*state, "<board/>", "must be <device>");
    refuse(*state, "<device name='d' part='p'/>", "needs an element <resources>");
    refuse(*state, "<device name='d' part='p'><resources lut='1' ff='1' bram18='x' uram='0' dsp='1'/></device>",
           "'bram18' must be a number");
    refuse(*state, "<device name='d' part='p'><resources lut='-1' ff='1' bram18='1' uram='0' dsp='1'/></device>",
           "'lut' must be a number");
    refuse(*state, "<device part='p'><resources/></device>", "needs the attribute 'name'");
    refuse(*state, "<device name='d' part='p; exec'><resources/></device>", "must consist of");
}

static void refuses_document_types(void **state)
{
    refuse(*state,
           "<!DOCTYPE device [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]>"
           "<device name='d' part='p'><resources lut='1' ff='1' bram18='1' uram='0' dsp='1'/></device>",
           "document type");
    refuse(*state,
           "<!DOCTYPE device [<!ENTITY a SYSTEM 'file:///etc/hostname'>]>"
           "<device name='d' part='&a;'><resources lut='1' ff='1' bram18='1' uram='0' dsp='1'/></device>",
           "external entity");
}

static void refuses_missing_files(void **state)
{
    Fixture *f = *state;
    Device device;
    assert_false(device_read(f->ctx, "/nonexistent/device.xml", &device));
    assert_false(device_read(f->ctx, "/tmp", &device));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_resources, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_bad_files, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_document_types, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_missing_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
