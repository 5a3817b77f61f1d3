/* Random changes of ONNX files that leave them files: values of attributes, shapes, element types,
 * data of tensors, names by which nodes read each other, operators, nodes that go or come from
 * another file. What is not a graph with nodes, and every fourth input, is changed as bytes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz_support.h"
#include "fuzz/mutate.h"
#include "onnx.pb-c.h"

static size_t below(uint64_t *state, size_t limit)
{
    return (size_t)(fuzz_random(state) % limit);
}

/* Of protobuf's strings, which free() ends. */
static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(xmalloc(size), text, size);
}

static void set_text(char **to, const char *text)
{
    char *copy = copy_text(text);
    free(*to); /* not one of protobuf's empty strings, as the fields that change are in the file */
    *to = copy;
}

/* Numbers. */

static int64_t change_number(int64_t old, uint64_t *state)
{
    static const int64_t numbers[] = {0,  1,  2,  3,  4,   5,   7,         8,        16,
                                      31, 64, -1, -2, 127, 256, INT32_MAX, INT64_MAX};
    size_t way = below(state, 4);
    if (way == 0 && old < INT64_MAX) return old + 1;
    if (way == 1 && old > INT64_MIN) return old - 1;
    return numbers[below(state, COUNT_OF(numbers))];
}

static float change_float(float old, uint64_t *state)
{
    static const float numbers[] = {0.0f, -0.0f, 1.0f,  -1.0f, 0.5f,
                                    3.0f, 0.1f,  1e-6f, 1e9f,  3e-42f};
    size_t way = below(state, 4);
    return way == 0 ? old * 2.0f : way == 1 ? -old : numbers[below(state, COUNT_OF(numbers))];
}

/* Changes, drops or repeats an element. */
static void change_list(int64_t **items, size_t *count, uint64_t *state)
{
    if (*count == 0) return;
    size_t at = below(state, *count), way = below(state, 6);
    if (way == 0) {
        (*items)[at] = (*items)[--*count];
    } else if (way == 1) {
        *items = xrealloc(*items, (*count + 1) * sizeof **items);
        (*items)[*count] = (*items)[at];
        ++*count;
    } else {
        (*items)[at] = change_number((*items)[at], state);
    }
}

/* Tensors and attributes. */

static void change_bytes(ProtobufCBinaryData *data, uint64_t *state)
{
    if (data->len > 0) data->data[below(state, data->len)] ^= (uint8_t)(1 << below(state, 8));
}

static int32_t any_element_type(uint64_t *state)
{
    return (int32_t)below(state, 24);
}

static void change_tensor(Onnx__TensorProto *tensor, uint64_t *state)
{
    switch (below(state, 6)) {
    case 0: change_list(&tensor->dims, &tensor->n_dims, state); break;
    case 1:
        tensor->has_data_type = true;
        tensor->data_type = any_element_type(state);
        break;
    default:
        if (tensor->n_float_data > 0) {
            float *number = &tensor->float_data[below(state, tensor->n_float_data)];
            *number = change_float(*number, state);
        } else if (tensor->n_int64_data > 0) {
            change_list(&tensor->int64_data, &tensor->n_int64_data, state);
        } else if (tensor->raw_data.len >= 4 && tensor->data_type == 1) {
            uint8_t *place = tensor->raw_data.data + 4 * below(state, tensor->raw_data.len / 4);
            float number;
            memcpy(&number, place, sizeof number);
            number = change_float(number, state);
            memcpy(place, &number, sizeof number);
        } else {
            change_bytes(&tensor->raw_data, state);
        }
    }
}

static void change_word(ProtobufCBinaryData *word, uint64_t *state)
{
    static const char *const words[] = {"SAME_UPPER", "SAME_LOWER", "VALID",   "NOTSET", "ROUND",
                                        "FLOOR",      "CEIL",       "nearest", "linear", "cubic",
                                        "constant",   "reflect",    "edge",    "DCR",    "CRD"};
    const char *chosen = words[below(state, COUNT_OF(words))];
    free(word->data);
    *word = (ProtobufCBinaryData){.len = strlen(chosen), .data = (uint8_t *)copy_text(chosen)};
}

static void change_attribute(Onnx__AttributeProto *attribute, uint64_t *state)
{
    if (attribute->t) {
        change_tensor(attribute->t, state);
    } else if (attribute->n_ints > 0) {
        change_list(&attribute->ints, &attribute->n_ints, state);
    } else if (attribute->n_floats > 0) {
        float *number = &attribute->floats[below(state, attribute->n_floats)];
        *number = change_float(*number, state);
    } else if (attribute->has_s) {
        change_word(&attribute->s, state);
    } else if (attribute->has_f) {
        attribute->f = change_float(attribute->f, state);
    } else {
        attribute->i = change_number(attribute->i, state);
    }
}

static void change_attributes(Onnx__NodeProto *node, uint64_t *state)
{
    if (node->n_attribute == 0) return;
    Onnx__AttributeProto **chosen = &node->attribute[below(state, node->n_attribute)];
    if (below(state, 6) > 0) {
        change_attribute(*chosen, state);
        return;
    }
    onnx__attribute_proto__free_unpacked(*chosen, NULL);
    *chosen = node->attribute[--node->n_attribute];
}

/* Types of inputs and outputs. */

static void change_dimensions(Onnx__TensorShapeProto *shape, uint64_t *state)
{
    if (shape->n_dim == 0) return;
    Onnx__TensorShapeProto__Dimension *dim = shape->dim[below(state, shape->n_dim)];
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        dim->dim_value = change_number(dim->dim_value, state);
}

static void change_type(Onnx__TypeProto *type, uint64_t *state)
{
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) return;
    Onnx__TypeProto__Tensor *tensor = type->tensor_type;
    if (below(state, 2) > 0 && tensor->shape)
        change_dimensions(tensor->shape, state);
    else
        tensor->elem_type = any_element_type(state);
}

static void change_port(Onnx__GraphProto *graph, uint64_t *state)
{
    if (graph->n_input > 0 && below(state, 3) > 0)
        change_type(graph->input[below(state, graph->n_input)]->type, state);
    else if (graph->n_output > 0)
        change_type(graph->output[below(state, graph->n_output)]->type, state);
}

static void change_initializer(Onnx__GraphProto *graph, uint64_t *state)
{
    if (graph->n_initializer > 0)
        change_tensor(graph->initializer[below(state, graph->n_initializer)], state);
}

/* Wiring. */

static Onnx__NodeProto *any_node(const Onnx__GraphProto *graph, uint64_t *state)
{
    return graph->node[below(state, graph->n_node)];
}

/* The name of any value of the graph; "" is that of an input that is left out. */
static const char *any_name(const Onnx__GraphProto *graph, uint64_t *state)
{
    size_t at = below(state, graph->n_input + graph->n_initializer + graph->n_node + 1);
    if (at < graph->n_input) return graph->input[at]->name;
    at -= graph->n_input;
    if (at < graph->n_initializer) return graph->initializer[at]->name;
    at -= graph->n_initializer;
    if (at == graph->n_node || graph->node[at]->n_output == 0) return "";
    return graph->node[at]->output[below(state, graph->node[at]->n_output)];
}

static void change_wire(Onnx__GraphProto *graph, uint64_t *state)
{
    Onnx__NodeProto *node = any_node(graph, state);
    if (node->n_input > 0)
        set_text(&node->input[below(state, node->n_input)], any_name(graph, state));
}

static void rename_reads(Onnx__GraphProto *graph, const char *from, const char *to)
{
    for (size_t n = 0; n < graph->n_node; n++)
        for (size_t i = 0; i < graph->node[n]->n_input; i++)
            if (strcmp(graph->node[n]->input[i], from) == 0)
                set_text(&graph->node[n]->input[i], to);
}

/* Who read the node reads its first input. */
static void drop_node(Onnx__GraphProto *graph, uint64_t *state)
{
    size_t at = below(state, graph->n_node);
    Onnx__NodeProto *node = graph->node[at];
    if (graph->n_node == 1) return;
    if (node->n_input > 0 && node->n_output > 0) {
        char *from = copy_text(node->output[0]), *to = copy_text(node->input[0]);
        rename_reads(graph, from, to);
        free(from);
        free(to);
    }
    onnx__node_proto__free_unpacked(node, NULL);
    memmove(graph->node + at, graph->node + at + 1, (--graph->n_node - at) * sizeof *graph->node);
}

static Onnx__NodeProto *copy_node(const Onnx__NodeProto *node)
{
    size_t size = onnx__node_proto__get_packed_size(node);
    uint8_t *bytes = xmalloc(size + 1);
    Onnx__NodeProto *copy =
        onnx__node_proto__unpack(NULL, onnx__node_proto__pack(node, bytes), bytes);
    free(bytes);
    return copy;
}

/* A copy of a node in front of another one, which reads it; itself it reads any values. */
static void insert_node(Onnx__GraphProto *graph, const Onnx__GraphProto *from, uint64_t *state)
{
    size_t at = below(state, graph->n_node);
    Onnx__NodeProto *copy = copy_node(any_node(from, state)), *reader = graph->node[at];
    StrBuf name = {0};
    for (size_t i = 0; i < copy->n_input; i++) set_text(&copy->input[i], any_name(graph, state));
    if (copy->n_input > 0 && reader->n_input > 0) set_text(&copy->input[0], reader->input[0]);
    for (size_t i = 0; i < copy->n_output; i++) {
        strbuf_clear(&name);
        strbuf_printf(&name, "inserted_%zu_%zu", graph->n_node, i);
        set_text(&copy->output[i], name.data);
    }
    if (copy->n_output > 0 && reader->n_input > 0) set_text(&reader->input[0], copy->output[0]);
    graph->node = xrealloc(graph->node, (graph->n_node + 1) * sizeof *graph->node);
    memmove(graph->node + at + 1, graph->node + at, (graph->n_node++ - at) * sizeof *graph->node);
    graph->node[at] = copy;
    strbuf_free(&name);
}

static void change_operator(Onnx__GraphProto *graph, const Onnx__GraphProto *from, uint64_t *state)
{
    const Onnx__NodeProto *other = any_node(from, state);
    if (other->op_type && *other->op_type) {
        Onnx__NodeProto *node = any_node(graph, state);
        if (node->op_type && *node->op_type) set_text(&node->op_type, other->op_type);
    }
}

static void change_versions(Onnx__ModelProto *model, uint64_t *state)
{
    if (model->n_opset_import > 0)
        model->opset_import[below(state, model->n_opset_import)]->version =
            1 + (int64_t)below(state, 24);
}

/* All. */

static void change(Onnx__ModelProto *model, const Onnx__GraphProto *from, uint64_t *state)
{
    Onnx__GraphProto *graph = model->graph;
    switch (below(state, 12)) {
    case 0:
    case 1:
    case 2: change_attributes(any_node(graph, state), state); break;
    case 3:
    case 4: change_port(graph, state); break;
    case 5:
    case 6: change_initializer(graph, state); break;
    case 7: change_wire(graph, state); break;
    case 8: drop_node(graph, state); break;
    case 9: insert_node(graph, from, state); break;
    case 10: change_operator(graph, from, state); break;
    default: change_versions(model, state);
    }
}

static Onnx__ModelProto *read_model(Str bytes)
{
    Onnx__ModelProto *model =
        onnx__model_proto__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (model && model->graph && model->graph->n_node > 0) return model;
    if (model) onnx__model_proto__free_unpacked(model, NULL);
    return NULL;
}

static void write_model(const Onnx__ModelProto *model, StrBuf *out)
{
    size_t size = onnx__model_proto__get_packed_size(model);
    uint8_t *bytes = xmalloc(size + 1);
    strbuf_add(out, (const char *)bytes, onnx__model_proto__pack(model, bytes));
    free(bytes);
}

void fuzz_mutate_onnx(Str bytes, Str other, uint64_t *state, StrBuf *out)
{
    Onnx__ModelProto *model = read_model(bytes), *from = read_model(other);
    if (!model || below(state, 4) == 0) {
        fuzz_mutate(bytes, other, state, out);
    } else {
        for (size_t left = 1 + below(state, 3); left > 0; left--)
            change(model, from ? from->graph : model->graph, state);
        write_model(model, out);
    }
    if (model) onnx__model_proto__free_unpacked(model, NULL);
    if (from) onnx__model_proto__free_unpacked(from, NULL);
}
