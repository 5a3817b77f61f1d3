/* Translation validation: compares functions before and after passes.
 *
 *   before the first pass: random arrays ─▶ enter ─▶ run ─▶ leave: the reference
 *   after each pass:       the same arrays ─▶ enter ─▶ run ─▶ leave ─▶ compare
 *
 * Integers and dequantized integers must be equal, but for what roundings before them decide. Other
 * floats must be close, because a pass may add up in another order: see compare_results.c.
 * Tests: test/unit/sim/interp/verify_semantics_test.c, lit/tools/verify-semantics.mir */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/func/func.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "sim/interp/internal.h"
#include "sim/interp/interp.h"
#include "sim/io/io.h"

/* Arrays of one run of a function. */
typedef struct Sample {
    Npy *inputs, *results;
    double **reach;    /* of a reference: compare_reach per result */
    double **rounding; /* what other roundings make of it */
} Sample;

/* The inputs and results of a function before any pass. */
typedef struct Reference {
    const Ident *path; /* interp_function_path */
    Sample *samples;
    uint32_t input_count, result_count;
    bool *is_quantized; /* per result */
} Reference;

struct VerifySemantics {
    PassHooks hooks;
    int64_t runs, images;
    bool differs;
    VEC(Reference) references;
};

/* A function's boundary at one time. */
typedef struct RunSignature {
    Boundary *inputs, *results;
    uint32_t input_count, result_count;
} RunSignature;

/* Keeps the first error instead of showing it. */
typedef struct DiagCapture {
    Context *ctx;
    DiagHandler *handler;
    void *user;
    StrBuf text;
} DiagCapture;

static void keep_first(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                       size_t note_count)
{
    DiagCapture *capture = user;
    (void)ctx;
    (void)notes;
    (void)note_count;
    if (capture->text.len == 0) strbuf_add_str(&capture->text, diag->text);
}

static void capture_begin(DiagCapture *capture, Context *ctx)
{
    *capture = (DiagCapture){.ctx = ctx};
    diag_flush(ctx);
    diag_set_handler(ctx, keep_first, capture, &capture->handler, &capture->user);
}

static void capture_end(DiagCapture *capture)
{
    diag_flush(capture->ctx);
    diag_set_handler(capture->ctx, capture->handler, capture->user, NULL, NULL);
}

static const char *captured(const DiagCapture *capture)
{
    return capture->text.len ? capture->text.data : "no reason is given";
}

static bool signature_read(const Op *func, RunSignature *out)
{
    const Type *type = op_attr(func, "function_type")->u.type_value;
    out->input_count = type->u.function.input_count;
    out->result_count = type->u.function.result_count;
    uint32_t count = out->input_count + out->result_count;
    out->inputs = xcalloc(count + 1, sizeof *out->inputs);
    out->results = out->inputs + out->input_count;
    for (uint32_t i = 0; i < count; i++) {
        bool is_input = i < out->input_count;
        const Attr *attrs =
            is_input ? func_arg_attrs(func, i) : func_result_attrs(func, i - out->input_count);
        if (!boundary_init(func, type->u.function.types[i], attrs, &out->inputs[i])) return false;
        if (is_input && (out->inputs[i].is_unranked || !type_is_static(out->inputs[i].tensor)))
            return op_error(func, "has an argument of unknown shape");
    }
    return true;
}

/* Runs the function on a frame. */
static bool run_frame(const Op *func, const RunSignature *s, Interp *interp, const Npy *inputs,
                      Npy *results, int64_t frame, int64_t frames)
{
    StrBuf why = {0};
    uint32_t count = s->input_count + s->result_count;
    Array **arrays = xcalloc(count + 1, sizeof *arrays);
    Array **values = arrays + s->input_count;
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->input_count; i++) {
        arrays[i] = boundary_enter(&s->inputs[i], &inputs[i], frame, &why);
        ok = arrays[i] != NULL;
    }
    bool ran = ok && interp_run(interp, arrays, values);
    for (uint32_t i = 0; ran && ok && i < s->result_count; i++)
        ok = boundary_leave(&s->results[i], values[i], frame, frames, &results[i], &why);
    if (!ok) op_error(func, "does not take the arrays: %s", why.data);
    for (uint32_t i = 0; i < count; i++) array_unref(arrays[i]);
    free(arrays);
    strbuf_free(&why);
    return ran && ok;
}

static bool has_elements(const Boundary *b, const Npy *npy)
{
    int64_t count;
    return b->is_unranked || !type_is_static(b->tensor) ||
           (type_element_count(b->tensor, &count) && count <= npy->count);
}

/* Frames that the arrays have for the function: a pass may make a frame of each item of a batch. 0: one
 * has not all elements of a frame, which is diagnosed. */
static int64_t count_frames(const Op *func, const RunSignature *s, const Npy *inputs)
{
    StrBuf why = {0};
    int64_t least = 1;
    for (uint32_t i = 0; i < s->input_count; i++) {
        int64_t frames;
        bool fits = boundary_frames(&s->inputs[i], &inputs[i], &frames, &why);
        if (!fits && !has_elements(&s->inputs[i], &inputs[i])) {
            op_error(func, "does not take the arrays: %s", why.data);
            least = 0;
            break;
        }
        if (!fits || frames < 1) frames = 1;
        if (i == 0 || frames < least) least = frames;
    }
    strbuf_free(&why);
    return least;
}

/* The array with the boundary's dimensions, where a pass has made one more of several frames. The data
 * stays the array's. */
static Npy reshaped(const Npy *npy, const Boundary *b)
{
    Npy result = *npy;
    int64_t count;
    const Type *type = b->tensor;
    if (b->is_unranked || type->u.shaped.rank == npy->rank || !type_element_count(type, &count) ||
        count != npy->count)
        return result;
    result.rank = type->u.shaped.rank;
    for (uint32_t i = 0; i < result.rank; i++) result.dims[i] = type->u.shaped.dims[i];
    return result;
}

static bool run_arrays(const Op *func, const RunSignature *s, Interp *interp, const Npy *arrays,
                       Npy *results)
{
    Npy *inputs = xcalloc(s->input_count + 1, sizeof *inputs);
    for (uint32_t i = 0; i < s->input_count; i++) inputs[i] = reshaped(&arrays[i], &s->inputs[i]);
    int64_t frames = count_frames(func, s, inputs);
    bool ok = frames > 0;
    for (int64_t frame = 0; ok && frame < frames; frame++)
        ok = run_frame(func, s, interp, inputs, results, frame, frames);
    free(inputs);
    return ok;
}

static void sample_free(Sample *sample, const RunSignature *s)
{
    uint32_t count = s->input_count + s->result_count;
    for (uint32_t i = 0; sample->inputs && i < count; i++) npy_free(&sample->inputs[i]);
    for (uint32_t i = 0; sample->reach && i < s->result_count; i++) free(sample->reach[i]);
    for (uint32_t i = 0; sample->rounding && i < s->result_count; i++) free(sample->rounding[i]);
    free(sample->inputs);
    free(sample->reach);
    free(sample->rounding);
    *sample = (Sample){0};
}

static void sample_init(Sample *sample, const RunSignature *s)
{
    *sample = (Sample){0};
    sample->inputs = xcalloc(s->input_count + s->result_count + 1, sizeof *sample->inputs);
    sample->results = sample->inputs + s->input_count;
}

/* Draws inputs for which the function is defined; after some attempts integers are few and small,
 * which they must be where they select. */
static bool draw_sample(const Op *func, const RunSignature *s, Interp *interp, uint64_t number,
                        int64_t images, Sample *sample)
{
    enum { ATTEMPTS = 8 };
    for (uint64_t attempt = 0; attempt < ATTEMPTS; attempt++) {
        uint64_t state = number * ATTEMPTS + attempt;
        uint64_t indices = attempt < ATTEMPTS / 2 ? MANY_INDICES : ATTEMPTS - attempt;
        bool ok = true;
        sample_init(sample, s);
        for (uint32_t i = 0; ok && i < s->input_count; i++)
            ok = interp_random_array(&s->inputs[i], &state, indices, images, &sample->inputs[i]);
        if (ok && run_arrays(func, s, interp, sample->inputs, sample->results)) return true;
        sample_free(sample, s);
    }
    return false;
}

static double tolerance_of(const Boundary *boundary)
{
    return compare_tolerance(type_elem(boundary->tensor));
}

/* How far floats may be off after a pass. Other inputs for which the function is undefined widen
 * nothing. */
static void find_reach(const Op *func, const RunSignature *s, Interp *interp, uint64_t number,
                       Sample *sample)
{
    enum { SHIFTS = 4 };
    sample->reach = xcalloc(s->result_count + 1, sizeof *sample->reach);
    for (uint32_t i = 0; i < s->result_count; i++)
        sample->reach[i] = compare_reach(&sample->results[i], tolerance_of(&s->results[i]));
    for (uint64_t shift = 0; shift < SHIFTS; shift++) {
        uint64_t state = number * SHIFTS + shift;
        Sample shifted;
        bool ok = true;
        sample_init(&shifted, s);
        for (uint32_t i = 0; ok && i < s->input_count; i++)
            ok = compare_shift_input(&sample->inputs[i], tolerance_of(&s->inputs[i]), &state,
                                     &shifted.inputs[i]);
        ok = ok && run_arrays(func, s, interp, shifted.inputs, shifted.results);
        for (uint32_t i = 0; ok && i < s->result_count; i++)
            compare_widen_reach(sample->reach[i], &sample->results[i], &shifted.results[i]);
        sample_free(&shifted, s);
    }
}

/* How far each element may be from what it was before it was rounded to a type narrower than f32, as
 * a quantizer's level was that a pass makes an integer of. */
static double *own_rounding(const Boundary *boundary, const Npy *result)
{
    const Type *elem = type_elem(boundary->tensor);
    double *out = xcalloc((size_t)result->count + 1, sizeof *out);
    bool is_narrow = type_is_float(elem) && type_width(elem) < 32;
    for (int64_t i = 0; is_narrow && i < result->count; i++) {
        double size = fabs(npy_get_f64(result, i));
        out[i] = isfinite(size) ? size * compare_tolerance(elem) / 2 : 0;
    }
    return out;
}

/* Runs the function with other roundings of floats of at most 32 bits, unless it has none. */
static void find_rounding(const Op *func, const RunSignature *s, Interp *interp, uint64_t number,
                          Sample *sample)
{
    enum { ROUNDINGS = 8 };
    OtherRounding rounding = {.state = number};
    sample->rounding = xcalloc(s->result_count + 1, sizeof *sample->rounding);
    for (uint32_t i = 0; i < s->result_count; i++)
        sample->rounding[i] = own_rounding(&s->results[i], &sample->results[i]);
    for (int run = 0; run < ROUNDINGS && (run == 0 || rounding.inexact > 0); run++) {
        Sample other;
        rounding.to = run < ROUND_TO_COUNT ? (RoundTo)run : ROUND_TO_ANY;
        sample_init(&other, s);
        array_round_otherwise(&rounding);
        bool ok = run_arrays(func, s, interp, sample->inputs, other.results);
        array_round_otherwise(NULL);
        for (uint32_t i = 0; ok && i < s->result_count; i++)
            compare_widen_reach(sample->rounding[i], &sample->results[i], &other.results[i]);
        sample_free(&other, s);
    }
}

static Reference *find_reference(VerifySemantics *v, const Ident *path)
{
    for (size_t i = 0; i < v->references.len; i++)
        if (v->references.data[i].path == path) return &v->references.data[i];
    return NULL;
}

static void reference_free(Reference *reference, int64_t runs)
{
    const RunSignature s = {.input_count = reference->input_count,
                            .result_count = reference->result_count};
    for (int64_t i = 0; i < runs; i++) sample_free(&reference->samples[i], &s);
    free(reference->samples);
    free(reference->is_quantized);
}

/* Ops of a run before a pass, many times of which are tried for inputs that are defined. Behind it
 * the interpreter's own limit holds, since passes make many ops of one. */
#define MAX_STEPS ((int64_t)1 << 18)
/* Elements of a tensor of another shape than its type says, for the same reason. */
#define MAX_ELEMENTS ((int64_t)1 << 22)

static bool fill_reference(const Op *func, const RunSignature *s, int64_t runs, int64_t images,
                           Reference *out)
{
    Interp *interp = interp_create(func);
    bool ok = interp != NULL;
    if (ok) {
        interp_limit_steps(interp, MAX_STEPS);
        interp_limit_arrays(interp, MAX_ELEMENTS);
    }
    for (int64_t i = 0; ok && i < runs; i++) {
        ok = draw_sample(func, s, interp, (uint64_t)i, images, &out->samples[i]);
        if (!ok) break;
        find_reach(func, s, interp, (uint64_t)i, &out->samples[i]);
        find_rounding(func, s, interp, (uint64_t)i, &out->samples[i]);
    }
    interp_free(interp);
    return ok;
}

static void make_reference(VerifySemantics *v, const Op *func, const char *pass)
{
    RunSignature s = {0};
    DiagCapture capture;
    Reference reference = {.path = interp_function_path(func)};
    capture_begin(&capture, func->ctx);
    bool ok = signature_read(func, &s);
    if (ok) {
        reference.input_count = s.input_count;
        reference.result_count = s.result_count;
        reference.samples = xcalloc((size_t)v->runs, sizeof *reference.samples);
        reference.is_quantized = xcalloc(s.result_count + 1, sizeof *reference.is_quantized);
        for (uint32_t i = 0; i < s.result_count; i++)
            reference.is_quantized[i] = s.results[i].is_quantized;
        ok = fill_reference(func, &s, v->runs, v->images, &reference);
    }
    capture_end(&capture);
    if (ok)
        *vec_push(&v->references) = reference;
    else
        diag_remark(func->ctx, func->loc, "semantics are not verified across pass '%s': %s", pass,
                    captured(&capture));
    if (!ok && reference.samples) reference_free(&reference, v->runs);
    free(s.inputs);
    strbuf_free(&capture.text);
}

typedef struct Difference {
    uint32_t result;
    int64_t element; /* or COMPARE_SHAPES_DIFFER */
    const Npy *before, *after;
} Difference;

static bool equal_results(const Reference *reference, const RunSignature *s, const Sample *sample,
                          Npy *results, int64_t images, Difference *difference)
{
    for (uint32_t i = 0; i < reference->result_count; i++) {
        const Npy *before = &sample->results[i];
        Npy *after = &results[i];
        if (images > 1 && after->count == before->count) {
            after->rank = before->rank;
            memcpy(after->dims, before->dims, sizeof after->dims);
        }
        bool is_quantized = reference->is_quantized[i] || s->results[i].is_quantized;
        int64_t element =
            compare_results(before, after, is_quantized, sample->reach[i], sample->rounding[i]);
        *difference = (Difference){i, element, before, after};
        if (element != COMPARE_EQUAL) return false;
    }
    return true;
}

static void add_index(StrBuf *out, const Npy *npy, int64_t element)
{
    int64_t index[NPY_MAX_RANK];
    for (uint32_t i = npy->rank; i-- > 0;) {
        index[i] = element % npy->dims[i];
        element /= npy->dims[i];
    }
    strbuf_add_char(out, '[');
    for (uint32_t i = 0; i < npy->rank; i++)
        strbuf_printf(out, "%s%lld", i ? ", " : "", (long long)index[i]);
    strbuf_add_char(out, ']');
}

static void report_difference(const Op *func, const char *pass, const Difference *d, int64_t run)
{
    StrBuf text = {0};
    if (d->element == COMPARE_SHAPES_DIFFER) {
        strbuf_add_c(&text, "has another shape");
    } else {
        strbuf_add_c(&text, "differs at ");
        add_index(&text, d->before, d->element);
        strbuf_printf(&text, ": %.9g before, %.9g after", npy_get_f64(d->before, d->element),
                      npy_get_f64(d->after, d->element));
    }
    diag_error(func->ctx, func->loc,
               "pass '%s' changes the semantics of @%.*s: result #%u %s, on random input %lld",
               pass, STR_ARG(symbol_name(func)->str), d->result, text.data, (long long)run);
    strbuf_free(&text);
}

/* The function on one sample's inputs. True also if it is not comparable any more. */
static bool check_sample(const Op *func, const char *pass, const Reference *reference,
                         const RunSignature *s, Interp *interp, int64_t run, int64_t images)
{
    const Sample *sample = &reference->samples[run];
    Difference difference;
    Sample now = {0};
    DiagCapture capture;
    sample_init(&now, s);
    capture_begin(&capture, func->ctx);
    bool ran = run_arrays(func, s, interp, sample->inputs, now.results);
    capture_end(&capture);
    bool ok = ran && equal_results(reference, s, sample, now.results, images, &difference);
    if (!ran)
        diag_error(func->ctx, func->loc,
                   "pass '%s' changes the semantics of @%.*s: on random input %lld, %s", pass,
                   STR_ARG(symbol_name(func)->str), (long long)run, captured(&capture));
    else if (!ok)
        report_difference(func, pass, &difference, run);
    sample_free(&now, s);
    strbuf_free(&capture.text);
    return ok;
}

static bool check_function(const Op *func, const char *pass, const Reference *reference,
                           const VerifySemantics *v)
{
    RunSignature s = {0};
    DiagCapture capture;
    capture_begin(&capture, func->ctx);
    Interp *interp = signature_read(func, &s) ? interp_create(func) : NULL;
    capture_end(&capture);
    bool ok = true, same_ports = s.input_count == reference->input_count &&
                                 s.result_count == reference->result_count;
    if (!interp)
        diag_remark(func->ctx, func->loc, "semantics are not verified after pass '%s': %s", pass,
                    captured(&capture));
    else if (!same_ports)
        ok = diag_error(func->ctx, func->loc,
                        "pass '%s' changes the number of arguments or results of @%.*s", pass,
                        STR_ARG(symbol_name(func)->str));
    for (int64_t i = 0; interp && ok && i < v->runs; i++)
        ok = check_sample(func, pass, reference, &s, interp, i, v->images);
    interp_free(interp);
    free(s.inputs);
    strbuf_free(&capture.text);
    return ok;
}

/* A pass and the functions that it may change. */
typedef struct PassWalk {
    VerifySemantics *v;
    const Pass *pass;
    size_t seen;
} PassWalk;

static void refer(Op *func, void *user)
{
    PassWalk *walk = user;
    walk->seen++;
    if (!find_reference(walk->v, interp_function_path(func)))
        make_reference(walk->v, func, walk->pass->def->name);
}

static void compare(Op *func, void *user)
{
    VerifySemantics *v = ((PassWalk *)user)->v;
    const char *pass = ((PassWalk *)user)->pass->def->name;
    const Reference *reference = find_reference(v, interp_function_path(func));
    if (reference && !v->differs) v->differs = !check_function(func, pass, reference, v);
}

static Op *outermost(Op *op)
{
    while (op_parent(op)) op = op_parent(op);
    return op;
}

static void before_pass(void *user, const Pass *pass, Op *op)
{
    PassWalk walk = {.v = user, .pass = pass};
    if (walk.v->differs) return;
    interp_each_public_function(op, refer, &walk);
    if (walk.seen == 0 && walk.v->references.len == 0)
        diag_remark(op->ctx, outermost(op)->loc,
                    "semantics are not verified across pass '%s': there is no public function",
                    pass->def->name);
}

static void note_path(Op *func, void *user)
{
    ptrmap_put(user, interp_function_path(func), func);
}

/* Functions that became something else cannot be run. */
static void report_lost(const VerifySemantics *v, const Pass *pass, Op *module)
{
    PtrMap paths = {0};
    interp_each_public_function(module, note_path, &paths);
    for (size_t i = 0; i < v->references.len; i++) {
        const Ident *path = v->references.data[i].path;
        if (!ptrmap_has(&paths, path))
            diag_remark(module->ctx, module->loc,
                        "semantics are not verified after pass '%s': %.*s is no function any more",
                        pass->def->name, STR_ARG(path->str));
    }
    ptrmap_free(&paths);
}

static void after_pass(void *user, const Pass *pass, Op *op, bool ok)
{
    PassWalk walk = {.v = user, .pass = pass};
    if (!ok || walk.v->differs) return;
    interp_each_public_function(op, compare, &walk);
    if (!op_has_trait(op, TRAIT_FUNCTION)) report_lost(walk.v, pass, outermost(op));
}

VerifySemantics *verify_semantics_create(int64_t runs)
{
    if (runs < 1) return NULL;
    VerifySemantics *v = xcalloc(1, sizeof *v);
    v->runs = runs;
    v->images = 1;
    v->hooks = (PassHooks){.user = v, .before = before_pass, .after = after_pass};
    return v;
}

void verify_semantics_take_images(VerifySemantics *v, int64_t images)
{
    if (v && images > 1) v->images = images;
}

void verify_semantics_free(VerifySemantics *v)
{
    if (!v) return;
    for (size_t i = 0; i < v->references.len; i++) reference_free(&v->references.data[i], v->runs);
    vec_free(&v->references);
    free(v);
}

const PassHooks *verify_semantics_hooks(VerifySemantics *v)
{
    return v ? &v->hooks : NULL;
}

bool verify_semantics_ok(const VerifySemantics *v)
{
    return !v || !v->differs;
}
