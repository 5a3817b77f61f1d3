/* The largest part of a network that compiles.
 *
 * A part is convex if no path leaves it and enters it again. For each layer that does not compile
 * (a bad one) a convex part of good layers lacks either all layers that the bad one needs or all
 * that need it; and whatever is chosen for each, the layers that are left are convex: a layer
 * between two of them that is missing would be bad or stand on the side of a bad one that is
 * missing. For a layer that is to be in the part, the choice is free only for bad layers beside it.
 * Those are taken in their order, and of each the side is given up that has fewer MACs.
 *
 * So each layer is the seed of a part: what is left and connected with it. Connected layers with the
 * same bad ones before and behind them are in the same part, and one of them stands for all. The
 * part that was found is checked by itself, since a type may be another one where a network begins;
 * layers that are refused then are bad, and the search begins again.
 * Tests: lit/driver/partition.test, test/e2e/partition_check.py */
#include <stdlib.h>

#include "driver/internal.h"
#include "import/import.h"
#include "ir/asm/print/print.h"

enum { MOST_SEEDS = 64, MOST_CHECKS = 8 };

/* MACs, then layers. */
typedef struct Weight {
    int64_t macs;
    size_t layers;
} Weight;

static Weight weight_sum(Weight a, Weight b)
{
    int64_t macs;
    return (Weight){i64_add(a.macs, b.macs, &macs) ? macs : INT64_MAX, a.layers + b.layers};
}

static bool is_less(Weight a, Weight b)
{
    return a.macs < b.macs || (a.macs == b.macs && a.layers < b.layers);
}

/* Whether the part is to lie behind a bad layer, in front of it, or either. */
typedef enum Side { SIDE_EITHER, SIDE_BEHIND, SIDE_BEFORE } Side;

typedef struct Search {
    const Check *check;
    const ImportReport *report;
    size_t count;    /* layers */
    bool *varies;    /* of each: depends on the network's inputs */
    Weight *weights; /* of each */
    uint32_t *bad;   /* number among the bad ones + 1, or 0 */
    uint32_t bad_count;
    size_t words;            /* 64 bits of bad layers each */
    uint64_t *above, *below; /* of each layer: bad ones that it needs, that need it */
    Side *sides;             /* of each bad one */
    bool *in_part;
    uint32_t *parents; /* of each layer, in its set of connected ones */
} Search;

static const NodeReport *node_of(const Search *s, size_t layer)
{
    return &s->report->nodes[layer];
}

static bool is_good(const CheckLayer *layer)
{
    return layer->status == LAYER_COMPILES || layer->status == LAYER_FOLDED;
}

static uint64_t *bits_of(const Search *s, uint64_t *table, size_t layer)
{
    return table + layer * s->words;
}

static bool has_bit(const uint64_t *bits, uint32_t number)
{
    return bits[number / 64] >> number % 64 & 1;
}

static void add_bits(const Search *s, uint64_t *table, size_t to, size_t from)
{
    uint64_t *into = bits_of(s, table, to), *more = bits_of(s, table, from);
    for (size_t w = 0; w < s->words; w++) into[w] |= more[w];
    if (s->bad[from]) into[(s->bad[from] - 1) / 64] |= (uint64_t)1 << (s->bad[from] - 1) % 64;
}

static void number_layers(Search *s, const bool *is_refused)
{
    for (size_t i = 0; i < s->count; i++) {
        const CheckLayer *layer = &s->check->layers[i];
        const NodeReport *node = node_of(s, i);
        for (uint32_t k = 0; k < node->output_count; k++)
            s->varies[i] |= s->report->tensors[node->outputs[k]].varies;
        s->weights[i] = (Weight){layer->macs > 0 ? layer->macs : 0, 1};
        if (s->varies[i] && (!is_good(layer) || is_refused[i])) s->bad[i] = ++s->bad_count;
    }
}

/* The nodes of a file are in an order in which each stands behind those that it needs. */
static void find_neighbours(Search *s)
{
    const TensorReport *tensors = s->report->tensors;
    for (size_t i = 0; i < s->count; i++)
        for (uint32_t k = 0; k < node_of(s, i)->input_count; k++) {
            uint32_t producer = tensors[node_of(s, i)->inputs[k]].producer;
            if (producer < i) add_bits(s, s->above, i, producer);
        }
    for (size_t i = s->count; i-- > 0;)
        for (uint32_t k = 0; k < node_of(s, i)->input_count; k++) {
            uint32_t producer = tensors[node_of(s, i)->inputs[k]].producer;
            if (producer < i) add_bits(s, s->below, producer, i);
        }
}

static bool is_left(const Search *s, size_t layer)
{
    const uint64_t *above = bits_of(s, s->above, layer), *below = bits_of(s, s->below, layer);
    if (!s->varies[layer] || s->bad[layer]) return false;
    for (uint32_t b = 0; b < s->bad_count; b++)
        if ((s->sides[b] == SIDE_BEHIND && has_bit(below, b)) ||
            (s->sides[b] == SIDE_BEFORE && has_bit(above, b)))
            return false;
    return true;
}

static uint32_t root_of(uint32_t *parents, uint32_t layer)
{
    while (parents[layer] != layer) layer = parents[layer] = parents[parents[layer]];
    return layer;
}

/* The layers that are left and connected with the seed: sets in_part, gives their weight. */
static Weight grow(Search *s, uint32_t seed)
{
    Weight sum = {0};
    for (uint32_t i = 0; i < s->count; i++) {
        s->parents[i] = i;
        s->in_part[i] = is_left(s, i);
        for (uint32_t k = 0; s->in_part[i] && k < node_of(s, i)->input_count; k++) {
            uint32_t producer = s->report->tensors[node_of(s, i)->inputs[k]].producer;
            if (producer < i && s->in_part[producer])
                s->parents[root_of(s->parents, i)] = root_of(s->parents, producer);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        s->in_part[i] &= root_of(s->parents, i) == root_of(s->parents, seed);
        if (s->in_part[i]) sum = weight_sum(sum, s->weights[i]);
    }
    return sum;
}

/* What the part would lose on one side of a bad layer. */
static Weight loss(const Search *s, const uint64_t *table, uint32_t bad)
{
    Weight sum = {0};
    for (size_t i = 0; i < s->count; i++)
        if (s->in_part[i] && has_bit(table + i * s->words, bad))
            sum = weight_sum(sum, s->weights[i]);
    return sum;
}

/* The part around a seed. */
static Weight find_around(Search *s, uint32_t seed)
{
    const uint64_t *above = bits_of(s, s->above, seed), *below = bits_of(s, s->below, seed);
    for (uint32_t b = 0; b < s->bad_count; b++)
        s->sides[b] = has_bit(above, b)   ? SIDE_BEHIND
                      : has_bit(below, b) ? SIDE_BEFORE
                                          : SIDE_EITHER;
    Weight sum = grow(s, seed);
    for (uint32_t b = 0; b < s->bad_count; b++) {
        if (s->sides[b] != SIDE_EITHER) continue;
        Weight in_front = loss(s, s->below, b), behind = loss(s, s->above, b);
        if (in_front.layers == 0 || behind.layers == 0) continue; /* no path through it */
        s->sides[b] = is_less(in_front, behind) ? SIDE_BEHIND : SIDE_BEFORE;
        sum = grow(s, seed);
    }
    return sum;
}

/* A set of connected layers with the same bad layers above and below, by one of them. */
typedef struct Seed {
    uint32_t layer;
    Weight sum;
} Seed;

static bool is_same_place(const Search *s, uint32_t a, uint32_t b)
{
    size_t size = s->words * sizeof(uint64_t);
    return memcmp(bits_of(s, s->above, a), bits_of(s, s->above, b), size) == 0 &&
           memcmp(bits_of(s, s->below, a), bits_of(s, s->below, b), size) == 0;
}

/* The heaviest first, of equal ones the first in the file. */
static int compare_seeds(const void *left, const void *right)
{
    const Seed *a = left, *b = right;
    if (is_less(a->sum, b->sum)) return 1;
    if (is_less(b->sum, a->sum)) return -1;
    return a->layer > b->layer ? 1 : -(a->layer < b->layer);
}

/* The seeds with the largest sums; gives how many. */
static size_t find_seeds(Search *s, Seed *seeds)
{
    size_t count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        bool is_usable = s->varies[i] && !s->bad[i];
        s->parents[i] = i;
        seeds[i] = (Seed){.layer = i};
        for (uint32_t k = 0; is_usable && k < node_of(s, i)->input_count; k++) {
            uint32_t producer = s->report->tensors[node_of(s, i)->inputs[k]].producer;
            if (producer < i && s->varies[producer] && !s->bad[producer] &&
                is_same_place(s, producer, i))
                s->parents[root_of(s->parents, i)] = root_of(s->parents, producer);
        }
    }
    for (uint32_t i = 0; i < s->count; i++) {
        Seed *seed = &seeds[root_of(s->parents, i)];
        if (s->varies[i] && !s->bad[i]) seed->sum = weight_sum(seed->sum, s->weights[i]);
    }
    for (uint32_t i = 0; i < s->count; i++)
        if (seeds[i].sum.layers > 0) seeds[count++] = seeds[i];
    qsort(seeds, count, sizeof *seeds, compare_seeds);
    return count < MOST_SEEDS ? count : MOST_SEEDS;
}

/* Sets has_layer to the best part; false: there is none. */
static bool find_best(Search *s, bool *has_layer)
{
    Seed *seeds = xcalloc(s->count + 1, sizeof *seeds);
    size_t count = find_seeds(s, seeds);
    Weight best = {0};
    for (size_t i = 0; i < count; i++) {
        Weight weight = find_around(s, seeds[i].layer);
        if (!is_less(best, weight)) continue;
        best = weight;
        memcpy(has_layer, s->in_part, s->count * sizeof *has_layer);
    }
    free(seeds);
    return best.layers > 0;
}

/* Searches among the layers that the check found good and that were not refused since. */
static bool search(const Check *check, const bool *is_refused, bool *has_layer)
{
    Arena arena;
    arena_init(&arena);
    Search s = {.check = check, .report = check->report, .count = check->count};
    s.varies = ARENA_ARRAY(&arena, bool, s.count + 1);
    s.weights = ARENA_ARRAY(&arena, Weight, s.count + 1);
    s.bad = ARENA_ARRAY(&arena, uint32_t, s.count + 1);
    s.in_part = ARENA_ARRAY(&arena, bool, s.count + 1);
    s.parents = ARENA_ARRAY(&arena, uint32_t, s.count + 1);
    number_layers(&s, is_refused);
    s.words = (s.bad_count + 63) / 64;
    s.above = ARENA_ARRAY(&arena, uint64_t, s.words * s.count + 1);
    s.below = ARENA_ARRAY(&arena, uint64_t, s.words * s.count + 1);
    s.sides = ARENA_ARRAY(&arena, Side, s.bad_count + 1);
    find_neighbours(&s);
    bool found = find_best(&s, has_layer);
    arena_free(&arena);
    return found;
}

/* Text "name:1x3x32x32" for a tensor at which a network of floats may begin; NULL: the importer
 * must find out what it is. */
const char *driver_input_shape(Check *check, const TensorReport *tensor)
{
    const Type *type = tensor->type;
    StrBuf text = {0};
    if (!type || !type_is_tensor(type) || !type_is_static(type) ||
        type_elem(type)->kind != TYPE_F32)
        return NULL;
    strbuf_add_str(&text, tensor->name);
    for (uint32_t d = 0; d < type->u.shaped.rank; d++)
        strbuf_printf(&text, "%c%lld", d ? 'x' : ':', (long long)type->u.shaped.dims[d]);
    if (type->u.shaped.rank == 0) strbuf_add_char(&text, ':');
    const char *kept = arena_copy(&check->arena, text.data, text.len + 1);
    strbuf_free(&text);
    return kept;
}

const char *driver_keep_name(Check *check, Str name)
{
    StrBuf text = {0};
    strbuf_add_str(&text, name);
    const char *kept = arena_copy(&check->arena, strbuf_str(&text).data, text.len + 1);
    strbuf_free(&text);
    return kept;
}

/* Enters tensors that cross the border of the part, in their order in the file. */
static void find_border(Check *check, Partition *part)
{
    const ImportReport *report = check->report;
    bool *enters = xcalloc(report->tensor_count + 1, sizeof *enters);
    bool *leaves = xcalloc(report->tensor_count + 1, sizeof *leaves);
    for (size_t i = 0; i < check->count; i++)
        for (uint32_t k = 0; k < report->nodes[i].input_count; k++) {
            uint32_t tensor = report->nodes[i].inputs[k], made = report->tensors[tensor].producer;
            bool is_ours = made != IMPORT_NO_NODE && part->has_layer[made];
            enters[tensor] |= part->has_layer[i] && !is_ours;
            leaves[tensor] |= !part->has_layer[i] && is_ours;
        }
    for (uint32_t i = 0; i < report->tensor_count; i++) {
        const TensorReport *tensor = &report->tensors[i];
        bool is_made = tensor->producer != IMPORT_NO_NODE;
        if (enters[i] && tensor->varies) {
            const char *shape = driver_input_shape(check, tensor);
            *vec_push(&part->inputs) = i;
            if (is_made) *vec_push(&part->from) = driver_keep_name(check, tensor->name);
            if (shape) *vec_push(&part->input_shapes) = shape;
        }
        if (leaves[i] || (is_made && part->has_layer[tensor->producer] && tensor->is_result)) {
            *vec_push(&part->outputs) = i;
            *vec_push(&part->to) = driver_keep_name(check, tensor->name);
        }
    }
    free(enters);
    free(leaves);
}

static void clear(Partition *part)
{
    driver_partition_free(part);
    part->count = 0;
    part->macs = part->total_macs = 0;
}

static void count_layers(const Check *check, Partition *part)
{
    for (size_t i = 0; i < check->count; i++) {
        int64_t macs = check->layers[i].macs > 0 ? check->layers[i].macs : 0;
        part->count += part->has_layer[i];
        if (!i64_add(part->total_macs, macs, &part->total_macs)) part->total_macs = INT64_MAX;
        if (part->has_layer[i] && !i64_add(part->macs, macs, &part->macs)) part->macs = INT64_MAX;
    }
}

/* Whether the part compiles by itself. If not, *is_worse tells whether layers of it were refused,
 * which is_refused has then. */
static bool check_part(const Check *check, const char *path, Str bytes, const Partition *part,
                       bool *is_refused, bool *is_worse)
{
    Check inner = {.ctx = check->ctx};
    DiagHold messages;
    const ModelOptions options = {
        .from = part->from, .to = part->to, .input_shapes = part->input_shapes};
    *is_worse = false;
    arena_init(&inner.arena);
    diag_hold_begin(&messages, check->ctx);
    driver_check_model(&inner, path, bytes, &options);
    diag_hold_end(&messages);
    diag_hold_free(&messages);
    bool ok = driver_check_compiles(&inner);
    for (size_t i = 0; i < inner.count && i < check->count; i++)
        if (part->has_layer[i] && inner.layers[i].status <= LAYER_UNSUPPORTED)
            *is_worse = is_refused[i] = true;
    driver_check_free(&inner);
    arena_free(&inner.arena);
    return ok;
}

/* Of a network that compiles the part is all that was checked. */
static void take_all(const Check *check, bool *has_layer)
{
    const ImportReport *report = check->report;
    for (size_t i = 0; i < check->count; i++)
        for (uint32_t k = 0; k < report->nodes[i].output_count; k++)
            has_layer[i] |=
                is_good(&check->layers[i]) && report->tensors[report->nodes[i].outputs[k]].varies;
}

void driver_find_partition(Check *check, const char *path, Str bytes, Partition *out)
{
    bool is_found = false, is_whole = driver_check_compiles(check);
    bool is_worse = check->report && check->is_complete;
    bool *is_refused = xcalloc(check->count + 1, sizeof *is_refused);
    *out = (Partition){.has_layer = ARENA_ARRAY(&check->arena, bool, check->count + 1)};
    for (int i = 0; i < MOST_CHECKS && !is_found && is_worse; i++) {
        clear(out);
        if (is_whole)
            take_all(check, out->has_layer);
        else if (!search(check, is_refused, out->has_layer))
            break;
        find_border(check, out);
        count_layers(check, out);
        is_found = is_whole || check_part(check, path, bytes, out, is_refused, &is_worse);
    }
    if (!is_found) clear(out);
    free(is_refused);
}

/* Whether a shell takes the word for what it is. */
static bool is_plain_word(const char *word)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:";
    return strspn(word, plain) == strlen(word);
}

/* Whether it can be an item of a list on a command line. */
static bool can_be_item(const char *name)
{
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f || *c == ',' || *c == '\'') return false;
    return *name != '\0';
}

bool driver_add_names(StrBuf *out, const char *flag, const char *const *names, size_t count)
{
    bool is_plain = true, ok = true;
    for (size_t i = 0; i < count; i++) {
        is_plain &= is_plain_word(names[i]);
        ok &= can_be_item(names[i]);
    }
    if (!ok || count == 0) return ok;
    strbuf_printf(out, " --%s=%s", flag, is_plain ? "" : "'");
    for (size_t i = 0; i < count; i++) strbuf_printf(out, "%s%s", i ? "," : "", names[i]);
    if (!is_plain) strbuf_add_char(out, '\'');
    return true;
}

bool driver_partition_options(const Partition *part, StrBuf *out)
{
    return driver_add_names(out, "from", part->from.data, part->from.len) &&
           driver_add_names(out, "to", part->to.data, part->to.len) &&
           driver_add_names(out, "input-shape", part->input_shapes.data, part->input_shapes.len);
}

void driver_partition_free(Partition *part)
{
    vec_free(&part->inputs);
    vec_free(&part->outputs);
    vec_free(&part->from);
    vec_free(&part->to);
    vec_free(&part->input_shapes);
}
