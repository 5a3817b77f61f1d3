/* Spelling of types, as upstream's printer writes them. Nested types and attributes are written
 * through the writer again, so that they may be aliases.
 * Tests: test/unit/ir/attr/type_test.c, lit/ir/asm/parse/types.mir */
#include "ir/asm/print/internal.h"
#include "ir/core/core.h"

AsmWriter asm_writer(StrBuf *out)
{
    return (AsmWriter){.out = out, .elide_elements_above = -1, .elide_resources_above = -1};
}

void type_print(StrBuf *out, const Type *type)
{
    AsmWriter w = asm_writer(out);
    write_type(&w, type);
}

/* Names of the kinds that have no parameters. */
static const char *const simple_names[TYPE_DIALECT + 1] = {
    [TYPE_INDEX] = "index",
    [TYPE_F8E5M2] = "f8E5M2",
    [TYPE_F8E4M3] = "f8E4M3",
    [TYPE_F8E4M3FN] = "f8E4M3FN",
    [TYPE_F8E5M2FNUZ] = "f8E5M2FNUZ",
    [TYPE_F8E4M3FNUZ] = "f8E4M3FNUZ",
    [TYPE_F8E4M3B11FNUZ] = "f8E4M3B11FNUZ",
    [TYPE_BF16] = "bf16",
    [TYPE_F16] = "f16",
    [TYPE_TF32] = "tf32",
    [TYPE_F32] = "f32",
    [TYPE_F64] = "f64",
    [TYPE_F80] = "f80",
    [TYPE_F128] = "f128",
    [TYPE_NONE] = "none",
};

static void write_types(AsmWriter *w, const Type *const *types, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i) strbuf_add_c(w->out, ", ");
        write_type(w, types[i]);
    }
}

static void write_integer(StrBuf *out, const Type *type)
{
    static const char *const prefixes[] = {[SIGNLESS] = "i", [SIGNED] = "si", [UNSIGNED] = "ui"};
    strbuf_add_c(out, prefixes[type->u.integer.sign]);
    strbuf_add_uint(out, type->u.integer.width);
}

static void write_function(AsmWriter *w, const Type *type)
{
    uint32_t inputs = type->u.function.input_count, results = type->u.function.result_count;
    const Type *const *types = type->u.function.types;
    strbuf_add_char(w->out, '(');
    write_types(w, types, inputs);
    strbuf_add_c(w->out, ") -> ");
    bool is_bare = results == 1 && types[inputs]->kind != TYPE_FUNCTION;
    if (!is_bare) strbuf_add_char(w->out, '(');
    if (results) write_types(w, types + inputs, results);
    if (!is_bare) strbuf_add_char(w->out, ')');
}

/* "2x?x[4]x" */
static void write_dims(StrBuf *out, const Type *type)
{
    for (uint32_t i = 0; i < type->u.shaped.rank; i++) {
        bool is_scalable = type->u.shaped.scalable && type->u.shaped.scalable[i];
        if (is_scalable) strbuf_add_char(out, '[');
        if (type->u.shaped.dims[i] == DIM_DYNAMIC)
            strbuf_add_char(out, '?');
        else
            strbuf_add_int(out, type->u.shaped.dims[i]);
        if (is_scalable) strbuf_add_char(out, ']');
        strbuf_add_char(out, 'x');
    }
}

static void write_optional(AsmWriter *w, const Attr *attr, TypeElision elision)
{
    if (!attr) return;
    strbuf_add_c(w->out, ", ");
    write_attr_elided(w, attr, elision);
}

static void write_shaped(AsmWriter *w, const char *name, const Type *type)
{
    bool is_tensor = type->kind == TYPE_RANKED_TENSOR;
    strbuf_add_c(w->out, name);
    write_dims(w->out, type);
    write_type(w, type->u.shaped.elem);
    write_optional(w, type->u.shaped.extra, is_tensor ? TYPE_ELIDE_NEVER : TYPE_ELIDE_MAY);
    write_optional(w, type->u.shaped.space, TYPE_ELIDE_MAY);
    strbuf_add_char(w->out, '>');
}

static void write_dialect_type(AsmWriter *w, const Type *type)
{
    const TypeDef *def = type->u.dialect.def;
    size_t begin = write_dialect_begin(w->out, '!', str_from(def->dialect->name));
    strbuf_add_c(w->out, def->name);
    if (def->print) def->print(w->out, type);
    write_dialect_end(w->out, begin);
}

void write_type_unaliased(AsmWriter *w, const Type *type)
{
    StrBuf *out = w->out;
    switch (type->kind) {
    case TYPE_INTEGER: write_integer(out, type); return;
    case TYPE_FUNCTION: write_function(w, type); return;
    case TYPE_TUPLE:
        strbuf_add_c(out, "tuple<");
        write_types(w, type->u.function.types, type->u.function.input_count);
        strbuf_add_char(out, '>');
        return;
    case TYPE_COMPLEX: write_shaped(w, "complex<", type); return;
    case TYPE_VECTOR: write_shaped(w, "vector<", type); return;
    case TYPE_RANKED_TENSOR: write_shaped(w, "tensor<", type); return;
    case TYPE_UNRANKED_TENSOR: write_shaped(w, "tensor<*x", type); return;
    case TYPE_MEMREF: write_shaped(w, "memref<", type); return;
    case TYPE_UNRANKED_MEMREF: write_shaped(w, "memref<*x", type); return;
    case TYPE_OPAQUE:
        write_dialect_symbol(out, '!', type->u.opaque.dialect->str, type->u.opaque.text,
                             type->u.opaque.is_dotted);
        return;
    case TYPE_DIALECT: write_dialect_type(w, type); return;
    default: strbuf_add_c(out, simple_names[type->kind]); return;
    }
}

void write_type(AsmWriter *w, const Type *type)
{
    const char *alias = w->alias_of_type ? w->alias_of_type(w->user, type) : NULL;
    if (alias)
        strbuf_add_c(w->out, alias);
    else
        write_type_unaliased(w, type);
}
