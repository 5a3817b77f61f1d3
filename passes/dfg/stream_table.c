/* How the rows of a streamed table lie in memory, and the processes that bring them.
 *
 * A bus word is a power of two of integers of 64 bits: as many as a port brings, or several ports do,
 * each from a memory of its own, an equal part of every bus word. Elements lie in them from the low bits up, as many as
 * fit, so that none lies in two of them. Of rows that take half of 64 bits or less several share an
 * integer, of others that take half of a bus word or less several share that; longer rows begin with
 * a bus word. The reader goes through rows run by run: a run is what innermost loops take in turn, and
 * begins with a bus word, too.
 * Tests: lit/passes/dfg/stream-weights.mir, test/e2e/stream_check.py */
#include <stdlib.h>

#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "passes/dfg/internal.h"

enum { UNIT = STREAM_UNIT_BITS, MOST_BYTES = 1 << 30 };

/* Most rows of a bus word with which unpacking a run takes hardly longer than its rows do. */
static int64_t rows_per_bus(int64_t rows, int64_t most)
{
    enum { WASTE = 16 };
    int64_t best = 1;
    for (int64_t n = 2; n <= most; n++)
        if (ceil_div(rows, n) * n - rows <= rows / WASTE) best = n;
    return best;
}

void stream_table_shape(int64_t lanes, int64_t bits, int64_t rows, int64_t bus_bits,
                        StreamShape *out)
{
    *out = (StreamShape){.per_unit = UNIT / bits, .bus_lanes = 1, .chunks = 1};
    out->rows_per_unit = i64_max(1, out->per_unit / lanes);
    out->units = ceil_div(lanes, out->per_unit);
    while (out->bus_lanes < out->units && out->bus_lanes * 2 * UNIT <= bus_bits)
        out->bus_lanes *= 2;
    out->chunks = ceil_div(out->units, out->bus_lanes);
    out->rows_per_bus =
        out->chunks > 1 ? 1
                        : rows_per_bus(rows, out->units > 1 ? out->bus_lanes / out->units
                                                            : out->bus_lanes * out->rows_per_unit);
    out->beats = ceil_div(rows, out->rows_per_bus) * out->chunks;
}

void stream_table_plan(StreamedTable *t, int64_t port_bits, int64_t most_ports)
{
    Context *ctx = t->table->ctx;
    t->run_end = t->count;
    while (t->run_end > 0 && t->strides[t->run_end - 1] == 0) t->run_end--;
    t->run_begin = t->run_end;
    while (t->run_begin > 0 &&
           (t->strides[t->run_begin - 1] != 0 || t->extents[t->run_begin - 1] == 1))
        t->run_begin--;
    t->run = t->runs = 1;
    for (uint32_t i = t->run_begin; i < t->run_end; i++) t->run *= t->extents[i];
    for (uint32_t i = 0; i < t->run_begin; i++)
        if (t->strides[i] != 0) t->runs *= t->extents[i];
    stream_table_shape(t->lanes, t->bits, t->run, port_bits * most_ports, &t->shape);
    const Type *unit = type_i(ctx, UNIT),
               *elem = emithls_scalar(emithls_array_elem(t->array->type));
    t->bus_lanes = t->shape.bus_lanes;
    t->bus_words = t->shape.beats * t->runs;
    t->bus = t->bus_lanes == 1 ? unit : type_vector(unit, &t->bus_lanes, 1, NULL);
    t->ports = ceil_div(t->bus_lanes * UNIT, port_bits);
    const int64_t part_lanes = t->bus_lanes / t->ports;
    t->part = part_lanes == 1 ? unit : type_vector(unit, &part_lanes, 1, NULL);
    t->row = t->lanes == 1 && emithls_array_elem(t->array->type)->kind != TYPE_VECTOR
                 ? elem
                 : type_vector(elem, &t->lanes, 1, NULL);
}

/* Where an element is: its integer of the bus words of a run, and its number in there. */
static void place_of(const StreamedTable *t, int64_t row, int64_t lane, int64_t *unit,
                     int64_t *number)
{
    const StreamShape *s = &t->shape;
    int64_t first = row / s->rows_per_bus * s->chunks * s->bus_lanes, slot = row % s->rows_per_bus;
    if (s->units > 1) {
        *unit = first + slot * s->units + lane / s->per_unit;
        *number = lane % s->per_unit;
    } else {
        *unit = first + slot / s->rows_per_unit;
        *number = slot % s->rows_per_unit * t->lanes + lane;
    }
}

/* The row of the table that is number `index` in the order of the loops from `begin` to `end`. */
static int64_t table_row(const StreamedTable *t, uint32_t begin, uint32_t end, int64_t index)
{
    int64_t row = 0;
    for (uint32_t i = end; i-- > begin;) {
        if (t->strides[i] == 0) continue;
        row += index % t->extents[i] * t->strides[i];
        index /= t->extents[i];
    }
    return row;
}

/* The words of a port: its part of every bus word. */
static const Attr *image_of_port(const StreamedTable *t, const uint64_t *image, int64_t port)
{
    const int64_t lanes = emithls_lanes(t->part), units = t->bus_words * lanes;
    uint8_t *bytes = xcalloc((size_t)units, 8);
    for (int64_t i = 0; i < units; i++) {
        uint64_t unit = image[i / lanes * t->bus_lanes + port * lanes + i % lanes];
        for (int64_t b = 0; b < 8; b++) bytes[8 * i + b] = (uint8_t)(unit >> 8 * b);
    }
    const Type *type = type_tensor(type_i(t->table->ctx, UNIT), &units, 1, NULL);
    const Attr *result = attr_dense_raw(type, bytes, (size_t)units * 8, false);
    free(bytes);
    return result;
}

bool stream_table_images(const StreamedTable *t, const Attr **images)
{
    const Attr *value = op_attr(t->table, "value");
    const int64_t units = t->bus_words * t->bus_lanes;
    const uint64_t mask = t->bits == UNIT ? ~(uint64_t)0 : ((uint64_t)1 << t->bits) - 1;
    if (units > MOST_BYTES / 8) return false;
    uint64_t *image = xcalloc((size_t)units, sizeof *image);
    for (int64_t run = 0; run < t->runs; run++) {
        int64_t base = table_row(t, 0, t->run_begin, run),
                first = run * t->shape.beats * t->bus_lanes;
        for (int64_t r = 0; r < t->run; r++) {
            int64_t row = base + table_row(t, t->run_begin, t->run_end, r);
            for (int64_t k = 0; k < t->lanes; k++) {
                int64_t unit, number;
                place_of(t, r, k, &unit, &number);
                image[first + unit] |= ((uint64_t)dense_i64(value, row * t->lanes + k) & mask)
                                       << number * t->bits;
            }
        }
    }
    for (int64_t port = 0; port < t->ports; port++) images[port] = image_of_port(t, image, port);
    free(image);
    return true;
}

void stream_table_name(const StreamedTable *t, int64_t port, StrBuf *out)
{
    strbuf_add_str(out, symbol_name(t->table)->str);
    if (t->ports > 1) strbuf_printf(out, "_%lld", (long long)port);
}

/* "read_x", "join_x" or "unpack_x", on the die of the process that takes the rows. port: -1 is all. */
static Op *create(SymbolTable *symbols, const StreamedTable *t, const char *verb, int64_t port,
                  const Attr *report, const Type *const *types, const char *const *names)
{
    StrBuf name = {0};
    strbuf_printf(&name, "%s_", verb);
    if (port < 0)
        strbuf_add_str(&name, symbol_name(t->table)->str);
    else
        stream_table_name(t, port, &name);
    Op *func = port_process_create_at(symbols, op_attr(t->func, SYS_ATTR_PLACE), t->func, name.data,
                                      report, types, names);
    strbuf_free(&name);
    return func;
}

/* Iterations of the loops around a run. */
static int64_t passes_of(const StreamedTable *t)
{
    int64_t passes = 1;
    for (uint32_t i = 0; i < t->run_begin; i++) passes *= t->extents[i];
    return passes;
}

int64_t stream_table_beats(const StreamedTable *t)
{
    return passes_of(t) * t->shape.beats;
}

Op *stream_table_reader(SymbolTable *symbols, const StreamedTable *t, int64_t port,
                        const Value *memory)
{
    static const char *const names[2] = {"memory", "out"};
    const Type *const types[2] = {memory->type, emithls_stream(t->part)};
    Context *ctx = t->table->ctx;
    const Attr *report =
        port_process_report(ctx, "reader", stream_table_beats(t), emithls_lanes(t->part));
    Op *func = create(symbols, t, "read", port, report, types, names);
    Block *body = region_entry(op_region(func, 0));
    EmithlsNest nest = {.b = builder_at_end(body, func->loc)};
    LoopSpec loops[NEST_MAX_COUNTERS];
    const AffineExpr *place = affine_const(ctx, 0);
    uint32_t count = 0;
    for (uint32_t i = 0; i < t->run_begin; i++) {
        if (t->extents[i] == 1) continue;
        if (t->strides[i] != 0)
            place = affine_add(affine_mul_c(place, t->extents[i]), affine_dim(ctx, count));
        loops[count] = (LoopSpec){load_table_counter(count), t->extents[i]};
        count++;
    }
    loops[count] = (LoopSpec){"i", t->shape.beats};
    place = affine_add(affine_mul_c(place, t->shape.beats), affine_dim(ctx, count++));
    NestMark mark = emithls_nest_open(&nest, "words", loops, count, LOOP_PIPELINED, -1, -1);
    emithls_nest_write(&nest, emithls_nest_load(&nest, body->args[0], &place, 1), body->args[1]);
    emithls_nest_close(&nest, mark);
    op_set_attr(func, EMITHLS_ATTR_SAME_MEMORY, attr_unit(ctx));
    return func;
}

/* bus[port * lanes + k] = part[k] */
static void copy_part(EmithlsNest *nest, const StreamedTable *t, int64_t port, Value *part,
                      Value *bus)
{
    const int64_t lanes = emithls_lanes(t->part);
    LoopSpec loop = {"k", lanes};
    const AffineExpr *from = affine_dim(nest->b.ctx, nest->count),
                     *to = affine_add_c(from, port * lanes);
    NestMark mark = emithls_nest_open(nest, "part", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, emithls_nest_load(nest, part, &from, lanes > 1), bus, &to, 1);
    emithls_nest_close(nest, mark);
}

Op *stream_table_gatherer(SymbolTable *symbols, const StreamedTable *t)
{
    static const char *const names[2] = {"in", "out"};
    const Type *const types[2] = {emithls_stream(t->part), emithls_stream(t->bus)};
    const Attr *report =
        port_process_report(t->table->ctx, "converter", stream_table_beats(t), t->bus_lanes);
    Op *func = create(symbols, t, "join", -1, report, types, names);
    for (int64_t port = 1; port < t->ports; port++) {
        StrBuf name = {0};
        strbuf_printf(&name, "in_%lld", (long long)port);
        port_process_argument(func, name.data, types[0], NULL);
        strbuf_free(&name);
    }
    Block *body = region_entry(op_region(func, 0));
    EmithlsNest nest = {.b = builder_at_end(body, func->loc)};
    LoopSpec loop = {"i", stream_table_beats(t)};
    NestMark mark = emithls_nest_open(&nest, "words", &loop, 1, LOOP_PIPELINED, -1, -1);
    Value *bus = emithls_nest_variable(&nest, "bus_word", t->bus, NULL, 0);
    for (int64_t port = 0; port < t->ports; port++) {
        StrBuf name = {0};
        strbuf_printf(&name, "part_%lld", (long long)port);
        Value *part = emithls_nest_variable(&nest, name.data, t->part, NULL, 0);
        strbuf_free(&name);
        Value *in = body->args[port == 0 ? 0 : port + 1];
        emithls_nest_store(&nest, emithls_nest_read(&nest, in), part, NULL, 0);
        copy_part(&nest, t, port, part, bus);
    }
    emithls_nest_write(&nest, emithls_nest_load(&nest, bus, NULL, 0), body->args[1]);
    emithls_nest_close(&nest, mark);
    return func;
}

/* The element whose number in an integer is `number`. */
static Value *element_of(EmithlsNest *nest, const StreamedTable *t, Value *unit,
                         const AffineExpr *number)
{
    if (t->shape.per_unit > 1) {
        Value *bit = emithls_nest_index(nest, affine_mul_c(number, t->bits));
        bit = build_unary(&nest->b, ARITH(INDEX_CAST), unit->type, bit);
        unit = build_binary(&nest->b, ARITH(SHRUI), unit->type, unit, bit);
    }
    const Type *elem = emithls_scalar(t->row);
    return unit->type == elem ? unit : build_unary(&nest->b, ARITH(TRUNCI), elem, unit);
}

/* rows[slot][lane], of one bus word or of all chunks of a row. */
static void copy_elements(EmithlsNest *nest, const StreamedTable *t, Value *from, Value *rows)
{
    Context *ctx = nest->b.ctx;
    const StreamShape *s = &t->shape;
    LoopSpec loops[2] = {{"row", s->rows_per_bus}, {"lane", t->lanes}};
    NestMark mark = emithls_nest_open(nest, "elements", loops, 2, LOOP_UNROLLED, -1, -1);
    const AffineExpr *slot = affine_dim(ctx, mark.count), *lane = affine_dim(ctx, mark.count + 1);
    const AffineExpr *per_unit = affine_const(ctx, s->per_unit), *unit, *number, *from_index[2];
    uint32_t from_rank = 0;
    if (s->units > 1) {
        unit = affine_add(affine_mul_c(slot, s->units), affine_floordiv(lane, per_unit));
        number = affine_mod(lane, per_unit);
    } else {
        const AffineExpr *shared = affine_const(ctx, s->rows_per_unit);
        unit = affine_floordiv(slot, shared);
        number = affine_add(affine_mul_c(affine_mod(slot, shared), t->lanes), lane);
    }
    const AffineExpr *lanes = affine_const(ctx, s->bus_lanes);
    if (s->chunks > 1) from_index[from_rank++] = affine_floordiv(unit, lanes);
    if (s->bus_lanes > 1) from_index[from_rank++] = affine_mod(unit, lanes);
    Value *value =
        element_of(nest, t, emithls_nest_load(nest, from, from_index, from_rank), number);
    const AffineExpr *to[2] = {slot, lane};
    bool has_slots = s->rows_per_bus > 1, has_lanes = t->row->kind == TYPE_VECTOR;
    emithls_nest_store(nest, value, rows, has_slots ? to : to + 1, has_slots + has_lanes);
    emithls_nest_close(nest, mark);
}

/* parts[i] = parts[i + 1] */
static void shift(EmithlsNest *nest, Value *parts, int64_t count)
{
    LoopSpec loop = {"k", count - 1};
    const AffineExpr *to = affine_dim(nest->b.ctx, nest->count), *from = affine_add_c(to, 1);
    NestMark mark = emithls_nest_open(nest, "shift", &loop, 1, LOOP_UNROLLED, -1, -1);
    emithls_nest_store(nest, emithls_nest_load(nest, parts, &from, 1), parts, &to, 1);
    emithls_nest_close(nest, mark);
}

static Value *declare_parts(EmithlsNest *nest, const Type *elem, int64_t count)
{
    Value *parts = emithls_nest_variable(nest, "parts", elem, &count, 1);
    emithls_nest_partition(nest, parts, 1);
    emithls_nest_temporary(nest, parts);
    return parts;
}

/* A row of several bus words. */
static void join(EmithlsNest *nest, const StreamedTable *t, Value *in, Value *out)
{
    Context *ctx = nest->b.ctx;
    const int64_t chunks = t->shape.chunks;
    Value *parts = declare_parts(nest, t->bus, chunks);
    LoopSpec loops[2] = {{"i", passes_of(t) * t->run}, {"part", chunks}};
    NestMark mark = emithls_nest_open(nest, "words", loops, 2, LOOP_PIPELINED, -1, -1);
    const AffineExpr *newest = affine_const(ctx, chunks - 1),
                     *last = affine_add_c(affine_dim(ctx, 1), 1 - chunks);
    const bool is_eq = true;
    shift(nest, parts, chunks);
    emithls_nest_store(nest, emithls_nest_read(nest, in), parts, &newest, 1);
    NestMark complete = emithls_nest_open_if(nest, &last, &is_eq, 1);
    Value *row = emithls_nest_variable(nest, "row_word", t->row, NULL, 0);
    copy_elements(nest, t, parts, row);
    emithls_nest_write(nest, emithls_nest_load(nest, row, NULL, 0), out);
    emithls_nest_close(nest, complete);
    emithls_nest_close(nest, mark);
}

/* Bus words of one row each. */
static void convert(EmithlsNest *nest, const StreamedTable *t, Value *in, Value *out)
{
    LoopSpec loop = {"i", passes_of(t) * t->run};
    NestMark mark = emithls_nest_open(nest, "words", &loop, 1, LOOP_PIPELINED, -1, -1);
    Value *bus = emithls_nest_variable(nest, "bus_word", t->bus, NULL, 0);
    emithls_nest_store(nest, emithls_nest_read(nest, in), bus, NULL, 0);
    Value *row = emithls_nest_variable(nest, "row_word", t->row, NULL, 0);
    copy_elements(nest, t, bus, row);
    emithls_nest_write(nest, emithls_nest_load(nest, row, NULL, 0), out);
    emithls_nest_close(nest, mark);
}

/* Bus words of several rows, the last of a run perhaps of fewer. */
static void split(EmithlsNest *nest, const StreamedTable *t, Value *in, Value *out)
{
    Context *ctx = nest->b.ctx;
    const int64_t rows = t->shape.rows_per_bus;
    Value *parts = declare_parts(nest, t->row, rows);
    LoopSpec loops[3] = {{"pass", passes_of(t)}, {"i", t->shape.beats}, {"part", rows}};
    NestMark mark = emithls_nest_open(nest, "words", loops, 3, LOOP_PIPELINED, -1, -1);
    const AffineExpr *part = affine_dim(ctx, 2), *oldest = affine_const(ctx, 0);
    const AffineExpr *row = affine_add(affine_mul_c(affine_dim(ctx, 1), rows), part);
    const AffineExpr *inside = affine_add_c(affine_neg(row), t->run - 1);
    bool is_eq = true;
    shift(nest, parts, rows);
    NestMark first = emithls_nest_open_if(nest, &part, &is_eq, 1);
    Value *bus = emithls_nest_variable(nest, "bus_word", t->bus, NULL, 0);
    emithls_nest_store(nest, emithls_nest_read(nest, in), bus, NULL, 0);
    copy_elements(nest, t, bus, parts);
    emithls_nest_close(nest, first);
    is_eq = false;
    NestMark guard = {nest->b.block, nest->b.before, nest->count};
    if (t->run % rows != 0) guard = emithls_nest_open_if(nest, &inside, &is_eq, 1);
    emithls_nest_write(nest, emithls_nest_load(nest, parts, &oldest, 1), out);
    emithls_nest_close(nest, guard);
    emithls_nest_close(nest, mark);
}

Op *stream_table_unpacker(SymbolTable *symbols, const StreamedTable *t)
{
    static const char *const names[2] = {"in", "out"};
    const Type *const types[2] = {emithls_stream(t->bus), emithls_stream(t->row)};
    const StreamShape *s = &t->shape;
    int64_t trips = passes_of(t) * s->beats * s->rows_per_bus;
    const Attr *report = port_process_report(t->table->ctx, "converter", trips, t->lanes);
    Op *func = create(symbols, t, "unpack", -1, report, types, names);
    Block *body = region_entry(op_region(func, 0));
    EmithlsNest nest = {.b = builder_at_end(body, func->loc)};
    (s->chunks > 1         ? join
     : s->rows_per_bus > 1 ? split
                           : convert)(&nest, t, body->args[0], body->args[1]);
    return func;
}
