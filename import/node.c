/* Import of one node as one op, or as a few ops if the dialect does not have the node's form: nodes
 * with channels last, and Softmax of old opsets, are put between ops that change the layout.
 * Tests: test/unit/import/import_test.c, lit/import */
#include "dialects/onnx/onnx.h"
#include "import/internal.h"
#include "ir/asm/print/print.h"

#define CHANNELS_LAST "qonnx.custom_op.channels_last"

static bool has_graph(const Onnx__NodeProto *node)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (import_attribute_is_graph(node->attribute[i])) return true;
    return false;
}

/* The version of a domain that the model uses; 0: it names none. */
static int64_t version_of(const Importer *im, Str domain)
{
    if (domain.len == 0 || str_eq_c(domain, "ai.onnx")) domain = STR("");
    for (size_t i = 0; i < im->model->n_opset_import; i++) {
        Str other = import_text(im->model->opset_import[i]->domain);
        if (str_eq_c(other, "ai.onnx")) other = STR("");
        if (str_eq(other, domain)) return im->model->opset_import[i]->version;
    }
    return 0;
}

/* Adds which operators are meant: " (domain 'ai.onnx', version 13)". */
static void add_domain(Importer *im, const Onnx__NodeProto *node)
{
    Str domain = import_text(node->domain);
    int64_t version = version_of(im, domain);
    strbuf_add_c(&im->why, " (domain ");
    strbuf_add_quoted(&im->why, domain.len > 0 ? domain : STR("ai.onnx"));
    if (version > 0) strbuf_printf(&im->why, ", version %lld", (long long)version);
    strbuf_add_char(&im->why, ')');
}

/* Adds why an operator is none of the dialect's and what would help, where that is known. */
static void add_reason(Importer *im, const Onnx__NodeProto *node)
{
    static const char state[] =
        "it carries a state from step to step, which a stream of independent frames does not have; "
        "export the network with its steps unrolled into MatMul, Add, Sigmoid and Tanh";
    static const char count[] = "how many results it has depends on the data, and streams carry "
                                "tensors of fixed shape; end the network before it";
    static const char draws[] = "it draws random numbers; export the network for inference";
    static const struct {
        const char *op_type, *reason;
    } rows[] = {
        {"GRU", state},
        {"LSTM", state},
        {"RNN", state},
        {"Compress", count},
        {"NonMaxSuppression", count},
        {"NonZero", count},
        {"Unique", count},
        {"Bernoulli", draws},
        {"Multinomial", draws},
        {"RandomNormal", draws},
        {"RandomNormalLike", draws},
        {"RandomUniform", draws},
        {"RandomUniformLike", draws},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq_c(import_text(node->op_type), rows[i].op_type))
            strbuf_printf(&im->why, ": %s", rows[i].reason);
    if (has_graph(node))
        strbuf_add_c(&im->why, ": it runs a graph of its own, and what runs when must be known "
                               "beforehand; export the network without control flow");
}

static bool can_be_channels_last(const OpDef *def)
{
    return def == ONNX(CONV) || def == ONNX(MAX_POOL) || def == ONNX(BATCH_NORMALIZATION);
}

static bool find_operator(Importer *im, NodeParts *parts)
{
    parts->contrib = import_contrib_find(parts->node);
    if (parts->contrib) {
        parts->def = import_contrib_operator(parts->contrib);
        return true;
    }
    StrBuf full = {0};
    strbuf_add_c(&full, "onnx.");
    strbuf_add_str(&full, import_text(parts->node->op_type));
    const OpInfo *info = opinfo_lookup(im->ctx, strbuf_str(&full));
    strbuf_free(&full);
    if (!info || info->def == ONNX(NO_VALUE)) {
        strbuf_add_c(&im->why, "the operator is not supported");
        add_domain(im, parts->node);
        add_reason(im, parts->node);
        return false;
    }
    Str domain = import_text(parts->node->domain);
    parts->def = info->def;
    parts->is_channels_last = str_eq_c(domain, CHANNELS_LAST) && can_be_channels_last(info->def);
    if (parts->is_channels_last || onnx_in_domain(info->def, domain)) return true;
    return import_why_name(im, "the operator is not supported in the domain ", domain, "");
}

bool import_knows_operator(Importer *im, const Onnx__NodeProto *node)
{
    NodeParts parts = {.node = node};
    return find_operator(im, &parts);
}

/* Why a name is not defined where it is used: a later node may define it. */
static bool undefined(Importer *im, Str name)
{
    for (size_t i = 0; i < im->scope->node_count; i++) {
        const Onnx__NodeProto *node = im->scope->nodes[i];
        for (size_t k = 0; k < node->n_output; k++)
            if (str_eq(import_text(node->output[k]), name))
                return import_why_name(im, "uses ", name,
                                       ", which is defined later: the graph has a cycle, or its "
                                       "nodes are not in order");
    }
    return import_why_name(im, "uses ", name, ", which is not defined");
}

static bool collect_operands(Importer *im, NodeParts *parts)
{
    const Onnx__NodeProto *node = parts->node;
    for (size_t i = 0; i < node->n_input; i++) {
        const Ident *name = import_ident(im, node->input[i]);
        Value *value = ptrmap_get(&im->scope->values, name);
        if (!value && name->str.len > 0) return undefined(im, name->str);
        *vec_push(&parts->operands) = value == im->no_value ? NULL : value;
    }
    return true;
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

Value *import_no_value(Importer *im)
{
    const Type *none = type_none(im->ctx);
    if (!im->no_value)
        im->no_value = op_result(build(&im->b, ONNX(NO_VALUE), NULL, 0, &none, 1, NULL, 0), 0);
    return im->no_value;
}

/* Absent operands at the end go, others become onnx.NoValue where the row allows it. */
static bool finish_operands(Importer *im, NodeParts *parts)
{
    size_t least, most;
    const ArgDef *row = parts->def->operands;
    group_bounds(row, &least, &most);
    while (parts->operands.len > 0 && !parts->operands.data[parts->operands.len - 1])
        parts->operands.len--;
    if (parts->operands.len < least || parts->operands.len > most) {
        strbuf_printf(&im->why, "has %zu inputs; ", parts->operands.len);
        if (most == SIZE_MAX)
            strbuf_printf(&im->why, "at least %zu are needed", least);
        else
            strbuf_printf(&im->why, "%zu to %zu are allowed", least, most);
        return false;
    }
    for (size_t i = 0; i < parts->operands.len; i++) {
        if (!parts->operands.data[i]) {
            if (!row->type->test(type_none(im->ctx))) {
                strbuf_printf(&im->why, "input '%s' is missing", row->name);
                return false;
            }
            parts->operands.data[i] = import_no_value(im);
        }
        row += row[1].name != NULL;
    }
    return true;
}

static const AttrArgDef *find_attr(const OpDef *def, Str name)
{
    for (const AttrArgDef *attr = def->attrs; attr && attr->name; attr++)
        if (str_eq_c(name, attr->name)) return attr;
    return NULL;
}

typedef VEC(NamedAttr) NamedAttrs;

static bool collect_attr(Importer *im, const Onnx__AttributeProto *proto, NamedAttrs *out,
                         PtrMap *seen)
{
    Str name = import_text(proto->name);
    const Ident *key = ident_get(im->ctx, name);
    if (ptrmap_put(seen, key, (void *)(uintptr_t)key))
        return import_why_name(im, "the attribute ", name, " is given twice");
    if (!im->scope->call && import_text(proto->ref_attr_name).len > 0)
        return import_why_name(im, "the attribute ", name, " refers to one of a function's call");
    proto = import_function_attribute(im->scope, proto);
    if (!proto) return true;
    StrBuf why = {0};
    const Attr *value = import_attribute(im->ctx, proto, im->options->folder, &why);
    if (value)
        *vec_push(out) = (NamedAttr){key, value};
    else
        import_why_name(im, "the attribute ", name, " ");
    strbuf_add_str(&im->why, strbuf_str(&why));
    strbuf_free(&why);
    return value != NULL;
}

static bool collect_attrs(Importer *im, NodeParts *parts)
{
    NamedAttrs attrs = {0};
    PtrMap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < parts->node->n_attribute; i++)
        ok = collect_attr(im, parts->node->attribute[i], &attrs, &seen);
    parts->attrs = attr_dict(im->ctx, attrs.data, attrs.len);
    ptrmap_free(&seen);
    vec_free(&attrs);
    return ok;
}

static bool check_attrs(Importer *im, const NodeParts *parts)
{
    for (uint32_t i = 0; i < parts->attrs->u.dict.count; i++) {
        const NamedAttr *attr = &parts->attrs->u.dict.items[i];
        const AttrArgDef *row = find_attr(parts->def, attr->name->str);
        if (!row)
            return import_why_name(im, "the attribute ", attr->name->str, " is not supported");
        if (row->attr->test(attr->value)) continue;
        strbuf_printf(&im->why, "the attribute '%s' is no %s", row->name, row->attr->what);
        return false;
    }
    for (const AttrArgDef *row = parts->def->attrs; row && row->name; row++)
        if (!row->optional && !row->default_text && !attr_dict_get_c(parts->attrs, row->name)) {
            strbuf_printf(&im->why, "the attribute '%s' is missing", row->name);
            return false;
        }
    return true;
}

/* Outputs without a name at the end are optional ones that nobody needs. */
static bool count_results(Importer *im, NodeParts *parts)
{
    const Onnx__NodeProto *node = parts->node;
    size_t least, most, given = node->n_output;
    group_bounds(parts->def->results, &least, &most);
    while (given > 0 && import_text(node->output[given - 1]).len == 0) given--;
    parts->result_count = (uint32_t)(given > least ? given : least);
    if (given == 0)
        strbuf_add_c(&im->why, "has no outputs");
    else if (given > most || given > UINT32_MAX)
        strbuf_printf(&im->why, "has %zu outputs; %zu are supported", given, most);
    return given > 0 && given <= most && given <= UINT32_MAX;
}

static bool define_results(Importer *im, const NodeParts *parts, const Op *op, Value *first)
{
    for (uint32_t i = 0; i < parts->result_count && i < parts->node->n_output; i++) {
        const Ident *name = import_ident(im, parts->node->output[i]);
        Value *value = i == 0 ? first : op_result(op, i);
        if ((i == 0 || name->str.len > 0) && !import_define(im, name, value)) return false;
    }
    return true;
}

Op *import_append(Importer *im, const OpDef *def, Value *const *operands, size_t operand_count,
                  const Attr *attrs, uint32_t result_count)
{
    const Type **types = xcalloc(result_count, sizeof *types);
    for (size_t i = 0; i < result_count; i++) types[i] = type_none(im->ctx);
    OpState state = {.name = opinfo_of_def(im->ctx, def)->name,
                     .loc = im->b.loc,
                     .attrs = attrs,
                     .operands = operands,
                     .operand_count = (uint32_t)operand_count,
                     .result_types = types,
                     .result_count = result_count};
    Op *op = op_create(im->ctx, &state);
    op_append(op, im->b.block);
    bool ok = onnx_infer(op, types, &im->why);
    for (uint32_t i = 0; ok && i < result_count; i++) op->results[i].type = types[i];
    free_ptr((void **)&types);
    return ok ? op : NULL;
}

/* The value with its last dimension as dimension 1, or that one as the last. NULL: why tells. */
static Value *move_dimension(Importer *im, Value *value, bool to_front)
{
    const Type *type = value->type;
    if (!type_is_static(type) || type->u.shaped.rank < 3 || type->u.shaped.rank > ONNX_MAX_RANK) {
        strbuf_add_c(&im->why, "the layout needs a tensor (N, ..., C) of known shape");
        return NULL;
    }
    int64_t perm[ONNX_MAX_RANK], rank = type->u.shaped.rank;
    perm[0] = 0;
    for (int64_t i = 1; i < rank; i++)
        perm[i] = to_front ? (i == 1 ? rank - 1 : i - 1) : (i == rank - 1 ? 1 : i + 1);
    NamedAttr attr = build_named_attr(im->ctx, "perm", attr_i64_array(im->ctx, perm, (size_t)rank));
    Op *op = import_append(im, ONNX(TRANSPOSE), &value, 1, attr_dict(im->ctx, &attr, 1), 1);
    return op ? op_result(op, 0) : NULL;
}

static Value *append_unary(Importer *im, const OpDef *def, Value *value, const Attr *attrs)
{
    Op *op = import_append(im, def, &value, 1, attrs, 1);
    return op ? op_result(op, 0) : NULL;
}

/* The extents of a tensor as a constant, or computed while they are not known. */
static Value *shape_of(Importer *im, Value *value)
{
    if (!type_is_static(value->type)) return append_unary(im, ONNX(SHAPE), value, NULL);
    int64_t rank = value->type->u.shaped.rank;
    const Type *type = type_tensor(type_i(im->ctx, 64), &rank, 1, NULL);
    return onnx_build_constant(&im->b,
                               attr_dense_i64(type, value->type->u.shaped.dims, (size_t)rank));
}

/* Appends the ops in front of the node's own op. The axis of a Softmax moves to the Flatten. */
static bool append_before(Importer *im, NodeParts *parts)
{
    Value **input = parts->operands.data;
    if (parts->is_channels_last) *input = move_dimension(im, *input, true);
    /* Weights of a convolution are (output channels, …, input channels) there. */
    if (parts->is_channels_last && parts->def == ONNX(CONV) && parts->operands.len > 1)
        input[1] = move_dimension(im, input[1], true);
    if (parts->is_flat) {
        *input = append_unary(im, ONNX(FLATTEN), *input, parts->attrs);
        parts->attrs = attr_dict(im->ctx, NULL, 0);
    }
    bool has_weights = parts->operands.len < 2 || input[1] || parts->def != ONNX(CONV);
    return *input != NULL && has_weights;
}

/* Appends the ops behind it; returns the value that gets the name of result 0. */
static Value *append_after(Importer *im, const NodeParts *parts, Value *input, Value *result)
{
    if (parts->is_channels_last) return move_dimension(im, result, false);
    if (!parts->is_flat) return result;
    Value *operands[2] = {result, shape_of(im, input)};
    Op *op = operands[1] ? import_append(im, ONNX(RESHAPE), operands, 2, NULL, 1) : NULL;
    return op ? op_result(op, 0) : NULL;
}

static bool append_node(Importer *im, NodeParts *parts)
{
    if (parts->contrib) {
        Value *result = import_contrib_append(im, parts);
        return result && define_results(im, parts, NULL, result);
    }
    Value *input = parts->operands.len > 0 ? parts->operands.data[0] : NULL;
    bool is_wrapped = parts->is_channels_last || parts->is_flat;
    if (is_wrapped && !append_before(im, parts)) return false;
    Op *op = import_append(im, parts->def, parts->operands.data, parts->operands.len, parts->attrs,
                           parts->result_count);
    if (!op) return false;
    op_set_attr(op, ONNX_ATTR_NAME, parts->name);
    Value *first = is_wrapped ? append_after(im, parts, input, op_result(op, 0)) : op_result(op, 0);
    return first && define_results(im, parts, op, first);
}

static bool modernize(Importer *im, NodeParts *parts)
{
    if (parts->contrib) return import_contrib_prepare(im, parts);
    return import_upgrade_node(im, parts) && import_take_new_attrs(im, parts) &&
           finish_operands(im, parts);
}

static bool import_operator(Importer *im, const Onnx__NodeProto *node, Str name)
{
    NodeParts parts = {.node = node, .name = attr_string(im->ctx, name)};
    bool ok = find_operator(im, &parts) && collect_operands(im, &parts) &&
              collect_attrs(im, &parts) && modernize(im, &parts) && check_attrs(im, &parts) &&
              count_results(im, &parts) && append_node(im, &parts);
    vec_free(&parts.operands);
    return ok;
}

/* Reports "file: error: node 'conv1' (Conv): <why>", or enters it in the report; false. */
static bool node_error(Importer *im, const Onnx__NodeProto *node, Str name)
{
    StrBuf text = {0};
    strbuf_add_c(&text, "node ");
    strbuf_add_quoted(&text, name);
    strbuf_add_c(&text, " (");
    strbuf_add_escaped(&text, import_text(node->op_type));
    strbuf_add_c(&text, "): ");
    strbuf_add_str(&text, strbuf_str(&im->why));
    if (im->row)
        import_report_refusal(im, im->scope->outer ? strbuf_str(&text) : strbuf_str(&im->why));
    else
        diag_error(im->ctx, im->file, "%s", text.data);
    strbuf_free(&text);
    return false;
}

bool import_node(Importer *im, const Onnx__NodeProto *node, size_t index)
{
    StrBuf name = {0};
    bool ok, diagnosed = false;
    import_node_name(im, node, index, &name);
    im->b.loc = import_loc(im, strbuf_str(&name));
    const Onnx__FunctionProto *function = import_function_of_node(im, node);
    if (function)
        ok = import_function_inline(im, function, node, index, &diagnosed);
    else
        ok = import_operator(im, node, strbuf_str(&name));
    if (!ok && !diagnosed) node_error(im, node, strbuf_str(&name));
    strbuf_free(&name);
    return ok;
}
