/* Which engines are tried. Arrays from the largest on that the device holds; for each, buffers so large
 * that more would not help, made smaller one by one while the model's cycles stay, then, as long as the
 * device lacks something, that which costs the fewest cycles. What the products take by themselves, and
 * then the cycles with buffers without end, exclude arrays that cannot be better. */
#include <stdlib.h>
#include <string.h>

#include "driver/overlay/internal.h"
#include "ir/asm/print/print.h"

static const double SAME = 1.0005; /* times within this of each other count as equal */

typedef struct Buffer {
    int param;
    uint32_t least, most;
    bool is_fine; /* steps of a quarter, else of a half */
} Buffer;

/* In the order in which they are made smaller. */
static const Buffer BUFFERS[] = {
    {SA_PARAM_pu_stages, 1, 8, false},     {SA_PARAM_fill_words, 1, 8, false},
    {SA_PARAM_acc_words, 64, 4096, false}, {SA_PARAM_pe_words, 32, 4096, false},
    {SA_PARAM_act_pages, 1, 1024, true},   {SA_PARAM_w_words, 256, 65536, true}};

static uint32_t *field(SaOverlay *size, int param)
{
    return (uint32_t *)(void *)((char *)size + sa_overlay_params[param].offset);
}

static bool is_free(const OverlayRequest *request, int param)
{
    return request->pins[param] == LIMIT_NOT_GIVEN;
}

static void set(const OverlayRequest *request, SaOverlay *size, int param, uint32_t value)
{
    *field(size, param) = is_free(request, param) ? value : (uint32_t)request->pins[param];
}

/* The next smaller size; 0: there is none. */
static uint32_t smaller(const Buffer *buffer, uint32_t value)
{
    uint32_t power = 1;
    while (power * 2 < value) power *= 2;
    uint32_t half = power + power / 2;
    uint32_t next = buffer->is_fine && value > half ? half : power;
    return value <= buffer->least || next < buffer->least ? 0 : next;
}

static void set_buffers(const OverlayRequest *request, SaOverlay *size, bool are_large)
{
    enum { MOST_VECTORS = 65536, LEAST_VECTORS = 512 };
    for (size_t i = 0; i < COUNT_OF(BUFFERS); i++)
        set(request, size, BUFFERS[i].param, are_large ? BUFFERS[i].most : BUFFERS[i].least);
    set(request, size, SA_PARAM_param_words, are_large ? MOST_VECTORS : LEAST_VECTORS);
    set(request, size, SA_PARAM_pu_kind, SA_PU_ALL);
    set(request, size, SA_PARAM_weight_banks, 1);
}

/* Element types. */

typedef struct Elements {
    uint32_t act, weight;
    bool is_unsigned;
} Elements;

static const Elements PRODUCTS[] = {{8, 8, false}, {8, 16, false}, {16, 8, false}, {16, 16, false}};
static const Elements PLANES[] = {{1, 1, true},  {2, 1, true}, {2, 1, false}, {1, 2, true},
                                  {3, 1, true},  {2, 2, true}, {2, 2, false}, {3, 1, false},
                                  {3, 2, true},  {1, 3, true}, {2, 3, true},  {2, 3, false},
                                  {3, 2, false}, {3, 3, true}, {3, 3, false}};

static bool is_allowed(const OverlayRequest *request, const SaOverlay *size)
{
    return (!request->act || strcmp(request->act, overlay_search_act_name(size)) == 0) &&
           (!request->weight || strcmp(request->weight, overlay_search_weight_name(size)) == 0);
}

static bool converts(const OverlayRequest *request, const SaOverlay *size)
{
    SearchNetworks networks;
    bool ok = overlay_search_convert(request, size, false, &networks);
    if (ok) overlay_search_free_networks(request, &networks);
    return ok;
}

/* The fewest bits of an accumulator, in steps of four, that all sums fit. */
static void find_accumulator(const OverlayRequest *request, SaOverlay *size)
{
    enum { LEAST = 16, MOST = 64, STEP = 4 };
    uint32_t low = LEAST / STEP, high = MOST / STEP;
    if (!is_free(request, SA_PARAM_acc)) return;
    while (low < high) {
        size->acc = (low + high) / 2 * STEP;
        if (converts(request, size))
            high = size->acc / STEP;
        else
            low = size->acc / STEP + 1;
    }
    size->acc = high * STEP;
}

/* The first types that hold all networks. */
static bool find_elements(const OverlayRequest *request, const Elements *rows, size_t count,
                          SaOverlay *size)
{
    for (size_t i = 0; i < count; i++) {
        size->act_bits = rows[i].act;
        size->act_is_unsigned = rows[i].is_unsigned;
        size->weight_bits = rows[i].weight;
        if (!is_allowed(request, size) || !converts(request, size)) continue;
        find_accumulator(request, size);
        return true;
    }
    return false;
}

static SaOverlay first_size(const OverlayRequest *request)
{
    enum { SIDE = 16, MOST_BITS = 64 };
    SaOverlay size = {0};
    set(request, &size, SA_PARAM_rows, SIDE);
    set(request, &size, SA_PARAM_cols, SIDE);
    set(request, &size, SA_PARAM_acc, MOST_BITS);
    set_buffers(request, &size, true);
    return size;
}

/* Arrays. */

typedef VEC(SaOverlay) Arrays;

static void add_arrays(const OverlayRequest *request, SaOverlay size, Arrays *arrays)
{
    enum { MOST_SIDE = 256 };
    for (uint32_t rows = 1; rows <= MOST_SIDE; rows *= 2)
        for (uint32_t cols = 1; cols <= MOST_SIDE; cols *= 2) {
            if (!is_free(request, SA_PARAM_rows) && rows != request->pins[SA_PARAM_rows]) continue;
            if (!is_free(request, SA_PARAM_cols) && cols != request->pins[SA_PARAM_cols]) continue;
            OverlayPlace place;
            size.rows = rows;
            size.cols = cols;
            set_buffers(request, &size, false);
            if (overlay_search_place(request, &size, &place)) *vec_push(arrays) = size;
        }
}

/* Large ones first, of these what is nearest to a square. */
static int compare_arrays(const void *a, const void *b)
{
    const SaOverlay *x = a, *y = b;
    uint64_t n = (uint64_t)x->rows * x->cols, m = (uint64_t)y->rows * y->cols;
    if (n != m) return n > m ? -1 : 1;
    uint32_t s = x->rows + x->cols, t = y->rows + y->cols;
    if (s != t) return s < t ? -1 : 1;
    if (x->rows != y->rows) return x->rows < y->rows ? -1 : 1;
    return sa_is_popcount(x) - sa_is_popcount(y);
}

/* Buffers. */

/* Of an array: the best engine so far. */
typedef struct Trial {
    SaOverlay size;
    OverlayFigure figures[OVERLAY_SEARCH_MOST_MODELS];
    double value;
} Trial;

static bool try_size(Search *search, const SaOverlay *size, Trial *out)
{
    out->size = *size;
    return overlay_search_value(search, size, out->figures, &out->value);
}

/* Parameters and pages are what is needed, in whole block RAMs. */
static void take_needs(const OverlayRequest *request, Trial *trial)
{
    enum { BLOCK = 512 };
    uint32_t pages = 0, vectors = 0;
    for (size_t i = 0; i < request->model_count; i++) {
        const ProgramEstimate *estimate = &trial->figures[i].estimate;
        if (estimate->pages > pages) pages = estimate->pages;
        if (estimate->vectors > vectors) vectors = estimate->vectors;
    }
    set(request, &trial->size, SA_PARAM_act_pages, pages > 0 ? pages : 1);
    set(request, &trial->size, SA_PARAM_param_words, (vectors / BLOCK + 1) * BLOCK);
}

/* Makes buffers smaller as long as that costs nothing. */
static void make_small(Search *search, Trial *trial)
{
    double most = trial->value * SAME;
    for (size_t i = 0; i < COUNT_OF(BUFFERS); i++) {
        const Buffer *buffer = &BUFFERS[i];
        if (!is_free(search->request, buffer->param)) continue;
        for (;;) {
            Trial next;
            SaOverlay size = trial->size;
            uint32_t value = smaller(buffer, *field(&size, buffer->param));
            *field(&size, buffer->param) = value;
            if (value == 0 || !try_size(search, &size, &next) || next.value > most) break;
            *trial = next;
        }
    }
}

/* Whether the smaller engine takes less of what is lacking, or less of anything if dies are too small
 * where the device as a whole is not. */
static bool helps(const OverlayRequest *request, const SaOverlay *from, const SaOverlay *to)
{
    bool lacks[COST_KINDS], any = false;
    Cost before = overlay_search_cost(request, from), after = overlay_search_cost(request, to);
    overlay_search_lacks(request, from, lacks);
    for (int kind = 0; kind < COST_KINDS; kind++) any |= lacks[kind];
    for (int kind = 0; kind < COST_KINDS; kind++)
        if ((lacks[kind] || !any) && after.items[kind] < before.items[kind]) return true;
    return false;
}

/* Makes the buffer smaller whose loss costs least, until some resource less is taken. False: there is
 * none. */
static bool give_up_one(Search *search, Trial *trial)
{
    Trial best = {.value = -1}, next;
    for (size_t i = 0; i < COUNT_OF(BUFFERS); i++) {
        const Buffer *buffer = &BUFFERS[i];
        SaOverlay size = trial->size;
        if (!is_free(search->request, buffer->param)) continue;
        uint32_t *value = field(&size, buffer->param);
        do *value = smaller(buffer, *value);
        while (*value > 0 && !helps(search->request, &trial->size, &size));
        if (*value == 0 || !try_size(search, &size, &next)) continue;
        if (best.value < 0 || next.value < best.value) best = next;
    }
    if (best.value < 0) return false;
    *trial = best;
    return true;
}

static bool is_worse(const Search *search, double value)
{
    return search->has_best && value >= search->best->value;
}

/* Engines of which no more than so many run at a time. */
static double most_engines(const OverlayRequest *request)
{
    return request->is_for_each_die ? (double)request->target->device.die_count : 1;
}

/* With the registers of borders, which no trial without a place knows. */
static void keep(Search *search, Trial *trial, const OverlayPlace *place)
{
    const OverlayRequest *request = search->request;
    OverlayFound *best = search->best;
    for (size_t i = 0; i < request->model_count; i++) {
        ProgramEstimate *estimate = &trial->figures[i].estimate;
        estimate->cycles += estimate->runs * (uint64_t)place->registers;
    }
    double value = overlay_search_objective(request, trial->figures) / (double)place->engines;
    if (is_worse(search, value)) return;
    best->size = trial->size;
    best->cost = overlay_search_cost(request, &trial->size);
    best->place = *place;
    best->value = value;
    memcpy(best->figures, trial->figures, sizeof best->figures);
    search->has_best = true;
}

/* False: nothing with this array is better. */
static bool try_array(Search *search, const SaOverlay *array)
{
    const OverlayRequest *request = search->request;
    Trial trial;
    OverlayPlace place;
    SaOverlay size = *array;
    double most = most_engines(request);
    if (search->has_best &&
        is_worse(search, overlay_search_bound(search, &size, search->best->figures) / most))
        return false;
    set_buffers(request, &size, true);
    if (!overlay_search_convert(request, &size, false, &search->networks)) return false;
    bool ok = try_size(search, &size, &trial) && !is_worse(search, trial.value / most);
    if (ok) {
        take_needs(request, &trial);
        make_small(search, &trial);
    }
    while (ok && !overlay_search_place(request, &trial.size, &place))
        ok = give_up_one(search, &trial) && !is_worse(search, trial.value / most);
    if (ok) keep(search, &trial, &place);
    overlay_search_free_networks(request, &search->networks);
    return ok;
}

/* Bytes that the fastest of the device's banks moves in 1,000 cycles, at the efficiency that F2N2's
 * figures take (docs/overlay.md); a beat a cycle where the description tells of none. */
static uint64_t rate_of(const OverlayRequest *request)
{
    enum { PERCENT = 100 };
    const Device *device = &request->target->device;
    int64_t most = 1000 * SA_BEAT_BYTES, best = 0;
    if (request->rate != LIMIT_NOT_GIVEN) return (uint64_t)request->rate;
    for (uint32_t i = 0; i < device->bank_count; i++)
        best = i64_max(best, device->banks[i].mbps * 1000 / PERCENT * DEVICE_BANK_EFFICIENCY /
                                 request->target->clock);
    return (uint64_t)(best > 0 && best < most ? best : most);
}

static void list_arrays(const OverlayRequest *request, Arrays *arrays, bool *runs)
{
    SaOverlay products = first_size(request), planes = products;
    bool has_products = find_elements(request, PRODUCTS, COUNT_OF(PRODUCTS), &products);
    bool has_planes = find_elements(request, PLANES, COUNT_OF(PLANES), &planes);
    *runs = has_products || has_planes;
    if (has_products) add_arrays(request, products, arrays);
    if (has_planes) add_arrays(request, planes, arrays);
    if (arrays->len > 0) qsort(arrays->data, arrays->len, sizeof *arrays->data, compare_arrays);
}

/* Of types that are free the widest ones, which some network does not run on either. */
static void tell_refusal(const OverlayRequest *request)
{
    static const char WIDEST[] = "i16";
    SearchNetworks networks;
    SaOverlay size = first_size(request);
    overlay_search_set_types(&size, request->act ? request->act : WIDEST,
                             request->weight ? request->weight : WIDEST);
    if (overlay_search_convert(request, &size, true, &networks))
        overlay_search_free_networks(request, &networks);
}

/* Whether the device's banks hold what networks need, weights a share in each of theirs. */
static bool check_banks(const OverlayRequest *request, const OverlayFound *found, StrBuf *why)
{
    enum { MEGABYTE = 1 << 20 };
    const Device *device = &request->target->device;
    uint64_t most = 0;
    for (uint32_t i = 0; i < device->bank_count; i++)
        if ((uint64_t)device->banks[i].mbytes > most) most = (uint64_t)device->banks[i].mbytes;
    for (size_t i = 0; most > 0 && i < request->model_count; i++) {
        const ProgramEstimate *needs = &found->figures[i].estimate;
        uint64_t weights = needs->weight_space / found->size.weight_banks;
        bool are_maps = needs->map_space > weights;
        uint64_t bytes = are_maps ? needs->map_space : weights;
        if (bytes <= most * MEGABYTE) continue;
        strbuf_printf(why, "%s needs %llu bytes of a bank for its %s, and %s has banks of %llu MB",
                      request->models[i].name, (unsigned long long)bytes,
                      are_maps ? "maps" : "weights", device->name.data, (unsigned long long)most);
        return false;
    }
    return true;
}

bool overlay_search_run(const OverlayRequest *request, OverlayFound *out, StrBuf *why)
{
    Arrays arrays = {0};
    bool runs;
    *out = (OverlayFound){0};
    Search search = {.request = request, .best = out, .memory = PROGRAM_MEMORY_DEFAULTS};
    search.memory.rate = rate_of(request);
    list_arrays(request, &arrays, &runs);
    for (size_t i = 0; i < arrays.len; i++)
        if (!try_array(&search, &arrays.data[i])) out->excluded++;
    out->arrays = (int64_t)arrays.len;
    out->tried = search.tried;
    out->memory = search.memory;
    vec_free(&arrays);
    if (search.has_best) return check_banks(request, out, why);
    if (!runs)
        tell_refusal(request);
    else
        strbuf_printf(why, "no engine that runs all networks fits what %s may spend of them",
                      request->target->device.name.data);
    return false;
}
