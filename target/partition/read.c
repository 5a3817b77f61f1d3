/* Reads task graphs. Every key is known, every number has a range, every name is one of those that
 * there are, or there is a diagnostic at its place.
 * Tests: lit/target/partition/invalid.test, fuzz/fuzz_partition.c */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/partition/internal.h"

static const int64_t max_file_bytes = INT64_C(1) << 26;

typedef struct Reader {
    JsonFile json;
    PartitionPlatform *platform;
    PartitionModel *model;
    const json_t *holder; /* what is read: the place of a true, false or null in it */
} Reader;

typedef bool ReadItem(Reader *r, json_t *item);

static const Attr *place_of(const Reader *r, const void *item)
{
    return json_file_place(&r->json, item, r->holder);
}

static Str text_of(const json_t *value)
{
    return (Str){json_string_value(value), json_string_length(value)};
}

/* The diagnostic at `place` that there is no such thing; the nearest name is suggested. False. */
static bool unknown(Reader *r, const void *place, const char *what, Suggestion *near)
{
    StrBuf text = {0};
    strbuf_printf(&text, "there is no %s ", what);
    strbuf_add_quoted(&text, near->wanted);
    suggestion_print(near, &text);
    diag_error(r->json.ctx, place_of(r, place), "%s", text.data);
    strbuf_free(&text);
    return false;
}

/* Checks that an object has these keys only. keys: ends with NULL; what: "a node" or the like. */
static bool check_keys(Reader *r, json_t *object, const char *what, const char *const *keys)
{
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return diag_error(r->json.ctx, place_of(r, object), "%s must be an object", what);
    r->holder = object;
    json_object_foreach(object, key, value)
    {
        Suggestion near = {.wanted = str_from(key)};
        StrBuf hint = {0};
        size_t i = 0;
        for (; keys[i] && strcmp(keys[i], key) != 0; i++) suggestion_try(&near, str_from(keys[i]));
        if (keys[i]) continue;
        strbuf_add_quoted(&hint, near.wanted);
        suggestion_print(&near, &hint);
        diag_error(r->json.ctx, place_of(r, key), "%s has no %s", what, hint.data);
        strbuf_free(&hint);
        return false;
    }
    return true;
}

/* A member that must be there. NULL: diagnosed. */
static json_t *member(Reader *r, json_t *object, const char *what, const char *key)
{
    json_t *value = json_object_get(object, key);
    if (!value) diag_error(r->json.ctx, place_of(r, object), "%s needs a '%s'", what, key);
    return value;
}

static bool read_text(Reader *r, json_t *value, const char *key, Str *out)
{
    if (!value) return false;
    if (!json_is_string(value) || json_string_length(value) == 0)
        return diag_error(r->json.ctx, place_of(r, value), "'%s' must be a text", key);
    *out = ident_get(r->json.ctx, text_of(value))->str;
    return true;
}

/* A whole number from `least` to `most`; without the key `otherwise` is kept. */
static bool read_int(Reader *r, json_t *object, const char *key, int64_t least, int64_t most,
                     int64_t *out)
{
    json_t *value = json_object_get(object, key);
    if (!value) return true;
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > most)
        return diag_error(r->json.ctx, json_file_place(&r->json, value, object),
                          "'%s' must be a whole number from %lld to %lld", key, (long long)least,
                          (long long)most);
    *out = json_integer_value(value);
    return true;
}

/* Reads the items of a list. Without the key there are none. */
static bool read_list(Reader *r, json_t *object, const char *key, ReadItem *read)
{
    json_t *list = json_object_get(object, key);
    if (!list) return true;
    if (!json_is_array(list))
        return diag_error(r->json.ctx, place_of(r, list), "'%s' must be a list", key);
    const json_t *holder = r->holder;
    for (size_t i = 0; i < json_array_size(list); i++) {
        r->holder = list;
        if (!read(r, json_array_get(list, i))) return false;
    }
    r->holder = holder;
    return true;
}

/* Nodes. */

static bool find_node(Reader *r, json_t *value, const char *key, uint32_t *out)
{
    Str name;
    if (!read_text(r, value, key, &name)) return false;
    for (*out = 0; *out < r->model->nodes.len; ++*out)
        if (str_eq(r->model->nodes.data[*out].name, name)) return true;
    Suggestion near = {.wanted = name};
    for (uint32_t i = 0; i < r->model->nodes.len; i++)
        suggestion_try(&near, r->model->nodes.data[i].name);
    return unknown(r, value, "node", &near);
}

static bool find_controller(Reader *r, json_t *value, int32_t *out)
{
    Str name;
    *out = -1;
    if (!value) return true;
    if (!read_text(r, value, "controller", &name)) return false;
    Suggestion near = {.wanted = name};
    for (uint32_t i = 0; i < r->platform->controller_count; i++) {
        if (str_eq(r->platform->controllers[i], name)) *out = (int32_t)i;
        suggestion_try(&near, r->platform->controllers[i]);
    }
    return *out >= 0 || unknown(r, value, "controller", &near);
}

static bool read_version(Reader *r, json_t *item)
{
    static const char *const keys[] = {"name", "lut", "ff",         "bram18",
                                       "uram", "dsp", "controller", NULL};
    PartitionVersion out = {.name = STR("")};
    json_t *name = NULL;
    if (!check_keys(r, item, "a version", keys)) return false;
    name = json_object_get(item, "name");
    if (name && !read_text(r, name, "name", &out.name)) return false;
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        if (!read_int(r, item, partition_kind_name(k), 0, PARTITION_MAX_AMOUNT, &out.use[k]))
            return false;
    if (!find_controller(r, json_object_get(item, "controller"), &out.controller)) return false;
    *vec_push(&r->model->versions) = out;
    return true;
}

static bool check_name(Reader *r, json_t *value, Str name)
{
    for (size_t i = 0; i < r->model->nodes.len; i++)
        if (str_eq(r->model->nodes.data[i].name, name)) {
            StrBuf text = {0};
            strbuf_add_quoted(&text, name);
            diag_error(r->json.ctx, place_of(r, value), "two nodes are called %s", text.data);
            strbuf_free(&text);
            return false;
        }
    return true;
}

static bool read_node(Reader *r, json_t *item)
{
    static const char *const keys[] = {"name", "versions", NULL};
    PartitionNode out = {.version = (uint32_t)r->model->versions.len};
    uint32_t dies = r->platform->die_count;
    if (!check_keys(r, item, "a node", keys)) return false;
    json_t *name = member(r, item, "a node", "name");
    json_t *versions = name ? member(r, item, "a node", "versions") : NULL;
    if (!versions || !read_text(r, name, "name", &out.name) || !check_name(r, name, out.name) ||
        !read_list(r, item, "versions", read_version))
        return false;
    out.version_count = (uint32_t)r->model->versions.len - out.version;
    out.dies = dies == PARTITION_MAX_DIES ? UINT64_MAX : (UINT64_C(1) << dies) - 1;
    *vec_push(&r->model->nodes) = out;
    if (out.version_count == 0 || out.version_count > PARTITION_MAX_VERSIONS)
        return diag_error(r->json.ctx, place_of(r, versions), "a node has 1 to %d versions",
                          PARTITION_MAX_VERSIONS);
    return r->model->nodes.len <= PARTITION_MAX_NODES ||
           diag_error(r->json.ctx, place_of(r, item), "a task graph has at most %d nodes",
                      PARTITION_MAX_NODES);
}

/* Edges. */

/* Gb/s as Mb/s, rounded up behind the third decimal of Mb/s. */
static bool read_rate(Reader *r, json_t *object, int64_t *out)
{
    json_t *value = json_object_get(object, "gbps");
    double most = (double)PARTITION_MAX_AMOUNT / 1000;
    if (!value) return true;
    if (!json_is_number(value) ||
        !(json_number_value(value) >= 0 && json_number_value(value) <= most))
        return diag_error(r->json.ctx, json_file_place(&r->json, value, object),
                          "'gbps' must be a number from 0 to %.0f", most);
    *out = ((int64_t)llround(json_number_value(value) * 1e6) + 999) / 1000;
    return true;
}

static bool read_edge(Reader *r, json_t *item)
{
    static const char *const keys[] = {"from", "to", "wires", "gbps", NULL};
    PartitionEdge out = {0};
    if (!check_keys(r, item, "an edge", keys)) return false;
    json_t *from = member(r, item, "an edge", "from");
    json_t *to = from ? member(r, item, "an edge", "to") : NULL;
    if (!to || !find_node(r, from, "from", &out.from) || !find_node(r, to, "to", &out.to) ||
        !read_int(r, item, "wires", 0, PARTITION_MAX_AMOUNT, &out.wires) ||
        !read_rate(r, item, &out.mbps))
        return false;
    *vec_push(&r->model->edges) = out;
    return r->model->edges.len <= PARTITION_MAX_EDGES ||
           diag_error(r->json.ctx, place_of(r, item), "a task graph has at most %d edges",
                      PARTITION_MAX_EDGES);
}

/* Anchors. */

/* Adds a die, or all dies of a card. */
static bool find_dies(Reader *r, json_t *value, uint64_t *dies)
{
    const PartitionPlatform *platform = r->platform;
    uint64_t found = 0;
    Str name;
    if (!read_text(r, value, "dies", &name)) return false;
    Suggestion near = {.wanted = name};
    for (uint32_t i = 0; i < platform->die_count; i++) {
        const PartitionDie *die = &platform->dies[i];
        if (str_eq(die->name, name) || str_eq(platform->cards[die->card], name))
            found |= UINT64_C(1) << i;
        suggestion_try(&near, die->name);
        suggestion_try(&near, platform->cards[die->card]);
    }
    *dies |= found;
    return found || unknown(r, value, "die or card", &near);
}

static bool read_anchor(Reader *r, json_t *item)
{
    static const char *const keys[] = {"node", "dies", NULL};
    uint32_t node;
    uint64_t dies = 0;
    if (!check_keys(r, item, "an anchor", keys)) return false;
    json_t *name = member(r, item, "an anchor", "node");
    json_t *list = name ? member(r, item, "an anchor", "dies") : NULL;
    if (!list || !find_node(r, name, "node", &node)) return false;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return diag_error(r->json.ctx, place_of(r, list), "'dies' must be a list of names");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!find_dies(r, json_array_get(list, i), &dies)) return false;
    PartitionNode *n = &r->model->nodes.data[node];
    n->dies &= dies;
    return n->dies ||
           diag_error(r->json.ctx, place_of(r, item),
                      "this anchor contradicts the anchors of '%.*s' before it", STR_ARG(n->name));
}

static bool read_pair(Reader *r, json_t *item)
{
    static const char *const keys[] = {"nodes", "same", NULL};
    PartitionPair pair;
    Str same;
    if (!check_keys(r, item, "a colocation", keys)) return false;
    json_t *level = member(r, item, "a colocation", "same");
    json_t *nodes = level ? member(r, item, "a colocation", "nodes") : NULL;
    if (!nodes || !read_text(r, level, "same", &same)) return false;
    pair.same_card = str_eq_c(same, "card");
    if (!pair.same_card && !str_eq_c(same, "die"))
        return diag_error(r->json.ctx, place_of(r, level), "'same' must be \"die\" or \"card\"");
    if (!json_is_array(nodes) || json_array_size(nodes) < 2)
        return diag_error(r->json.ctx, place_of(r, nodes), "'nodes' must be a list of two or more");
    if (!find_node(r, json_array_get(nodes, 0), "nodes", &pair.nodes[0])) return false;
    for (size_t i = 1; i < json_array_size(nodes); i++) {
        if (!find_node(r, json_array_get(nodes, i), "nodes", &pair.nodes[1])) return false;
        *vec_push(&r->model->pairs) = pair;
    }
    return true;
}

/* Limits. */

static bool read_average(Reader *r, json_t *item)
{
    static const char *const keys[] = {"kinds", "percent", NULL};
    PartitionAverage out = {.dies = UINT64_MAX, .percent = -1};
    if (!check_keys(r, item, "an average", keys)) return false;
    json_t *kinds = member(r, item, "an average", "kinds");
    if (!kinds || !member(r, item, "an average", "percent") ||
        !read_int(r, item, "percent", 1, 100, &out.percent))
        return false;
    if (!json_is_array(kinds) || json_array_size(kinds) == 0)
        return diag_error(r->json.ctx, place_of(r, kinds), "'kinds' must be a list of names");
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        json_t *value = json_array_get(kinds, i);
        PartitionKind kind = 0;
        Str name;
        if (!read_text(r, value, "kinds", &name)) return false;
        Suggestion near = {.wanted = name};
        for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
            suggestion_try(&near, str_from(partition_kind_name(k)));
        while (kind < PARTITION_KINDS && !str_eq_c(name, partition_kind_name(kind))) kind++;
        if (kind == PARTITION_KINDS) return unknown(r, value, "kind of resource", &near);
        out.kinds |= UINT32_C(1) << kind;
    }
    *vec_push(&r->platform->averages) = out;
    return true;
}

static bool read_averages(Reader *r)
{
    enum { MOST = 8 };
    json_t *list = json_object_get(r->json.root, "averages");
    if (!list) return true;
    r->platform->averages.len = 0;
    return read_list(r, r->json.root, "averages", read_average) &&
           (r->platform->averages.len <= MOST ||
            diag_error(r->json.ctx, place_of(r, list), "there are at most %d averages", MOST));
}

static bool read_limits(Reader *r)
{
    static const char *const keys[] = {"lut", "ff", "bram18", "uram", "dsp", NULL};
    int64_t percent[PARTITION_KINDS] = {0};
    json_t *limits = json_object_get(r->json.root, "limits");
    if (!limits) return true;
    if (!check_keys(r, limits, "the table of limits", keys)) return false;
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        if (!read_int(r, limits, partition_kind_name(k), 1, 100, &percent[k])) return false;
    partition_set_limits(r->platform, percent);
    return true;
}

static bool check_circles(Reader *r)
{
    uint32_t count = (uint32_t)r->model->nodes.len, node = 0;
    uint32_t *order = xcalloc(count, sizeof *order);
    StrBuf text = {0};
    bool ok = partition_topological_order(r->model, order, &node);
    free(order);
    if (ok) return true;
    strbuf_add_quoted(&text, r->model->nodes.data[node].name);
    diag_error(r->json.ctx, place_of(r, json_object_get(r->json.root, "edges")),
               "the edges have a circle through %s", text.data);
    strbuf_free(&text);
    return false;
}

/* Cards with a die of the set. */
static uint32_t cards_of(const PartitionPlatform *platform, uint64_t dies)
{
    uint32_t cards = 0;
    for (; dies; dies &= dies - 1)
        cards |= UINT32_C(1) << platform->dies[__builtin_ctzll(dies)].card;
    return cards;
}

/* Nodes that stay on one card, by the anchors together, need a card. */
static bool check_cards(Reader *r)
{
    const PartitionModel *model = r->model;
    uint32_t *cards = xcalloc(model->nodes.len + 1, sizeof *cards), node = PARTITION_NONE;
    for (size_t i = 0; i < model->nodes.len; i++)
        cards[i] = cards_of(r->platform, model->nodes.data[i].dies);
    for (bool is_changed = true; is_changed && node == PARTITION_NONE;) {
        is_changed = false;
        for (size_t i = 0; i < model->pairs.len; i++) {
            const uint32_t *ends = model->pairs.data[i].nodes;
            uint32_t common = cards[ends[0]] & cards[ends[1]];
            is_changed |= cards[ends[0]] != common || cards[ends[1]] != common;
            cards[ends[0]] = cards[ends[1]] = common;
            if (common == 0) node = ends[1];
        }
    }
    free(cards);
    if (node == PARTITION_NONE) return true;
    StrBuf text = {0};
    strbuf_add_quoted(&text, model->nodes.data[node].name);
    diag_error(r->json.ctx, place_of(r, r->json.root),
               "node %s and those that are to be on its card have no card in common", text.data);
    strbuf_free(&text);
    return false;
}

/* Nodes that stay on one die, by the anchors together, need a die, and each a controller's. */
static bool check_anchors(Reader *r)
{
    const PartitionOptions options = PARTITION_OPTIONS_DEFAULTS;
    PartitionModel *model = r->model;
    PartitionUnits units;
    uint32_t node = PARTITION_NONE;
    partition_find_units(model, &options, &units);
    for (uint32_t u = units.count; u-- > 0;)
        if (units.dies[u] == 0) node = units.first[u];
    bool is_alone = true;
    StrBuf text = {0};
    if (node != PARTITION_NONE) {
        uint32_t unit = units.of[units.nodes[node]];
        is_alone = units.first[unit + 1] == units.first[unit] + 1;
        strbuf_add_quoted(&text, model->nodes.data[units.nodes[node]].name);
        diag_error(r->json.ctx, place_of(r, r->json.root),
                   is_alone ? "node %s may be on no die: none that its anchors let in has the "
                              "controller that it needs"
                            : "node %s and those that are to be on its die have no die in common",
                   text.data);
    }
    strbuf_free(&text);
    partition_units_free(&units);
    return node == PARTITION_NONE;
}

static bool read_graph(Reader *r)
{
    static const char *const keys[] = {"name",     "nodes",  "edges",    "anchors",
                                       "colocate", "limits", "averages", NULL};
    json_t *root = r->json.root, *name = NULL;
    r->model->name = STR("");
    if (!check_keys(r, root, "a task graph", keys)) return false;
    name = json_object_get(root, "name");
    if (name && !read_text(r, name, "name", &r->model->name)) return false;
    if (!member(r, root, "a task graph", "nodes")) return false;
    return read_list(r, root, "nodes", read_node) && read_list(r, root, "edges", read_edge) &&
           read_list(r, root, "anchors", read_anchor) &&
           read_list(r, root, "colocate", read_pair) && read_limits(r) && read_averages(r) &&
           check_circles(r) && check_anchors(r) && check_cards(r) &&
           (r->model->nodes.len > 0 ||
            diag_error(r->json.ctx, place_of(r, root), "a task graph has at least one node"));
}

bool partition_read(Context *ctx, Str path, PartitionPlatform *platform, PartitionModel *out)
{
    Reader r = {.platform = platform, .model = out};
    memset(out, 0, sizeof *out);
    out->platform = platform;
    if (!json_file_read(ctx, path, "task graph", max_file_bytes, &r.json)) return false;
    bool ok = read_graph(&r);
    diag_flush(ctx);
    json_file_free(&r.json);
    return ok;
}
