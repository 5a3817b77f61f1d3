/* Datatypes of FINN and QONNX: a file's quantization_annotation says which integers the floats of a
 * tensor are. An input with one goes through a quantizer of that range with the scale of its grid,
 * which changes nothing for the numbers that the annotation promises, and tells every later stage
 * what they are. Tensors in between need none: their integers follow from what computes them.
 *   datatype ::= 'BIPOLAR' | 'BINARY' | 'TERNARY' | ('INT' | 'UINT') bits
 *              | 'FIXED<' bits ',' integer-bits '>' | floats and scaled integers, which say nothing
 * Tests: lit/import/datatype.test, test/e2e/networks_check.py */
#include <stdlib.h>

#include "dialects/onnx/onnx.h"
#include "import/internal.h"

typedef struct Datatype {
    bool is_bipolar, is_signed, is_narrow, is_real; /* is_real: nothing to quantize */
    int64_t bits;
    int exponent; /* the grid is 2^exponent */
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
    *out = (Datatype){.is_signed = true};
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
        out->exponent = (int)(integer_bits - out->bits);
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

Value *import_typed_argument(Importer *im, const Ident *name, Value *arg)
{
    Datatype datatype;
    Str text = annotation(im, name->str);
    if (text.len == 0) return arg;
    if (!parse_datatype(text, &datatype)) {
        import_why_name(im, "is annotated with the datatype ", text, ", which is not known");
        return NULL;
    }
    if (datatype.is_real || !type_is_float(type_elem(arg->type))) return arg;
    Value *operands[] = {arg, number(im, onnx_exact_pow2(datatype.exponent)), number(im, 0.0),
                         number(im, (double)datatype.bits)};
    const NamedAttr attrs[] = {
        build_named_attr(im->ctx, "narrow", attr_i64(im->ctx, datatype.is_narrow)),
        build_named_attr(im->ctx, "signed", attr_i64(im->ctx, datatype.is_signed)),
    };
    im->b.loc = import_loc(im, name->str);
    Op *op = datatype.is_bipolar ? import_append(im, ONNX(BIPOLAR_QUANT), operands, 2, NULL, 1)
                                 : import_append(im, ONNX(QUANT), operands, COUNT_OF(operands),
                                                 attr_dict(im->ctx, attrs, COUNT_OF(attrs)), 1);
    if (op) op_set_attr(op, ONNX_ATTR_NAME, attr_string(im->ctx, name->str));
    return op ? op_result(op, 0) : NULL;
}
