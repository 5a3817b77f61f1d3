/* Functions that the file defines: a call becomes the ops of the body, in a scope of its own.
 * Tests: test/unit/import_test.c, lit/import/functions.test */
#include "dialects/onnx/onnx.h"
#include "import/import_impl.h"

enum { MAX_DEPTH = 32, MAX_NODES = 1 << 16 };

/* Fields of FunctionProto that the schema at hand may not know yet. */
enum { FIELD_ATTRIBUTE_DEFAULTS = 11 };

const Onnx__FunctionProto *function_of_node(const Importer *im, const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const Onnx__FunctionProto *function = im->model->functions[i];
        if (str_eq(import_text(function->name), import_text(node->op_type)) &&
            str_eq(import_text(function->domain), import_text(node->domain)))
            return function;
    }
    return NULL;
}

const Onnx__AttributeProto *function_attribute(const Scope *scope,
                                               const Onnx__AttributeProto *proto)
{
    while (proto && import_text(proto->ref_attr_name).len > 0) {
        const Onnx__AttributeProto *found = NULL;
        for (size_t i = 0; scope->call && i < scope->call->n_attribute; i++)
            if (str_eq(import_text(scope->call->attribute[i]->name),
                       import_text(proto->ref_attr_name)))
                found = scope->call->attribute[i];
        proto = found;
        scope = scope->outer;
        if (!scope)
            break;
    }
    return proto && import_text(proto->ref_attr_name).len == 0 ? proto : NULL;
}

static bool has_defaults(const Onnx__FunctionProto *function)
{
    for (unsigned i = 0; i < function->base.n_unknown_fields; i++)
        if (function->base.unknown_fields[i].tag == FIELD_ATTRIBUTE_DEFAULTS)
            return true;
    return false;
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
static bool bind_inputs(Importer *im, Scope *body, const Onnx__FunctionProto *function)
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

static bool bind_outputs(Importer *im, const Scope *body, const Onnx__FunctionProto *function)
{
    const Onnx__NodeProto *call = body->call;
    for (size_t i = 0; i < call->n_output; i++) {
        const Ident *name = import_ident(im, call->output[i]);
        const Ident *inner = import_ident(im, function->output[i]);
        if (name->str.len == 0)
            continue;
        Value *value = ptrmap_get(&body->values, inner);
        if (!value)
            return import_why_name(im, "the function does not define its output ", inner->str, "");
        if (!import_define(im, name, value))
            return false;
    }
    return true;
}

static bool check_call(Importer *im, const Onnx__FunctionProto *function,
                       const Onnx__NodeProto *call)
{
    if (im->scope->depth >= MAX_DEPTH)
        strbuf_printf(&im->why, "functions call each other more than %d deep, or in a circle",
                      MAX_DEPTH);
    else if (has_defaults(function))
        strbuf_add_c(&im->why, "calls a function whose attributes have defaults, which is not "
                     "supported");
    else if (call->n_input > function->n_input || call->n_output > function->n_output)
        strbuf_printf(&im->why, "has %zu inputs and %zu outputs; the function has %zu and %zu",
                      call->n_input, call->n_output, function->n_input, function->n_output);
    else if (im->node_count > MAX_NODES)
        strbuf_printf(&im->why, "its functions make more than %d nodes", MAX_NODES);
    else
        return true;
    return false;
}

bool function_inline(Importer *im, const Onnx__FunctionProto *function,
                     const Onnx__NodeProto *node, size_t index, bool *diagnosed)
{
    StrBuf prefix = {0};
    if (!check_call(im, function, node))
        return false;
    import_node_name(im, node, index, &prefix);
    strbuf_add_char(&prefix, '/');
    Scope body = {.outer = im->scope, .call = node, .prefix = strbuf_str(&prefix),
                  .nodes = function->node, .node_count = function->n_node,
                  .opset = function_opset(function, im->scope->opset),
                  .depth = im->scope->depth + 1};
    bool ok = bind_inputs(im, &body, function);
    im->scope = &body;
    for (size_t i = 0; ok && i < function->n_node; i++) {
        im->node_count++;
        ok = import_node(im, function->node[i], i);
        *diagnosed = !ok;
    }
    im->scope = body.outer;
    ok = ok && bind_outputs(im, &body, function);
    ptrmap_free(&body.values);
    strbuf_free(&prefix);
    return ok;
}
