/* JSON files: the place of every key and value, whatever stands between them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ir/attr/attr.h"
#include "target/device/device.h"
#include "test/unit/text_file.h"

typedef struct Fixture {
    TextFile file;
    JsonFile json;
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

static void read_text(Fixture *f, const char *text)
{
    text_file_write(&f->file, text);
    assert_true(json_file_read(f->file.ctx, str_from(f->file.path), "test file", 1000, &f->json));
}

static void assert_place(const Fixture *f, const void *item, const void *holder, uint32_t line,
                         uint32_t column)
{
    const Attr *place = json_file_place(&f->json, item, holder);
    assert_int_equal(place->u.loc_file.line, line);
    assert_int_equal(place->u.loc_file.col, column);
}

static const char *key_of(const json_t *object, const char *name)
{
    json_t *found = (json_t *)(uintptr_t)object;
    return json_object_iter_key(json_object_iter_at(found, name));
}

static void finds_nested_values(void **state)
{
    Fixture *f = *state;
    read_text(f, "{\n  \"z\": [1, [ -2.5e+3 ,\"x\"],\n{}] ,\"a\":\t3}");
    const json_t *list = json_object_get(f->json.root, "z"), *inner = json_array_get(list, 1);
    assert_place(f, f->json.root, NULL, 1, 1);
    assert_place(f, key_of(f->json.root, "z"), NULL, 2, 3);
    assert_place(f, list, NULL, 2, 8);
    assert_place(f, json_array_get(list, 0), NULL, 2, 9);
    assert_place(f, json_array_get(inner, 0), NULL, 2, 14);
    assert_place(f, json_array_get(inner, 1), NULL, 2, 23);
    assert_place(f, json_array_get(list, 2), NULL, 3, 1);
    assert_place(f, key_of(f->json.root, "a"), NULL, 3, 6);
    assert_place(f, json_object_get(f->json.root, "a"), NULL, 3, 11);
    json_file_free(&f->json);
}

/* Strings that look like the end of a string or of an object. */
static void skips_strings(void **state)
{
    Fixture *f = *state;
    read_text(f, "{\"a\\\"}, \\\\\": \"]\\u0041\\\\\", \"b\": 1}");
    assert_place(f, key_of(f->json.root, "b"), NULL, 1, 27);
    assert_place(f, json_object_get(f->json.root, "b"), NULL, 1, 32);
    json_file_free(&f->json);
}

/* Two of true, false and null are one value: the place is that of what holds them. */
static void takes_the_holder_of_shared_values(void **state)
{
    Fixture *f = *state;
    read_text(f, "{\"a\": null,\n \"b\": [true, 7]}");
    const json_t *a = json_object_get(f->json.root, "a"), *b = json_object_get(f->json.root, "b");
    assert_place(f, a, key_of(f->json.root, "a"), 1, 2);
    assert_place(f, json_array_get(b, 0), b, 2, 7);
    assert_place(f, json_array_get(b, 1), b, 2, 14);
    json_file_free(&f->json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_nested_values, setup, teardown),
        cmocka_unit_test_setup_teardown(skips_strings, setup, teardown),
        cmocka_unit_test_setup_teardown(takes_the_holder_of_shared_values, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
