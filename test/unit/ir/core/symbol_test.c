/* Symbol tables: look-up by plain and nested references, unique names on insertion. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "ir/core/core.h"

static const char text[] = "func.func private @a()\n"
                           "module @inner {\n"
                           "  func.func private @a()\n"
                           "  func.func @b() {\n"
                           "    return\n"
                           "  }\n"
                           "}\n";

typedef struct Fixture {
    Context *ctx;
    Op *module, *outer_a, *inner, *inner_a, *inner_return;
} Fixture;

static void fixture_init(Fixture *f)
{
    f->ctx = context_create();
    dialects_register_all(f->ctx);
    f->module = parse_module(f->ctx, STR(text), STR("test"), &(ParseOptions){0});
    assert_non_null(f->module);
    f->outer_a = region_entry(op_region(f->module, 0))->first;
    f->inner = f->outer_a->next;
    f->inner_a = region_entry(op_region(f->inner, 0))->first;
    f->inner_return = region_entry(op_region(f->inner_a->next, 0))->first;
}

static void fixture_free(Fixture *f)
{
    op_erase(f->module);
    context_destroy(f->ctx);
}

static const Attr *reference(Context *ctx, const char *root, const char *nested)
{
    const Ident *names[] = {ident_get_c(ctx, root), nested ? ident_get_c(ctx, nested) : NULL};
    return attr_symbol_nested(ctx, names, nested ? 2 : 1);
}

static void check_lookup(Fixture *f, const Op *from, const char *root, const char *nested,
                         const Op *want)
{
    const Attr *ref = reference(f->ctx, root, nested);
    SymbolTables *tables = symtabs_create();
    assert_ptr_equal(symbol_lookup(from, ref), want);
    assert_ptr_equal(symtabs_lookup(tables, from, ref), want);
    assert_ptr_equal(symtabs_lookup(tables, from, ref), want);
    symtabs_free(tables);
}

static void the_nearest_table_answers(void **state)
{
    (void)state;
    Fixture f;
    fixture_init(&f);
    check_lookup(&f, f.outer_a, "a", NULL, f.outer_a);
    check_lookup(&f, f.inner_return, "a", NULL, f.inner_a);
    check_lookup(&f, f.inner_return, "inner", NULL, NULL);
    check_lookup(&f, f.outer_a, "inner", "a", f.inner_a);
    check_lookup(&f, f.outer_a, "inner", "c", NULL);
    check_lookup(&f, f.outer_a, "a", "a", NULL);
    fixture_free(&f);
}

static void taken_names_get_a_number(void **state)
{
    (void)state;
    Fixture f;
    SymbolTable table;
    fixture_init(&f);
    symtab_init(&table, f.module);
    assert_ptr_equal(symtab_insert(&table, f.outer_a), ident_get_c(f.ctx, "a"));
    const char *want[] = {"a_0", "a_1", "a_2"};
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        Op *copy = op_clone(f.outer_a, NULL);
        assert_ptr_equal(symtab_insert(&table, copy), ident_get_c(f.ctx, want[i]));
        assert_ptr_equal(op_parent(copy), f.module);
        assert_ptr_equal(symbol_name(copy), ident_get_c(f.ctx, want[i]));
        assert_ptr_equal(symtab_get(&table, symbol_name(copy)), copy);
    }
    symtab_free(&table);
    fixture_free(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_table_answers),
        cmocka_unit_test(taken_names_get_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
