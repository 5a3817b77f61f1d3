/* Finds the devices of a system of cards, and what a design on them may use.
 * Tests: lit/tools/devices-system.test, lit/driver/cards.test */
#include <stdlib.h>
#include <string.h>

#include "dialects/sys/sys.h"
#include "driver/internal.h"
#include "ir/asm/print/print.h"

enum { COPY_BYTES = 64 }; /* of a packet, which a copy has none of */

static bool resolve_cards(Context *ctx, DriverErrors errors, System *system)
{
    DeviceTarget *target = xcalloc(1, sizeof *target);
    bool ok = true;
    for (uint32_t i = 0; ok && i < system->card_count; i++) {
        DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
        options.device = system->cards[i].device_name.data;
        ok = driver_resolve_device(ctx, &options, errors, target);
        system->cards[i].device = target->device;
    }
    free(target);
    return ok;
}

bool driver_resolve_system(Context *ctx, const char *path, DriverErrors errors, System *out)
{
    StrBuf folder = {0};
    bool ok =
        driver_resource_dir("devices", &folder) ||
        driver_error(errors, DRIVER_ERROR_OTHER,
                     "the device descriptions are not installed: none of %s is there", folder.data);
    if (ok) {
        strbuf_add_c(&folder, "/system.xsd");
        ok = system_read(ctx, path, folder.data, out) && resolve_cards(ctx, errors, out) &&
             system_check(ctx, out, loc_file(ctx, ident_get_c(ctx, path), 1, 1));
    }
    strbuf_free(&folder);
    return ok;
}

bool driver_chain_cards(Context *ctx, const char *device, int64_t count, bool is_linked,
                        DriverErrors errors, System *out)
{
    DeviceTarget *target = xcalloc(1, sizeof *target);
    DeviceOptions options = DEVICE_OPTIONS_DEFAULTS;
    options.device = device;
    bool ok = driver_resolve_device(ctx, &options, errors, target);
    if (ok) {
        system_chain(ctx, &target->device, (uint32_t)count, out);
        if (!is_linked) out->link_count = 0;
        ok = system_check(ctx, out, loc_file(ctx, ident_get_c(ctx, out->name.data), 1, 1));
    }
    free(target);
    return ok;
}

/* Others have whole designs on each card, or the host copies. */
static bool needs_links(const char *mode)
{
    return strcmp(mode, "dp") != 0 && strcmp(mode, "swmp") != 0;
}

bool driver_wants_cards(const CardOptions *options)
{
    return options->system || options->cards != LIMIT_NOT_GIVEN;
}

bool driver_read_instances(const char *text, int64_t *out)
{
    char *end = NULL;
    *out = !text ? 1 : strcmp(text, "auto") == 0 ? 0 : strtol(text, &end, 10);
    return !end || (end != text && *end == '\0' && *out >= 1 && *out <= SYS_MAX_INSTANCES);
}

/* Cards of one device, whose places mean the same, and of one clock: links do not change it. */
static bool check_alike(const System *system, DriverErrors errors)
{
    const SystemCard *first = &system->cards[0];
    for (uint32_t i = 1; i < system->card_count; i++) {
        const SystemCard *card = &system->cards[i];
        if (!str_eq(card->device.name, first->device.name))
            return driver_error(errors, DRIVER_ERROR_OTHER,
                                "cards '%.*s' and '%.*s' are of different devices; a design is "
                                "made for cards of one",
                                STR_ARG(first->name), STR_ARG(card->name));
        if (card->clock != first->clock)
            return driver_error(errors, DRIVER_ERROR_OTHER,
                                "cards '%.*s' and '%.*s' have different clocks; a design has one",
                                STR_ARG(first->name), STR_ARG(card->name));
    }
    return true;
}

static bool are_linked(const System *system, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < system->link_count; i++)
        if ((system->links[i].from == from && system->links[i].to == to) ||
            (system->links[i].from == to && system->links[i].to == from))
            return true;
    return false;
}

/* Data goes from one card to the next, so these must be linked. */
static bool check_chain(const System *system, const char *mode, DriverErrors errors)
{
    for (uint32_t i = 1; i < system->card_count; i++)
        if (!are_linked(system, i - 1, i))
            return driver_error(errors, DRIVER_ERROR_OTHER,
                                "--mode=%s: cards '%.*s' and '%.*s' follow each other, but are not "
                                "linked",
                                mode, STR_ARG(system->cards[i - 1].name),
                                STR_ARG(system->cards[i].name));
    return true;
}

static Resources times(const Resources *r, int64_t by, int64_t of)
{
    return (Resources){r->lut * by / of, r->ff * by / of, r->bram18 * by / of, r->uram * by / of,
                       r->dsp * by / of};
}

static void divide(DeviceTarget *target, int64_t designs)
{
    target->budget = times(&target->budget, 1, designs);
    for (uint32_t i = 0; i < target->device.die_count; i++)
        target->dies[i] = times(&target->dies[i], 1, designs);
}

/* What one design may use: its part of one card, or of all cards together. Of these it may use dies
 * as a whole, since others lie beside it. */
static void set_budget(const DriverCards *cards, int64_t of, DeviceTarget *target)
{
    if (strcmp(cards->mode, "dp") == 0)
        divide(target, cards->instances);
    else
        target->budget = times(&target->budget, cards->system.card_count, of * cards->instances);
}

void driver_take_tile(DriverCards *cards, int64_t count, int64_t designs, DeviceTarget *target)
{
    System *system = &cards->system;
    const int64_t all = system->card_count;
    uint32_t links = 0;
    for (uint32_t i = 0; i < system->link_count; i++)
        if (system->links[i].from < count && system->links[i].to < count)
            system->links[links++] = system->links[i];
    system->link_count = links;
    system->card_count = (uint32_t)count;
    cards->instances = designs;
    set_budget(cards, all, target);
}

/* The list of controllers, with that of the links. */
static const char *with_ethernet(Context *ctx, const char *shell, const Device *device)
{
    StrBuf list = {0};
    bool has_it = false;
    for (uint32_t i = 0; i < device->shell_count; i++)
        has_it |= str_eq_c(device->shells[i].name, "ethernet");
    if (!has_it || (shell && strstr(shell, "ethernet"))) return shell;
    strbuf_printf(&list, "%s%sethernet", shell ? shell : "", shell ? "," : "");
    const char *text = ident_get_c(ctx, list.data)->str.data;
    strbuf_free(&list);
    return text;
}

static bool resolve_system(Context *ctx, const CardOptions *options, const DeviceOptions *device,
                           DriverErrors errors, DriverCards *out)
{
    *out = (DriverCards){.mode = options->mode ? options->mode : "hwmp",
                         .instances = 1,
                         .min_utilization = i64_max(options->min_utilization, 0),
                         .takes_fewer = options->min_utilization > 0};
    if (!driver_read_instances(options->instances, &out->instances))
        return driver_error(errors, DRIVER_ERROR_OTHER, "'%s' is no number of instances",
                            options->instances);
    if (out->instances == 0) {
        out->instances = 1;
        if (out->min_utilization == 0) out->min_utilization = 100;
    }
    return (options->system ? driver_resolve_system(ctx, options->system, errors, &out->system)
                            : driver_chain_cards(ctx, device->device, options->cards,
                                                 needs_links(out->mode), errors, &out->system)) &&
           check_alike(&out->system, errors);
}

/* What is wrong for dp, which asks the least of a system, is wrong for all modes. */
static bool resolve_any(Context *ctx, const CardOptions *options, const DeviceOptions *device,
                        DriverErrors errors, DeviceTarget *target, DriverCards *out)
{
    CardOptions least = *options;
    least.mode = "dp";
    bool ok = driver_resolve_cards(ctx, &least, device, errors, target, out);
    out->mode = options->mode;
    out->options = options;
    out->device = device;
    return ok;
}

bool driver_resolve_cards(Context *ctx, const CardOptions *options, const DeviceOptions *device,
                          DriverErrors errors, DeviceTarget *target, DriverCards *out)
{
    DeviceOptions own = *device;
    if (!driver_wants_cards(options)) return driver_resolve_device(ctx, device, errors, target);
    if (driver_chooses_mode(options)) return resolve_any(ctx, options, device, errors, target, out);
    if (!resolve_system(ctx, options, device, errors, out)) return false;
    const System *system = &out->system;
    bool is_split = system->card_count > 1 && strcmp(out->mode, "dp") != 0;
    bool is_linked = is_split && needs_links(out->mode);
    if (is_linked && !check_chain(system, out->mode, errors)) return false;
    if (options->system) {
        own.device = system->cards[0].device_name.data;
        if (own.clock == LIMIT_NOT_GIVEN) own.clock = system->cards[0].clock;
    }
    if (is_linked) own.shell = with_ethernet(ctx, own.shell, &system->cards[0].device);
    if (!driver_resolve_device(ctx, &own, errors, target)) return false;
    set_budget(out, 1, target);
    return true;
}

/* The first die with the transceivers of a port. */
static uint32_t port_die(const Device *device, uint32_t port)
{
    uint32_t die = 0;
    while (die + 1 < device->die_count && !(device->dies[die].ethernet >> port & 1)) die++;
    return die;
}

/* The first die with memory, HBM where the device has any. */
static uint32_t memory_die(const Device *device)
{
    for (uint32_t i = 0; i < device->bank_count; i++)
        if (str_eq_c(device->banks[i].name, "HBM")) return device->banks[i].die;
    return device->bank_count > 0 ? device->banks[0].die : 0;
}

/* What the host copies from each card to the next one. A copy is two transfers, the second of which
 * cannot begin before the first one has ended. */
static void add_copies(StrBuf *out, const System *system)
{
    for (uint32_t i = 1; i < system->card_count; i++)
        strbuf_printf(out, "%s%u.%u-%u.%u:%lld:%lld:%d:0:" SYS_HOST, i > 1 ? "," : "", i - 1,
                      memory_die(&system->cards[i - 1].device), i,
                      memory_die(&system->cards[i].device), (long long)system->pcie_gbytes * 8,
                      (long long)system->transfer_us * 2000, COPY_BYTES);
}

/* "links" of place-cards and connect-cards. */
static void add_links(StrBuf *out, const DriverCards *cards)
{
    const System *system = &cards->system;
    strbuf_add_c(out, "links=\"");
    if (strcmp(cards->mode, "swmp") == 0) {
        add_copies(out, system);
        strbuf_add_char(out, '"');
        return;
    }
    for (uint32_t i = 0; i < system->link_count; i++) {
        const SystemLink *l = &system->links[i];
        strbuf_printf(out, "%s%u.%u.%u-%u.%u.%u:%lld:%lld:%lld:%lld:%.*s", i ? "," : "", l->from,
                      port_die(&system->cards[l->from].device, l->from_port), l->from_port, l->to,
                      port_die(&system->cards[l->to].device, l->to_port), l->to_port,
                      (long long)l->gbps, (long long)l->latency_ns, (long long)l->payload,
                      (long long)l->overhead, STR_ARG(system_protocol_name(l->protocol)));
    }
    strbuf_add_char(out, '"');
}

bool driver_add_links(StrBuf *out, const StageOptions *options)
{
    const DriverCards *cards = options->compile ? options->compile->cards : NULL;
    if (!cards || cards->system.card_count < 2 || strcmp(cards->mode, "dp") == 0) return false;
    add_links(out, cards);
    return true;
}

bool driver_add_cards(StrBuf *out, const StageOptions *options)
{
    const DriverCards *cards = options->compile ? options->compile->cards : NULL;
    if (!cards) return false;
    const System *system = &cards->system;
    strbuf_printf(out, "mode=%s cards=\"", cards->mode);
    for (uint32_t i = 0; i < system->card_count; i++)
        strbuf_printf(out, "%s%.*s=%.*s", i ? ";" : "", STR_ARG(system->cards[i].name),
                      STR_ARG(system->cards[i].device.name));
    strbuf_add_char(out, '"');
    if (cards->instances > 1) strbuf_printf(out, " instances=%lld", (long long)cards->instances);
    if (cards->instances > 1 && options->compile->loads_weights)
        strbuf_add_c(out, " own-tables=true");
    if (system->card_count > 1 && strcmp(cards->mode, "dp") != 0) {
        strbuf_add_char(out, ' ');
        add_links(out, cards);
    }
    bool has_copies = system->card_count > 1 && strcmp(cards->mode, "swmp") == 0;
    driver_add_dies(out, options->target,
                    options->compile->has_memory_ports || options->compile->loads_weights ||
                        has_copies);
    return true;
}
