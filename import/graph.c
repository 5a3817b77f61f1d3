/* Import of the graph of an ONNX model: arguments, initializers, nodes, results. ONNX demands that
 * nodes come in topological order, so every input must be defined before it is used; this alone
 * excludes cycles.
 * Tests: test/unit/import/import_test.c, lit/import */
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/onnx/onnx.h"
#include "import/internal.h"
#include "ir/asm/print/print.h"
#include "ir/rewrite/rewrite.h"

typedef struct GivenShape {
    uint32_t rank;
    int64_t dims[ONNX_MAX_RANK];
} GivenShape;

/* shape ::= (extent ('x' extent)*)? */
static bool parse_shape(Str text, GivenShape *out)
{
    out->rank = 0;
    for (size_t i = 0; i < text.len; i++) {
        int64_t extent = 0;
        size_t from = i;
        for (; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++)
            if (extent < INT64_MAX / 20) extent = extent * 10 + (text.data[i] - '0');
        bool is_last = i == text.len;
        if (i == from || out->rank == ONNX_MAX_RANK || i + 1 == text.len ||
            (!is_last && text.data[i] != 'x'))
            return false;
        out->dims[out->rank++] = extent;
    }
    return true;
}

/* The tensor that a node begins with, if `from` is a node's name; else `from` itself. */
static const Ident *start_of(Importer *im, const char *from)
{
    StrBuf name = {0};
    const Ident *start = import_ident(im, from);
    for (size_t i = 0; i < im->graph->n_node; i++) {
        const Onnx__NodeProto *node = im->graph->node[i];
        strbuf_clear(&name);
        import_node_name(im, node, i, &name);
        if (node->n_input > 0 && str_eq(strbuf_str(&name), str_from(from)))
            start = import_ident(im, node->input[0]);
    }
    strbuf_free(&name);
    return start;
}

const Ident *import_only_input(Importer *im)
{
    const Ident *found = NULL;
    size_t count = 0;
    if (im->options->from_count > 0)
        return im->options->from_count == 1 ? start_of(im, im->options->from[0]) : NULL;
    for (size_t i = 0; i < im->graph->n_input; i++) {
        const Ident *name = import_ident(im, im->graph->input[i]->name);
        bool is_constant = false;
        for (size_t k = 0; k < im->graph->n_initializer && !is_constant; k++)
            is_constant = import_ident(im, im->graph->initializer[k]->name) == name;
        if (is_constant) continue;
        found = name;
        count++;
    }
    return count == 1 ? found : NULL;
}

/* "name:1x3x32x32", or "1x3x32x32" for the only input; the name may have colons of its own. */
static bool read_given_shape(Importer *im, Str text)
{
    size_t colon = text.len;
    while (colon > 0 && text.data[colon - 1] != ':') colon--;
    GivenShape shape;
    if (colon == 1 || !parse_shape((Str){text.data + colon, text.len - colon}, &shape)) {
        strbuf_add_c(&im->why, "is no shape; they are written name:1x3x32x32");
        return import_error(im, "input shape", text);
    }
    const Ident *name =
        colon > 0 ? ident_get(im->ctx, (Str){text.data, colon - 1}) : import_only_input(im);
    if (!name) {
        strbuf_printf(&im->why, "names no input, and there are several; --input-shape=name:%.*s",
                      STR_ARG(text));
        return import_error(im, "input shape", text);
    }
    ptrmap_put(&im->shapes, name, arena_copy(&im->arena, &shape, sizeof shape));
    return true;
}

void import_suggest_input(Importer *im, Str wanted)
{
    Suggestion near = {.wanted = wanted};
    for (size_t i = 0; i < im->graph->n_input; i++)
        suggestion_try(&near, import_ident(im, im->graph->input[i]->name)->str);
    suggestion_print(&near, &im->why);
}

/* Every given shape must belong to an argument. */
static bool check_given_shapes(Importer *im)
{
    for (size_t i = 0; i < im->shapes.len; i++) {
        const Ident *name = im->shapes.entries[i].key;
        if (ptrmap_has(&im->arguments, name)) continue;
        strbuf_add_c(&im->why, "is given for a tensor that is no input");
        import_suggest_input(im, name->str);
        return import_error(im, "input shape", name->str);
    }
    return true;
}

/* Extent of dimension i, 0 if it is open; a batch that is not a positive number counts as 1. */
static int64_t input_dim(const Onnx__TensorShapeProto__Dimension *dim, size_t i)
{
    bool is_known = dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                    dim->dim_value > 0;
    return is_known ? dim->dim_value : i == 0;
}

/* "; --input-shape=x:1x3x?x?" */
static void add_option(Importer *im, Str name, const GivenShape *shape)
{
    strbuf_printf(&im->why, "; give it: --input-shape=%.*s:", STR_ARG(name));
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (i > 0) strbuf_add_char(&im->why, 'x');
        if (shape->dims[i] > 0)
            strbuf_add_int(&im->why, shape->dims[i]);
        else
            strbuf_add_char(&im->why, '?');
    }
}

static bool file_shape(Importer *im, Str name, const Onnx__TensorShapeProto *shape, GivenShape *out)
{
    size_t open = 0;
    if (shape && shape->n_dim > ONNX_MAX_RANK)
        return strbuf_fail(&im->why, "has too many dimensions");
    if (!shape)
        return strbuf_fail(&im->why, "has no shape; give it, as in --input-shape=%.*s:1x3x32x32",
                           STR_ARG(name));
    out->rank = (uint32_t)shape->n_dim;
    for (size_t i = shape->n_dim; i-- > 0;) {
        out->dims[i] = input_dim(shape->dim[i], i);
        if (out->dims[i] == 0) open = i;
    }
    if (open == 0) return true;
    strbuf_printf(&im->why, "has no fixed size in dimension %zu", open);
    add_option(im, name, out);
    return false;
}

static const Type *checked_tensor(Importer *im, const Type *elem, const GivenShape *shape)
{
    int64_t count;
    const Type *type = type_tensor(elem, shape->dims, shape->rank, NULL);
    if (type_element_count(type, &count)) return type;
    strbuf_add_c(&im->why, "has too many elements");
    return NULL;
}

/* The type of a ValueInfo, with the shape that the options give to it. */
static const Type *info_type(Importer *im, const Onnx__ValueInfoProto *info,
                             const GivenShape *given)
{
    if (!info->type || info->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        strbuf_add_c(&im->why, "is not a tensor");
        return NULL;
    }
    const Onnx__TypeProto__Tensor *tensor = info->type->tensor_type;
    const Type *elem = onnx_elem_type(im->ctx, tensor->elem_type);
    GivenShape shape;
    if (!elem) {
        import_no_elem_type(&im->why, tensor->elem_type);
        return NULL;
    }
    if (given && tensor->shape && tensor->shape->n_dim != given->rank) {
        strbuf_printf(&im->why, "has %zu dimensions in the file, %u in the shape given to it",
                      tensor->shape->n_dim, given->rank);
        return NULL;
    }
    if (!given && !file_shape(im, import_text(info->name), tensor->shape, &shape)) return NULL;
    return checked_tensor(im, elem, given ? given : &shape);
}

const Type *import_known_type(Importer *im, const Ident *name)
{
    const GivenShape *given = ptrmap_get(&im->shapes, name);
    const Onnx__ValueInfoProto *info = ptrmap_get(&im->infos, name);
    if (info) return info_type(im, info, given);
    return given ? checked_tensor(im, type_float(im->ctx, TYPE_F32), given) : NULL;
}

/* The dictionary {dfg.name = name} of an argument or result. */
static const Attr *boundary_attrs(Importer *im, Str name)
{
    NamedAttr attr = build_named_attr(im->ctx, DFG_ATTR_NAME, attr_string(im->ctx, name));
    return attr_dict(im->ctx, &attr, 1);
}

Value *import_argument(Importer *im, const Ident *name, const Type *type)
{
    *vec_push(&im->arg_attrs) = boundary_attrs(im, name->str);
    Value *arg = block_add_arg(im->b.block, type, import_loc(im, name->str));
    ptrmap_put(&im->arguments, name, arg);
    return arg;
}

static bool import_input(Importer *im, const Ident *name)
{
    const Type *type = import_known_type(im, name);
    if (!type) return import_error(im, "graph input", name->str);
    Value *value = import_typed_argument(im, name, import_argument(im, name, type));
    return (value && import_define(im, name, value)) || import_error(im, "graph input", name->str);
}

/* An input with an initializer has a value already and is no argument. */
static bool import_inputs(Importer *im)
{
    PtrMap initialized = {0};
    for (size_t i = 0; i < im->graph->n_initializer; i++)
        ptrmap_put(&initialized, import_ident(im, im->graph->initializer[i]->name), im);
    bool ok = true;
    for (size_t i = 0; ok && i < im->graph->n_input; i++) {
        const Ident *name = import_ident(im, im->graph->input[i]->name);
        bool is_done = ptrmap_has(&initialized, name) ||
                       (ptrmap_has(&im->cut.starts, name) && ptrmap_has(&im->scope->values, name));
        if (!is_done && import_cut_has_name(im, name)) ok = import_input(im, name);
    }
    ptrmap_free(&initialized);
    return ok;
}

/* Tensors that the cut makes arguments and whose types are known beforehand. */
static bool import_starts(Importer *im)
{
    for (size_t i = 0; i < im->cut.starts.len; i++) {
        const Ident *name = im->cut.starts.entries[i].key;
        const Type *type = import_known_type(im, name);
        strbuf_clear(&im->why);
        if (!type) continue;
        Value *value = import_typed_argument(im, name, import_argument(im, name, type));
        if (!value) return import_error(im, "tensor", name->str);
        ptrmap_put(&im->scope->values, name, value);
    }
    return true;
}

static bool import_initializer(Importer *im, const Ident *name, const Attr *value)
{
    if (!value) return import_error(im, "initializer", name->str);
    im->b.loc = import_loc(im, name->str);
    Value *constant = onnx_build_constant(&im->b, value);
    op_set_attr(value_def(constant), ONNX_ATTR_NAME, attr_string(im->ctx, name->str));
    return import_define(im, name, constant) || import_error(im, "initializer", name->str);
}

static bool import_initializers(Importer *im)
{
    for (size_t i = 0; i < im->graph->n_initializer; i++) {
        const Onnx__TensorProto *tensor = im->graph->initializer[i];
        const Ident *name = import_ident(im, tensor->name);
        if (import_cut_has_name(im, name) &&
            !import_initializer(im, name,
                                import_tensor(im->ctx, tensor, im->options->folder, &im->why)))
            return false;
    }
    for (size_t i = 0; i < im->graph->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *sparse = im->graph->sparse_initializer[i];
        const Ident *name = import_ident(im, sparse->values ? sparse->values->name : NULL);
        if (import_cut_has_name(im, name) &&
            !import_initializer(
                im, name, import_sparse_tensor(im->ctx, sparse, im->options->folder, &im->why)))
            return false;
    }
    return true;
}

/* Graph outputs, or the tensors that the cut ends with. With a report, those that nodes without an
 * op define are left out, and what such nodes use is a result. */
static void collect_result_names(Importer *im)
{
    size_t kept = 0, outputs = im->cut.ends.len > 0 ? 0 : im->graph->n_output;
    for (size_t i = 0; i < outputs; i++)
        *vec_push(&im->cut.ends) = import_ident(im, im->graph->output[i]->name);
    for (size_t i = 0; i < im->cut.ends.len; i++)
        if (!ptrmap_has(&im->unknown, im->cut.ends.data[i]))
            im->cut.ends.data[kept++] = im->cut.ends.data[i];
    im->cut.ends.len = kept;
    for (size_t i = 0; i < kept; i++) ptrmap_remove(&im->kept, im->cut.ends.data[i]);
    for (size_t i = 0; i < im->kept.len; i++)
        if (im->kept.entries[i].key) *vec_push(&im->cut.ends) = im->kept.entries[i].key;
}

/* The values that the function returns, and their boundary attributes. */
static bool collect_outputs(Importer *im, Value **values, const Attr **attrs)
{
    for (size_t i = 0; i < im->cut.ends.len; i++) {
        const Ident *name = im->cut.ends.data[i];
        values[i] = ptrmap_get(&im->scope->values, name);
        attrs[i] = boundary_attrs(im, name->str);
        if (values[i]) continue;
        strbuf_add_c(&im->why, "is not defined");
        return import_error(im, "graph output", name->str);
    }
    return true;
}

/* The return, and the function's type from arguments and returned values. */
static void build_return(Importer *im, Value *const *values, size_t count)
{
    im->b.loc = im->file;
    build(&im->b, FUNC(RETURN), values, (uint32_t)count, NULL, 0, NULL, 0);
}

/* Erases ops that were imported only to infer the types of arguments, and arguments that only they
 * used. */
static void drop_unreached(Importer *im)
{
    Block *body = im->b.block;
    rewrite_erase_dead_ops(im->func);
    for (uint32_t i = body->arg_count; i-- > 0;) {
        if (value_has_uses(body->args[i])) continue;
        block_erase_arg(body, i);
        im->arg_attrs.len--;
        for (size_t k = i; k < im->arg_attrs.len; k++)
            im->arg_attrs.data[k] = im->arg_attrs.data[k + 1];
    }
}

static void set_signature(Importer *im, const Attr *const *result_attrs)
{
    const Block *body = im->b.block;
    const Op *ret = body->last;
    size_t inputs = body->arg_count, count = ret->operand_count;
    const Type **types = xcalloc(inputs + count, sizeof *types);
    for (uint32_t i = 0; i < inputs; i++) types[i] = body->args[i]->type;
    for (uint32_t i = 0; i < count; i++) types[inputs + i] = op_operand(ret, i)->type;
    func_set_type(im->func, type_function(im->ctx, types, inputs, types + inputs, count));
    op_set_attr(im->func, "arg_attrs", attr_array(im->ctx, im->arg_attrs.data, im->arg_attrs.len));
    op_set_attr(im->func, "res_attrs", attr_array(im->ctx, result_attrs, count));
    free_ptr((void **)&types);
}

static bool finish_function(Importer *im)
{
    collect_result_names(im);
    size_t count = im->cut.ends.len;
    Value **values = xcalloc(count, sizeof *values);
    const Attr **attrs = xcalloc(count, sizeof *attrs);
    bool ok = collect_outputs(im, values, attrs);
    if (ok) {
        build_return(im, values, count);
        if (im->cut.is_active) drop_unreached(im);
        set_signature(im, attrs);
    }
    free_ptr((void **)&attrs);
    free_ptr((void **)&values);
    return ok;
}

static void add_infos(Importer *im, Onnx__ValueInfoProto *const *infos, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ptrmap_put(&im->infos, import_ident(im, infos[i]->name), infos[i]);
}

static bool import_nodes(Importer *im)
{
    for (size_t i = 0; i < im->graph->n_node; i++) {
        im->node_count++;
        if (im->options->report)
            import_report_node(im, im->graph->node[i], i);
        else if (import_cut_has_node(im, i) && !import_node(im, im->graph->node[i], i))
            return false;
    }
    return true;
}

bool import_graph(Importer *im)
{
    if (im->graph->n_output == 0) return diag_error(im->ctx, im->file, "the graph has no outputs");
    for (size_t i = 0; i < im->options->input_shape_count; i++)
        if (!read_given_shape(im, str_from(im->options->input_shapes[i]))) return false;
    for (size_t i = 0; i < im->options->input_type_count; i++)
        if (!import_read_input_type(im, str_from(im->options->input_types[i]))) return false;
    add_infos(im, im->graph->value_info, im->graph->n_value_info);
    add_infos(im, im->graph->output, im->graph->n_output);
    add_infos(im, im->graph->input, im->graph->n_input);
    if (!import_cut_plan(im)) return false;
    if (!import_starts(im) || !import_inputs(im) || !check_given_shapes(im) ||
        !import_initializers(im) || !import_nodes(im) || !import_check_input_types(im))
        return false;
    if (im->options->report) import_report_end(im);
    return finish_function(im);
}
