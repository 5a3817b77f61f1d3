/* The ONNX graph to a module. Nodes come in topological order, as ONNX demands, so every input
 * must be defined before it is used; that alone refuses cycles. Each op's types are inferred as it
 * is made. The first error ends the import.
 * Tests: test/unit/import_test.c, lit/import */
#include "import/import_onnx.h"

#include <assert.h>

#include "dialects/builtin/builtin.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "import/import_impl.h"
#include "ir/diag.h"
#include "ir/verify.h"

enum { MIN_OPSET = 7, MAX_OPSET = 21, MAX_FUNCTION_NAME = 64 };

typedef struct Importer {
    Context *ctx;
    Str folder;
    const Attr *file; /* location of the file as a whole */
    const Onnx__GraphProto *graph;
    Op *func;
    Builder b;          /* in the function's body */
    PtrMap values;      /* Ident* of a name -> Value* */
    StrBuf why;         /* message under construction */
    VEC(const Attr *) arg_attrs;
} Importer;

/* --- errors -------------------------------------------------------------------------------- */

/* Reports "file: error: <what> 'name'<why>"; false. */
static bool named_error(Importer *im, const char *what, Str name)
{
    StrBuf text = {0};
    strbuf_add_c(&text, what);
    strbuf_add_char(&text, ' ');
    onnx_add_quoted(&text, name);
    strbuf_add_char(&text, ' ');
    strbuf_add_str(&text, strbuf_str(&im->why));
    emit_error(im->ctx, im->file, "%s", text.data);
    strbuf_free(&text);
    return false;
}

/* What the name of a node without one is made from. */
static void node_name(const Onnx__NodeProto *node, size_t index, StrBuf *out)
{
    strbuf_add_str(out, import_text(node->name));
    if (out->len == 0)
        strbuf_printf(out, "%s_%zu", node->op_type ? node->op_type : "node", index);
}

/* Reports "file: error: node 'conv1' (Conv): <why>"; false. */
static bool node_error(Importer *im, const Onnx__NodeProto *node, size_t index)
{
    StrBuf text = {0}, name = {0};
    node_name(node, index, &name);
    strbuf_add_c(&text, "node ");
    onnx_add_quoted(&text, strbuf_str(&name));
    strbuf_add_c(&text, " (");
    onnx_add_escaped(&text, import_text(node->op_type));
    strbuf_add_c(&text, "): ");
    strbuf_add_str(&text, strbuf_str(&im->why));
    emit_error(im->ctx, im->file, "%s", text.data);
    strbuf_free(&name);
    strbuf_free(&text);
    return false;
}

/* Sets the message to "<before>'name'<after>"; false. */
static bool why_name(Importer *im, const char *before, Str name, const char *after)
{
    strbuf_add_c(&im->why, before);
    onnx_add_quoted(&im->why, name);
    strbuf_add_c(&im->why, after);
    return false;
}

/* --- values -------------------------------------------------------------------------------- */

static const Ident *name_ident(Importer *im, const char *name)
{
    return ident_get(im->ctx, import_text(name));
}

static bool define(Importer *im, const Ident *name, Value *value)
{
    if (name->str.len == 0) {
        strbuf_add_c(&im->why, "has no name");
        return false;
    }
    if (!ptrmap_has(&im->values, name)) {
        ptrmap_put(&im->values, name, value);
        return true;
    }
    return why_name(im, "defines the value ", name->str, ", which is defined before");
}

static const Attr *located(Importer *im, Str name)
{
    return loc_name(ident_get(im->ctx, name), im->file);
}

/* --- graph inputs -------------------------------------------------------------------------- */

/* Extent of dimension i; a batch that is not a positive number counts as 1. */
static bool input_dim(Importer *im, const Onnx__TensorShapeProto__Dimension *dim, size_t i,
                      int64_t *out)
{
    bool known = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
    *out = known && dim->dim_value > 0 ? dim->dim_value : 1;
    if (i == 0 || (known && dim->dim_value > 0))
        return true;
    strbuf_printf(&im->why, "has no fixed size in dimension %zu", i);
    return false;
}

static const Type *input_type(Importer *im, const Onnx__ValueInfoProto *info)
{
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        strbuf_add_c(&im->why, "is not a tensor");
        return NULL;
    }
    const Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
    const Type *elem = import_elem_type(im->ctx, tensor->elem_type);
    if (!elem) {
        strbuf_printf(&im->why, "has the element type %d, which is not supported",
                      tensor->elem_type);
        return NULL;
    }
    if (!tensor->shape || tensor->shape->n_dim > ONNX_MAX_RANK) {
        strbuf_add_c(&im->why, tensor->shape ? "has too many dimensions" : "has no shape");
        return NULL;
    }
    int64_t dims[ONNX_MAX_RANK], count;
    for (size_t i = 0; i < tensor->shape->n_dim; i++)
        if (!input_dim(im, tensor->shape->dim[i], i, &dims[i]))
            return NULL;
    const Type *type = type_tensor(elem, dims, (uint32_t)tensor->shape->n_dim, NULL);
    if (type_element_count(type, &count))
        return type;
    strbuf_add_c(&im->why, "has too many elements");
    return NULL;
}

/* The dictionary {dfg.name = name} of an argument or result. */
static const Attr *boundary_attrs(Importer *im, Str name)
{
    NamedAttr attr = named_attr(im->ctx, "dfg.name", attr_string(im->ctx, name));
    return attr_dict(im->ctx, &attr, 1);
}

/* An input with an initializer has a value already and is no argument. */
static bool import_input(Importer *im, const Onnx__ValueInfoProto *info, const PtrMap *initialized)
{
    const Ident *name = name_ident(im, info->name);
    if (ptrmap_has(initialized, name))
        return true;
    const Type *type = input_type(im, info);
    if (!type)
        return named_error(im, "graph input", name->str);
    Value *arg = block_add_arg(im->b.block, type, located(im, name->str));
    *vec_push(&im->arg_attrs) = boundary_attrs(im, name->str);
    return define(im, name, arg) || named_error(im, "graph input", name->str);
}

static bool import_inputs(Importer *im)
{
    PtrMap initialized = {0};
    for (size_t i = 0; i < im->graph->n_initializer; i++) {
        const Ident *name = name_ident(im, im->graph->initializer[i]->name);
        ptrmap_put(&initialized, name, (void *)(uintptr_t)name);
    }
    bool ok = true;
    for (size_t i = 0; ok && i < im->graph->n_input; i++)
        ok = import_input(im, im->graph->input[i], &initialized);
    ptrmap_free(&initialized);
    return ok;
}

/* --- initializers -------------------------------------------------------------------------- */

static bool import_initializer(Importer *im, const Onnx__TensorProto *tensor)
{
    const Ident *name = name_ident(im, tensor->name);
    const Attr *value = import_tensor(im->ctx, tensor, im->folder, &im->why);
    if (!value)
        return named_error(im, "initializer", name->str);
    im->b.loc = located(im, name->str);
    Value *constant = onnx_build_constant(&im->b, value);
    op_set_attr(value_def(constant), ONNX_NAME, attr_string(im->ctx, name->str));
    return define(im, name, constant) || named_error(im, "initializer", name->str);
}

static bool import_initializers(Importer *im)
{
    if (im->graph->n_sparse_initializer > 0)
        return emit_error(im->ctx, im->file, "sparse initializers are not supported");
    for (size_t i = 0; i < im->graph->n_initializer; i++)
        if (!import_initializer(im, im->graph->initializer[i]))
            return false;
    return true;
}

/* --- nodes --------------------------------------------------------------------------------- */

static const OpDef *find_operator(Importer *im, const Onnx__NodeProto *node)
{
    StrBuf full = {0};
    strbuf_add_c(&full, "onnx.");
    strbuf_add_str(&full, import_text(node->op_type));
    const OpInfo *info = context_op(im->ctx, strbuf_str(&full));
    strbuf_free(&full);
    if (!info) {
        strbuf_add_c(&im->why, "the operator is not supported");
        return NULL;
    }
    Str domain = import_text(node->domain);
    if (onnx_in_domain(info->def, domain))
        return info->def;
    why_name(im, "the operator is not supported in the domain ", domain, "");
    return NULL;
}

/* Why a name is not defined where it is used: a later node may define it. */
static bool undefined(Importer *im, Str name)
{
    for (size_t i = 0; i < im->graph->n_node; i++) {
        const Onnx__NodeProto *node = im->graph->node[i];
        for (size_t k = 0; k < node->n_output; k++)
            if (str_eq(import_text(node->output[k]), name))
                return why_name(im, "uses ", name,
                                ", which is defined later: the graph has a cycle, or its nodes "
                                "are not in order");
    }
    return why_name(im, "uses ", name, ", which is not defined");
}

/* Trailing empty names say that optional inputs are absent. */
static size_t input_count(const Onnx__NodeProto *node)
{
    size_t count = node->n_input;
    while (count > 0 && import_text(node->input[count - 1]).len == 0)
        count--;
    return count;
}

/* Bounds of how many operands or results a row allows. */
static void group_bounds(const ArgDef *groups, size_t *least, size_t *most)
{
    *least = *most = 0;
    for (; groups && groups->name; groups++) {
        *least += groups->arity == ARITY_ONE;
        *most = groups->arity == ARITY_VARIADIC ? SIZE_MAX : *most + 1;
    }
}

/* What an absent optional operand becomes when others follow. */
static Value *no_value(Importer *im)
{
    const Type *none = type_none(im->ctx);
    return op_result(build(&im->b, ONNX(NO_VALUE), NULL, 0, &none, 1, NULL, 0), 0);
}

static bool collect_operand(Importer *im, const Onnx__NodeProto *node, const OpDef *def, size_t i,
                            Value **out)
{
    const Ident *name = name_ident(im, node->input[i]);
    *out = ptrmap_get(&im->values, name);
    if (*out)
        return true;
    if (name->str.len > 0)
        return undefined(im, name->str);
    const ArgDef *row = def->operands;
    for (size_t k = 0; k < i && row[1].name; k++)
        row++;
    if (row->arity == ARITY_OPTIONAL || row->type->test(type_none(im->ctx))) {
        *out = no_value(im);
        return true;
    }
    strbuf_printf(&im->why, "input '%s' is missing", row->name);
    return false;
}

static bool collect_operands(Importer *im, const Onnx__NodeProto *node, const OpDef *def,
                             Value **operands, size_t count)
{
    size_t least, most;
    group_bounds(def->operands, &least, &most);
    if (count < least || count > most) {
        strbuf_printf(&im->why, "has %zu inputs; %zu to %zu are allowed", count, least, most);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!collect_operand(im, node, def, i, &operands[i]))
            return false;
    return true;
}

static const AttrArgDef *find_attr(const OpDef *def, Str name)
{
    for (const AttrArgDef *attr = def->attrs; attr && attr->name; attr++)
        if (str_eq_c(name, attr->name))
            return attr;
    return NULL;
}

static bool collect_attr(Importer *im, const Onnx__AttributeProto *proto, const OpDef *def,
                         const Attr **dict)
{
    Str name = import_text(proto->name);
    const AttrArgDef *row = find_attr(def, name);
    if (!row)
        return why_name(im, "the attribute ", name, " is not supported");
    const Ident *key = ident_get(im->ctx, name);
    if (attr_dict_get(*dict, key))
        return why_name(im, "the attribute ", name, " is given twice");
    StrBuf why = {0};
    const Attr *value = import_attribute(im->ctx, proto, im->folder, &why);
    if (!value)
        why_name(im, "the attribute ", name, " ");
    strbuf_add_str(&im->why, strbuf_str(&why));
    strbuf_free(&why);
    if (!value)
        return false;
    if (!row->attr->test(value)) {
        strbuf_printf(&im->why, "the attribute '%s' is no %s", row->name, row->attr->what);
        return false;
    }
    *dict = attr_dict_set(*dict, key, value);
    return true;
}

static bool collect_attrs(Importer *im, const Onnx__NodeProto *node, const OpDef *def,
                          const Attr **dict)
{
    *dict = attr_dict(im->ctx, NULL, 0);
    for (size_t i = 0; i < node->n_attribute; i++)
        if (!collect_attr(im, node->attribute[i], def, dict))
            return false;
    for (const AttrArgDef *row = def->attrs; row && row->name; row++)
        if (!row->optional && !row->default_text && !attr_dict_get_c(*dict, row->name)) {
            strbuf_printf(&im->why, "the attribute '%s' is missing", row->name);
            return false;
        }
    return true;
}

/* Outputs without a name at the end are optional ones that nobody needs. */
static bool count_results(Importer *im, const Onnx__NodeProto *node, const OpDef *def,
                          size_t *count)
{
    size_t least, most, given = node->n_output;
    group_bounds(def->results, &least, &most);
    while (given > 0 && import_text(node->output[given - 1]).len == 0)
        given--;
    *count = given > least ? given : least;
    if (given == 0)
        strbuf_add_c(&im->why, "has no outputs");
    else if (given > most)
        strbuf_printf(&im->why, "has %zu outputs; %zu are supported", given, most);
    return given > 0 && given <= most;
}

static bool define_results(Importer *im, const Onnx__NodeProto *node, Op *op)
{
    for (uint32_t i = 0; i < op->result_count && i < node->n_output; i++) {
        const Ident *name = name_ident(im, node->output[i]);
        if ((i == 0 || name->str.len > 0) && !define(im, name, op_result(op, i)))
            return false;
    }
    return true;
}

/* The op in the function's body, with inferred types; false: why tells. */
static bool append_op(Importer *im, OpState *state, Op **out)
{
    const Type **types = xcalloc(state->result_count, sizeof *types);
    for (size_t i = 0; i < state->result_count; i++)
        types[i] = type_none(im->ctx);
    state->result_types = types;
    *out = op_create(im->ctx, state);
    op_append(*out, im->b.block);
    bool ok = onnx_infer(*out, types, &im->why);
    for (uint32_t i = 0; ok && i < state->result_count; i++)
        (*out)->results[i].type = types[i];
    free_ptr((void **)&types);
    return ok;
}

/* The op, with inferred types; NULL: why tells. */
static Op *make_op(Importer *im, const Onnx__NodeProto *node, const OpDef *def, const Attr *loc)
{
    size_t count = input_count(node), result_count;
    Value **operands = xcalloc(count, sizeof *operands);
    const Attr *attrs;
    Op *op = NULL;
    im->b.loc = loc;
    bool ok = collect_operands(im, node, def, operands, count) &&
              collect_attrs(im, node, def, &attrs) &&
              count_results(im, node, def, &result_count);
    if (ok) {
        OpState state = {.name = context_op_of_def(im->ctx, def)->name, .loc = loc,
                         .attrs = attrs, .operands = operands, .operand_count = (uint32_t)count,
                         .result_count = (uint32_t)result_count};
        ok = append_op(im, &state, &op);
    }
    free_ptr((void **)&operands);
    return ok ? op : NULL;
}

static bool import_node(Importer *im, const Onnx__NodeProto *node, size_t index)
{
    const OpDef *def = find_operator(im, node);
    if (!def)
        return node_error(im, node, index);
    StrBuf name = {0};
    node_name(node, index, &name);
    Op *op = make_op(im, node, def, located(im, strbuf_str(&name)));
    if (op)
        op_set_attr(op, ONNX_NAME, attr_string(im->ctx, strbuf_str(&name)));
    strbuf_free(&name);
    return (op && define_results(im, node, op)) || node_error(im, node, index);
}

/* --- the function -------------------------------------------------------------------------- */

/* Letters, digits and single underscores, starting with a letter: what every later stage can use as
 * an identifier. */
static void function_name(Str graph, StrBuf *out)
{
    for (size_t i = 0; i < graph.len && out->len < MAX_FUNCTION_NAME; i++) {
        char c = graph.data[i];
        bool is_digit = c >= '0' && c <= '9';
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (is_digit && out->len == 0)
            strbuf_add_c(out, "net_");
        if (is_digit || is_letter)
            strbuf_add_char(out, c);
        else if (out->len > 0 && out->data[out->len - 1] != '_')
            strbuf_add_char(out, '_');
    }
    while (out->len > 0 && out->data[out->len - 1] == '_')
        out->data[--out->len] = '\0';
    if (out->len == 0)
        strbuf_add_c(out, "network");
}

/* The values that the function returns, and their boundary attributes. */
static bool collect_outputs(Importer *im, Value **values, const Attr **attrs)
{
    for (size_t i = 0; i < im->graph->n_output; i++) {
        Str name = import_text(im->graph->output[i]->name);
        values[i] = ptrmap_get(&im->values, ident_get(im->ctx, name));
        attrs[i] = boundary_attrs(im, name);
        if (values[i])
            continue;
        strbuf_add_c(&im->why, "is not defined");
        return named_error(im, "graph output", name);
    }
    return true;
}

/* The return, and the function's type from arguments and returned values. */
static void build_return(Importer *im, Value *const *values, size_t count)
{
    const Block *body = im->b.block;
    const Type **types = xcalloc(body->arg_count + count, sizeof *types);
    im->b.loc = im->file;
    build(&im->b, FUNC(RETURN), values, (uint32_t)count, NULL, 0, NULL, 0);
    for (uint32_t i = 0; i < body->arg_count; i++)
        types[i] = body->args[i]->type;
    for (size_t i = 0; i < count; i++)
        types[body->arg_count + i] = values[i]->type;
    func_set_type(im->func, type_function(im->ctx, types, body->arg_count,
                                          types + body->arg_count, count));
    free_ptr((void **)&types);
}

static bool finish_function(Importer *im)
{
    size_t count = im->graph->n_output;
    Value **values = xcalloc(count, sizeof *values);
    const Attr **attrs = xcalloc(count, sizeof *attrs);
    bool ok = collect_outputs(im, values, attrs);
    if (ok) {
        build_return(im, values, count);
        op_set_attr(im->func, "arg_attrs",
                    attr_array(im->ctx, im->arg_attrs.data, im->arg_attrs.len));
        op_set_attr(im->func, "res_attrs", attr_array(im->ctx, attrs, count));
    }
    free_ptr((void **)&attrs);
    free_ptr((void **)&values);
    return ok;
}

static bool import_graph(Importer *im)
{
    if (im->graph->n_output == 0)
        return emit_error(im->ctx, im->file, "the graph has no outputs");
    if (!import_inputs(im) || !import_initializers(im))
        return false;
    for (size_t i = 0; i < im->graph->n_node; i++)
        if (!import_node(im, im->graph->node[i], i))
            return false;
    return finish_function(im);
}

/* --- the model ----------------------------------------------------------------------------- */

static bool check_opsets(Importer *im, const Onnx__ModelProto *model)
{
    bool found = false;
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *opset = model->opset_import[i];
        Str domain = import_text(opset->domain);
        if (domain.len > 0 && !str_eq(domain, STR("ai.onnx")))
            continue;
        found = true;
        if (opset->version < MIN_OPSET || opset->version > MAX_OPSET)
            return emit_error(im->ctx, im->file, "opset %lld is not supported; %d to %d are",
                              (long long)opset->version, MIN_OPSET, MAX_OPSET);
    }
    return found || emit_error(im->ctx, im->file, "the model imports no opset of ONNX");
}

/* An empty module with the function; both are found again by op_parent. */
static Op *make_module(Importer *im)
{
    im->b = (Builder){.ctx = im->ctx, .loc = im->file};
    Op *module = build(&im->b, BUILTIN(MODULE), NULL, 0, NULL, 0, NULL, 0);
    im->b.block = region_add_block(op_region(module, 0));
    StrBuf name = {0};
    function_name(import_text(im->graph->name), &name);
    im->func = func_build(&im->b, strbuf_str(&name), type_function(im->ctx, NULL, 0, NULL, 0));
    strbuf_free(&name);
    im->b.block = region_add_block(op_region(im->func, 0));
    return module;
}

static Op *import_model(Importer *im, const Onnx__ModelProto *model)
{
    if (!model->graph) {
        emit_error(im->ctx, im->file, "the model has no graph");
        return NULL;
    }
    if (!check_opsets(im, model))
        return NULL;
    im->graph = model->graph;
    Op *module = make_module(im);
    if (import_graph(im) && op_verify(module))
        return module;
    op_erase(module);
    return NULL;
}

static void *take(void *user, size_t size)
{
    (void)user;
    return xmalloc(size);
}

static void give(void *user, void *memory)
{
    (void)user;
    free_ptr(&memory);
}

Op *import_onnx(Context *ctx, Str bytes, Str file_name, const ImportOptions *options)
{
    Importer im = {.ctx = ctx, .file = loc_file(ctx, ident_get(ctx, file_name), 0, 0)};
    if (options)
        im.folder = options->folder;
    Op *module = NULL;
    ProtobufCAllocator allocator = {.alloc = take, .free = give};
    if (!wire_check(bytes, &onnx__model_proto__descriptor, &im.why)) {
        emit_error(ctx, im.file, "not an ONNX file: %s", im.why.data);
    } else {
        Onnx__ModelProto *model = onnx__model_proto__unpack(&allocator, bytes.len,
                                                            (const uint8_t *)bytes.data);
        if (model)
            module = import_model(&im, model);
        else
            emit_error(ctx, im.file, "not an ONNX file");
        onnx__model_proto__free_unpacked(model, &allocator);
    }
    diag_flush(ctx);
    ptrmap_free(&im.values);
    strbuf_free(&im.why);
    vec_free(&im.arg_attrs);
    return module;
}
