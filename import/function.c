/* Functions that the file defines. A call becomes the ops of the function's body, in a scope of its
 * own.
 * Tests: test/unit/import/import_test.c, lit/import/functions.test */
#include <string.h>

#include "dialects/onnx/onnx.h"
#include "import/internal.h"

enum { MAX_DEPTH = 32, MAX_NODES = 1 << 16 };
/* Bytes of the names of calls, which each node of a function's body carries before its own. */
enum { MAX_NAME_BYTES = 1 << 26 };

/* Fields that older schemas do not have: FunctionProto.attribute_proto, attributes with their
 * defaults, and the overloads by which functions of one name differ. */
enum { FIELD_DEFAULTS = 11, FIELD_FUNCTION_OVERLOAD = 13, FIELD_NODE_OVERLOAD = 8 };

/* Whether a field that the schema does not know is a length and so many bytes. */
static bool is_bytes(const ProtobufCMessageUnknownField *field, uint32_t tag)
{
    return field->tag == tag && field->wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
}

/* The bytes of such a field, without the length. */
static Str bytes_of(const ProtobufCMessageUnknownField *field)
{
    size_t prefix = 1;
    while (prefix < field->len && field->data[prefix - 1] >= 0x80) prefix++;
    return (Str){(const char *)field->data + prefix, field->len - prefix};
}

/* A field with a text, whether the schema knows it or not; empty if the message has none. */
static Str text_of(const ProtobufCMessage *message, uint32_t tag)
{
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(message->descriptor, tag);
    Str text = STR("");
    if (known) {
        const char *string;
        memcpy(&string, (const char *)message + known->offset, sizeof string);
        return import_text(string);
    }
    for (unsigned i = 0; i < message->n_unknown_fields; i++)
        if (is_bytes(&message->unknown_fields[i], tag))
            text = bytes_of(&message->unknown_fields[i]);
    return text;
}

const Onnx__FunctionProto *import_function_of_node(const Importer *im, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const Onnx__FunctionProto *function = im->model->functions[i];
        if (str_eq(import_text(function->name), import_text(node->op_type)) &&
            str_eq(import_text(function->domain), import_text(node->domain)) &&
            str_eq(text_of(&function->base, FIELD_FUNCTION_OVERLOAD),
                   text_of(&node->base, FIELD_NODE_OVERLOAD)))
            return function;
    }
    return NULL;
}

static const Onnx__AttributeProto *find_attribute(Onnx__AttributeProto *const *list, size_t count,
                                                  Str name)
{
    for (size_t i = count; i-- > 0;)
        if (str_eq(import_text(list[i]->name), name)) return list[i];
    return NULL;
}

const Onnx__AttributeProto *import_function_attribute(const ImportScope *scope,
                                                      const Onnx__AttributeProto *proto)
{
    while (proto && import_text(proto->ref_attr_name).len > 0) {
        Str name = import_text(proto->ref_attr_name);
        const Onnx__NodeProto *call = scope->call;
        proto = call ? find_attribute(call->attribute, call->n_attribute, name) : NULL;
        if (!proto) return find_attribute(scope->defaults, scope->default_count, name);
        scope = scope->outer;
        if (!scope) break;
    }
    return proto && import_text(proto->ref_attr_name).len == 0 ? proto : NULL;
}

/* The attribute in a field that the schema does not know. NULL: why says. */
static Onnx__AttributeProto *unpack_default(Importer *im, const ProtobufCMessageUnknownField *field)
{
    Str bytes = bytes_of(field);
    Onnx__AttributeProto *proto = NULL;
    if (!import_wire_check(bytes, &onnx__attribute_proto__descriptor, &im->why)) return NULL;
    proto = onnx__attribute_proto__unpack(NULL, bytes.len, (const uint8_t *)bytes.data);
    if (!proto) strbuf_add_c(&im->why, "calls a function with a malformed default of an attribute");
    return proto;
}

/* Fills body->defaults. False: why says. */
static bool read_defaults(Importer *im, const Onnx__FunctionProto *function, ImportScope *body)
{
    const ProtobufCMessage *base = &function->base;
    const ProtobufCFieldDescriptor *known =
        protobuf_c_message_descriptor_get_field(base->descriptor, FIELD_DEFAULTS);
    if (known) {
        const char *message = (const char *)function;
        memcpy(&body->default_count, message + known->quantifier_offset, sizeof(size_t));
        memcpy(&body->defaults, message + known->offset, sizeof body->defaults);
        return true;
    }
    body->owned_defaults = xcalloc(base->n_unknown_fields + 1, sizeof *body->owned_defaults);
    body->defaults = body->owned_defaults;
    for (unsigned i = 0; i < base->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &base->unknown_fields[i];
        if (!is_bytes(field, FIELD_DEFAULTS)) continue;
        Onnx__AttributeProto *proto = unpack_default(im, field);
        if (!proto) return false;
        body->owned_defaults[body->default_count++] = proto;
    }
    return true;
}

static void free_defaults(ImportScope *body)
{
    if (!body->owned_defaults) return;
    for (size_t i = 0; i < body->default_count; i++)
        onnx__attribute_proto__free_unpacked(body->owned_defaults[i], NULL);
    free_ptr((void **)&body->owned_defaults);
}

static int64_t function_opset(const Onnx__FunctionProto *function, int64_t outer)
{
    for (size_t i = 0; i < function->n_opset_import; i++) {
        Str domain = import_text(function->opset_import[i]->domain);
        if (domain.len == 0 || str_eq(domain, STR("ai.onnx")))
            return function->opset_import[i]->version;
    }
    return outer;
}

/* The call's inputs under the names the body has for them; what is absent is the onnx.NoValue. */
static bool bind_inputs(Importer *im, ImportScope *body, const Onnx__FunctionProto *function)
{
    const Onnx__NodeProto *call = body->call;
    for (size_t i = 0; i < function->n_input; i++) {
        const Ident *name = i < call->n_input ? import_ident(im, call->input[i]) : NULL;
        Value *value = name ? ptrmap_get(&im->scope->values, name) : NULL;
        if (!value && name && name->str.len > 0)
            return import_why_name(im, "uses ", name->str, ", which is not defined");
        ptrmap_put(&body->values, import_ident(im, function->input[i]),
                   value ? value : import_no_value(im));
    }
    return true;
}

static bool bind_outputs(Importer *im, const ImportScope *body, const Onnx__FunctionProto *function)
{
    const Onnx__NodeProto *call = body->call;
    for (size_t i = 0; i < call->n_output; i++) {
        const Ident *name = import_ident(im, call->output[i]);
        const Ident *inner = import_ident(im, function->output[i]);
        if (name->str.len == 0) continue;
        Value *value = ptrmap_get(&body->values, inner);
        if (!value)
            return import_why_name(im, "the function does not define its output ", inner->str, "");
        if (!import_define(im, name, value)) return false;
    }
    return true;
}

static bool check_call(Importer *im, const Onnx__FunctionProto *function,
                       const Onnx__NodeProto *call, size_t prefix_len)
{
    size_t bytes;
    bool is_long =
        !size_mul(prefix_len, function->n_node, &bytes) || bytes > MAX_NAME_BYTES - im->name_bytes;
    if (im->scope->depth >= MAX_DEPTH)
        strbuf_printf(&im->why, "functions call each other more than %d deep, or in a circle",
                      MAX_DEPTH);
    else if (call->n_input > function->n_input || call->n_output > function->n_output)
        strbuf_printf(&im->why, "has %zu inputs and %zu outputs; the function has %zu and %zu",
                      call->n_input, call->n_output, function->n_input, function->n_output);
    else if (im->node_count > MAX_NODES)
        strbuf_printf(&im->why, "its functions make more than %d nodes", MAX_NODES);
    else if (is_long)
        strbuf_printf(&im->why, "its functions make names of more than %d bytes", MAX_NAME_BYTES);
    else
        im->name_bytes += bytes;
    return im->why.len == 0;
}

bool import_function_inline(Importer *im, const Onnx__FunctionProto *function,
                            const Onnx__NodeProto *node, size_t index, bool *diagnosed)
{
    StrBuf prefix = {0};
    import_node_name(im, node, index, &prefix);
    strbuf_add_char(&prefix, '/');
    if (!check_call(im, function, node, prefix.len)) {
        strbuf_free(&prefix);
        return false;
    }
    ImportScope body = {.outer = im->scope,
                        .call = node,
                        .prefix = strbuf_str(&prefix),
                        .nodes = function->node,
                        .node_count = function->n_node,
                        .opset = function_opset(function, im->scope->opset),
                        .depth = im->scope->depth + 1};
    bool ok = read_defaults(im, function, &body) && bind_inputs(im, &body, function);
    im->scope = &body;
    for (size_t i = 0; ok && i < function->n_node; i++) {
        im->node_count++;
        ok = import_node(im, function->node[i], i);
        *diagnosed = !ok;
    }
    im->scope = body.outer;
    ok = ok && bind_outputs(im, &body, function);
    free_defaults(&body);
    ptrmap_free(&body.values);
    strbuf_free(&prefix);
    return ok;
}
