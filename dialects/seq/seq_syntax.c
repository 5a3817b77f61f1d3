/* Text of registers, memories and their ports, as CIRCT writes it.
 * Tests: lit/dialects/seq/ops.mir, lit/dialects/seq/invalid.mir */
#include "dialects/seq/internal.h"

const char *const seq_ruw_names[] = {"undefined", "old", "new", NULL};
const char *const seq_wuw_names[] = {"undefined", "port_order", NULL};

/* ("name" string)?: by default the name of the result is meant */
static bool parse_name(OpParser *p)
{
    Str name = parser_result_name(p);
    if (parser_try(p, "name") && !parser_string(p, &name)) return false;
    if (name.len) parser_set_attr(p, "name", attr_string(parser_ctx(p), name));
    return true;
}

static void print_name(OpPrinter *p, const Op *op)
{
    const Attr *name = op_attr(op, "name");
    if (!name || printer_is_dry(p)) return;
    StrBuf spelt = {0};
    size_t start = printer_out(p)->len;
    printer_value(p, op_result(op, 0));
    strbuf_add(&spelt, printer_out(p)->data + start, printer_out(p)->len - start);
    printer_out(p)->len = start;
    bool same = str_eq((Str){spelt.data + 1, spelt.len - 1}, name->u.string);
    strbuf_free(&spelt);
    if (same) return;
    printer_text(p, " name ");
    printer_attr(p, name);
}

/* The operand groups of an op that is being read: which are there, and their names and types. */
enum { MOST_GROUPS = 6 };

typedef struct Groups {
    OperandRef refs[MOST_GROUPS];
    const Type *types[MOST_GROUPS];
    int32_t sizes[MOST_GROUPS];
    uint32_t count;
} Groups;

static bool add_operand(OpParser *p, Groups *groups, const Type *type)
{
    uint32_t at = groups->count++;
    groups->types[at] = type;
    groups->sizes[at] = 1;
    return parser_operand(p, &groups->refs[at]);
}

static void add_absent(Groups *groups)
{
    groups->sizes[groups->count++] = 0;
}

/* (keyword %value)? */
static bool add_optional(OpParser *p, Groups *groups, const char *keyword, const Type *type)
{
    if (parser_try(p, keyword)) return add_operand(p, groups, type);
    add_absent(groups);
    return true;
}

static bool resolve_groups(OpParser *p, const Groups *groups, bool with_segments)
{
    if (with_segments)
        parser_set_attr(p, "operandSegmentSizes",
                        attr_dense_array(type_i(parser_ctx(p), 32), groups->sizes, groups->count));
    for (uint32_t i = 0; i < groups->count; i++)
        if (groups->sizes[i] && !parser_resolve(p, &groups->refs[i], groups->types[i]))
            return false;
    return true;
}

/* ("reset" %reset "," %value)? */
static bool parse_reset(OpParser *p, Groups *groups)
{
    if (parser_try(p, "reset"))
        return add_operand(p, groups, type_i(parser_ctx(p), 1)) && parser_expect(p, ",") &&
               add_operand(p, groups, NULL);
    add_absent(groups);
    add_absent(groups);
    return true;
}

/* ("[" int "]")? name? %input "," %clock ("," %enable)? reset? ("initial" | "powerOn" %value)?
 * attr-dict? ":" type */
bool seq_parse_register(OpParser *p)
{
    Groups groups = {0};
    Context *ctx = parser_ctx(p);
    Str name = parser_op_name(p);
    bool shifts = str_eq_c(name, "seq.shiftreg"), enabled = !str_eq_c(name, "seq.compreg");
    int64_t elements;
    if (shifts) {
        if (!parser_expect(p, "[") || !parser_int(p, &elements) || !parser_expect(p, "]"))
            return false;
        parser_set_attr(p, "numElements", attr_i64(ctx, elements));
    }
    if (!parse_name(p) || !add_operand(p, &groups, NULL) || !parser_expect(p, ",") ||
        !add_operand(p, &groups, seq_clock(ctx)))
        return false;
    if (enabled && (!parser_expect(p, ",") || !add_operand(p, &groups, type_i(ctx, 1))))
        return false;
    if (!parse_reset(p, &groups) ||
        !add_optional(p, &groups, shifts ? "powerOn" : "initial", NULL) ||
        !parser_attr_dict(p, false) || !parser_expect(p, ":"))
        return false;
    const Type *type = parser_type(p);
    if (!type) return false;
    for (uint32_t i = 0; i < groups.count; i++)
        if (!groups.types[i]) groups.types[i] = type;
    if (!shifts) groups.types[groups.count - 1] = seq_immutable(type);
    parser_add_result(p, type);
    return resolve_groups(p, &groups, true);
}

static void print_optional(OpPrinter *p, const char *word, const Value *value)
{
    if (!value) return;
    printer_text(p, word);
    printer_value(p, value);
}

void seq_print_register(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"numElements", "name", "operandSegmentSizes", NULL};
    SeqRegister reg = seq_register(op);
    if (op->def == SEQ(SHIFTREG))
        strbuf_printf(printer_out(p), "[%lld]",
                      (long long)attr_int_value(op_attr(op, "numElements")));
    print_name(p, op);
    print_optional(p, " ", reg.input);
    print_optional(p, ", ", reg.clock);
    print_optional(p, ", ", reg.enable);
    print_optional(p, " reset ", reg.reset);
    print_optional(p, ", ", reg.reset_value);
    print_optional(p, op->def == SEQ(SHIFTREG) ? " powerOn " : " initial ", reg.initial);
    printer_attr_dict(p, op, elided);
    printer_text(p, " : ");
    printer_type(p, op_result(op, 0)->type);
}

/* keyword of the list, stored as an i32 */
static bool parse_case(OpParser *p, const char *attr, const char *const *names)
{
    for (int i = 0; names[i]; i++) {
        if (!parser_try(p, names[i])) continue;
        parser_set_attr(p, attr, attr_int(type_i(parser_ctx(p), 32), i));
        return true;
    }
    return parser_error(p, "expected '%s' or another case of '%s'", names[0], attr);
}

static bool parse_latency(OpParser *p, const char *attr)
{
    int64_t cycles;
    if (!parser_int(p, &cycles)) return false;
    parser_set_attr(p, attr, attr_int(type_i(parser_ctx(p), 32), cycles));
    return true;
}

/* name? read-latency "," write-latency "," ruw "," wuw attr-dict? ":" "<" … ">" */
bool seq_parse_firmem(OpParser *p)
{
    if (!parse_name(p) || !parse_latency(p, "readLatency") || !parser_expect(p, ",") ||
        !parse_latency(p, "writeLatency") || !parser_expect(p, ",") ||
        !parse_case(p, "ruw", seq_ruw_names) || !parser_expect(p, ",") ||
        !parse_case(p, "wuw", seq_wuw_names) || !parser_attr_dict(p, false) ||
        !parser_expect(p, ":"))
        return false;
    const Type *type = seq_type_firmem.parse(p);
    if (type) parser_add_result(p, type);
    return type != NULL;
}

static int64_t int_attr(const Op *op, const char *name)
{
    return attr_int_value(op_attr(op, name));
}

static void print_firmem_type(OpPrinter *p, const Type *type)
{
    printer_text(p, " : ");
    seq_type_firmem.print(printer_out(p), type);
}

void seq_print_firmem(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"name", "readLatency", "writeLatency", "ruw", "wuw", NULL};
    print_name(p, op);
    strbuf_printf(printer_out(p), " %lld, %lld, %s, %s", (long long)int_attr(op, "readLatency"),
                  (long long)int_attr(op, "writeLatency"), seq_ruw_names[int_attr(op, "ruw")],
                  seq_wuw_names[int_attr(op, "wuw")]);
    printer_attr_dict(p, op, elided);
    print_firmem_type(p, op_result(op, 0)->type);
}

/* %memory "[" %address "]" ("=" %data)? "," "clock" %clock ("enable" %enable)? ("mask" %mask)?
 * attr-dict? ":" "<" … ">" ("," type-of-mask)? */
bool seq_parse_port(OpParser *p)
{
    enum { P_MEMORY, P_ADDRESS, P_CLOCK, P_ENABLE, P_DATA, P_MASK };
    bool writes = str_eq_c(parser_op_name(p), "seq.firmem.write_port");
    Context *ctx = parser_ctx(p);
    const Type *i1 = type_i(ctx, 1);
    Groups groups = {0};
    OperandRef data;
    if (!add_operand(p, &groups, NULL) || !parser_expect(p, "[") ||
        !add_operand(p, &groups, NULL) || !parser_expect(p, "]"))
        return false;
    if (writes && (!parser_expect(p, "=") || !parser_operand(p, &data))) return false;
    if (!parser_expect(p, ",") || !parser_expect(p, "clock") ||
        !add_operand(p, &groups, seq_clock(ctx)) || !add_optional(p, &groups, "enable", i1))
        return false;
    if (writes) {
        groups.refs[P_DATA] = data;
        groups.sizes[P_DATA] = 1;
        groups.count = P_DATA + 1;
        if (!add_optional(p, &groups, "mask", NULL)) return false;
    }
    if (!parser_attr_dict(p, false) || !parser_expect(p, ":")) return false;
    const Type *memory = seq_type_firmem.parse(p);
    if (!memory) return false;
    const Type *word = type_i(ctx, seq_firmem_width(memory));
    groups.types[P_MEMORY] = memory;
    groups.types[P_ADDRESS] = type_i(ctx, seq_firmem_address_width(memory));
    groups.types[P_DATA] = word;
    if (groups.sizes[P_MASK] &&
        (!parser_expect(p, ",") || !(groups.types[P_MASK] = parser_type(p))))
        return false;
    if (!writes) parser_add_result(p, word);
    return resolve_groups(p, &groups, writes);
}

void seq_print_port(OpPrinter *p, const Op *op)
{
    static const char *const elided[] = {"operandSegmentSizes", NULL};
    SeqPort port = seq_port(op);
    print_optional(p, " ", port.memory);
    print_optional(p, "[", port.address);
    printer_text(p, "]");
    print_optional(p, " = ", port.data);
    print_optional(p, ", clock ", port.clock);
    print_optional(p, " enable ", port.enable);
    print_optional(p, " mask ", port.mask);
    printer_attr_dict(p, op, elided);
    print_firmem_type(p, port.memory->type);
    if (!port.mask) return;
    printer_text(p, ", ");
    printer_type(p, port.mask->type);
}
