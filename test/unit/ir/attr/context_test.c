/* Context: identifiers, the interner's growth, resources, independence of two contexts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "ir/attr/attr.h"

static void identifiers_are_uniqued(void **state)
{
    (void)state;
    Context *ctx = context_create();
    const Ident *a = ident_get_c(ctx, "arith.addi");
    assert_ptr_equal(a, ident_get(ctx, (Str){"arith.addi.more", 10}));
    assert_ptr_not_equal(a, ident_get_c(ctx, "arith.add"));
    assert_int_equal(a->str.data[a->str.len], 0);
    const Ident *with_nul = ident_get(ctx, (Str){"a\0b", 3});
    assert_ptr_not_equal(with_nul, ident_get_c(ctx, "a"));
    assert_int_equal(with_nul->str.len, 3);
    assert_int_equal(ident_get_c(ctx, "")->str.len, 0);
    context_destroy(ctx);
}

static void interner_survives_growth(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    static const Ident *seen[COUNT];
    Context *ctx = context_create();
    char name[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "name_%d", i);
        seen[i] = ident_get_c(ctx, name);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "name_%d", i);
        assert_ptr_equal(seen[i], ident_get_c(ctx, name));
    }
    context_destroy(ctx);
}

static void contexts_are_independent(void **state)
{
    (void)state;
    Context *a = context_create(), *b = context_create();
    assert_ptr_not_equal(ident_get_c(a, "x"), ident_get_c(b, "x"));
    assert_ptr_not_equal(type_i(a, 8), type_i(b, 8));
    assert_ptr_equal(type_i(b, 8)->ctx, b);
    context_destroy(a);
    assert_ptr_equal(type_i(b, 8), type_i(b, 8));
    context_destroy(b);
    context_destroy(NULL);
}

static void resources_keep_their_address(void **state)
{
    (void)state;
    Context *ctx = context_create();
    const Ident *builtin = ident_get_c(ctx, "builtin"), *key = ident_get_c(ctx, "weights");
    assert_null(context_resource(ctx, builtin, key));
    context_add_resource(ctx, &(ResourceBlob){.dialect = builtin, .key = key});
    const ResourceBlob *declared = context_resource(ctx, builtin, key);
    assert_null(declared->data);
    uint8_t data[] = {1, 2, 3, 4};
    context_add_resource(ctx, &(ResourceBlob){builtin, key, 4, sizeof data, data});
    data[0] = 9;
    assert_ptr_equal(declared, context_resource(ctx, builtin, key));
    assert_int_equal(declared->data[0], 1);
    assert_int_equal(context_resource_count(ctx), 1);
    assert_ptr_equal(context_resource_at(ctx, 0), declared);
    assert_null(context_resource(ctx, ident_get_c(ctx, "other"), key));
    context_destroy(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers_are_uniqued),
        cmocka_unit_test(interner_survives_growth),
        cmocka_unit_test(contexts_are_independent),
        cmocka_unit_test(resources_keep_their_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
