/* Parts of maps that lie outside. Rows begin with a beat there. A part has whole pixels, or so many
 * of their words as fill beats; since loads and stores move runs of beats that lie on the chip one
 * behind the other, a part begins at a column where a beat begins and may end with more than it
 * needs. */
#include <string.h>

#include "lowering/network_to_program/internal.h"

/* Rows or columns of the input that the results from `begin` to `end` read, those that are there. */
static void reach(const Layer *layer, int axis, const uint32_t result[2], uint32_t out[2])
{
    int64_t stride = layer->strides[axis], pad = layer->pads[axis];
    int64_t image = axis == 0 ? result[0] / to_program_image_rows(layer) : 0;
    int64_t extent = axis == 0 ? layer->in_rows : sa_map_dims(op_operand(layer->op, 0))[1];
    int64_t first = image * to_program_image_sums(layer), above = image * extent;
    uint32_t sums[2];
    to_program_sums_range(layer, axis, result, sums);
    int64_t from = (sums[0] - first) * stride - pad;
    int64_t to = (sums[1] - first - 1) * stride +
                 (layer->kernel[axis] - 1) * layer->dilations[axis] - pad + 1;
    from = i64_min(i64_max(from, 0), extent);
    out[0] = (uint32_t)(above + from);
    out[1] = (uint32_t)(above + i64_max(i64_min(to, extent), from));
}

/* Words of pixels that hold blocks of `rows` outputs, those behind them without channels included. */
static void block_words(const Plan *plan, const Tile *tile, uint32_t words[2])
{
    const SaOverlay *size = &plan->size;
    words[0] = tile->begin[DIM_M] * size->rows / size->cols;
    words[1] = (uint32_t)to_program_up((uint64_t)tile->m_blank * size->rows, size->cols);
}

MapArea to_program_region(const Plan *plan, const Layer *layer, const Tile *tile, int role)
{
    const uint32_t y[] = {tile->begin[DIM_Y], tile->end[DIM_Y]};
    const uint32_t x[] = {tile->begin[DIM_X], tile->end[DIM_X]};
    MapArea region = {{y[0], y[1]}, {x[0], x[1]}, {0, 0}};
    block_words(plan, tile, region.words);
    if (role == ROLE_INPUT) {
        reach(layer, 0, y, region.rows);
        reach(layer, 1, x, region.cols);
    } else {
        for (int i = 0; i < 2; i++) {
            region.rows[i] *= (uint32_t)layer->repeats[0];
            region.cols[i] *= (uint32_t)layer->repeats[1];
        }
    }
    if (role == ROLE_INPUT && layer->mode == SA_MODE_DENSE) {
        region.words[0] = tile->first_n + tile->begin[DIM_N];
        region.words[1] = tile->first_n + tile->end[DIM_N];
    }
    if (role == ROLE_OPERAND && sa_operand(layer->op)->type != op_result(layer->op, 0)->type) {
        region.rows[0] = y[0] / to_program_image_rows(layer); /* one pixel, for all of the image */
        region.rows[1] = region.rows[0] + 1;
        region.cols[0] = 0;
        region.cols[1] = 1;
    }
    return region;
}

bool to_program_same_region(const MapArea *a, const MapArea *b)
{
    bool is_same = true;
    for (int i = 0; i < 2; i++)
        is_same &=
            a->rows[i] == b->rows[i] && a->cols[i] == b->cols[i] && a->words[i] == b->words[i];
    return is_same;
}

bool to_program_is_empty(const MapArea *region)
{
    return region->rows[0] >= region->rows[1] || region->cols[0] >= region->cols[1];
}

static bool fit_registers(const Moves *m)
{
    return m->runs <= UINT16_MAX && m->beats <= UINT16_MAX && m->stride <= UINT16_MAX &&
           m->row <= UINT16_MAX;
}

/* Whole pixels: a run for each row, one for all where these follow each other. */
static bool move_pixels(const Plan *plan, const Map *map, const MapArea *r, Moves *m)
{
    uint64_t word = to_program_act_bits(&plan->size), pixel = map->words * word;
    uint64_t align = BEAT_BITS / (uint64_t)i64_gcd(BEAT_BITS, (int64_t)pixel);
    uint64_t rows = r->rows[1] - r->rows[0], width = (uint64_t)sa_map_dims(map->value)[1];
    m->first_col = r->cols[0] / align * align;
    uint64_t bits = (r->cols[1] - m->first_col) * pixel;
    m->commands = 1;
    m->runs = rows;
    m->beats = to_program_up(bits, BEAT_BITS);
    m->stride = map->pitch;
    m->pixel = map->words;
    m->row = m->beats * BEAT_BITS / word;
    m->first = map->address + r->rows[0] * map->pitch + m->first_col * pixel / BEAT_BITS;
    m->has_end = bits % BEAT_BITS != 0;
    bool is_whole = m->first_col == 0 && r->cols[1] == width;
    if (is_whole && rows * map->pitch <= UINT16_MAX) {
        m->runs = 1;
        m->beats = m->stride = rows * map->pitch;
    }
    return fit_registers(m);
}

/* Some words of each pixel: a run for each of them, a command for each row where not all follow each
 * other. */
static bool move_words(const Plan *plan, const Map *map, const MapArea *r, Moves *m)
{
    uint64_t word = to_program_act_bits(&plan->size), pixel = map->words * word;
    uint64_t count = r->words[1] - r->words[0], cols = r->cols[1] - r->cols[0];
    uint64_t rows = r->rows[1] - r->rows[0], width = (uint64_t)sa_map_dims(map->value)[1];
    if (pixel % BEAT_BITS != 0 || count * word % BEAT_BITS != 0 ||
        r->words[0] * word % BEAT_BITS != 0)
        return false;
    bool is_whole = cols == width;
    m->commands = is_whole ? 1 : rows;
    m->runs = is_whole ? rows * cols : cols;
    m->beats = count * word / BEAT_BITS;
    m->stride = pixel / BEAT_BITS;
    m->first_col = r->cols[0];
    m->pixel = count;
    m->row = count * cols;
    m->step = map->pitch;
    m->first = map->address + r->rows[0] * map->pitch +
               (r->cols[0] * pixel + r->words[0] * word) / BEAT_BITS;
    return fit_registers(m);
}

bool to_program_moves(const Plan *plan, const Map *map, const MapArea *region, Moves *moves)
{
    *moves = (Moves){0};
    bool has_all = region->words[0] == 0 && region->words[1] == map->words;
    return (has_all ? move_pixels : move_words)(plan, map, region, moves);
}

/* Stages. Tiles are as many as the product of three axes has, but regions that are moved alike are few:
 * of rows only their number counts; of columns where in a beat they begin, too, and of words; and whether
 * a region begins or ends with the map. */

typedef struct Axis {
    VEC(MapArea) like; /* one of each kind, of which only this axis counts */
    bool is_many;      /* different ones */
    MapArea first;
} Axis;

enum { AXIS_ROWS, AXIS_COLS, AXIS_WORDS, AXES };

static const uint32_t *range_of(const MapArea *region, int axis)
{
    return axis == AXIS_ROWS ? region->rows : axis == AXIS_COLS ? region->cols : region->words;
}

static bool is_moved_alike(const Map *map, uint64_t word, int axis, const uint32_t *a,
                           const uint32_t *b)
{
    const uint64_t bits = axis == AXIS_COLS ? map->words * word : word;
    const uint32_t end = axis == AXIS_COLS ? (uint32_t)sa_map_dims(map->value)[1] : map->words;
    if (a[1] - a[0] != b[1] - b[0]) return false;
    return axis == AXIS_ROWS || (a[0] * bits % BEAT_BITS == b[0] * bits % BEAT_BITS &&
                                 (a[0] == 0) == (b[0] == 0) && (a[1] == end) == (b[1] == end));
}

static void add_range(const Plan *plan, const Map *map, int axis, const MapArea *region, Axis *out)
{
    const uint32_t *range = range_of(region, axis);
    if (range[0] >= range[1]) return;
    if (out->like.len == 0) out->first = *region;
    const uint32_t *first = range_of(&out->first, axis);
    out->is_many |= range[0] != first[0] || range[1] != first[1];
    for (size_t i = out->like.len; i-- > 0;)
        if (is_moved_alike(map, to_program_act_bits(&plan->size), axis, range,
                           range_of(&out->like.data[i], axis)))
            return;
    *vec_push(&out->like) = *region;
}

/* The ranges that tiles have along an axis, which loop `dim` counts, in each part of the output. */
static void add_ranges(const Plan *plan, Tile *tile, const Schedule *schedule, int role, int axis,
                       int dim, Axis *out)
{
    const Layer *layer = &plan->layers.data[tile->layer];
    uint32_t begin[DIMS] = {0};
    for (; begin[dim] < layer->extents[dim];
         begin[dim] = to_program_end(layer, schedule, dim, begin[dim])) {
        to_program_settle_tile(plan, schedule, begin, tile);
        MapArea region = to_program_region(plan, layer, tile, role);
        add_range(plan, &plan->maps.data[layer->map[role]], axis, &region, out);
    }
}

static void find_ranges(const Plan *plan, size_t index, const Schedule *schedule, int role,
                        Axis axes[AXES])
{
    const Layer *layer = &plan->layers.data[index];
    Tile tile = {.layer = index};
    add_ranges(plan, &tile, schedule, role, AXIS_ROWS, DIM_Y, &axes[AXIS_ROWS]);
    add_ranges(plan, &tile, schedule, role, AXIS_COLS, DIM_X, &axes[AXIS_COLS]);
    for (; tile.part < layer->parts; tile.part++) {
        add_ranges(plan, &tile, schedule, role, AXIS_WORDS, DIM_M, &axes[AXIS_WORDS]);
        add_ranges(plan, &tile, schedule, role, AXIS_WORDS, DIM_N, &axes[AXIS_WORDS]);
    }
}

/* Words that a part takes on the chip. False: it cannot be moved. */
static bool measure_part(const Plan *plan, const Layer *layer, int role, const MapArea *region,
                         uint64_t *most)
{
    Moves m;
    const Map *map = &plan->maps.data[layer->map[role]];
    if (!to_program_moves(plan, map, region, &m)) return false;
    bool is_aligned = m.first_col == region->cols[0] &&
                      (!m.has_end || region->cols[1] == sa_map_dims(map->value)[1]);
    if (role == ROLE_RESULT && !is_aligned) return false;
    if (role != ROLE_INPUT && m.row * (uint64_t)layer->repeats[0] > UINT16_MAX) return false;
    uint64_t words = m.row * (region->rows[1] - region->rows[0]);
    uint64_t moved = m.commands * m.runs * m.beats * BEAT_BITS / to_program_act_bits(&plan->size);
    *most = words > *most ? words : *most;
    *most = moved > *most ? moved : *most;
    return true;
}

/* Words that the largest of the parts takes, and whether there are several. False: one of them cannot be
 * moved. */
static bool measure(const Plan *plan, size_t index, const Schedule *schedule, int role,
                    uint64_t *most, bool *is_many)
{
    Axis axes[AXES] = {0};
    bool ok = true;
    find_ranges(plan, index, schedule, role, axes);
    const Axis *rows = &axes[AXIS_ROWS], *cols = &axes[AXIS_COLS], *words = &axes[AXIS_WORDS];
    *most = 0;
    for (size_t y = 0; y < rows->like.len; y++)
        for (size_t x = 0; x < cols->like.len; x++)
            for (size_t w = 0; ok && w < words->like.len; w++) {
                MapArea region = rows->like.data[y];
                memcpy(region.cols, cols->like.data[x].cols, sizeof region.cols);
                memcpy(region.words, words->like.data[w].words, sizeof region.words);
                ok = measure_part(plan, &plan->layers.data[index], role, &region, most);
            }
    bool is_empty = rows->like.len == 0 || cols->like.len == 0;
    *is_many = !is_empty && (rows->is_many || cols->is_many || words->is_many);
    for (int axis = 0; axis < AXES; axis++) vec_free(&axes[axis].like);
    return ok;
}

/* Whether a map is in the page while the layer runs. */
static bool is_taken(const Plan *plan, size_t layer, uint32_t page, uint32_t pages)
{
    for (size_t i = 0; i < plan->maps.len; i++) {
        const Map *map = &plan->maps.data[i];
        bool lives = to_program_born(plan, i) <= layer && layer <= map->last_use;
        if (!map->is_spilled && lives && page < map->page + map->pages && map->page < page + pages)
            return true;
    }
    return false;
}

bool to_program_place_stages(const Plan *plan, size_t index, const Schedule *schedule,
                             Stage stages[ROLES])
{
    const Layer *layer = &plan->layers.data[index];
    uint32_t page = 0;
    for (int role = 0; role < ROLES; role++) {
        uint64_t most;
        bool is_many;
        stages[role] = (Stage){0};
        if (layer->map[role] == SIZE_MAX || !plan->maps.data[layer->map[role]].is_spilled) continue;
        if (!measure(plan, index, schedule, role, &most, &is_many)) return false;
        stages[role].pages =
            (uint32_t)to_program_up(most > 0 ? most : 1, sa_page_words(&plan->size));
        stages[role].count = is_many ? 2 : 1;
        for (uint32_t k = 0; k < stages[role].count; k++) {
            while (page + stages[role].pages <= plan->size.act_pages &&
                   is_taken(plan, index, page, stages[role].pages))
                page++;
            stages[role].page[k] = page;
            page += stages[role].pages;
            if (page > plan->size.act_pages) return false;
        }
    }
    return true;
}
