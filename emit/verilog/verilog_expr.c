/* Expressions of Verilog from comb ops. The operands of a value are visited first, on a stack of
 * our own since chains may be long; a value that is open while it is visited again lies on a loop of
 * logic. Verilog takes the width of an expression from its context, which here is the width of the
 * value always: operands of comb ops have the result's width, and what stands in a concatenation,
 * a comparison or a cast has its own.
 * Tests: lit/emit/verilog/expressions.mir */
#include <assert.h>

#include "dialects/seq/seq.h"
#include "emit/verilog/internal.h"

enum { LONGEST_INLINE = 80, MOST_COLUMNS = 100 };

const char *verilog_printf(VerilogModule *m, const char *fmt, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    const char *copy = arena_copy(&m->arena, text.data, text.len + 1);
    strbuf_free(&text);
    return copy;
}

void verilog_add_wrapped(StrBuf *out, const char *text)
{
    size_t line = out->len;
    while (line > 0 && out->data[line - 1] != '\n') line--;
    while (*text) {
        size_t word = 1;
        while (text[word] && text[word] != ' ') word++;
        if (*text == ' ' && out->len - line + word > MOST_COLUMNS) {
            strbuf_add_char(out, '\n');
            line = out->len;
            strbuf_add_c(out, "        ");
            text++, word--;
        }
        strbuf_add(out, text, word);
        text += word;
    }
}

void verilog_add_type(StrBuf *out, const char *keyword, uint32_t width)
{
    strbuf_add_c(out, keyword);
    if (width > 1) strbuf_printf(out, " [%u:0]", width - 1);
}

void verilog_add_literal(StrBuf *out, const BigInt *value)
{
    enum { MOST_DECIMAL = 32 };
    strbuf_printf(out, "%u'", value->width);
    if (value->width == 1) {
        strbuf_printf(out, "b%d", !bigint_is_zero(value));
    } else if (value->width <= MOST_DECIMAL) {
        strbuf_printf(out, "d%llu", (unsigned long long)bigint_to_u64(value));
    } else {
        const uint64_t *words = bigint_words(value);
        uint32_t count = bigint_word_count(value->width);
        while (count > 1 && words[count - 1] == 0) count--;
        strbuf_printf(out, "h%llx", (unsigned long long)words[count - 1]);
        while (--count > 0) strbuf_printf(out, "%016llx", (unsigned long long)words[count - 1]);
    }
}

static void set_text(VerilogModule *m, const Value *value, VerilogText text)
{
    VerilogText *copy = arena_alloc(&m->arena, sizeof *copy);
    *copy = text;
    ptrmap_put(&m->texts, value, copy);
}

void verilog_set_name(VerilogModule *m, const Value *value, const char *name)
{
    set_text(m, value, (VerilogText){.text = name, .is_name = true, .is_atom = true});
}

static const VerilogText *known(const VerilogModule *m, const Value *value)
{
    return ptrmap_get(&m->texts, value);
}

/* Declares a wire for a value and gives it to the value. */
static void declare_wire(VerilogModule *m, const Value *value, Str hint, const char *text)
{
    StrBuf *out = &m->wires;
    const char *name = verilog_fresh_name(&m->names, hint.len ? hint : STR("n"));
    strbuf_add_c(out, "    ");
    verilog_add_type(out, "wire", type_width(value->type));
    strbuf_printf(out, " %s =", name);
    verilog_add_wrapped(out, verilog_printf(m, " %s;\n", text));
    verilog_set_name(m, value, name);
}

static Str name_hint(const Op *op)
{
    const Attr *hint = op_attr(op, HW_ATTR_NAME_HINT);
    return hint && hint->kind == ATTR_STRING ? hint->u.string : (Str){0};
}

static const Attr *constant_of(const Value *value)
{
    const Op *def = value_def(value);
    return def && def->def == HW(CONSTANT) ? op_attr(def, "value") : NULL;
}

/* The operand as part of a longer expression. */
static const char *operand_text(VerilogModule *m, const Value *value)
{
    const VerilogText *text = known(m, value);
    return text->is_atom ? text->text : verilog_printf(m, "(%s)", text->text);
}

static const char *signed_text(VerilogModule *m, const Value *value)
{
    return verilog_printf(m, "$signed(%s)", known(m, value)->text);
}

const char *verilog_selectable(VerilogModule *m, const Value *value)
{
    const VerilogText *text = known(m, value);
    if (!text->is_name) declare_wire(m, value, (Str){0}, text->text);
    return known(m, value)->text;
}

/* x of {sign of x, …, x} or {0, x}, where `value` is such an extension; else the value itself. */
typedef struct Extension {
    Value *inner;
    bool is_signed, is_extended;
} Extension;

static bool is_sign_of(const Value *bit, const Value *value)
{
    const Op *extract = value_def(bit);
    return extract && extract->def == COMB(EXTRACT) && op_operand(extract, 0) == value &&
           type_width(bit->type) == 1 && comb_low_bit(extract) == type_width(value->type) - 1;
}

static Extension match_extension(Value *value)
{
    Extension none = {.inner = value};
    const Op *concat = value_def(value);
    if (!concat || concat->def != COMB(CONCAT) || concat->operand_count != 2) return none;
    Value *high = op_operand(concat, 0), *low = op_operand(concat, 1);
    const Attr *number = constant_of(high);
    if (number && bigint_is_zero(&number->u.integer))
        return (Extension){.inner = low, .is_extended = true};
    const Op *replicate = value_def(high);
    if (replicate && replicate->def == COMB(REPLICATE)) high = op_operand(replicate, 0);
    if (!is_sign_of(high, low)) return none;
    return (Extension){.inner = low, .is_signed = true, .is_extended = true};
}

/* A product of numbers that were extended to the result's width is printed as that of the narrow
 * ones: tools then see which multiplier it takes. A constant is as signed as the other factor. */
static bool match_product(const Op *op, Extension factors[2])
{
    if (op->def != COMB(MUL) || op->operand_count != 2) return false;
    bool any = false;
    for (uint32_t i = 0; i < 2; i++) {
        factors[i] = match_extension(op_operand(op, i));
        any |= factors[i].is_extended;
        if (!factors[i].is_extended && !constant_of(factors[i].inner)) return false;
    }
    for (uint32_t i = 0; i < 2; i++)
        if (!factors[i].is_extended) factors[i].is_signed = factors[1 - i].is_signed;
    return any;
}

/* A factor keeps its width in braces and casts: a sum in parentheses would become as wide as the
 * product, and keep the carry that it loses. */
static const char *factor_text(VerilogModule *m, const Extension *factor, bool is_signed)
{
    const VerilogText *text = known(m, factor->inner);
    if (!is_signed) return text->is_atom ? text->text : verilog_printf(m, "{%s}", text->text);
    if (factor->is_signed) return signed_text(m, factor->inner);
    return verilog_printf(m, "$signed({1'b0, %s})", known(m, factor->inner)->text);
}

static const char *product_text(VerilogModule *m, const Extension factors[2])
{
    bool is_signed = factors[0].is_signed || factors[1].is_signed;
    const char *first = factor_text(m, &factors[0], is_signed);
    return verilog_printf(m, "%s * %s", first, factor_text(m, &factors[1], is_signed));
}

static const char *list_text(VerilogModule *m, const Op *op, const char *separator, bool in_braces)
{
    StrBuf out = {0};
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (i) strbuf_add_c(&out, separator);
        const Value *operand = op_operand(op, i);
        strbuf_add_c(&out, in_braces ? known(m, operand)->text : operand_text(m, operand));
    }
    const char *text = verilog_printf(m, in_braces ? "{%s}" : "%s", out.data);
    strbuf_free(&out);
    return text;
}

/* x ^ 11…1 -> ~x */
static const char *xor_text(VerilogModule *m, const Op *op)
{
    for (uint32_t i = 0; op->operand_count == 2 && i < 2; i++) {
        const Attr *number = constant_of(op_operand(op, i));
        const Type *type = op_result(op, 0)->type;
        if (number && number == attr_int(type, -1))
            return verilog_printf(m, "~%s", operand_text(m, op_operand(op, 1 - i)));
    }
    return list_text(m, op, " ^ ", false);
}

static const char *shift_text(VerilogModule *m, const Op *op, const char *sign)
{
    const Value *value = op_operand(op, 0), *by = op_operand(op, 1);
    const Attr *number = constant_of(by);
    const char *left = op->def == COMB(SHRS) ? signed_text(m, value) : operand_text(m, value);
    bool is_small =
        number && number->u.integer.width <= 64 && bigint_to_u64(&number->u.integer) <= INT32_MAX;
    if (is_small)
        return verilog_printf(m, "%s %s %u", left, sign,
                              (unsigned)bigint_to_u64(&number->u.integer));
    return verilog_printf(m, "%s %s %s", left, sign, operand_text(m, by));
}

static const char *icmp_text(VerilogModule *m, const Op *op)
{
    static const char *const signs[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
    CombPredicate predicate = comb_predicate(op);
    bool is_signed = predicate >= COMB_SLT && predicate <= COMB_SGE;
    const char *texts[2];
    for (uint32_t i = 0; i < 2; i++)
        texts[i] =
            is_signed ? signed_text(m, op_operand(op, i)) : operand_text(m, op_operand(op, i));
    return verilog_printf(m, "%s %s %s", texts[0], signs[predicate], texts[1]);
}

static const char *extract_text(VerilogModule *m, const Op *op)
{
    const Value *value = op_operand(op, 0);
    uint32_t low = comb_low_bit(op), width = type_width(op_result(op, 0)->type);
    if (width == type_width(value->type)) return operand_text(m, value);
    const char *name = verilog_selectable(m, value);
    if (width == 1) return verilog_printf(m, "%s[%u]", name, low);
    return verilog_printf(m, "%s[%u:%u]", name, low + width - 1, low);
}

static const char *replicate_text(VerilogModule *m, const Op *op)
{
    uint32_t times = type_width(op_result(op, 0)->type) / type_width(op_operand(op, 0)->type);
    return verilog_printf(m, "{%u{%s}}", times, known(m, op_operand(op, 0))->text);
}

static const char *mux_text(VerilogModule *m, const Op *op)
{
    const char *condition = operand_text(m, op_operand(op, 0));
    const char *if_true = operand_text(m, op_operand(op, 1));
    return verilog_printf(m, "%s ? %s : %s", condition, if_true,
                          operand_text(m, op_operand(op, 2)));
}

static const char *comb_text(VerilogModule *m, const Op *op)
{
    Extension factors[2];
    switch (op->def - comb_ops) {
    case COMB_ADD: return list_text(m, op, " + ", false);
    case COMB_SUB: return list_text(m, op, " - ", false);
    case COMB_MUL:
        return match_product(op, factors) ? product_text(m, factors)
                                          : list_text(m, op, " * ", false);
    case COMB_AND: return list_text(m, op, " & ", false);
    case COMB_OR: return list_text(m, op, " | ", false);
    case COMB_XOR: return xor_text(m, op);
    case COMB_SHL: return shift_text(m, op, "<<");
    case COMB_SHRU: return shift_text(m, op, ">>");
    case COMB_SHRS: return shift_text(m, op, ">>>");
    case COMB_ICMP: return icmp_text(m, op);
    case COMB_EXTRACT: return extract_text(m, op);
    case COMB_CONCAT: return list_text(m, op, ", ", true);
    case COMB_REPLICATE: return replicate_text(m, op);
    default: return mux_text(m, op);
    }
}

static bool is_atom(const Op *op)
{
    return op->def == COMB(EXTRACT) || op->def == COMB(CONCAT) || op->def == COMB(REPLICATE);
}

/* A product and a signed shift depend on the signs of a whole expression, which other operands
 * would change: each is an expression of its own. */
static bool stands_alone(const Op *op)
{
    return op->def == COMB(MUL) || op->def == COMB(SHRS);
}

/* Where a word of a memory is. Icarus computes sums there wider than their operands. */
static bool is_address(const Value *value)
{
    FOR_EACH_USE(use, value)
        if ((use->owner->def == SEQ(FIRMEM_READ_PORT) ||
             use->owner->def == SEQ(FIRMEM_WRITE_PORT)) &&
            seq_port(use->owner).address == value)
            return true;
    return false;
}

/* Its operands have texts. */
static void finish(VerilogModule *m, const Op *op)
{
    const Value *value = op_result(op, 0);
    Str hint = name_hint(op);
    const char *text = comb_text(m, op);
    bool is_short = str_from(text).len <= LONGEST_INLINE;
    bool is_single = value_has_one_use(value) || op->def == COMB(EXTRACT);
    bool is_sum = !is_atom(op) && is_address(value);
    if (hint.len || !is_single || !is_short || stands_alone(op) || is_sum)
        declare_wire(m, value, hint, text);
    else
        set_text(m, value, (VerilogText){.text = text, .is_atom = is_atom(op)});
}

/* The operand number `index` that the op's text is made of; NULL: there are no more. */
static Value *next_operand(const Op *op, uint32_t index)
{
    Extension factors[2];
    if (index >= op->operand_count) return NULL;
    return match_product(op, factors) ? factors[index].inner : op_operand(op, index);
}

typedef struct Visit {
    Op *op;
    uint32_t next; /* operand */
} Visit;

typedef VEC(Visit) VisitStack;

/* Pushes the comb op that defines the value, if it has no text yet. False: diagnosed. */
static bool push(VerilogModule *m, VisitStack *stack, Value *value)
{
    Op *op = value_def(value);
    if (known(m, value)) return true;
    const Attr *number = constant_of(value);
    if (number) {
        StrBuf text = {0};
        verilog_add_literal(&text, &number->u.integer);
        set_text(m, value,
                 (VerilogText){.text = verilog_printf(m, "%s", text.data), .is_atom = true});
        strbuf_free(&text);
        return true;
    }
    assert(op->def && op->def->dialect == &comb_dialect);
    if (ptrmap_put(&m->visited, op, m)) return op_error(op, "is in a loop of logic");
    *vec_push(stack) = (Visit){.op = op};
    return true;
}

const VerilogText *verilog_text(VerilogModule *m, Value *value)
{
    VisitStack stack = {0};
    bool ok = push(m, &stack, value);
    while (ok && stack.len) {
        Visit *top = &stack.data[stack.len - 1];
        Value *operand = next_operand(top->op, top->next++);
        if (operand) {
            ok = push(m, &stack, operand);
            continue;
        }
        finish(m, top->op);
        ok = verilog_has_room(m, top->op);
        stack.len--;
    }
    vec_free(&stack);
    return ok ? known(m, value) : NULL;
}
