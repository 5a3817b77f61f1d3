/* The parser by its API: what ends up in ops, where messages point, that any prefix of a text is
 * either parsed or diagnosed, and that contexts may live in two threads. The forms themselves
 * are tested in lit/ir. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "dialects/dialects.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"

typedef struct Fixture {
    Context *ctx;
    StrBuf errors; /* "line:col: text\n" each */
    size_t count;
} Fixture;

static void collect(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                    size_t note_count)
{
    (void)ctx;
    (void)notes;
    (void)note_count;
    Fixture *f = user;
    f->count++;
    if (diag->loc->kind == ATTR_LOC_FILE)
        strbuf_printf(&f->errors, "%u:%u: ", diag->loc->u.loc_file.line, diag->loc->u.loc_file.col);
    strbuf_add_str(&f->errors, diag->text);
    strbuf_add_char(&f->errors, '\n');
}

static void fixture_init(Fixture *f)
{
    *f = (Fixture){.ctx = context_create()};
    dialects_register_all(f->ctx);
    dialect_allow_unregistered(f->ctx, true);
    diag_set_handler(f->ctx, collect, f, NULL, NULL);
}

static void fixture_free(Fixture *f)
{
    context_destroy(f->ctx);
    strbuf_free(&f->errors);
}

static Op *parse(Fixture *f, const char *text)
{
    return parse_module(f->ctx, str_from(text), STR("test"), NULL);
}

static Op *first_op(Op *module)
{
    return region_entry(op_region(module, 0))->first;
}

static void expect_errors(const char *text, const char *errors)
{
    Fixture f;
    fixture_init(&f);
    assert_null(parse(&f, text));
    assert_string_equal(f.errors.data, errors);
    fixture_free(&f);
}

static void locations_of_ops(void **state)
{
    (void)state;
    Fixture f;
    fixture_init(&f);
    Op *module =
        parse(&f, "\n  %0 = \"a.b\"() ({^bb0(%x: i32):}) : () -> i32\n\n\"a.c\"() : () -> ()");
    Op *op = first_op(module);
    assert_int_equal(op->loc->u.loc_file.line, 2);
    assert_int_equal(op->loc->u.loc_file.col, 8);
    const Attr *arg = region_entry(op_region(op, 0))->args[0]->loc;
    assert_int_equal(arg->u.loc_file.line, 2);
    assert_int_equal(arg->u.loc_file.col, 23);
    assert_int_equal(op->next->loc->u.loc_file.line, 4);
    assert_int_equal(op->next->loc->u.loc_file.col, 1);
    assert_int_equal(module->loc->u.loc_file.line, 0);
    op_erase(module);
    fixture_free(&f);
}

static void inherent_attributes(void **state)
{
    (void)state;
    Fixture f;
    fixture_init(&f);
    Op *module =
        parse(&f, "\"arith.constant\"() {value = 1 : i8, other} : () -> i8\n"
                  "\"arith.constant\"() <{value = 2 : i8, unknown}> {value = 1 : i8} : () -> i8\n"
                  "\"a.b\"() <{p = 1}> {a} : () -> ()");
    Op *op = first_op(module);
    assert_non_null(attr_dict_get_c(op->props, "value"));
    assert_non_null(attr_dict_get_c(op->attrs, "other"));
    assert_int_equal(op->attrs->u.dict.count, 1);
    op = op->next;
    assert_int_equal(attr_int_value(op_attr(op, "value")), 2);
    assert_int_equal(op->props->u.dict.count, 1);
    assert_int_equal(op->attrs->u.dict.count, 0);
    op = op->next;
    assert_non_null(attr_dict_get_c(op->props, "p"));
    assert_non_null(attr_dict_get_c(op->attrs, "a"));
    op_erase(module);
    fixture_free(&f);
}

static void implicit_module(void **state)
{
    (void)state;
    Fixture f;
    fixture_init(&f);
    Op *module = parse(&f, "module @a {}");
    assert_non_null(op_attr(module, "sym_name")); /* no other around it */
    op_erase(module);
    module = parse(&f, "module @a {}\nmodule @b {}");
    assert_null(op_attr(module, "sym_name"));
    op_erase(module);
    const ParseOptions single = {.no_implicit_module = true};
    Op *func = parse_module(f.ctx, STR("func.func private @f()"), STR("test"), &single);
    assert_true(str_eq_c(op_name(func), "func.func"));
    assert_null(func->block);
    op_erase(func);
    assert_null(parse_module(f.ctx, STR(""), STR("test"), &single));
    assert_string_equal(f.errors.data,
                        "0:0: source must contain a single top-level operation, found: 0\n");
    fixture_free(&f);
}

static void skipped_verification(void **state)
{
    (void)state;
    Fixture f;
    fixture_init(&f);
    const char *text = "\"func.return\"() : () -> ()";
    assert_null(parse(&f, text));
    const ParseOptions unchecked = {.skip_verify = true};
    Op *module = parse_module(f.ctx, str_from(text), STR("test"), &unchecked);
    assert_non_null(module);
    op_erase(module);
    fixture_free(&f);
}

static void lone_attributes_and_types(void **state)
{
    (void)state;
    Fixture f;
    fixture_init(&f);
    const Attr *loc = loc_file(f.ctx, ident_get_c(f.ctx, "somewhere"), 7, 9);
    assert_ptr_equal(parse_type_text(f.ctx, STR("tensor<4xf32>"), loc),
                     type_tensor(type_float(f.ctx, TYPE_F32), (int64_t[]){4}, 1, NULL));
    assert_ptr_equal(parse_attr_text(f.ctx, STR(" 5 : i8 "), loc), attr_int(type_i(f.ctx, 8), 5));
    assert_null(parse_attr_text(f.ctx, STR("5 6"), loc));
    assert_null(parse_type_text(f.ctx, STR("tensor<"), loc));
    assert_null(parse_attr_text(f.ctx, STR(""), loc));
    assert_null(parse_attr_text(f.ctx, STR("\"a"), loc));
    diag_flush(f.ctx);
    assert_string_equal(f.errors.data, "7:9: found trailing characters: '6'\n"
                                       "7:9: expected non-function type\n"
                                       "7:9: expected attribute value\n"
                                       "7:9: expected '\"' in string literal\n");
    fixture_free(&f);
}

static void places_of_messages(void **state)
{
    (void)state;
    expect_errors("\"a.b\"()\n  // comment\n\n  \"a.c\"() : () -> ()",
                  "1:8: expected ':' followed by operation type\n");
    expect_errors("\"a.b\"() : () ->   \n", "1:16: expected non-function type\n");
    expect_errors("foo", "1:1: custom op 'foo' is unknown (tried 'builtin.foo' as well)\n");
    expect_errors("\"a.b\"(%y, %x) : (i32, i32) -> ()\n\"a.b\"(%z) : (i32) -> ()",
                  "1:7: use of undeclared SSA value name\n1:11: use of undeclared SSA value name\n"
                  "2:7: use of undeclared SSA value name\n");
    expect_errors("\"a.b\"() {x = 5\n : i8, y = 300 : i8} : () -> ()",
                  "2:12: integer constant out of range for attribute\n");
    expect_errors("\"a.b", "1:5: expected '\"' in string literal\n");
    expect_errors("%0 = arith.addi %a\n  %a : i32", "1:19: expected ','\n");
}

static const char sample[] =
    "#map = affine_map<(d0)[s0] -> (d0 * 2 + s0, -d0 mod 3)>\n"
    "!t = tensor<2x?xf32, \"e\">\n"
    "#loc = loc(fused<\"m\">[\"a\", callsite(\"b\" at \"c\":1:2)])\n"
    "\"t.u\"(%late#1) : (i32) -> ()\n"
    "%late:2 = \"t.q\"() <{p = 1 : ui4}> : () -> (f32, i32) // comment\n"
    "func.func @f(%a: i32 {x.y}, %b: !t loc(#loc)) -> (i32, !t) attributes {k = [1, 2.5 : f16]} {\n"
    "  %0 = \"t.p\"(%a) ({\n"
    "  ^bb0(%c: i1):\n"
    "    \"t.br\"()[^bb1, ^bb2] : () -> ()\n"
    "  ^bb1: \"t.br\"()[^bb2] : () -> ()\n"
    "  ^bb2: \"t.u\"(%c, %a) : (i1, i32) -> ()\n"
    "  }) {d = dense<[[1, -2], [3, 0x7]]> : tensor<2x2xi8>, s = sparse<[[0]], 1> : vector<4xi3>,\n"
    "      h = dense<\"0x01020304\"> : tensor<1xi32>, r = dense_resource<blob> : tensor<2xi8>,\n"
    "      a = array<i16: 1, 2>, l = strided<[1, ?], offset: 3>, i = distinct[0]<unit>,\n"
    "      o = #u.a<(x) -> [y]>, q = !u<\"z\">, m = #map, n = @f::@g, c = dense<(1, 2)> :\n"
    "      tensor<complex<i8>>} : (i32) -> i32 loc(\"n\"(unknown))\n"
    "  %1 = arith.addi %0, %a overflow<nsw> : i32\n"
    "  return %1, %b : i32, !t\n"
    "}\n"
    "{-# dialect_resources: { builtin: { blob: \"0x010000000102\" } } #-}\n";

/* Every text ends in a module or in messages, never in both or neither. */
static void check_prefix(size_t len)
{
    Fixture f;
    fixture_init(&f);
    char *text = xmalloc(len); /* exactly that long: reading past its end is seen */
    memcpy(text, sample, len);
    const ParseOptions options = {.skip_verify = true};
    Op *module = parse_module(f.ctx, (Str){text, len}, STR("test"), &options);
    assert_true(module ? f.count == 0 : f.count >= 1);
    if (module) op_erase(module);
    free_ptr((void **)&text);
    fixture_free(&f);
}

static void prefixes(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof sample; len++) check_prefix(len);
}

static void whole_sample(void **state)
{
    (void)state;
    Fixture f;
    fixture_init(&f);
    StrBuf first = {0}, second = {0};
    Op *module = parse(&f, sample);
    assert_non_null(module);
    op_print(&first, module, &PRINT_DEFAULT);
    op_erase(module);
    module = parse_module(f.ctx, strbuf_str(&first), STR("again"), NULL);
    assert_non_null(module);
    op_print(&second, module, &PRINT_DEFAULT);
    op_erase(module);
    assert_string_equal(first.data, second.data);
    strbuf_free(&first);
    strbuf_free(&second);
    fixture_free(&f);
}

static void *parse_often(void *text)
{
    for (int i = 0; i < 20; i++) {
        Fixture f;
        fixture_init(&f);
        Op *module = parse(&f, text);
        if (!module) return text;
        op_erase(module);
        fixture_free(&f);
    }
    return NULL;
}

static void two_threads(void **state)
{
    (void)state;
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, parse_often, (void *)(uintptr_t)sample), 0);
    assert_null(parse_often((void *)(uintptr_t)sample));
    void *failed;
    assert_int_equal(pthread_join(other, &failed), 0);
    assert_null(failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(locations_of_ops),
        cmocka_unit_test(inherent_attributes),
        cmocka_unit_test(implicit_module),
        cmocka_unit_test(skipped_verification),
        cmocka_unit_test(lone_attributes_and_types),
        cmocka_unit_test(places_of_messages),
        cmocka_unit_test(prefixes),
        cmocka_unit_test(whole_sample),
        cmocka_unit_test(two_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
