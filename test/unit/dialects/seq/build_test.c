/* Builders of hw, comb and seq ops: what they build verifies and prints as it is meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dialects/comb/comb.h"
#include "dialects/dialects.h"
#include "dialects/hw/hw.h"
#include "dialects/seq/seq.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/verify/verify.h"

typedef struct Design {
    Context *ctx;
    Op *module;
    Builder b; /* at the end of the module */
} Design;

static int set_up(void **state)
{
    static Design design;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    Op *module = parse_module(ctx, STR("module {}"), STR("test"), NULL);
    design = (Design){ctx, module, builder_at_end(region_entry(op_region(module, 0)), module->loc)};
    *state = &design;
    return 0;
}

static int tear_down(void **state)
{
    Design *design = *state;
    op_erase(design->module);
    context_destroy(design->ctx);
    return 0;
}

static Builder body_of(const Op *module)
{
    return builder_at_end(region_entry(op_region(module, 0)), module->loc);
}

static void assert_prints(const Design *design, const char *expected)
{
    StrBuf out = {0};
    assert_true(verify_op(design->module));
    op_print(&out, design->module, &PRINT_DEFAULT);
    assert_string_equal(out.data, expected);
    strbuf_free(&out);
}

static void instances_take_ports_by_name(void **state)
{
    Design *design = *state;
    Context *ctx = design->ctx;
    const Type *i8 = type_i(ctx, 8), *i32 = type_i(ctx, 32);
    const Attr *declared = hw_param(ctx, STR("WIDTH"), i32, NULL);
    const Attr *given = hw_param(ctx, STR("WIDTH"), i32, attr_int(i32, 8));
    const HwPort ports[] = {
        {STR("q"), i8, true}, {STR("clk"), seq_clock(ctx), false}, {STR("d"), i8, false}};
    Op *box = hw_build_extern(&design->b, STR("box_8"), ports, COUNT_OF(ports), STR("box"),
                              attr_array(ctx, &declared, 1));
    Op *module = hw_build_module(&design->b, STR("m"), ports, COUNT_OF(ports));
    Builder b = body_of(module);
    Value *inputs[] = {hw_input(module, "clk"), hw_input(module, "d")};
    Op *instance = hw_build_instance(&b, box, STR("u"), inputs, attr_array(ctx, &given, 1));
    Value *q = hw_output(instance, "q");
    hw_build_output(&b, &q, 1);
    assert_true(str_eq_c(hw_verilog_name(box), "box"));
    assert_true(str_eq_c(hw_verilog_name(module), "m"));
    assert_prints(design, "module {\n"
                          "  hw.module.extern @box_8<WIDTH: i32>(out q : i8, in %clk : !seq.clock, "
                          "in %d : i8) attributes {verilogName = \"box\"}\n"
                          "  hw.module @m(out q : i8, in %clk : !seq.clock, in %d : i8) {\n"
                          "    %u.q = hw.instance \"u\" @box_8<WIDTH: i32 = 8>(clk: %clk: "
                          "!seq.clock, d: %d: i8) -> (q: i8)\n"
                          "    hw.output %u.q : i8\n"
                          "  }\n"
                          "}\n");
}

static void logic_is_built_in_one_width(void **state)
{
    Design *design = *state;
    Context *ctx = design->ctx;
    const HwPort ports[] = {{STR("a"), type_i(ctx, 4), false}, {STR("q"), type_i(ctx, 6), true}};
    Op *module = hw_build_module(&design->b, STR("m"), ports, COUNT_OF(ports));
    Builder b = body_of(module);
    Value *a = hw_input(module, "a");
    Value *wide = comb_build_resize(&b, a, 6, true);
    Value *plain = comb_build_resize(&b, comb_build_not(&b, a), 6, false);
    Value *less = comb_build_icmp(&b, COMB_SLT, wide, plain);
    Value *q = comb_build_mux(&b, less, comb_build_binary(&b, COMB(ADD), wide, plain), wide);
    assert_ptr_equal(comb_build_resize(&b, a, 4, true), a);
    assert_ptr_equal(comb_build_concat(&b, &a, 1), a);
    assert_ptr_equal(comb_build_replicate(&b, a, 1), a);
    hw_build_output(&b, &q, 1);
    assert_prints(design, "module {\n"
                          "  hw.module @m(in %a : i4, out q : i6) {\n"
                          "    %0 = comb.extract %a from 3 : (i4) -> i1\n"
                          "    %1 = comb.replicate %0 : (i1) -> i2\n"
                          "    %2 = comb.concat %1, %a : i2, i4\n"
                          "    %c-1_i4 = hw.constant -1 : i4\n"
                          "    %3 = comb.xor %a, %c-1_i4 : i4\n"
                          "    %c0_i2 = hw.constant 0 : i2\n"
                          "    %4 = comb.concat %c0_i2, %3 : i2, i4\n"
                          "    %5 = comb.icmp slt %2, %4 : i6\n"
                          "    %6 = comb.add %2, %4 : i6\n"
                          "    %7 = comb.mux %5, %6, %2 : i6\n"
                          "    hw.output %7 : i6\n"
                          "  }\n"
                          "}\n");
}

static void registers_close_loops(void **state)
{
    Design *design = *state;
    Context *ctx = design->ctx;
    const Type *i8 = type_i(ctx, 8), *i1 = type_i(ctx, 1);
    const HwPort ports[] = {{STR("clk"), seq_clock(ctx), false},
                            {STR("rst"), i1, false},
                            {STR("en"), i1, false},
                            {STR("q"), i8, true}};
    Op *module = hw_build_module(&design->b, STR("m"), ports, COUNT_OF(ports));
    Builder b = body_of(module);
    SeqRegister reg = {.clock = hw_input(module, "clk"),
                       .enable = hw_input(module, "en"),
                       .reset = hw_input(module, "rst"),
                       .reset_value = hw_build_int(&b, 8, 0)};
    Value *count = seq_build_register(&b, i8, &reg, 1, "count");
    seq_connect(count, comb_build_binary(&b, COMB(ADD), count, hw_build_int(&b, 8, 1)));
    SeqRegister held = {.clock = reg.clock};
    seq_build_register(&b, i8, &held, 1, "held");
    SeqRegister row = {.input = count, .clock = reg.clock, .enable = reg.enable};
    Value *late = seq_build_register(&b, i8, &row, 3, NULL);
    hw_build_output(&b, &late, 1);
    assert_prints(design,
                  "module {\n"
                  "  hw.module @m(in %clk : !seq.clock, in %rst : i1, in %en : i1, out q : i8) {\n"
                  "    %c0_i8 = hw.constant 0 : i8\n"
                  "    %count = seq.compreg.ce %0, %clk, %en reset %rst, %c0_i8 : i8\n"
                  "    %c1_i8 = hw.constant 1 : i8\n"
                  "    %0 = comb.add %count, %c1_i8 : i8\n"
                  "    %held = seq.compreg %held, %clk : i8\n"
                  "    %1 = seq.shiftreg[3] %count, %clk, %en : i8\n"
                  "    hw.output %1 : i8\n"
                  "  }\n"
                  "}\n");
}

static void memories_have_ports(void **state)
{
    Design *design = *state;
    Context *ctx = design->ctx;
    const Type *i20 = type_i(ctx, 20);
    const int64_t words = 12;
    const HwPort ports[] = {{STR("clk"), seq_clock(ctx), false},
                            {STR("a"), type_i(ctx, 4), false},
                            {STR("en"), type_i(ctx, 1), false},
                            {STR("d"), i20, false},
                            {STR("q"), i20, true}};
    Op *module = hw_build_module(&design->b, STR("m"), ports, COUNT_OF(ports));
    Builder b = body_of(module);
    const Attr *contents = attr_dense_splat(type_tensor(i20, &words, 1, NULL), attr_int(i20, 7));
    const SeqMemory spec = {.name = "rom",
                            .depth = 12,
                            .width = 20,
                            .read_latency = 1,
                            .style = "block",
                            .contents = contents,
                            .file = "rom.hex"};
    Value *clk = hw_input(module, "clk"), *a = hw_input(module, "a"), *en = hw_input(module, "en");
    Value *memory = seq_build_memory(&b, &spec);
    Value *q = seq_build_read(&b, memory, a, clk, en);
    seq_build_write(&b, memory, a, hw_input(module, "d"), clk, en, NULL);
    hw_build_output(&b, &q, 1);
    assert_prints(
        design, "module {\n"
                "  hw.module @m(in %clk : !seq.clock, in %a : i4, in %en : i1, in %d : i20, "
                "out q : i20) {\n"
                "    %rom = seq.firmem 1, 1, old, undefined {init = #seq.firmem.init<\"rom.hex\", "
                "false, false>, seq.contents = dense<7> : tensor<12xi20>, seq.style = \"block\"} "
                ": <12 x 20>\n"
                "    %0 = seq.firmem.read_port %rom[%a], clock %clk enable %en : <12 x 20>\n"
                "    seq.firmem.write_port %rom[%a] = %d, clock %clk enable %en : <12 x 20>\n"
                "    hw.output %0 : i20\n"
                "  }\n"
                "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(instances_take_ports_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(logic_is_built_in_one_width, set_up, tear_down),
        cmocka_unit_test_setup_teardown(registers_close_loops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(memories_have_ports, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
