/* Fuzz target for everything from an ONNX file to a design, by options that follow from the file's
 * bytes: the file is refused with one diagnostic, or the design, simulated on random arrays, gives
 * what the reference interpreter gives for the file as it stands. Every pass is verified by the
 * interpreter on the way. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "driver/driver.h"
#include "fuzz/fuzz_support.h"
#include "sim/hls/hls.h"
#include "sim/interp/interp.h"

enum { MOST_ELEMENTS = 1 << 12, MOST_CYCLES = 1 << 18 };

static const DriverErrors silent = {.report = NULL};

/* The arguments and results of the function, with arrays where it ran. */
typedef struct Reference {
    PortFiles inputs, results;
    double **reach; /* compare_reach per result */
    double *
        *rounding; /* what other roundings make of it: of two equal numbers either may be first */
} Reference;

/* Arrays. */

/* From the boundary's range; of a wide one, what floats of 32 bits hold, since Pow rounds its
 * exponent to the type of its base. */
static int64_t random_integer(const Boundary *b, int64_t number)
{
    if (b->low <= -(1 << 23) && b->high >= 1 << 23) return number;
    return b->low + (number + (1 << 23)) % (b->high - b->low + 1);
}

static bool random_npy(const Boundary *b, uint64_t *state, Npy *out)
{
    if (b->is_unranked || !type_is_static(b->tensor) || !boundary_new_input(b, out)) return false;
    for (int64_t i = 0; i < out->count; i++) {
        int64_t number = (int64_t)(fuzz_random(state) >> 40) - (1 << 23);
        if (out->kind == 'f')
            npy_set_f64(out, i, array_round(b->tensor->u.shaped.elem, (double)number * 0x1p-20));
        else
            npy_set_i64(out, i, random_integer(b, number));
    }
    return true;
}

/* Integers are drawn from ranges that 64 bits can count. */
static bool has_wide_integers(const PortFiles *ports)
{
    for (uint32_t i = 0; i < ports->count; i++)
        if (!type_is_float(ports->items[i].boundary.tensor->u.shaped.elem) &&
            type_width(ports->items[i].boundary.tensor->u.shaped.elem) > 62)
            return true;
    return false;
}

static bool draw_inputs(PortFiles *ports, uint64_t state)
{
    bool ok = !has_wide_integers(ports);
    for (uint32_t i = 0; ok && i < ports->count; i++)
        ok = random_npy(&ports->items[i].boundary, &state, &ports->items[i].npy);
    return ok;
}

/* Fills the results; false: the function cannot be run, or not on these inputs. */
static bool run_function(const Op *func, Reference *r)
{
    StrBuf why = {0};
    Array **inputs = xcalloc(r->inputs.count + 1, sizeof *inputs);
    Array **results = xcalloc(r->results.count + 1, sizeof *results);
    Interp *interp = interp_create(func);
    bool ok =
        interp && driver_ports_enter(&r->inputs, 0, inputs) && interp_run(interp, inputs, results);
    for (uint32_t i = 0; ok && i < r->results.count; i++)
        ok = boundary_leave(&r->results.items[i].boundary, results[i], 0, 1,
                            &r->results.items[i].npy, &why);
    for (uint32_t i = 0; i < r->inputs.count; i++) array_unref(inputs[i]);
    for (uint32_t i = 0; i < r->results.count; i++) array_unref(results[i]);
    interp_free(interp);
    free(inputs);
    free(results);
    strbuf_free(&why);
    return ok;
}

static bool init_ports(const Op *func, Reference *r)
{
    return driver_ports_init(&r->inputs, func, "input", false, silent) &&
           driver_ports_init(&r->results, func, "output", true, silent);
}

static void reference_free(Reference *r)
{
    for (uint32_t i = 0; r->reach && i < r->results.count; i++) free(r->reach[i]);
    for (uint32_t i = 0; r->rounding && i < r->results.count; i++) free(r->rounding[i]);
    free(r->reach);
    free(r->rounding);
    driver_ports_free(&r->inputs);
    driver_ports_free(&r->results);
}

static double tolerance_of(const PortFile *port)
{
    return compare_tolerance(type_elem(port->boundary.tensor));
}

static void widen_reach(const Op *func, Reference *r, uint64_t *state)
{
    Reference shifted = {0};
    bool ok = init_ports(func, &shifted);
    for (uint32_t i = 0; ok && i < r->inputs.count; i++)
        ok = compare_shift_input(&r->inputs.items[i].npy, tolerance_of(&r->inputs.items[i]), state,
                                 &shifted.inputs.items[i].npy);
    OtherRounding rounding = {.state = *state};
    array_round_otherwise(&rounding);
    ok = ok && run_function(func, &shifted);
    array_round_otherwise(NULL);
    for (uint32_t i = 0; ok && i < r->results.count; i++)
        compare_widen_reach(r->reach[i], &r->results.items[i].npy, &shifted.results.items[i].npy);
    reference_free(&shifted);
}

static void widen_rounding(const Op *func, Reference *r, OtherRounding *rounding)
{
    Reference other = {.inputs = r->inputs};
    bool ok = driver_ports_init(&other.results, func, "output", true, silent);
    array_round_otherwise(rounding);
    ok = ok && run_function(func, &other);
    array_round_otherwise(NULL);
    for (uint32_t i = 0; ok && i < r->results.count; i++)
        compare_widen_reach(r->rounding[i], &r->results.items[i].npy, &other.results.items[i].npy);
    driver_ports_free(&other.results);
}

static void find_reach(const Op *func, Reference *r, uint64_t state)
{
    enum { SHIFTS = 4 };
    OtherRounding rounding = {.state = state};
    r->reach = xcalloc(r->results.count + 1, sizeof *r->reach);
    r->rounding = xcalloc(r->results.count + 1, sizeof *r->rounding);
    for (uint32_t i = 0; i < r->results.count; i++) {
        const PortFile *result = &r->results.items[i];
        r->reach[i] = compare_reach(&result->npy, tolerance_of(result));
        r->rounding[i] = xcalloc((size_t)result->npy.count + 1, sizeof *r->rounding[i]);
    }
    for (int i = 0; i < SHIFTS; i++) widen_reach(func, r, &state);
    for (; rounding.to < ROUND_TO_COUNT; rounding.to++) widen_rounding(func, r, &rounding);
}

static bool make_reference(Op *module, uint64_t state, Reference *r)
{
    const Op *func = driver_find_function(module, NULL, silent);
    bool ok =
        func && init_ports(func, r) && draw_inputs(&r->inputs, state) && run_function(func, r);
    if (ok) find_reach(func, r, state);
    return ok;
}

/* The design. */

static const PortFile *find_port(const PortFiles *ports, Str name)
{
    for (uint32_t i = 0; i < ports->count; i++)
        if (str_eq(ports->items[i].boundary.name, name)) return &ports->items[i];
    fuzz_check(false, "a port of the design is none of the network's", name);
    return NULL;
}

static Boundary boundary_of(const HlsDesign *design, uint32_t arg)
{
    Boundary boundary = {0};
    const Attr *attrs = op_attr(design->top, DFG_ATTR_PORT_ATTRS)->u.array.items[arg];
    fuzz_check(boundary_init(design->top, design_argument_frame(design, arg), attrs, &boundary),
               "the boundary of a design is refused", STR(""));
    return boundary;
}

static void enter_frame(const HlsDesign *design, const Reference *r, uint32_t count, Array **arrays)
{
    StrBuf why = {0};
    for (uint32_t i = 0; i < count; i++) {
        HlsDirection direction = design_argument_direction(design, i);
        if (direction == HLS_NO_DATA) continue;
        Boundary boundary = boundary_of(design, i);
        if (direction == HLS_DATA_OUT)
            arrays[i] = array_new(design_argument_frame(design, i));
        else
            arrays[i] =
                boundary_enter(&boundary, &find_port(&r->inputs, boundary.name)->npy, 0, &why);
        fuzz_check(arrays[i] != NULL, "an array does not fit the design", strbuf_str(&why));
    }
}

static double element(const Npy *npy, int64_t i)
{
    return npy->kind == 'f' ? npy_get_f64(npy, i) : (double)npy_get_i64(npy, i);
}

static void compare(Str name, const Npy *want, const Npy *got, const double *reach,
                    const double *rounding)
{
    int64_t at = compare_results(want, got, false, reach, rounding);
    fuzz_check(at != COMPARE_SHAPES_DIFFER, "another shape", name);
    if (at == COMPARE_EQUAL) return;
    fprintf(stderr, "element %lld is %.9g, not %.9g\n", (long long)at, element(got, at),
            element(want, at));
    fuzz_check(false, "a wrong value", name);
}

static void leave_frame(const HlsDesign *design, const Reference *r, uint32_t count,
                        Array *const *arrays)
{
    StrBuf why = {0};
    for (uint32_t i = 0; i < count; i++) {
        Npy got = {0};
        if (design_argument_direction(design, i) != HLS_DATA_OUT) continue;
        Boundary boundary = boundary_of(design, i);
        fuzz_check(boundary_leave(&boundary, arrays[i], 0, 1, &got, &why),
                   "a result does not leave the design", strbuf_str(&why));
        const PortFile *want = find_port(&r->results, boundary.name);
        ptrdiff_t result = want - r->results.items;
        compare(boundary.name, &want->npy, &got, r->reach[result], r->rounding[result]);
        npy_free(&got);
    }
}

static bool is_short(const HlsDesign *design)
{
    int64_t most = 0;
    for (size_t i = 0; i < design->processes.len; i++) {
        int64_t cycles = design_process_cycles(&design->processes.data[i]);
        most = cycles > most ? cycles : most;
    }
    return most <= MOST_CYCLES;
}

static void run_design(const HlsDesign *design, const Reference *r)
{
    HlsValues *values = hls_sim_values_create(design);
    fuzz_check(values != NULL, "the design has no functional model", STR(""));
    const HlsSimOptions options = {.drains = true, /* a second frame has no values */
                                   .hooks = {.user = values, .values = hls_sim_values_advance}};
    uint32_t count = region_entry(op_region(design->top, 0))->arg_count;
    Array **arrays = xcalloc(count + 1, sizeof *arrays);
    HlsSim *sim = hls_sim_create(design, &options);
    enter_frame(design, r, count, arrays);
    hls_sim_values_begin_frame(values, arrays);
    bool ok = hls_sim_run(sim, 1);
    fuzz_check(ok || fuzz_is_known_change(STR("")), "the simulation of the design fails", STR(""));
    hls_sim_values_end_frame(values);
    if (ok) leave_frame(design, r, count, arrays);
    hls_sim_free(sim);
    hls_sim_values_free(values);
    for (uint32_t i = 0; i < count; i++) array_unref(arrays[i]);
    free(arrays);
}

static void check_design(const Op *module, const Reference *r)
{
    HlsDesign *design = design_create(module, clock_of_module(module, CLOCK_DEFAULT_MHZ));
    fuzz_check(design != NULL, "the design cannot be simulated", STR(""));
    if (is_short(design)) run_design(design, r);
    design_free(design);
}

/* How to compile. */

static bool one_in(uint64_t *state, uint64_t count)
{
    return fuzz_random(state) % count == 0;
}

static const char *one_of(uint64_t *state, const char *const *words, size_t count)
{
    return words[fuzz_random(state) % count];
}

/* By which ports frames and weights come. Registers start what reads memories. */
static void draw_ports(uint64_t *state, CompileOptions *o)
{
    static const char *const interfaces[] = {NULL, "m_axi", "axilite"};
    static const char *const controls[] = {"hs", "none"};
    o->has_memory_ports = one_in(state, 6);
    o->has_dma_ports = !o->has_memory_ports && one_in(state, 6);
    if (one_in(state, 4)) {
        o->loads_weights = true;
        o->weights_width = 8 << fuzz_random(state) % 4;
        o->weights_interface = one_of(state, interfaces, COUNT_OF(interfaces));
    }
    if (!o->has_memory_ports && !o->weights_interface && one_in(state, 4))
        o->control = one_of(state, controls, COUNT_OF(controls));
}

/* Half of the files are compiled by default. */
static CompileOptions draw_options(uint64_t *state)
{
    static const char *const residuals[] = {"none", "add", "reuse", "merge", "fanout", "add,merge"};
    static const char *const slacks[] = {"exact", "50%", "100%"};
    static const char *const objectives[] = {"latency", "pipeline-latency", "throughput"};
    CompileOptions o = {.search = {.time_limit = 2}};
    if (one_in(state, 2)) return o;
    uint64_t style = fuzz_random(state) % 3;
    o.rewinds = style == 1;
    o.flushes = style == 2;
    draw_ports(state, &o);
    if (one_in(state, 3)) o.residual = one_of(state, residuals, COUNT_OF(residuals));
    if (one_in(state, 3)) o.fifo_slack = one_of(state, slacks, COUNT_OF(slacks));
    if (one_in(state, 2)) o.search.objective = one_of(state, objectives, COUNT_OF(objectives));
    if (one_in(state, 4)) o.search.epilogues = "fused";
    if (one_in(state, 4)) o.search.small_fifos = "lutram";
    return o;
}

static bool has_no_huge_floats(Op *op, void *user)
{
    const Attr *value = op_attr(op, "value");
    if (!value || value->kind != ATTR_DENSE || !type_is_float(type_elem(value->type))) return true;
    const double huge = type_width(type_elem(value->type)) == 64 ? 0x1p1000 : 0x1p100;
    (void)user;
    for (int64_t i = 0; i < dense_count(value); i++)
        if (fabs(dense_f64(value, i)) >= huge) return false;
    return true;
}

/* Whether results say something of a design: sums of huge constants are infinite in one order, and no
 * number in another. */
static bool is_comparable(Op *module)
{
    return !fuzz_sums_narrow_floats(module) && op_walk(module, has_no_huge_floats, NULL);
}

/* A device that has room for every design, or one in four times for a small one. */
static void take_device(Context *ctx, uint64_t *state, DeviceTarget *target)
{
    DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
    enum { AMPLE = 100000000 };
    options.limits = (Resources){AMPLE, AMPLE, AMPLE, AMPLE, AMPLE};
    if (one_in(state, 4)) {
        options.limits.dsp = 1 << fuzz_random(state) % 7;
        options.limits.lut = 1000 << fuzz_random(state) % 6;
    }
    fuzz_check(driver_resolve_device(ctx, &options, fuzz_reports, target), "no device", STR(""));
}

static void compile(Op **module, uint64_t state, const Reference *reference)
{
    DeviceTarget target;
    Context *ctx = (*module)->ctx;
    take_device(ctx, &state, &target);
    bool is_compared = is_comparable(*module);
    CompileOptions options = draw_options(&state);
    options.verify_semantics = is_compared;
    size_t before = fuzz_error_count();
    bool ok = driver_compile(module, &options, &target, NULL);
    size_t errors = fuzz_error_count() - before;
    if (fuzz_is_known_change(STR(""))) return;
    fuzz_check(!strstr(fuzz_first_error().data, "changes the semantics"), "semantics change",
               STR(""));
    fuzz_check(errors == (ok ? 0 : 1), "not one diagnostic for a refused network", STR(""));
    if (ok) fuzz_check_design(*module);
    fuzz_forget_errors(); /* those of arrays that are not the network's */
    if (ok && is_compared && reference) check_design(*module, reference);
}

void fuzz_compile(const uint8_t *data, size_t size)
{
    static FuzzContext reused;
    Reference reference = {0};
    Context *ctx = fuzz_context_take(&reused);
    const ModelOptions options = {0};
    Op *module = driver_load_onnx(ctx, "fuzz", (Str){(const char *)data, size}, &options);
    if (module && fuzz_is_small(module, MOST_ELEMENTS)) {
        bool ran = make_reference(module, size, &reference);
        compile(&module, hash_bytes(data, size, 0), ran ? &reference : NULL);
    }
    reference_free(&reference);
    if (module) op_erase(module);
    fuzz_context_give_back(&reused);
}
