/* What a user should know about a network that compiles: a batch that is taken as part of a frame,
 * and layers in floating point, with the options that help where they can be known. They are
 * warnings at the network's function.
 *
 * What is computed is seen at the dfg level, where the loaded network is gone; so a copy of it stays
 * as long as the passes in front run.
 *
 * Tests: lit/driver/notes.test */
#include <stdarg.h>

#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/func/func.h"
#include "dialects/linalg/linalg.h"
#include "dialects/math/math.h"
#include "dialects/onnx/onnx.h"
#include "driver/notes/internal.h"
#include "ir/asm/print/print.h"

/* Names of a list that a warning gives. */
enum { SHOWN_NAMES = 3 };

/* Warns, and keeps the text. */
static void warn(ModelNotes *notes, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void warn(ModelNotes *notes, const char *fmt, ...)
{
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    diag_warning(notes->model->ctx, notes->loc, "%s", text.data);
    *vec_push(&notes->warnings) = text;
}

bool driver_notes_is_quantizer(const Op *op)
{
    static const OpDef *const rows[] = {
        ONNX(QUANT), ONNX(INT_QUANT),       ONNX(BIPOLAR_QUANT),
        ONNX(TRUNC), ONNX(MULTI_THRESHOLD), ONNX(QUANTIZE_LINEAR),
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (op->def == rows[i]) return true;
    return false;
}

/* Whether a node of integers stands for a quantized one. */
static bool is_integer_node(const Op *op)
{
    return op->def == ONNX(QLINEAR_CONV) || op->def == ONNX(QLINEAR_MATMUL) ||
           op->def == ONNX(CONV_INTEGER) || op->def == ONNX(MATMUL_INTEGER);
}

static bool look_at_node(Op *op, void *user)
{
    ModelNotes *notes = user;
    notes->has_nodes |= onnx_is_node(op);
    notes->has_quantizers |= driver_notes_is_quantizer(op) || is_integer_node(op);
    return true;
}

Op *driver_notes_network(const Op *module)
{
    return driver_find_function((Op *)(uintptr_t)module, NULL, (DriverErrors){0});
}

/* The first extent of a tensor; 0: there is none, or it is not known. */
static int64_t first_extent(const Type *type)
{
    bool is_ranked = type_is_tensor(type) && type_is_static(type) && type->u.shaped.rank > 0;
    return is_ranked ? type->u.shaped.dims[0] : 0;
}

/* The first extent of all inputs and outputs; 0: they differ. */
static int64_t batch_of(const Type *function)
{
    uint32_t count = function->u.function.input_count + function->u.function.result_count;
    int64_t batch = count > 0 ? first_extent(function->u.function.types[0]) : 0;
    for (uint32_t i = 0; i < count; i++)
        if (first_extent(function->u.function.types[i]) != batch) return 0;
    return batch;
}

void driver_notes_add_shape(StrBuf *out, const Type *type, bool is_one_frame)
{
    for (uint32_t d = 0; d < type->u.shaped.rank; d++)
        strbuf_printf(out, "%s%lld", d ? "x" : "",
                      d == 0 && is_one_frame ? 1 : (long long)type->u.shaped.dims[d]);
}

static void warn_batch(ModelNotes *notes, const Op *func)
{
    const Type *type = func_type(func);
    int64_t batch = batch_of(type);
    StrBuf options = {0};
    if (batch <= 1 || type->u.function.input_count == 0) return;
    for (uint32_t i = 0; i < type->u.function.input_count; i++) {
        const Attr *name = attr_dict_get_c(func_arg_attrs(func, i), DFG_ATTR_NAME);
        strbuf_add_c(&options, " --input-shape=");
        if (name) {
            strbuf_add_escaped(&options, name->u.string);
            strbuf_add_char(&options, ':');
        }
        driver_notes_add_shape(&options, type->u.function.types[i], true);
    }
    warn(notes,
         "a frame has %lld rows, the first dimension of all inputs and outputs; if they are "
         "a batch, compile for one of them:%s",
         (long long)batch, options.data);
    strbuf_free(&options);
}

ModelNotes *driver_notes_begin(const Op *module)
{
    ModelNotes *notes = xcalloc(1, sizeof *notes);
    notes->model = op_clone(module, NULL);
    op_walk(notes->model, look_at_node, notes);
    const Op *func = driver_notes_network(notes->model);
    const Attr *loc = notes->loc = func ? func->loc : module->loc;
    /* Places in an ONNX file have no lines. */
    notes->is_onnx_file = func && loc->kind == ATTR_LOC_FILE && loc->u.loc_file.line == 0;
    if (notes->is_onnx_file) warn_batch(notes, func);
    return notes;
}

void driver_notes_free(ModelNotes *notes)
{
    op_erase(notes->model);
    for (size_t i = 0; i < notes->warnings.len; i++) strbuf_free(&notes->warnings.data[i]);
    vec_free(&notes->warnings);
    for (size_t i = 0; i < notes->reasons.len; i++) strbuf_free(&notes->reasons.data[i]);
    vec_free(&notes->reasons);
    ptrmap_free(&notes->reason_of);
    free_ptr((void **)&notes);
}

void driver_notes_record(const ModelNotes *notes, Op *module)
{
    size_t count = notes->warnings.len;
    const Attr **items = xcalloc(count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++)
        items[i] = attr_string(module->ctx, strbuf_str(&notes->warnings.data[i]));
    if (count > 0) op_set_attr(module, DFG_ATTR_WARNINGS, attr_array(module->ctx, items, count));
    free_ptr((void **)&items);
}

static bool has_float(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (type_is_float(type_elem(op_operand(op, i)->type))) return true;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (type_is_float(type_elem(op_result(op, i)->type))) return true;
    return false;
}

/* What a kernel computes with. */
typedef struct Arithmetic {
    bool has_floats, has_integers, has_products;
} Arithmetic;

static bool look_at_scalar(Op *op, void *user)
{
    Arithmetic *found = user;
    bool is_arith = op->def && op->def->dialect == &arith_dialect && op->def != ARITH(CONSTANT);
    bool is_math = op->def && op->def->dialect == &math_dialect;
    if (!is_arith && !is_math) return true;
    bool is_float = has_float(op);
    found->has_floats |= is_float;
    found->has_integers |= !is_float;
    found->has_products |= op->def == ARITH(MULI);
    return true;
}

/* The node that a kernel belongs to, or NULL: none, or it only gives integers back their meaning. */
static const Op *node_of(const PtrMap *nodes, const Op *kernel)
{
    Str name = layer_name_source(kernel);
    return name.len ? ptrmap_get(nodes, ident_get(kernel->ctx, name)) : NULL;
}

typedef struct Survey {
    Layers *layers;
    const PtrMap *nodes; /* of the loaded network, by name */
} Survey;

static bool look_at_kernel(Op *op, void *user)
{
    Survey *survey = user;
    Layers *layers = survey->layers;
    Arithmetic found = {0};
    if (op->def != LINALG(GENERIC)) return true;
    op_walk(op, look_at_scalar, &found);
    layers->has_products |= found.has_products;
    const Op *node = node_of(survey->nodes, op);
    if (!node || driver_notes_is_quantizer(node)) return true;
    const Ident *name = ident_get(op->ctx, layer_name_source(op));
    if (!found.has_floats) {
        if (found.has_integers) ptrmap_put(&layers->integers, name, op);
    } else if (!ptrmap_has(&layers->floats, name)) {
        *vec_push(&layers->names) = name;
        ptrmap_put(&layers->floats, name, (void *)name);
    }
    return true;
}

const Ident *driver_notes_name(const Op *node)
{
    const Attr *name = op_attr(node, ONNX_ATTR_NAME);
    return name ? ident_get(node->ctx, name->u.string) : NULL;
}

static bool collect_node(Op *op, void *user)
{
    PtrMap *nodes = user;
    const Ident *name = onnx_is_node(op) ? driver_notes_name(op) : NULL;
    if (name && !ptrmap_has(nodes, name)) ptrmap_put(nodes, name, op);
    return true;
}

void driver_notes_survey(const Op *model, const Op *module, Layers *out)
{
    PtrMap nodes = {0};
    Survey survey = {out, &nodes};
    *out = (Layers){.has_products = false};
    op_walk((Op *)(uintptr_t)model, collect_node, &nodes);
    op_walk((Op *)(uintptr_t)module, look_at_kernel, &survey);
    ptrmap_free(&nodes);
}

void driver_notes_layers_free(Layers *layers)
{
    ptrmap_free(&layers->floats);
    ptrmap_free(&layers->integers);
    vec_free(&layers->names);
}

static void add_names(StrBuf *out, const Layers *layers)
{
    for (size_t i = 0; i < layers->names.len && i < SHOWN_NAMES; i++) {
        strbuf_add_c(out, i ? ", " : " ");
        strbuf_add_quoted(out, layers->names.data[i]->str);
    }
    if (layers->names.len > SHOWN_NAMES)
        strbuf_printf(out, " and %zu more", layers->names.len - SHOWN_NAMES);
}

/* "; integers end at 'a', 'b'": the nodes that have no form in integers. */
static void add_ends(StrBuf *out, const Op *module, const Layers *layers)
{
    const Attr *ends = op_attr(module, DFG_ATTR_INTEGERS_END);
    size_t count = 0;
    for (uint32_t i = 0; ends && i < ends->u.array.count; i++) {
        Str name = ends->u.array.items[i]->u.string;
        if (!ptrmap_has(&layers->floats, ident_get(module->ctx, name)) || count == SHOWN_NAMES)
            continue;
        strbuf_add_c(out, count++ ? ", " : "; integers end at ");
        strbuf_add_quoted(out, name);
    }
}

static void warn_floats(ModelNotes *notes, const Op *module, const Layers *layers)
{
    StrBuf names = {0}, options = {0};
    size_t count = layers->names.len;
    add_names(&names, layers);
    if (!notes->has_quantizers && !layers->has_products) {
        warn(notes,
             "the network is computed in floating point, %zu %s:%s; --quantize=int8 "
             "--calibrate=FILE.npy makes integers of it",
             count, count == 1 ? "layer" : "layers", names.data);
    } else {
        add_ends(&names, module, layers);
        driver_notes_find_reasons(notes, module, layers);
        if (notes->is_onnx_file) driver_notes_add_parts(&options, notes, layers);
        warn(notes, "%zu %s of a quantized network %s computed in floating point:%s%s%s", count,
             count == 1 ? "layer" : "layers", count == 1 ? "is" : "are", names.data,
             options.len ? "; floats at the ends can be left to the host:" : "",
             options.data ? options.data : "");
    }
    strbuf_free(&names);
    strbuf_free(&options);
}

void driver_notes_end(ModelNotes *notes, const Op *module)
{
    Layers layers;
    driver_notes_survey(notes->model, module, &layers);
    if (notes->has_nodes && layers.names.len > 0) warn_floats(notes, module, &layers);
    driver_notes_layers_free(&layers);
}
