/* Text of the dfg dialect. The types of ends are not written: a port, channel, pull or push names
 * its payload instead, as `tensor<1x8x8x4xi8>` or, with words of four elements, as
 * `tensor<1x8x8x4xi8> by [1, 1, 1, 4]`.
 * Tests: lit/dialects/dfg/ops.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/dfg/internal.h"

/* A payload as written: what a channel carries and in which words. */
typedef struct DfgPayload {
    const Type *type;
    const Attr *word; /* array<i64>, or NULL for one element a word */
} DfgPayload;

/* "[" int ("," int)* "]" */
static const Attr *parse_word(OpParser *p)
{
    VEC(int64_t) extents = {0};
    bool ok = parser_expect(p, "[");
    do {
        ok = ok && parser_int(p, vec_push(&extents));
    } while (ok && parser_try(p, ","));
    ok = ok && parser_expect(p, "]");
    const Attr *word = ok ? attr_i64_array(parser_ctx(p), extents.data, extents.len) : NULL;
    vec_free(&extents);
    return word;
}

/* type ("by" word)? */
static bool parse_payload(OpParser *p, DfgPayload *out)
{
    out->word = NULL;
    out->type = parser_type(p);
    if (!out->type) return false;
    if (!parser_try(p, "by")) return true;
    out->word = parse_word(p);
    return out->word != NULL;
}

static const Type *end_type(OpParser *p, const TypeDef *def, const DfgPayload *payload,
                            const Attr *loc)
{
    const Attr *params[2] = {attr_type(payload->type), payload->word};
    size_t count = payload->word ? 2 : 1;
    if (!def->verify(parser_ctx(p), loc, params, count)) return NULL;
    return type_dialect(parser_ctx(p), def, params, count);
}

static void print_word(StrBuf *out, const Type *end)
{
    if (end->u.dialect.param_count == 1) return;
    const Attr *word = end->u.dialect.params[1];
    strbuf_add_c(out, " by [");
    for (size_t i = 0; i < word->u.dense_array.count; i++) {
        if (i) strbuf_add_c(out, ", ");
        strbuf_add_int(out, dense_array_i64(word, i));
    }
    strbuf_add_char(out, ']');
}

static void print_payload(OpPrinter *p, const Type *end)
{
    printer_type(p, dfg_payload(end));
    print_word(printer_out(p), end);
}

static const Type *parse_end_type(OpParser *p, const TypeDef *def)
{
    DfgPayload payload;
    const Attr *loc = parser_loc(p);
    if (!parser_expect(p, "<") || !parse_payload(p, &payload) || !parser_expect(p, ">"))
        return NULL;
    return end_type(p, def, &payload, loc);
}

const Type *dfg_parse_input_type(OpParser *p)
{
    return parse_end_type(p, &dfg_type_input);
}

const Type *dfg_parse_output_type(OpParser *p)
{
    return parse_end_type(p, &dfg_type_output);
}

void dfg_print_end_type(StrBuf *out, const Type *type)
{
    strbuf_add_char(out, '<');
    type_print(out, dfg_payload(type));
    print_word(out, type);
    strbuf_add_char(out, '>');
}

typedef struct DfgPorts {
    ArgDecls args;
    VEC(const Attr *) attrs;
    bool any_attrs;
} DfgPorts;

/* "(" (%name ":" payload attr-dict? ("," …)*)? ")" */
static bool parse_ports(OpParser *p, const TypeDef *def, DfgPorts *ports)
{
    if (!parser_expect(p, "(")) return false;
    if (parser_try(p, ")")) return true;
    do {
        ArgDecl arg = {0};
        DfgPayload payload;
        if (!parser_arg(p, &arg, false, false) || !parser_expect(p, ":")) return false;
        const Attr *loc = parser_loc(p);
        if (!parse_payload(p, &payload)) return false;
        arg.type = end_type(p, def, &payload, loc);
        const Attr *attrs = attr_dict(parser_ctx(p), NULL, 0);
        if (!arg.type || (parser_at(p, "{") && !(attrs = parser_attr(p, NULL)))) return false;
        ports->any_attrs |= attrs->u.dict.count > 0;
        *vec_push(&ports->args) = arg;
        *vec_push(&ports->attrs) = attrs;
    } while (parser_try(p, ","));
    return parser_expect(p, ")");
}

static void set_signature(OpParser *p, const DfgPorts *ports, size_t inputs)
{
    Context *ctx = parser_ctx(p);
    TypeList types = {0};
    for (size_t i = 0; i < ports->args.len; i++) *vec_push(&types) = ports->args.data[i].type;
    const Type *type =
        type_function(ctx, types.data, inputs, vec_from(&types, inputs), types.len - inputs);
    parser_set_attr(p, "function_type", attr_type(type));
    if (ports->any_attrs)
        parser_set_attr(p, "port_attrs", attr_array(ctx, ports->attrs.data, ports->attrs.len));
    vec_free(&types);
}

/* @name ("inputs" ports)? ("outputs" ports)? ("attributes" dict)? region */
bool dfg_parse_graph(OpParser *p)
{
    DfgPorts ports = {0};
    const Attr *name = parser_symbol_name(p);
    bool ok = name != NULL;
    if (ok) parser_set_attr(p, "sym_name", name);
    ok = ok && (!parser_try(p, "inputs") || parse_ports(p, &dfg_type_output, &ports));
    size_t inputs = ports.args.len;
    ok = ok && (!parser_try(p, "outputs") || parse_ports(p, &dfg_type_input, &ports));
    if (ok) set_signature(p, &ports, inputs);
    ok = ok && parser_attr_dict(p, true) && parser_region(p, ports.args.data, ports.args.len);
    if (ok && region_is_empty(parser_last_region(p))) /* "{}" */
        block_append(block_create(parser_ctx(p)), parser_last_region(p));
    vec_free(&ports.args);
    vec_free(&ports.attrs);
    return ok;
}

static void print_ports(OpPrinter *p, const Op *op, const char *word, uint32_t begin,
                        uint32_t count)
{
    StrBuf *out = printer_out(p);
    if (count == 0) return;
    strbuf_printf(out, " %s(", word);
    for (uint32_t i = begin; i < begin + count; i++) {
        if (i > begin) strbuf_add_c(out, ", ");
        printer_value(p, dfg_port(op, i));
        strbuf_add_c(out, ": ");
        print_payload(p, dfg_port(op, i)->type);
        const Attr *attrs = dfg_port_attrs(op, i);
        if (attrs->u.dict.count == 0) continue;
        strbuf_add_char(out, ' ');
        printer_attr(p, attrs);
    }
    strbuf_add_char(out, ')');
}

void dfg_print_graph(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"sym_name", "function_type", "port_attrs", NULL};
    uint32_t inputs = dfg_input_count(op);
    printer_text(p, " ");
    printer_symbol_name(p, op_attr(op, "sym_name")->u.string);
    print_ports(p, op, "inputs", 0, inputs);
    print_ports(p, op, "outputs", inputs, dfg_output_count(op));
    printer_attr_dict_keyword(p, op, elided);
    printer_text(p, " ");
    printer_region(p, op_region(op, 0), false, true);
}

/* "(" int? ")" attr-dict ":" payload */
bool dfg_parse_channel(OpParser *p)
{
    bool has_depth = false;
    int64_t depth = 0;
    DfgPayload payload;
    if (!parser_expect(p, "(") || !parser_try_int(p, &depth, &has_depth) || !parser_expect(p, ")"))
        return false;
    if (has_depth) parser_set_attr(p, "depth", attr_i64(parser_ctx(p), depth));
    const Attr *loc = parser_loc(p);
    if (!parser_attr_dict(p, false) || !parser_expect(p, ":") || !parse_payload(p, &payload))
        return false;
    const Type *ends[2] = {end_type(p, &dfg_type_input, &payload, loc),
                           end_type(p, &dfg_type_output, &payload, loc)};
    if (!ends[0] || !ends[1]) return false;
    parser_add_results(p, ends, 2);
    return true;
}

void dfg_print_channel(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"depth", NULL};
    const Attr *depth = op_attr(op, "depth");
    printer_text(p, "(");
    if (depth) strbuf_add_int(printer_out(p), attr_int_value(depth));
    printer_text(p, ")");
    printer_attr_dict(p, op, elided);
    printer_text(p, " : ");
    print_payload(p, op_result(op, 0)->type);
}

/* "(" operands ")" */
static bool parse_end_list(OpParser *p, OperandRefs *refs)
{
    return parser_expect(p, "(") && parser_operand_list(p, refs) && parser_expect(p, ")");
}

/* "(" (payload ("," payload)*)? ")" resolving refs in order */
static bool resolve_payloads(OpParser *p, const TypeDef *def, const OperandRefs *refs)
{
    const Attr *loc = parser_loc(p);
    if (!parser_expect(p, "(")) return false;
    for (size_t i = 0; i < refs->len; i++) {
        DfgPayload payload;
        if ((i && !parser_expect(p, ",")) || !parse_payload(p, &payload)) return false;
        const Type *type = end_type(p, def, &payload, loc);
        if (!type || !parser_resolve(p, &refs->data[i], type)) return false;
    }
    return parser_expect(p, ")");
}

/* @f ("inputs" ends)? ("outputs" ends)? attr-dict ":" payloads "->" payloads */
bool dfg_parse_instantiate(OpParser *p)
{
    OperandRefs inputs = {0}, outputs = {0};
    const Attr *name = parser_symbol_name(p);
    bool ok = name && (!parser_try(p, "inputs") || parse_end_list(p, &inputs)) &&
              (!parser_try(p, "outputs") || parse_end_list(p, &outputs)) &&
              parser_attr_dict(p, false) && parser_expect(p, ":") &&
              resolve_payloads(p, &dfg_type_output, &inputs) && parser_expect(p, "->") &&
              resolve_payloads(p, &dfg_type_input, &outputs);
    if (ok) {
        Context *ctx = parser_ctx(p);
        int32_t segments[2] = {(int32_t)inputs.len, (int32_t)outputs.len};
        parser_set_attr(p, "callee", attr_symbol(ctx, ident_get(ctx, name->u.string)));
        parser_set_attr(p, "operandSegmentSizes", attr_dense_array(type_i(ctx, 32), segments, 2));
    }
    vec_free(&inputs);
    vec_free(&outputs);
    return ok;
}

static void print_payload_list(OpPrinter *p, const Op *op, uint32_t begin, uint32_t count)
{
    printer_text(p, "(");
    for (uint32_t i = begin; i < begin + count; i++) {
        if (i > begin) printer_text(p, ", ");
        print_payload(p, op_operand(op, i)->type);
    }
    printer_text(p, ")");
}

static void print_end_list(OpPrinter *p, const Op *op, const char *word, uint32_t begin,
                           uint32_t count)
{
    if (count == 0) return;
    strbuf_printf(printer_out(p), " %s(", word);
    printer_values(p, op, begin, count);
    printer_text(p, ")");
}

void dfg_print_instantiate(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"callee", "operandSegmentSizes", NULL};
    uint32_t begin, inputs;
    op_operand_group(op, 0, &begin, &inputs);
    printer_text(p, " ");
    printer_symbol_name(p, op_attr(op, "callee")->u.symbol.names[0]->str);
    print_end_list(p, op, "inputs", 0, inputs);
    print_end_list(p, op, "outputs", inputs, op->operand_count - inputs);
    printer_attr_dict(p, op, elided);
    printer_text(p, " : ");
    print_payload_list(p, op, 0, inputs);
    printer_text(p, " -> ");
    print_payload_list(p, op, inputs, op->operand_count - inputs);
}

/* %port "," %channel attr-dict ":" payload */
bool dfg_parse_connect(OpParser *p)
{
    OperandRef port, channel;
    DfgPayload payload;
    bool is_input = str_eq_c(parser_op_name(p), "dfg.connect.input");
    const Attr *loc = parser_loc(p);
    if (!parser_operand(p, &port) || !parser_expect(p, ",") || !parser_operand(p, &channel) ||
        !parser_attr_dict(p, false) || !parser_expect(p, ":") || !parse_payload(p, &payload))
        return false;
    const Type *receiving = end_type(p, &dfg_type_output, &payload, loc);
    const Type *sending = end_type(p, &dfg_type_input, &payload, loc);
    return receiving && sending && parser_resolve(p, &port, is_input ? receiving : sending) &&
           parser_resolve(p, &channel, is_input ? sending : receiving);
}

void dfg_print_connect(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_values(p, op, 0, 2);
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    print_payload(p, op_operand(op, 0)->type);
}

/* %channel attr-dict ":" payload */
bool dfg_parse_pull(OpParser *p)
{
    OperandRef channel;
    DfgPayload payload;
    const Attr *loc = parser_loc(p);
    if (!parser_operand(p, &channel) || !parser_attr_dict(p, false) || !parser_expect(p, ":") ||
        !parse_payload(p, &payload))
        return false;
    const Type *end = end_type(p, &dfg_type_output, &payload, loc);
    if (!end || !parser_resolve(p, &channel, end)) return false;
    parser_add_result(p, payload.type);
    return true;
}

void dfg_print_pull(OpPrinter *p, const Op *op)
{
    printer_text(p, " ");
    printer_value(p, op_operand(op, 0));
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    print_payload(p, op_operand(op, 0)->type);
}

/* "(" %value ")" %channel attr-dict ":" payload */
bool dfg_parse_push(OpParser *p)
{
    OperandRef value, channel;
    DfgPayload payload;
    const Attr *loc = parser_loc(p);
    if (!parser_expect(p, "(") || !parser_operand(p, &value) || !parser_expect(p, ")") ||
        !parser_operand(p, &channel) || !parser_attr_dict(p, false) || !parser_expect(p, ":") ||
        !parse_payload(p, &payload))
        return false;
    const Type *end = end_type(p, &dfg_type_input, &payload, loc);
    return end && parser_resolve(p, &value, payload.type) && parser_resolve(p, &channel, end);
}

void dfg_print_push(OpPrinter *p, const Op *op)
{
    printer_text(p, "(");
    printer_value(p, op_operand(op, 0));
    printer_text(p, ") ");
    printer_value(p, op_operand(op, 1));
    printer_attr_dict(p, op, NULL);
    printer_text(p, " : ");
    print_payload(p, op_operand(op, 1)->type);
}
