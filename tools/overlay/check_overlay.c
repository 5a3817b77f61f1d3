/* ming check --architecture=overlay: compiles a model to a program of an overlay, counts its cycles in the
 * simulator without computing anything, and says for each layer what it takes and what limits it.
 * Tests: lit/tools/ming-check-overlay.test */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "sim/engine/engine.h"
#include "target/overlay/overlay.h"
#include "tools/internal.h"

typedef struct CheckOverlay {
    const char *architecture, *overlay;
    int64_t rate, latency, cycles; /* cycles: LIMIT_NOT_GIVEN, or the most that are allowed */
    bool as_json;
    CompileOptions compile;
    ModelOptions model;
    QuantizeOptions quantize;
} CheckOverlay;

/* Layers that come from one operator and follow each other. */
typedef struct LayerRow {
    const Op *layer;      /* the first */
    const Value *map;     /* the last one's result */
    uint64_t macs, bytes; /* of weights in external memory */
    uint64_t busy, end;   /* cycles of the array; when the last of its runs is over */
} LayerRow;
typedef VEC(LayerRow) LayerRows;

static uint64_t blocks(int64_t channels, uint32_t of)
{
    return ((uint64_t)channels + of - 1) / of;
}

/* Products of a layer, and its weights as the array takes them. */
static void add_weights(LayerRow *row, const Op *layer, const SaOverlay *size)
{
    const int64_t *in = sa_map_dims(op_operand(layer, 0)), *out = sa_map_dims(op_result(layer, 0));
    int64_t kernel[2];
    bool is_depthwise = op_attr(layer, "depthwise") != NULL;
    if (layer->def != SA(CONV)) return;
    sa_kernel(layer, kernel);
    int64_t groups = sa_int(layer, SA_ATTR_GROUPS, 1);
    uint64_t taps = (uint64_t)(kernel[0] * kernel[1]);
    uint64_t columns = is_depthwise ? 1 : (uint64_t)(in[2] / groups);
    uint32_t lanes = size->rows > size->cols ? size->rows : size->cols;
    uint32_t rows =
        size->weight_bits == 1 ? size->rows : lanes; /* blocks of no channels are left out */
    uint64_t outputs = (uint64_t)groups * blocks(out[2] / groups, rows) * rows;
    uint64_t inputs = is_depthwise ? size->cols : blocks(in[2] / groups, lanes) * lanes;
    SaPool pool = {.map = {out[0] / sa_images(layer), out[1]}};
    (void)sa_pool(layer, &pool);
    row->macs += (uint64_t)(sa_images(layer) * pool.map[0] * pool.map[1] * out[2]) * taps * columns;
    row->bytes += outputs * inputs * taps * sa_stored_bits(size->weight_bits) / 8;
}

static void list_layers(const Op *network, const SaOverlay *size, LayerRows *rows)
{
    FOR_EACH_INNER(op, network) {
        if (!sa_is_layer(op)) continue;
        bool is_new = rows->len == 0 || rows->data[rows->len - 1].layer->loc != op->loc;
        if (is_new) *vec_push(rows) = (LayerRow){.layer = op};
        LayerRow *row = &rows->data[rows->len - 1];
        row->map = op_result(op, 0);
        add_weights(row, op, size);
    }
}

/* Runs are in the order of the layers, and have their places. */
static void take_events(const EngineResult *result, LayerRows *rows)
{
    size_t at = 0;
    for (size_t i = 0; i < result->events.len; i++) {
        const EngineEvent *event = &result->events.data[i];
        if (event->op->def != SA(RUN)) continue;
        while (at + 1 < rows->len && rows->data[at].layer->loc != event->op->loc) at++;
        rows->data[at].busy += event->end - event->start;
        rows->data[at].end = event->end;
    }
}

static Str name_of(const Op *layer)
{
    const Attr *name = op_attr(layer, SA_ATTR_NAME);
    return name && name->kind == ATTR_STRING ? name->u.string : STR("");
}

/* Cycles from the end of the layer before. */
static uint64_t span(const LayerRows *rows, size_t i)
{
    return rows->data[i].end - (i > 0 ? rows->data[i - 1].end : 0);
}

/* Percent of the products that the array could make in those cycles. */
static double use(const LayerRow *row, uint64_t cycles, const SaOverlay *size)
{
    double most = (double)cycles * size->rows * size->cols;
    return most > 0 ? 100 * (double)row->macs / most : 0;
}

/* What takes longer by itself. */
static const char *side_of(const LayerRow *row, const CheckOverlay *options, const SaOverlay *size)
{
    int64_t most = 1000 * SA_BEAT_BYTES, rate = options->rate < most ? options->rate : most;
    double all = (double)rate * size->weight_banks;
    return (double)row->bytes * 1000 / all > (double)row->busy ? "memory" : "array";
}

static void print_table(const CheckOverlay *options, const SaOverlay *size, const LayerRows *rows)
{
    static const char *const titles[] = {"layer", "result", "MMAC",          "cycles",
                                         "array", "use %",  "kB of weights", "limit"};
    StrBuf text = {0};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 2};
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (size_t i = 0; i < rows->len; i++) {
        const LayerRow *row = &rows->data[i];
        const int64_t *dims = sa_map_dims(row->map);
        strbuf_add_str(text_table_cell(&table), name_of(row->layer));
        strbuf_printf(text_table_cell(&table), "%lldx%lldx%lld", (long long)dims[0],
                      (long long)dims[1], (long long)dims[2]);
        strbuf_printf(text_table_cell(&table), "%.2f", (double)row->macs / 1e6);
        text_table_add_int(&table, (int64_t)span(rows, i));
        text_table_add_int(&table, (int64_t)row->busy);
        strbuf_printf(text_table_cell(&table), "%.1f", use(row, span(rows, i), size));
        strbuf_printf(text_table_cell(&table), "%.1f", (double)row->bytes / 1e3);
        text_table_add(&table, side_of(row, options, size));
    }
    text_table_print(&table, &text);
    fwrite(text.data, 1, text.len, stdout);
    text_table_free(&table);
    strbuf_free(&text);
}

static void print_json(const CheckOverlay *options, const SaOverlay *size, const LayerRows *rows,
                       const EngineResult *result)
{
    StrBuf text = {0};
    JsonWriter json = {.out = &text};
    json_begin_object(&json);
    json_member_int(&json, "cycles", (int64_t)result->cycles);
    if (options->compile.images > 1) json_member_int(&json, "images", options->compile.images);
    json_member_int(&json, "loaded_bytes", (int64_t)result->loaded);
    json_member_int(&json, "stored_bytes", (int64_t)result->stored);
    json_member_array(&json, "layers");
    for (size_t i = 0; i < rows->len; i++) {
        const LayerRow *row = &rows->data[i];
        json_write_line(&json, 2);
        json_begin_object(&json);
        json_member_string(&json, "layer", name_of(row->layer));
        json_member_string(&json, "kind", op_name(row->layer));
        json_member_int(&json, "macs", (int64_t)row->macs);
        json_member_int(&json, "cycles", (int64_t)span(rows, i));
        json_member_int(&json, "array_cycles", (int64_t)row->busy);
        json_member_int(&json, "weight_bytes", (int64_t)row->bytes);
        json_write_key(&json, STR("use_percent"));
        json_write_number(&json, "%.2f", use(row, span(rows, i), size));
        json_member_string(&json, "limit", str_from(side_of(row, options, size)));
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    fwrite(text.data, 1, text.len, stdout);
    putchar('\n');
    strbuf_free(&text);
}

/* The layer that waits longest for its weights, or that keeps the array longest. */
static const LayerRow *slowest(const CheckOverlay *options, const SaOverlay *size,
                               const LayerRows *rows, bool *is_memory)
{
    const LayerRow *waits = NULL, *computes = NULL;
    uint64_t longest = 0;
    for (size_t i = 0; i < rows->len; i++) {
        const LayerRow *row = &rows->data[i];
        uint64_t waiting = span(rows, i) > row->busy ? span(rows, i) - row->busy : 0;
        bool is_short = strcmp(side_of(row, options, size), "memory") == 0;
        if (is_short && waiting > longest) {
            waits = row;
            longest = waiting;
        }
        if (!computes || row->busy > computes->busy) computes = row;
    }
    *is_memory = waits && longest > 0;
    return *is_memory ? waits : computes;
}

/* Whether a frame takes no more than --cycles, of which a batch has as many as it has images. */
static bool check_cycles(const CheckOverlay *options, const SaOverlay *size, const LayerRows *rows,
                         uint64_t cycles)
{
    bool is_memory;
    const LayerRow *row = slowest(options, size, rows, &is_memory);
    const uint64_t images = (uint64_t)options->compile.images;
    if (options->cycles == LIMIT_NOT_GIVEN || !row || cycles <= images * (uint64_t)options->cycles)
        return true;
    cycles = (cycles + images - 1) / images;
    if (!is_memory)
        return op_error(row->layer,
                        "takes most of a frame's %llu cycles, which are more than %lld: %llu of "
                        "the array",
                        (unsigned long long)cycles, (long long)options->cycles,
                        (unsigned long long)row->busy);
    uint64_t moved = row->busy * (uint64_t)options->rate / 1000 * size->weight_banks;
    return op_error(row->layer,
                    "is short of external memory, and a frame takes %llu cycles, more than %lld: "
                    "it needs %llu bytes of weights, and banks move %llu in its %llu cycles of the "
                    "array",
                    (unsigned long long)cycles, (long long)options->cycles,
                    (unsigned long long)row->bytes, (unsigned long long)moved,
                    (unsigned long long)row->busy);
}

static bool count_cycles(const CheckOverlay *options, const Op *module, const Op *lowered)
{
    EngineResult result = {0};
    LayerRows rows = {0};
    const Op *program = overlay_find_program(lowered);
    EngineOptions engine = ENGINE_DEFAULTS;
    engine.rate = (uint64_t)options->rate;
    engine.latency = (uint64_t)options->latency;
    bool ok = program && tool_count_cycles(lowered, program, &engine, &result);
    if (ok) {
        SaOverlay size = sa_overlay(op_attr(program, SA_ATTR_OVERLAY));
        FOR_EACH_INNER(op, module)
            if (op->def == SA(NETWORK)) list_layers(op, &size, &rows);
        take_events(&result, &rows);
        if (options->as_json) print_json(options, &size, &rows, &result);
        if (!options->as_json) {
            print_table(options, &size, &rows);
            printf("%llu cycles", (unsigned long long)result.cycles);
            if (options->compile.images > 1)
                printf(" for %lld images, %.1f for each", (long long)options->compile.images,
                       (double)result.cycles / (double)options->compile.images);
            printf(", simulated, with inputs and outputs\n");
        }
        ok = check_cycles(options, &size, &rows, result.cycles);
    }
    vec_free(&rows);
    engine_result_free(&result);
    return ok;
}

static bool check_model(const Tool *tool, CheckOverlay *options, const char *path, Str bytes)
{
    Op *program = NULL;
    Context *ctx = context_create();
    dialects_register_all(ctx);
    diag_show_op(ctx, false);
    Op *module = driver_load_model(ctx, path, bytes, &options->model);
    tool_settle_quantize(&options->quantize);
    bool ok = module && tool_quantize(tool, &options->quantize, module, NULL) &&
              driver_compile_overlay(module, &options->compile, &program, NULL) &&
              count_cycles(options, module, program);
    diag_flush(ctx);
    if (program) op_erase(program);
    if (module) op_erase(module);
    context_destroy(ctx);
    return ok;
}

void tool_settle_quantize(QuantizeOptions *options)
{
    if (options->format && strcmp(options->format, "int16") == 0) options->fixed_point = true;
}

void tool_add_batch(CompileOptions *compile, Flags *flags)
{
    compile->images = 1;
    FLAGS_ADD(flags, {"batch", FLAG_INT, &compile->images, "n",
                      "Images that the program takes at once, each weight loaded for all of them; "
                      "default 1",
                      NULL});
}

bool tool_take_overlay(const Tool *tool, const char *text, CompileOptions *compile, StrBuf *sizes)
{
    StrBuf why = {0};
    bool ok = !text || driver_overlay_options(text, sizes, &why) ||
              tool_error(tool, "error: --overlay: %s", why.data);
    strbuf_free(&why);
    compile->overlay = sizes->data;
    if (ok && (compile->images < 1 || compile->images > SA_MOST_IMAGES))
        ok = tool_error(tool, "error: --batch takes 1 to %d images", SA_MOST_IMAGES);
    return ok &&
           (!compile->head || driver_head_is_valid(compile->head) ||
            tool_error(tool, "error: --head takes integers, argmax or topk=K with K above 0"));
}

static bool run_check(const Tool *tool, CheckOverlay *options, const char *path)
{
    enum { MOST = 1000000000 };
    StrBuf bytes = {0}, overlay = {0};
    const char *reason = NULL;
    bool ok = tool_take_overlay(tool, options->overlay, &options->compile, &overlay);
    if (ok && (options->rate < 1 || options->rate > MOST))
        ok = tool_error(tool, "error: --rate takes 1 to %d bytes in 1,000 cycles", MOST);
    if (ok && (options->latency < 0 || options->latency > MOST))
        ok = tool_error(tool, "error: --latency takes 0 to %d cycles", MOST);
    if (ok && options->cycles != LIMIT_NOT_GIVEN && options->cycles < 1)
        ok = tool_error(tool, "error: --cycles takes a positive number");
    ok = ok && (file_read(&bytes, path, &reason) ||
                tool_error(tool, "error: cannot open '%s': %s", path, reason));
    ok = ok && check_model(tool, options, path, strbuf_str(&bytes));
    strbuf_free(&bytes);
    strbuf_free(&overlay);
    return ok;
}

static void add_flags(CheckOverlay *options, Flags *flags)
{
    FLAGS_ADD(flags,
              {"architecture", FLAG_CHOICE, &options->architecture, TOOL_ARCHITECTURES,
               "What compiles to an accelerator (ming check --help), or to a program of an overlay",
               NULL},
              {"overlay", FLAG_TEXT, &options->overlay, "name=value,...",
               "Sizes of the overlay, as rows=16,cols=16,act=i8; default 64 rows and columns, i16",
               NULL});
    tool_add_batch(&options->compile, flags);
    FLAGS_ADD(
        flags,
        {"rate", FLAG_INT, &options->rate, "n",
         "Bytes that a bank moves in 1,000 cycles, default 64000, a beat a cycle", NULL},
        {"latency", FLAG_INT, &options->latency, "cycles",
         "From a command's request to the first beat, default 64", NULL},
        {"cycles", FLAG_INT, &options->cycles, "n",
         "Cycles that a frame may take, each of a batch; if it takes more, fail and name the layer "
         "that lacks "
         "external memory, or keeps the array longest",
         NULL},
        {"head", FLAG_TEXT, &options->compile.head, "integers|argmax|topk=K",
         "What the program gives, as ming compile takes it", NULL},
        {"json", FLAG_SWITCH, &options->as_json, NULL, "Print JSON instead of a table", NULL});
    flags_add_model(flags, &options->model);
    flags_add_quantize(flags, &options->quantize);
}

int tool_check_overlay(int argc, char **argv)
{
    const EngineOptions defaults = ENGINE_DEFAULTS;
    CheckOverlay options = {.rate = (int64_t)defaults.rate,
                            .latency = (int64_t)defaults.latency,
                            .cycles = LIMIT_NOT_GIVEN};
    Flags flags = {0};
    add_flags(&options, &flags);
    const Tool tool = {
        .name = "ming check",
        .summary =
            "ming check --architecture=overlay: what each layer takes of an engine that runs "
            "layer after layer, and what limits it",
        .usage = "--architecture=overlay MODEL(.onnx|.mir|.mlir) [options]",
        .flags = flags.data,
        .flag_count = flags.len,
    };
    const char *path = NULL;
    ArgsResult args = tool_parse_one(&tool, argc, argv, "model", &path);
    bool ok = args == ARGS_DONE || (args == ARGS_RUN && run_check(&tool, &options, path));
    driver_model_options_free(&options.model);
    driver_quantize_options_free(&options.quantize);
    vec_free(&flags);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
