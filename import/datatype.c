/* Datatypes of tensors, from the option --input-type or of FINN and QONNX: a file's quantization_annotation says which integers the floats of a
 * tensor are. An input with one goes through a quantizer of that range with the scale of its grid,
 * which changes nothing for the numbers that the annotation promises, and tells every later stage
 * what they are. Tensors in between need none: their integers follow from what computes them.
 *   datatype ::= 'BIPOLAR' | 'BINARY' | 'TERNARY' | ('INT' | 'UINT') bits
 *              | 'FIXED<' bits ',' integer-bits '>' | floats and scaled integers, which say nothing
 *   input-type ::= [name '='] ('int' | 'uint') bits [':' scale [':' zero-point]]
 * Tests: lit/import/datatype.test, lit/import/input-type.test, test/e2e/networks_check.py */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/onnx/onnx.h"
#include "import/internal.h"

typedef struct Datatype {
    bool is_bipolar, is_signed, is_narrow, is_real; /* is_real: nothing to quantize */
    int64_t bits, zero;
    double scale; /* real = (integer - zero) * scale */
} Datatype;

/* Takes the beginning of a text off; false: it begins otherwise. */
static bool take(Str *text, const char *prefix)
{
    Str wanted = str_from(prefix);
    if (text->len < wanted.len || !str_eq((Str){text->data, wanted.len}, wanted)) return false;
    *text = (Str){text->data + wanted.len, text->len - wanted.len};
    return true;
}

/* A number of one to three digits. */
static bool take_number(Str *text, int64_t *out)
{
    size_t digits = 0;
    for (*out = 0; digits < text->len && digits < 3; digits++) {
        char c = text->data[digits];
        if (c < '0' || c > '9') break;
        *out = *out * 10 + (c - '0');
    }
    *text = (Str){text->data + digits, text->len - digits};
    return digits > 0;
}

static bool parse_datatype(Str text, Datatype *out)
{
    int64_t integer_bits;
    *out = (Datatype){.is_signed = true, .scale = 1.0};
    if (str_eq_c(text, "BIPOLAR")) {
        out->is_bipolar = true;
        return true;
    }
    if (take(&text, "FLOAT") || take(&text, "SCALEDINT<")) {
        out->is_real = true;
        return true;
    }
    if (str_eq_c(text, "BINARY") || str_eq_c(text, "TERNARY")) {
        out->is_signed = out->is_narrow = str_eq_c(text, "TERNARY");
        out->bits = out->is_signed ? 2 : 1;
        return true;
    }
    if (take(&text, "FIXED<")) {
        if (!take_number(&text, &out->bits) || !take(&text, ",") ||
            !take_number(&text, &integer_bits) || !take(&text, ">"))
            return false;
        out->scale = onnx_exact_pow2((int)(integer_bits - out->bits));
    } else {
        out->is_signed = !take(&text, "U");
        if (!take(&text, "INT") || !take_number(&text, &out->bits)) return false;
    }
    return text.len == 0 && out->bits >= 1 && out->bits <= QUANT_MAX_BITS;
}

/* The text of the annotation of a tensor; empty: there is none. */
static Str annotation(const Importer *im, Str name)
{
    for (size_t i = 0; i < im->graph->n_quantization_annotation; i++) {
        const Onnx__TensorAnnotation *row = im->graph->quantization_annotation[i];
        if (!str_eq(import_text(row->tensor_name), name)) continue;
        for (size_t k = 0; k < row->n_quant_parameter_tensor_names; k++) {
            const Onnx__StringStringEntryProto *entry = row->quant_parameter_tensor_names[k];
            if (str_eq_c(import_text(entry->key), "finn_datatype"))
                return import_text(entry->value);
        }
    }
    return STR("");
}

static Value *number(Importer *im, double value)
{
    const Type *f32 = type_float(im->ctx, TYPE_F32);
    return onnx_build_constant(
        &im->b, attr_dense_splat(type_tensor(f32, NULL, 0, NULL), attr_float(f32, value)));
}

/* A number up to a colon or the end, both taken off. */
static bool take_real(Str *text, double *out)
{
    char digits[64], *end;
    size_t len = 0;
    while (len < text->len && text->data[len] != ':') len++;
    if (len == 0 || len >= sizeof digits) return false;
    memcpy(digits, text->data, len);
    digits[len] = '\0';
    *out = strtod(digits, &end);
    len += len < text->len && len + 1 < text->len;
    *text = (Str){text->data + len, text->len - len};
    return *end == '\0' && digits[0] > ' ';
}

static bool parse_input_type(Str text, Datatype *out)
{
    double zero = 0.0;
    *out = (Datatype){.scale = 1.0};
    out->is_signed = !take(&text, "u");
    if (!take(&text, "int") || !take_number(&text, &out->bits)) return false;
    if (take(&text, ":") && !take_real(&text, &out->scale)) return false;
    if (text.len > 0 && !take_real(&text, &zero)) return false;
    out->zero = (int64_t)zero;
    double low = out->is_signed ? -onnx_exact_pow2((int)out->bits - 1) : 0.0;
    double high = low + onnx_exact_pow2((int)out->bits) - 1.0;
    return text.len == 0 && out->bits >= 1 + out->is_signed && out->bits <= QUANT_MAX_BITS &&
           out->scale > 0.0 && isfinite((float)out->scale) && (float)out->scale > 0.0F &&
           zero >= low && zero <= high && floor(zero) == zero;
}

bool import_read_input_type(Importer *im, Str text)
{
    size_t name_len = text.len;
    while (name_len > 0 && text.data[name_len - 1] != '=') name_len--;
    Datatype type;
    if (name_len == 1 ||
        !parse_input_type((Str){text.data + name_len, text.len - name_len}, &type)) {
        strbuf_add_c(&im->why,
                     "is no type; they are written name=uint8, name=int8:0.5 with a scale "
                     "above 0, or name=uint8:0.5:128 with a zero point, too");
        return import_error(im, "input type", text);
    }
    const Ident *name =
        name_len > 0 ? ident_get(im->ctx, (Str){text.data, name_len - 1}) : import_only_input(im);
    if (!name) {
        strbuf_printf(&im->why, "names no input, and there are several; --input-type=name=%.*s",
                      STR_ARG(text));
        return import_error(im, "input type", text);
    }
    if (ptrmap_has(&im->types, name)) {
        strbuf_add_c(&im->why, "has a type already");
        return import_error(im, "input", name->str);
    }
    ptrmap_put(&im->types, name, arena_copy(&im->arena, &type, sizeof type));
    return true;
}

/* The datatype of an argument, as given or as the file says. False: why tells. */
static bool find_datatype(Importer *im, const Ident *name, const Value *arg, Datatype *out)
{
    const Datatype *given = ptrmap_get(&im->types, name);
    Str text = annotation(im, name->str);
    *out = (Datatype){.is_real = true};
    if (given && !type_is_float(type_elem(arg->type))) {
        strbuf_add_c(&im->why, "is of integers in the file; --input-type is for floats");
        return false;
    }
    if (text.len > 0 && !parse_datatype(text, out))
        return import_why_name(im, "is annotated with the datatype ", text, ", which is not known");
    if (given && !out->is_real)
        return import_why_name(im, "is annotated with the datatype ", text,
                               "; --input-type may not give it another one");
    if (given) *out = *given;
    return true;
}

Value *import_typed_argument(Importer *im, const Ident *name, Value *arg)
{
    Datatype datatype;
    if (!find_datatype(im, name, arg, &datatype)) return NULL;
    if (datatype.is_real || !type_is_float(type_elem(arg->type))) return arg;
    Value *operands[] = {arg, number(im, datatype.scale), number(im, (double)datatype.zero),
                         number(im, (double)datatype.bits)};
    const NamedAttr attrs[] = {
        build_named_attr(im->ctx, "narrow", attr_i64(im->ctx, datatype.is_narrow)),
        build_named_attr(im->ctx, "signed", attr_i64(im->ctx, datatype.is_signed)),
    };
    im->b.loc = import_loc(im, name->str);
    Op *op = datatype.is_bipolar ? import_append(im, ONNX(BIPOLAR_QUANT), operands, 2, NULL, 1)
                                 : import_append(im, ONNX(QUANT), operands, COUNT_OF(operands),
                                                 attr_dict(im->ctx, attrs, COUNT_OF(attrs)), 1);
    if (!op) return NULL;
    op_set_attr(op, ONNX_ATTR_NAME, attr_string(im->ctx, name->str));
    ptrmap_put(&im->arguments, name, op_result(op, 0));
    return op_result(op, 0);
}

/* Whether a quantizer of the file gives the very integers of the datatype. */
static bool agrees(Importer *im, const Op *op, const Datatype *given)
{
    Quantizer quant;
    double scale = 0.0;
    int64_t low = given->is_signed ? -(INT64_C(1) << (given->bits - 1)) : 0;
    int64_t high = low + (INT64_C(1) << given->bits) - 1;
    if (op->def != ONNX(QUANT) && op->def != ONNX(INT_QUANT)) return false;
    return onnx_quantizer(op, &quant, &im->why) && onnx_dense_uniform(quant.scales, &scale) &&
           (float)scale == (float)given->scale && quant.low == low && quant.high == high &&
           quant.zero == given->zero;
}

/* The same of a QuantizeLinear, whose elements are the integers. */
static bool agrees_linear(const Op *op, const Datatype *given)
{
    const Attr *scale = onnx_constant(op_operand(op, 1));
    const Attr *zero = onnx_operand(op, 2) ? onnx_constant(op_operand(op, 2)) : NULL;
    const Type *elem = type_elem(op_result(op, 0)->type);
    bool is_unsigned = elem->kind == TYPE_INTEGER && elem->u.integer.sign == UNSIGNED;
    double number;
    if (op->def != ONNX(QUANTIZE_LINEAR)) return false;
    return scale && onnx_dense_uniform(scale, &number) && (float)number == (float)given->scale &&
           type_width(elem) == given->bits && is_unsigned != given->is_signed &&
           (zero ? onnx_dense_uniform(zero, &number) : (number = 0.0, true)) &&
           number == (double)given->zero;
}

static bool is_quantizer(const Op *op)
{
    return op->def == ONNX(QUANT) || op->def == ONNX(INT_QUANT) || op->def == ONNX(BIPOLAR_QUANT) ||
           op->def == ONNX(QUANTIZE_LINEAR);
}

bool import_check_input_types(Importer *im)
{
    for (size_t i = 0; i < im->types.len; i++) {
        const Ident *name = im->types.entries[i].key;
        const Datatype *given = im->types.entries[i].value;
        const Value *typed = ptrmap_get(&im->arguments, name);
        if (!typed) {
            strbuf_add_c(&im->why, "is given for a tensor that is no input");
            import_suggest_input(im, name->str);
            return import_error(im, "input type", name->str);
        }
        FOR_EACH_USE(use, typed) {
            const Op *op = use->owner;
            strbuf_clear(&im->why);
            if (use_index(use) != 0 || !is_quantizer(op) || agrees(im, op, given) ||
                agrees_linear(op, given))
                continue;
            const Attr *own = op_attr(op, ONNX_ATTR_NAME);
            strbuf_clear(&im->why);
            import_why_name(im, "is given a type that the file's quantizer ",
                            own ? own->u.string : op_name(op),
                            " contradicts; leave --input-type out");
            return import_error(im, "input", name->str);
        }
    }
    return true;
}
