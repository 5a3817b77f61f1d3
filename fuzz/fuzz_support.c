/* Contexts, checks and files of the fuzz targets. */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dialects/dialects.h"
#include "dialects/linalg/linalg.h"
#include "dialects/onnx/onnx.h"
#include "dialects/tosa/tosa.h"
#include "fuzz/fuzz_support.h"
#include "ir/asm/parse/parse.h"
#include "ir/attr/attr.h"

/* What a check that fails shows beside its own message: the first error of the context that was
 * taken last. */
static char first_error[512];
static Context *last_context;
static size_t error_count;

static void keep_error(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                       size_t note_count)
{
    (void)user;
    (void)ctx;
    (void)notes;
    (void)note_count;
    error_count += diag->kind == DIAG_ERROR;
    if (diag->kind == DIAG_ERROR && !*first_error)
        snprintf(first_error, sizeof first_error, "%.*s", STR_ARG(diag->text));
}

Context *fuzz_context_take(FuzzContext *reused)
{
    if (!reused->ctx) {
        Context *ctx = context_create();
        dialects_register_all(ctx);
        dialect_allow_unregistered(ctx, true);
        diag_set_handler(ctx, keep_error, NULL, NULL, NULL);
        *reused = (FuzzContext){.ctx = ctx};
    }
    reused->inputs++;
    last_context = reused->ctx;
    first_error[0] = '\0';
    error_count = 0;
    return reused->ctx;
}

static void keep_report(void *user, DriverErrorKind kind, Str message)
{
    (void)user;
    (void)kind;
    if (!*first_error) snprintf(first_error, sizeof first_error, "%.*s", STR_ARG(message));
}

const DriverErrors fuzz_reports = {.report = keep_report};

enum { INPUTS_PER_CONTEXT = 50 };

void fuzz_context_give_back(FuzzContext *reused)
{
    diag_remove_source(reused->ctx, FUZZ_SOURCE);
    if (reused->inputs < INPUTS_PER_CONTEXT && context_resource_count(reused->ctx) == 0 &&
        context_external_group_count(reused->ctx) == 0)
        return;
    context_destroy(reused->ctx);
    reused->ctx = last_context = NULL;
}

size_t fuzz_error_count(void)
{
    if (last_context) diag_flush(last_context);
    return error_count;
}

void fuzz_forget_errors(void)
{
    if (last_context) diag_flush(last_context);
    first_error[0] = '\0';
    error_count = 0;
}

Str fuzz_first_error(void)
{
    if (last_context) diag_flush(last_context);
    return str_from(first_error);
}

/* What the first error of a pass may say that changes results or leaves IR that does not verify. */
static const struct {
    const char *words, *reason, *pass; /* NULL: of any */
} known_changes[] = {
    {"are cast incompatible", "a tosa.cast of another shape is refused behind it, as upstream's",
     "tosa-to-linalg"},
    {"are cast incompatible", "so is a pad by constants that its type contradicts",
     "linalg-fold-unit-extent-dims"},
    {"inferred input/output operand", "so is a tosa convolution of another shape",
     "tosa-to-linalg-named"},
    {"'tosa.reshape' op", "or what is made of one", "tosa-optional-decompositions"},
    {"must have size >= 1", "upstream's tosa-infer-shapes gives dimensions of zero, too"},
    {"@nan_wins:", "upstream's folders give NaN for a NaN and a number"},
    {"@inverses:", "upstream's folders of tosa.log and tosa.exp ignore NaN and infinities"},
    {"@float_chains:", "its fastmath flags let canonicalize leave out roundings"},
    {"pass 'onnx-quantize' changes", "it rounds, by intent"},
    {"pass 'batch-images' changes", "a frame is several images, by intent"},
    {"pass 'onnx-set-head' changes", "it leaves out scalings and softmaxes, by intent"},
    {"expected valid permutation tensor", "an operand is checked when it becomes a constant"},
    {" op shifts by", "what is shifted too far is not selected afterwards"},
    {": inf before", "an infinity has several forms: 1 / 0, and 0 * (1 / 0) is none"},
    {"op converts", "a float that an integer type does not hold has no defined conversion"},
};

bool fuzz_is_known_change(Str passes)
{
    Str error = fuzz_first_error();
    for (size_t i = 0; i < COUNT_OF(known_changes); i++)
        if (strstr(error.data, known_changes[i].words) &&
            (!known_changes[i].pass || fuzz_contains(passes, known_changes[i].pass)))
            return true;
    return false;
}

void fuzz_check(bool holds, const char *what, Str text)
{
    if (holds) return;
    fprintf(stderr, "%s\nfirst error: %.*s\n%.*s\n", what, STR_ARG(fuzz_first_error()),
            STR_ARG(text));
    abort();
}

void fuzz_write_file(const uint8_t *data, size_t size, char *path, size_t room)
{
    static int file = -1;
    if (file < 0) file = memfd_create("ming-fuzz", 0);
    bool ok = ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size;
    fuzz_check(ok, "the file in memory cannot be written", STR(""));
    snprintf(path, room, "/proc/self/fd/%d", file);
}

/* Whether control may come to the op again, or numbers decide the size of its result that are
 * random or, for a Resize of unknown shape, large. */
static bool may_be_endless(const Op *op)
{
    if (op->def == ONNX(RESIZE) && !type_is_static(op_result(op, 0)->type)) return true;
    for (uint32_t i = 0; i < op->successor_count; i++) {
        const Block *block = op->block;
        while (block && block != op->successors[i].block) block = block->next;
        if (!block || block == op->block) return true;
    }
    bool is_second = op->def == TOSA(PAD) || op->def == ONNX(ONE_HOT) || op->def == ONNX(EXPAND) ||
                     op->def == ONNX(TILE);
    bool is_first = op->def == ONNX(RANGE) || op->def == ONNX(CONSTANT_OF_SHAPE);
    uint32_t first = is_first ? 0 : is_second ? 1 : op->operand_count;
    for (uint32_t i = first; i < op->operand_count; i++) {
        const Op *def = value_def(op_operand(op, i));
        if (!def || !def->def || !op_has_trait(def, TRAIT_CONSTANT_LIKE)) return true;
    }
    return false;
}

/* What may make a module take long. */
typedef struct Sizes {
    int64_t elements; /* the most of a tensor */
    bool has_large_constant, has_unknown_shape;
} Sizes;

/* An integer that is more, or a list of extents whose product is: one of ConstantOfShape, Expand. */
static bool is_large(const Attr *value, int64_t most)
{
    if (!value || (value->kind != ATTR_DENSE && value->kind != ATTR_INTEGER)) return false;
    if (!type_is_integer(type_elem(value->type)) && type_elem(value->type)->kind != TYPE_INDEX)
        return false;
    if (value->kind == ATTR_DENSE && dense_count(value) > most) return true;
    Array *array = array_from_attr(value);
    bool found = false, is_list = array && array->count <= ONNX_MAX_RANK;
    int64_t product = 1;
    for (int64_t i = 0; array && !found && i < array->count; i++) {
        int64_t number = array_get_i64(array, i);
        if (is_list && number > 0) found = !i64_mul(product, number, &product) || product > most;
        found |= number > most;
    }
    array_unref(array);
    return found;
}

static bool kernel_is_small(const Op *op, int64_t most)
{
    int64_t extents[ONNX_MAX_RANK];
    size_t count;
    const Attr *kernel = op_attr(op, "kernel_shape");
    if (!kernel || !attr_int_list(kernel, extents, ONNX_MAX_RANK, &count)) return true;
    for (size_t i = 0; i < count; i++)
        if (extents[i] > most) return false;
    return true;
}

/* Of paddings, tiles and the like. */
static bool has_large_attr(const Op *op, int64_t most)
{
    int64_t numbers[2 * ONNX_MAX_RANK];
    size_t count;
    if (!op->def || !op->props) return false; /* of an unregistered op they may be anything */
    for (uint32_t i = 0; i < op->props->u.dict.count; i++) {
        const Attr *value = op->props->u.dict.items[i].value;
        if (is_large(value, most)) return true;
        if (!attr_int_list(value, numbers, COUNT_OF(numbers), &count)) continue;
        for (size_t k = 0; k < count; k++)
            if (numbers[k] > most) return true;
    }
    return false;
}

static bool type_is_small(const Type *type, Sizes *sizes)
{
    int64_t count;
    if (!type_is_shaped(type)) return true;
    if (!type_is_static(type)) return sizes->has_unknown_shape = true;
    return type_element_count(type, &count) && count <= sizes->elements;
}

static bool op_is_small(Op *op, void *user)
{
    Sizes *sizes = user;
    if (op->def && may_be_endless(op)) return false;
    if (!kernel_is_small(op, sizes->elements)) return false;
    for (uint32_t i = 0; i < op->result_count; i++)
        if (!type_is_small(op_result(op, i)->type, sizes)) return false;
    for (uint32_t r = 0; r < op->region_count; r++)
        FOR_EACH_BLOCK(block, op_region(op, r))
            for (uint32_t i = 0; i < block->arg_count; i++)
                if (!type_is_small(block->args[i]->type, sizes)) return false;
    const Attr *value = op_attr(op, "value");
    if (value && value->kind == ATTR_DENSE && dense_count(value) > sizes->elements) return false;
    if (has_large_attr(op, sizes->elements)) sizes->has_large_constant = true;
    return !sizes->has_large_constant || !sizes->has_unknown_shape;
}

bool fuzz_is_small(Op *module, int64_t elements)
{
    Sizes sizes = {.elements = elements};
    return op_walk(module, op_is_small, &sizes);
}

static bool is_narrow_float(const Type *type)
{
    const Type *elem = type_is_shaped(type) ? type_elem(type) : type;
    return type_is_float(elem) && type_width(elem) < 32;
}

/* Sums are in what a name says, or in a loop of linalg.generic. */
static bool may_sum(const Op *op)
{
    static const char *const words[] = {
        "attention", "contract", "conv",   "det", "dot",     "einsum", "fft",  "fully_connected",
        "gemm",      "gru",      "loss",   "lrn", "lstm",    "mat",    "mean", "norm",
        "pool",      "reduce",   "resize", "rnn", "softmax", "sum",    "vec"};
    Str name = op->name->str;
    for (uint32_t i = 0; op->def == LINALG(GENERIC) && i < linalg_loop_count(op); i++)
        if (linalg_is_reduction(op, i)) return true;
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (size_t at = 0; at + strlen(words[i]) <= name.len; at++)
            if (strncasecmp(name.data + at, words[i], strlen(words[i])) == 0) return true;
    return false;
}

static bool sums_no_narrow_floats(Op *op, void *user)
{
    (void)user;
    bool is_narrow = false;
    for (uint32_t i = 0; i < op->operand_count; i++)
        is_narrow |= is_narrow_float(op_operand(op, i)->type);
    for (uint32_t i = 0; i < op->result_count; i++)
        is_narrow |= is_narrow_float(op_result(op, i)->type);
    return !is_narrow || !may_sum(op);
}

bool fuzz_sums_narrow_floats(Op *module)
{
    return !op_walk(module, sums_no_narrow_floats, NULL);
}

uint64_t fuzz_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static Str next_line(Str *text)
{
    const char *end = memchr(text->data, '\n', text->len);
    Str line = {text->data, end ? (size_t)(end - text->data) + 1 : text->len};
    *text = (Str){text->data + line.len, text->len - line.len};
    return line;
}

bool fuzz_contains(Str text, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= text.len; i++)
        if (memcmp(text.data + i, word, length) == 0) return true;
    return false;
}

static bool may_change(Str line)
{
    static const char *const words[] = {"affine_map<", "affine_set<", "f80", "f128"};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (fuzz_contains(line, words[i])) return true;
    return false;
}

bool fuzz_same_text(Str a, Str b)
{
    bool same = true;
    while (same && (a.len > 0 || b.len > 0)) {
        Str first = next_line(&a), second = next_line(&b);
        same = str_eq(first, second) || (may_change(first) && may_change(second));
    }
    return same;
}

void fuzz_check_text(FuzzContext *reused, Str text)
{
    Context *ctx = fuzz_context_take(reused);
    StrBuf again = {0};
    Op *module = parse_module(ctx, text, FUZZ_SOURCE, NULL);
    fuzz_check(module != NULL, "the result does not parse", text);
    op_print(&again, module, &PRINT_DEFAULT);
    fuzz_check(fuzz_same_text(text, strbuf_str(&again)),
               "the result changes when parsed and printed", text);
    op_erase(module);
    fuzz_context_give_back(reused);
    strbuf_free(&again);
}
