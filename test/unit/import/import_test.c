/* The ONNX importer on models built in memory: storage of tensors, names, shapes of inputs,
 * external data, and one diagnostic for each way a file can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "dialects/builtin/builtin.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "import/import.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "onnx.pb-c.h"

typedef struct Model {
    Onnx__ModelProto model;
    Onnx__OperatorSetIdProto opset, *opsets[1];
    Onnx__GraphProto graph;
    Onnx__NodeProto node, *nodes[1];
    char *node_inputs[1], *node_outputs[1];
    Onnx__ValueInfoProto input, output, *inputs[1], *outputs[1];
    Onnx__TypeProto type;
    Onnx__TypeProto__Tensor tensor_type;
    Onnx__TensorShapeProto shape;
    Onnx__TensorShapeProto__Dimension dims[2], *dim_list[2];
    Onnx__TensorProto weight, *weights[1];
    int64_t weight_dims[1];
} Model;

static void link_model(Model *m)
{
    m->model.graph = &m->graph;
    m->model.n_opset_import = 1;
    m->model.opset_import = m->opsets;
    m->opsets[0] = &m->opset;
    m->graph.n_node = m->graph.n_input = m->graph.n_output = m->graph.n_initializer = 1;
    m->graph.node = m->nodes;
    m->nodes[0] = &m->node;
    m->graph.input = m->inputs;
    m->inputs[0] = &m->input;
    m->graph.output = m->outputs;
    m->outputs[0] = &m->output;
    m->graph.initializer = m->weights;
    m->weights[0] = &m->weight;
    m->node.n_input = m->node.n_output = 1;
    m->node.input = m->node_inputs;
    m->node.output = m->node_outputs;
    m->input.type = &m->type;
    m->type.value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    m->type.tensor_type = &m->tensor_type;
    m->tensor_type.shape = &m->shape;
    m->shape.n_dim = 2;
    m->shape.dim = m->dim_list;
    m->dim_list[0] = &m->dims[0];
    m->dim_list[1] = &m->dims[1];
    m->weight.n_dims = 1;
    m->weight.dims = m->weight_dims;
}

static Model *make_model(void)
{
    Model *m = xcalloc(1, sizeof *m);
    *m = (Model){
        .model = ONNX__MODEL_PROTO__INIT,
        .opset = ONNX__OPERATOR_SET_ID_PROTO__INIT,
        .graph = ONNX__GRAPH_PROTO__INIT,
        .node = ONNX__NODE_PROTO__INIT,
        .node_inputs = {"x"},
        .node_outputs = {"y"},
        .input = ONNX__VALUE_INFO_PROTO__INIT,
        .output = ONNX__VALUE_INFO_PROTO__INIT,
        .type = ONNX__TYPE_PROTO__INIT,
        .tensor_type = ONNX__TYPE_PROTO__TENSOR__INIT,
        .shape = ONNX__TENSOR_SHAPE_PROTO__INIT,
        .dims = {ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT,
                 ONNX__TENSOR_SHAPE_PROTO__DIMENSION__INIT},
        .weight = ONNX__TENSOR_PROTO__INIT,
    };
    link_model(m);
    m->opset.has_version = true;
    m->opset.version = 14;
    m->graph.name = "net";
    m->node.name = "n";
    m->node.op_type = "Identity";
    m->input.name = "x";
    m->output.name = "y";
    m->weight.name = "w";
    m->tensor_type.has_elem_type = true;
    m->tensor_type.elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    for (int i = 0; i < 2; i++) {
        m->dims[i].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        m->dims[i].dim_value = 1 + i;
    }
    m->weight.has_data_type = true;
    m->weight.data_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    m->graph.n_initializer = 0;
    return m;
}

typedef struct Run {
    Context *ctx;
    StrBuf errors; /* one per line */
    size_t error_count;
} Run;

static void note_error(void *user, Context *ctx, const Diag *diag, const Diag *notes, size_t count)
{
    (void)ctx;
    (void)notes;
    (void)count;
    Run *run = user;
    strbuf_add_str(&run->errors, diag->text);
    strbuf_add_char(&run->errors, '\n');
    run->error_count++;
}

static int setup(void **state)
{
    Run *run = xcalloc(1, sizeof *run);
    run->ctx = context_create();
    dialect_register(run->ctx, &builtin_dialect);
    dialect_register(run->ctx, &func_dialect);
    dialect_register(run->ctx, &onnx_dialect);
    diag_set_handler(run->ctx, note_error, run, NULL, NULL);
    *state = run;
    return 0;
}

static int teardown(void **state)
{
    Run *run = *state;
    context_destroy(run->ctx);
    strbuf_free(&run->errors);
    free(run);
    return 0;
}

/* Serializes, frees and imports the model. */
static Op *import_in(Run *run, Model *m, const ImportOptions *options)
{
    size_t size = onnx__model_proto__get_packed_size(&m->model);
    uint8_t *bytes = xmalloc(size);
    onnx__model_proto__pack(&m->model, bytes);
    Op *module = import_onnx(run->ctx, (Str){(const char *)bytes, size}, STR("m.onnx"), options);
    free(bytes);
    free(m);
    return module;
}

static void assert_refused(Run *run, Model *m, const char *message)
{
    assert_null(import_in(run, m, NULL));
    assert_int_equal(run->error_count, 1);
    assert_non_null(strstr(run->errors.data, message));
}

static Op *import_ok(Run *run, Model *m)
{
    Op *module = import_in(run, m, NULL);
    if (run->error_count > 0) print_error("%s", run->errors.data);
    assert_non_null(module);
    return module;
}

static Op *first_op(Op *module)
{
    Op *func = region_entry(op_region(module, 0))->first;
    return func_entry(func)->first;
}

static Str emit_function_name(const Op *module)
{
    return op_attr(region_entry(op_region(module, 0))->first, "sym_name")->u.string;
}

static void a_model_becomes_a_function(void **state)
{
    Run *run = *state;
    Op *module = import_ok(run, make_model());
    StrBuf text = {0};
    op_print(&text, module, &PRINT_DEFAULT);
    assert_string_equal(
        text.data,
        "module {\n"
        "  func.func @net(%arg0: tensor<1x2xf32> {dfg.name = \"x\"}) -> (tensor<1x2xf32> "
        "{dfg.name = \"y\"}) {\n"
        "    %0 = onnx.Identity(%arg0) {onnx.name = \"n\"} : (tensor<1x2xf32>) -> "
        "tensor<1x2xf32>\n"
        "    return %0 : tensor<1x2xf32>\n"
        "  }\n"
        "}\n");
    strbuf_free(&text);
    op_erase(module);
}

static void a_dynamic_batch_is_one(void **state)
{
    for (int64_t value = -1; value <= 0; value++) {
        Model *m = make_model();
        m->dims[0].dim_value = value;
        Op *module = import_ok(*state, m);
        assert_int_equal(op_result(first_op(module), 0)->type->u.shaped.dims[0], 1);
        op_erase(module);
    }
    Model *m = make_model();
    m->dims[0].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    m->dims[0].dim_param = "batch";
    op_erase(import_ok(*state, m));
    m = make_model();
    m->dims[1].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
    m->dims[1].dim_param = "height";
    assert_refused(*state, m, "graph input 'x' has no fixed size in dimension 1");
}

static void inputs_with_initializers_are_constants(void **state)
{
    Model *m = make_model();
    float data[] = {1, 2};
    m->graph.n_initializer = 1;
    m->weight.name = "x";
    m->weight_dims[0] = 2;
    m->weight.n_float_data = 2;
    m->weight.float_data = data;
    Op *module = import_ok(*state, m);
    Op *func = region_entry(op_region(module, 0))->first;
    assert_int_equal(func_entry(func)->arg_count, 0);
    assert_ptr_equal(first_op(module)->def, ONNX(CONSTANT));
    op_erase(module);
}

static void names_survive(void **state)
{
    static char name[] = "quote\" '\n*/ $(x) \xff";
    Model *m = make_model();
    m->node.name = name;
    m->graph.name = "../a b\n$(c)\"9";
    Op *module = import_ok(*state, m);
    assert_true(str_eq(op_attr(first_op(module), ONNX_ATTR_NAME)->u.string, str_from(name)));
    assert_true(str_eq_c(emit_function_name(module), "a_b_c_9"));
    op_erase(module);
    m = make_model();
    m->graph.name = "";
    module = import_ok(*state, m);
    assert_true(str_eq_c(emit_function_name(module), "network"));
    op_erase(module);
    m = make_model();
    m->graph.name = "3x3";
    module = import_ok(*state, m);
    assert_true(str_eq_c(emit_function_name(module), "net_3x3"));
    op_erase(module);
}

static void messages_are_one_line(void **state)
{
    Model *m = make_model();
    m->node.name = "a\nerror: b'";
    m->node.op_type = "Nope\n";
    assert_refused(*state, m, "node 'a\\0Aerror: b\\27' (Nope\\0A): the operator is not supported");
}

/* The constant made of the initializer that `fill` describes. */
static const Attr *import_weight(Run *run, Model *m, Op **module)
{
    m->graph.n_initializer = 1;
    *module = import_ok(run, m);
    return onnx_constant(op_result(first_op(*module), 0));
}

static void raw_data_is_read(void **state)
{
    uint8_t bytes[] = {0x01, 0xff, 0x7f, 0x80};
    static const struct {
        int32_t type;
        int64_t count, first, second;
    } cases[] = {
        {ONNX__TENSOR_PROTO__DATA_TYPE__INT8, 4, 1, -1},
        {ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, 4, 1, 255},
        {ONNX__TENSOR_PROTO__DATA_TYPE__INT16, 2, -255, -32641},
        {ONNX__TENSOR_PROTO__DATA_TYPE__UINT16, 2, 65281, 32895},
        {ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, 4, -1, -1}, /* true: i1, extended */
        {21, 8, 1, 0},                                    /* uint4 */
        {22, 8, 1, 0},                                    /* int4 */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Model *m = make_model();
        Op *module;
        m->weight.data_type = cases[i].type;
        m->weight_dims[0] = cases[i].count;
        m->weight.has_raw_data = true;
        m->weight.raw_data = (ProtobufCBinaryData){sizeof bytes, bytes};
        const Attr *value = import_weight(*state, m, &module);
        assert_int_equal(dense_count(value), cases[i].count);
        if (cases[i].type == ONNX__TENSOR_PROTO__DATA_TYPE__UINT16)
            assert_int_equal(dense_i64(value, 1), 0x807f);
        else if (cases[i].type == ONNX__TENSOR_PROTO__DATA_TYPE__INT16)
            assert_int_equal(dense_i64(value, 1), (int16_t)0x807f);
        else
            assert_int_equal(dense_i64(value, 1), cases[i].second);
        if (cases[i].type != ONNX__TENSOR_PROTO__DATA_TYPE__INT16 &&
            cases[i].type != ONNX__TENSOR_PROTO__DATA_TYPE__UINT16)
            assert_int_equal(dense_i64(value, 0), cases[i].first);
        op_erase(module);
    }
}

static void typed_fields_are_read(void **state)
{
    Op *module;
    int32_t ints[] = {-128, 127};
    Model *m = make_model();
    m->weight.data_type = ONNX__TENSOR_PROTO__DATA_TYPE__INT8;
    m->weight_dims[0] = 2;
    m->weight.n_int32_data = 2;
    m->weight.int32_data = ints;
    const Attr *value = import_weight(*state, m, &module);
    assert_int_equal(dense_i64(value, 0), -128);
    assert_int_equal(dense_i64(value, 1), 127);
    op_erase(module);

    int32_t halves[] = {0x3c00, 0xc000}; /* 1, -2 */
    m = make_model();
    m->weight.data_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT16;
    m->weight_dims[0] = 2;
    m->weight.n_int32_data = 2;
    m->weight.int32_data = halves;
    value = import_weight(*state, m, &module);
    assert_true(dense_f64(value, 0) == 1.0 && dense_f64(value, 1) == -2.0);
    op_erase(module);

    double doubles[] = {0.5, -0.25};
    m = make_model();
    m->weight.data_type = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE;
    m->weight_dims[0] = 2;
    m->weight.n_double_data = 2;
    m->weight.double_data = doubles;
    value = import_weight(*state, m, &module);
    assert_true(dense_f64(value, 1) == -0.25);
    op_erase(module);

    uint64_t words[] = {0xffffffff, 7};
    m = make_model();
    m->weight.data_type = ONNX__TENSOR_PROTO__DATA_TYPE__UINT32;
    m->weight_dims[0] = 2;
    m->weight.n_uint64_data = 2;
    m->weight.uint64_data = words;
    value = import_weight(*state, m, &module);
    assert_int_equal(dense_i64(value, 0), 0xffffffff);
    op_erase(module);
}

static void elements_must_fit_their_type(void **state)
{
    int32_t ints[] = {128, 0};
    Model *m = make_model();
    m->graph.n_initializer = 1;
    m->weight.data_type = ONNX__TENSOR_PROTO__DATA_TYPE__INT8;
    m->weight_dims[0] = 2;
    m->weight.n_int32_data = 2;
    m->weight.int32_data = ints;
    assert_refused(*state, m, "initializer 'w' has an element that does not fit its type");
}

static void sizes_must_agree(void **state)
{
    float data[] = {1, 2, 3};
    Model *m = make_model();
    m->graph.n_initializer = 1;
    m->weight_dims[0] = 2;
    m->weight.n_float_data = 3;
    m->weight.float_data = data;
    assert_refused(*state, m, "initializer 'w' has 3 numbers; its shape needs 2");
}

/* w's four bytes stand at `offset` of `location`. */
static Model *external_model(Onnx__StringStringEntryProto *entries,
                             Onnx__StringStringEntryProto **list, char *location, char *offset)
{
    Model *m = make_model();
    for (int i = 0; i < 3; i++) {
        onnx__string_string_entry_proto__init(&entries[i]);
        list[i] = &entries[i];
    }
    entries[0].key = "location";
    entries[0].value = location;
    entries[1].key = "offset";
    entries[1].value = offset;
    entries[2].key = "length";
    entries[2].value = "4";
    m->graph.n_initializer = 1;
    m->weight_dims[0] = 1;
    m->weight.has_data_location = true;
    m->weight.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
    m->weight.n_external_data = 3;
    m->weight.external_data = list;
    return m;
}

static void external_data_stays_in_the_folder(void **state)
{
    Run *run = *state;
    char folder[] = "/tmp/ming-import-XXXXXX", path[64], link[64];
    Onnx__StringStringEntryProto entries[3], *list[3];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/w.bin", folder);
    snprintf(link, sizeof link, "%s/link", folder);
    FILE *file = fopen(path, "wb");
    fwrite("....\0\0\x80\x3f", 1, 8, file);
    fclose(file);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    ImportOptions options = {.folder = str_from(folder)};

    static char *const inside[] = {"w.bin", "./w.bin", "././w.bin"};
    for (size_t i = 0; i < COUNT_OF(inside); i++) {
        Op *module = import_in(run, external_model(entries, list, inside[i], "4"), &options);
        assert_non_null(module);
        assert_true(dense_f64(onnx_constant(op_result(first_op(module), 0)), 0) == 1.0);
        op_erase(module);
    }

    static char *const outside[] = {"../w.bin", "/etc/passwd", "link",   "none", "",   ".",
                                    "a//b",     "./../w.bin",  "w.bin/", "./",   "./."};
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        size_t before = run->error_count;
        Model *m = external_model(entries, list, outside[i], "0");
        assert_null(import_in(run, m, &options));
        assert_int_equal(run->error_count, before + 1);
    }
    assert_null(import_in(run, external_model(entries, list, "w.bin", "6"), &options));
    assert_null(
        import_in(run, external_model(entries, list, "w.bin", "99999999999999999999"), &options));
    assert_null(import_in(run, external_model(entries, list, "w.bin", "0"), NULL));
    Model *longer = external_model(entries, list, "w.bin", "0");
    longer->weight_dims[0] = 2;
    assert_null(import_in(run, longer, &options));
    assert_non_null(strstr(run->errors.data, "has 4 bytes of external data, and 8 are needed"));
    unlink(path);
    unlink(link);
    rmdir(folder);
}

static void wrong_files_are_refused(void **state)
{
    Model *m = make_model();
    m->opset.version = 26;
    assert_refused(*state, m, "opset 26 is not supported; 1 to 25 are");
}

static void missing_opset_is_refused(void **state)
{
    Model *m = make_model();
    m->model.n_opset_import = 0;
    assert_refused(*state, m, "the model imports no opset of ONNX");
}

static void defined_twice_is_refused(void **state)
{
    Model *m = make_model();
    m->node_outputs[0] = "x";
    assert_refused(*state, m,
                   "node 'n' (Identity): defines the value 'x', which is defined before");
}

/* Every prefix of a file is either a model or refused with one diagnostic. */
static void truncated_files_are_refused(void **state)
{
    Run *run = *state;
    Model *m = make_model();
    size_t size = onnx__model_proto__get_packed_size(&m->model);
    uint8_t *bytes = xmalloc(size);
    onnx__model_proto__pack(&m->model, bytes);
    free(m);
    for (size_t i = 0; i < size; i++) {
        run->error_count = 0;
        uint8_t *cut = xmalloc(i); /* exact, for the address sanitizer */
        memcpy(cut, bytes, i);
        Op *module = import_onnx(run->ctx, (Str){(const char *)cut, i}, STR("m.onnx"), NULL);
        assert_int_equal(run->error_count, module ? 0 : 1);
        if (module) op_erase(module);
        free(cut);
    }
    free(bytes);
}

/* Readers of C strings would take "y\0z" for "y". */
static void texts_with_zeros_are_refused(void **state)
{
    Run *run = *state;
    static const uint8_t name[] = {0x3a, 5, 0x12, 3, 'y', 0, 'z'}; /* graph { name } */
    assert_null(import_onnx(run->ctx, (Str){(const char *)name, sizeof name}, STR("m.onnx"), NULL));
    assert_int_equal(run->error_count, 1);
    assert_non_null(strstr(run->errors.data, "text with a zero at byte 5"));
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_model_becomes_a_function),
        TEST(a_dynamic_batch_is_one),
        TEST(inputs_with_initializers_are_constants),
        TEST(names_survive),
        TEST(messages_are_one_line),
        TEST(raw_data_is_read),
        TEST(typed_fields_are_read),
        TEST(elements_must_fit_their_type),
        TEST(sizes_must_agree),
        TEST(external_data_stays_in_the_folder),
        TEST(wrong_files_are_refused),
        TEST(missing_opset_is_refused),
        TEST(defined_twice_is_refused),
        TEST(truncated_files_are_refused),
        TEST(texts_with_zeros_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
