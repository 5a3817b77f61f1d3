/* The dies and links of a system of cards, their limits, and the paths between them.
 * Tests: lit/target/partition/platform.test */
#include <string.h>

#include "target/partition/internal.h"

/* Sums of shares stay far below 2^63 with it, and rounding changes no limit by more than a
 * millionth. */
#define AVERAGE_UNITS INT64_C(1000000000000)

/* The controller that an Ethernet port needs. */
static const char ethernet[] = "ethernet";

static const char *const kind_names[PARTITION_KINDS] = {"lut", "ff", "bram18", "uram", "dsp"};

const char *partition_kind_name(PartitionKind kind)
{
    return kind_names[kind];
}

static void get_resources(const Resources *r, int64_t out[PARTITION_KINDS])
{
    const int64_t amounts[PARTITION_KINDS] = {r->lut, r->ff, r->bram18, r->uram, r->dsp};
    memcpy(out, amounts, sizeof amounts);
}

/* Whether a list of words separated by single blanks has a word. */
static bool has_word(Str list, Str word)
{
    for (size_t at = 0; at < list.len;) {
        size_t end = at;
        while (end < list.len && list.data[end] != ' ') end++;
        if (str_eq((Str){list.data + at, end - at}, word)) return true;
        at = end + 1;
    }
    return false;
}

/* The number of a controller, which is added if it is new; PARTITION_MAX_CONTROLLERS if there are too
 * many. */
static uint32_t controller_number(PartitionPlatform *platform, Str name)
{
    uint32_t i = 0;
    while (i < platform->controller_count && !str_eq(platform->controllers[i], name)) i++;
    if (i == platform->controller_count && i < PARTITION_MAX_CONTROLLERS)
        platform->controllers[platform->controller_count++] = name;
    return i;
}

static bool add_controllers(PartitionPlatform *platform, const Device *device, uint32_t die,
                            StrBuf *why)
{
    PartitionDie *out = &platform->dies[platform->die_count];
    for (uint32_t i = 0; i < device->shell_count; i++) {
        const NamedResources *shell = &device->shells[i];
        if (!has_word(device->dies[die].memory, shell->name)) continue;
        uint32_t number = controller_number(platform, shell->name);
        if (number == PARTITION_MAX_CONTROLLERS)
            return strbuf_fail(why, "the cards have more than %d kinds of controllers",
                               PARTITION_MAX_CONTROLLERS);
        out->controllers |= UINT32_C(1) << number;
        get_resources(&shell->resources, out->charge[number]);
    }
    return true;
}

static void add_average(PartitionPlatform *platform, uint64_t dies, int64_t percent)
{
    enum { MEMORIES_AND_DSP = 1 << PARTITION_BRAM18 | 1 << PARTITION_URAM | 1 << PARTITION_DSP };
    *vec_push(&platform->averages) = (PartitionAverage){MEMORIES_AND_DSP, dies, percent};
}

static void add_die(PartitionPlatform *platform, const SystemCard *card, uint32_t number,
                    Context *ctx)
{
    const Device *device = &card->device;
    PartitionDie *out = &platform->dies[platform->die_count];
    StrBuf name = {0};
    int64_t percent[PARTITION_KINDS];
    strbuf_printf(&name, "%.*s.%.*s", STR_ARG(card->name), STR_ARG(device->dies[number].name));
    out->name = ident_get_c(ctx, name.data)->str;
    out->card = platform->card_count - 1;
    strbuf_free(&name);
    get_resources(&device->dies[number].resources, out->capacity);
    get_resources(&device->percent, percent);
    for (int k = 0; k < PARTITION_KINDS; k++) out->limit[k] = out->capacity[k] * percent[k] / 100;
}

static bool add_card(Context *ctx, PartitionPlatform *platform, const SystemCard *card, StrBuf *why)
{
    const Device *device = &card->device;
    uint32_t first = platform->die_count;
    uint64_t dies = 0;
    platform->cards[platform->card_count++] = card->name;
    for (uint32_t i = 0; i < device->die_count; i++) {
        if (platform->die_count == PARTITION_MAX_DIES)
            return strbuf_fail(why, "the cards have more than %d dies", PARTITION_MAX_DIES);
        add_die(platform, card, i, ctx);
        if (!add_controllers(platform, device, i, why)) return false;
        dies |= UINT64_C(1) << platform->die_count++;
    }
    for (uint32_t i = 0; i < device->die_count; i++)
        for (uint32_t j = i + 1; j < device->die_count; j++)
            if (device->wires[i][j] > 0)
                *vec_push(&platform->links) = (PartitionLink){.dies = {first + i, first + j},
                                                              .capacity = device->wires[i][j]};
    if (device->mean_percent > 0) add_average(platform, dies, device->mean_percent);
    return true;
}

static uint32_t port_die(const PartitionPlatform *platform, const System *system, uint32_t card,
                         uint32_t port)
{
    uint32_t first = 0, die = 0;
    while (platform->dies[first].card != card) first++;
    while (!(system->cards[card].device.dies[die].ethernet >> port & 1)) die++;
    return first + die;
}

/* The rate of the data, the packets' surroundings taken off. */
static void add_ethernet(PartitionPlatform *platform, const System *system, const SystemLink *link)
{
    PartitionLink out = {.dies = {port_die(platform, system, link->from, link->from_port),
                                  port_die(platform, system, link->to, link->to_port)},
                         .is_ethernet = true,
                         .capacity =
                             link->gbps * 1000 * link->payload / (link->payload + link->overhead)};
    for (int end = 0; end < 2; end++) {
        const Device *device = &system->cards[end ? link->to : link->from].device;
        for (uint32_t i = 0; i < device->shell_count; i++)
            if (str_eq_c(device->shells[i].name, ethernet))
                get_resources(&device->shells[i].resources, out.charge[end]);
    }
    *vec_push(&platform->links) = out;
}

bool partition_platform(Context *ctx, const System *system, PartitionPlatform *out, StrBuf *why)
{
    *out = (PartitionPlatform){.die_count = 0};
    for (uint32_t i = 0; i < system->card_count; i++)
        if (!add_card(ctx, out, &system->cards[i], why)) return false;
    for (uint32_t i = 0; i < system->link_count; i++) add_ethernet(out, system, &system->links[i]);
    return true;
}

void partition_platform_free(PartitionPlatform *platform)
{
    vec_free(&platform->links);
    vec_free(&platform->averages);
}

void partition_set_limits(PartitionPlatform *platform, const int64_t percent[PARTITION_KINDS])
{
    for (uint32_t i = 0; i < platform->die_count; i++)
        for (int k = 0; k < PARTITION_KINDS; k++)
            if (percent[k] > 0)
                platform->dies[i].limit[k] = platform->dies[i].capacity[k] * percent[k] / 100;
}

/* The row of an average on a die that has all its kinds. False: the die lacks one. */
static bool average_row(const PartitionAverage *average, const PartitionDie *die, PartitionRow *out)
{
    int64_t units = 1, count = 0;
    *out = (PartitionRow){.limit = 0};
    for (int k = 0; k < PARTITION_KINDS; k++) {
        if (!(average->kinds >> k & 1)) continue;
        if (die->capacity[k] == 0) return false;
        int64_t factor = die->capacity[k] / i64_gcd(units, die->capacity[k]);
        units = units > AVERAGE_UNITS / factor ? AVERAGE_UNITS + 1 : units * factor;
        count++;
    }
    units = i64_min(units, AVERAGE_UNITS);
    for (int k = 0; k < PARTITION_KINDS; k++)
        if (average->kinds >> k & 1)
            out->coefficient[k] = (units + die->capacity[k] - 1) / die->capacity[k];
    out->limit =
        units / 100 * average->percent * count + units % 100 * average->percent * count / 100;
    return true;
}

void partition_die_rows(const PartitionPlatform *platform, uint32_t die, PartitionRows *out)
{
    const PartitionDie *d = &platform->dies[die];
    PartitionRow row;
    for (int k = 0; k < PARTITION_KINDS; k++) {
        row = (PartitionRow){.limit = d->limit[k]};
        row.coefficient[k] = 1;
        *vec_push(out) = row;
    }
    for (size_t i = 0; i < platform->averages.len; i++) {
        const PartitionAverage *average = &platform->averages.data[i];
        if (average->dies >> die & 1 && average_row(average, d, &row)) *vec_push(out) = row;
    }
}

int64_t partition_row_use(const PartitionRow *row, const int64_t use[PARTITION_KINDS])
{
    int64_t sum = 0;
    for (int k = 0; k < PARTITION_KINDS; k++) sum += row->coefficient[k] * use[k];
    return sum;
}

bool partition_row_holds(const PartitionRow *row, const int64_t use[PARTITION_KINDS])
{
    return partition_row_use(row, use) <= row->limit;
}
