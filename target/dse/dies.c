/* The dies that a design is placed on: options of choose-unroll as text, sys.dies and sys.links on
 * the module, and the platform that target/partition sees, in this order.
 *   dies       ::= die (',' die)*             die  ::= name ':' resources ':' resources [':' bank]
 *   resources  ::= lut '/' ff '/' bram18 '/' uram '/' dsp, of the limit, then of the capacity
 *   die-links  ::= link (',' link)*           link ::= die '-' die ':' wires
 * Tests: lit/target/dse/place-invalid.test */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "target/dse/internal.h"

/* In the order of both the text and PartitionKind. */
static const CostKind kinds[PARTITION_KINDS] = {COST_LUT, COST_FF, COST_BRAM18, COST_URAM,
                                                COST_DSP};

CostKind dse_cost_kind(PartitionKind kind)
{
    return kinds[kind];
}

/* What is left of a text that is being read. */
typedef struct Reader {
    const char *at, *end;
} Reader;

static Reader reader_of(Str text)
{
    return (Reader){text.data, text.data + text.len};
}

static bool take(Reader *r, char c)
{
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool take_number(Reader *r, int64_t most, int64_t *out)
{
    const char *first = r->at;
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && *out <= most; r->at++)
        *out = *out * 10 + (*r->at - '0');
    return r->at > first && *out <= most;
}

static Str take_name(Reader *r, char end)
{
    const char *first = r->at;
    while (r->at < r->end && *r->at != end) r->at++;
    return (Str){first, (size_t)(r->at - first)};
}

/* ":1/2/3/4/5" */
static const Attr *take_resources(Reader *r, Context *ctx)
{
    NamedAttr items[PARTITION_KINDS];
    for (int k = 0; k < PARTITION_KINDS; k++) {
        int64_t amount;
        if (!take(r, k ? '/' : ':') || !take_number(r, PARTITION_MAX_AMOUNT, &amount)) return NULL;
        items[k] = build_named_attr(ctx, cost_names[kinds[k]].key, attr_i64(ctx, amount));
    }
    return attr_dict(ctx, items, PARTITION_KINDS);
}

/* mean: 0 for none. NULL: it is no list of dies. */
static const Attr *read_dies(Context *ctx, Str text, int64_t mean)
{
    Reader r = reader_of(text);
    const Attr *dies[SYS_MAX_DIES];
    size_t count = 0;
    do {
        Str name = take_name(&r, ':');
        const Attr *limit = take_resources(&r, ctx);
        const Attr *capacity = limit ? take_resources(&r, ctx) : NULL;
        Str bank = capacity && take(&r, ':') ? take_name(&r, ',') : STR("");
        if (count == SYS_MAX_DIES || name.len == 0 || !capacity) return NULL;
        size_t given = 3;
        NamedAttr items[5] = {
            build_named_attr(ctx, SYS_DIE_NAME, attr_string(ctx, name)),
            build_named_attr(ctx, SYS_DIE_LIMIT, limit),
            build_named_attr(ctx, SYS_DIE_CAPACITY, capacity),
        };
        if (mean > 0) items[given++] = build_named_attr(ctx, SYS_DIE_MEAN, attr_i64(ctx, mean));
        if (bank.len > 0)
            items[given++] = build_named_attr(ctx, SYS_DIE_BANK, attr_string(ctx, bank));
        dies[count++] = attr_dict(ctx, items, given);
    } while (take(&r, ','));
    return r.at == r.end ? attr_array(ctx, dies, count) : NULL;
}

/* NULL: it is no list of links between two of so many dies. */
static const Attr *read_links(Context *ctx, Str text, size_t dies)
{
    enum { MOST = SYS_MAX_DIES * SYS_MAX_DIES };
    Reader r = reader_of(text);
    const Attr *links[MOST];
    size_t count = 0;
    do {
        int64_t ends[2], wires;
        if (text.len == 0) break;
        if (count == MOST || !take_number(&r, (int64_t)dies - 1, &ends[0]) || !take(&r, '-') ||
            !take_number(&r, (int64_t)dies - 1, &ends[1]) || ends[0] == ends[1] || !take(&r, ':') ||
            !take_number(&r, PARTITION_MAX_AMOUNT, &wires))
            return NULL;
        const NamedAttr items[] = {
            build_named_attr(ctx, SYS_LINK_DIES, attr_i64_array(ctx, ends, 2)),
            build_named_attr(ctx, SYS_LINK_WIRES, attr_i64(ctx, wires))};
        links[count++] = attr_dict(ctx, items, 2);
    } while (take(&r, ','));
    return r.at == r.end ? attr_array(ctx, links, count) : NULL;
}

bool dse_record_dies(Op *module, Str dies, Str links, int64_t mean)
{
    Context *ctx = module->ctx;
    const Attr *list = read_dies(ctx, dies, mean);
    if (!list)
        return op_error(module, "has 'dies' that are no list of "
                                "name:lut/ff/bram18/uram/dsp:lut/ff/bram18/uram/dsp");
    const Attr *joints = read_links(ctx, links, list->u.array.count);
    if (!joints)
        return op_error(module, "has 'die-links' that are no list of die-die:wires between %u dies",
                        list->u.array.count);
    op_set_attr(module, SYS_ATTR_DIES, list);
    op_set_attr(module, SYS_ATTR_LINKS, joints);
    return true;
}

/* Amounts of IR that nobody has checked, so that sums of them stay in 64 bits. */
int64_t dse_amount(const Attr *dict, const char *name)
{
    return i64_max(0, i64_min(PARTITION_MAX_AMOUNT, attr_dict_int(dict, name, 0)));
}

static void get_amounts(const Attr *die, const char *name, int64_t out[PARTITION_KINDS])
{
    for (int k = 0; k < PARTITION_KINDS; k++)
        out[k] = dse_amount(attr_dict_get_c(die, name), cost_names[kinds[k]].key);
}

static void add_mean(PartitionPlatform *platform, uint32_t die, int64_t percent)
{
    enum { MEMORIES_AND_DSP = 1 << PARTITION_BRAM18 | 1 << PARTITION_URAM | 1 << PARTITION_DSP };
    if (percent <= 0) return;
    for (size_t i = 0; i < platform->averages.len; i++)
        if (platform->averages.data[i].percent == percent) {
            platform->averages.data[i].dies |= UINT64_C(1) << die;
            return;
        }
    *vec_push(&platform->averages) =
        (PartitionAverage){MEMORIES_AND_DSP, UINT64_C(1) << die, percent};
}

bool dse_platform(const Op *module, PartitionPlatform *out)
{
    return dse_platform_of(op_attr(module, SYS_ATTR_DIES), op_attr(module, SYS_ATTR_LINKS), out);
}

bool dse_platform_of(const Attr *dies, const Attr *links, PartitionPlatform *out)
{
    /* The one controller is the memory of the banks; what it takes is off the limits. */
    *out = (PartitionPlatform){.card_count = 1, .controllers = {STR("memory")}};
    if (!dies || dies->u.array.count == 0) return false;
    for (uint32_t i = 0; i < dies->u.array.count; i++) {
        const Attr *die = dies->u.array.items[i];
        PartitionDie *to = &out->dies[out->die_count++];
        to->name = attr_dict_get_c(die, SYS_DIE_NAME)->u.string;
        get_amounts(die, SYS_DIE_LIMIT, to->limit);
        get_amounts(die, SYS_DIE_CAPACITY, to->capacity);
        to->controllers = attr_dict_get_c(die, SYS_DIE_BANK) != NULL;
        out->controller_count |= to->controllers;
        add_mean(out, i, i64_min(100, dse_amount(die, SYS_DIE_MEAN)));
    }
    for (uint32_t i = 0; links && i < links->u.array.count; i++) {
        const Attr *link = links->u.array.items[i], *ends = attr_dict_get_c(link, SYS_LINK_DIES);
        int64_t from = dense_array_i64(ends, 0), to = dense_array_i64(ends, 1);
        if (from < 0 || to < 0 || i64_max(from, to) >= out->die_count) continue;
        *vec_push(&out->links) = (PartitionLink){.dies = {(uint32_t)from, (uint32_t)to},
                                                 .capacity = dse_amount(link, SYS_LINK_WIRES)};
    }
    return true;
}
