/* --mode=auto: compiles a network in every mode that a system of cards may have, and takes the best one.
 *
 *   module ─┬─▶ dp ────▶ figure ─┐
 *           ├─▶ hwmp ──▶ figure ─┼─▶ choice ─▶ the design of one mode, as with --mode=THAT
 *           ├─▶ swmp ──▶ figure ─┤
 *           └─▶ tmp ───▶ figure ─┘
 *
 * What is proven goes before what is predicted, and what reaches --fps before what does not. Then counts
 * what the search was asked for: frames a second (of equal ones the first frame's latency), a latency, or
 * with --fps the least share of the cards. docs/partition.md. Tests: lit/driver/cards-auto.test */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/sys/sys.h"
#include "driver/internal.h"
#include "ir/asm/print/print.h"

/* One mode, and what came of it. */
typedef struct Attempt {
    ModeFigure *figure;
    DeviceTarget target;
    DriverCards cards;
    Op *design;        /* NULL: there is none */
    const Attr *place; /* of the reason, then */
    StrBuf pipeline;
    DiagHold messages;
} Attempt;

/* What is asked for. is_for_a_card: a tile is what is repeated, so frames a second count for each of its
 * cards. */
typedef struct Goal {
    const SearchOptions *search;
    bool is_for_a_card;
} Goal;

/* Keys by which figures are compared, the less the better, in this order. */
enum { KEY_UNPROVEN, KEY_MISSES, KEY_VALUE, KEY_TIE, KEYS };

typedef struct Modes {
    const CompileOptions *options;
    ModeChoice *choice;
    Attempt attempts[DRIVER_MODES];
} Modes;

/* With one card the last two are what hwmp is. */
static const char *const mode_names[DRIVER_MODES] = {"dp", "hwmp", "swmp", "tmp"};
enum { MODES_OF_ONE_CARD = 2 };

bool driver_chooses_mode(const CardOptions *options)
{
    return driver_wants_cards(options) && options->mode &&
           strcmp(options->mode, DRIVER_MODE_AUTO) == 0;
}

/* Attempts. */

static void keep_error(void *user, DriverErrorKind kind, Str message)
{
    StrBuf *why = user;
    if (kind != DRIVER_WARNING && why->len == 0) strbuf_add_str(why, message);
}

static bool resolve(Attempt *attempt, const DriverCards *given, Context *ctx)
{
    const DriverErrors errors = {keep_error, &attempt->figure->why};
    CardOptions options = *given->options;
    options.mode = attempt->figure->mode;
    return driver_resolve_cards(ctx, &options, given->device, errors, &attempt->target,
                                &attempt->cards);
}

/* From the first error that was held back, or the error of a request. */
static void take_reason(Attempt *attempt, const Op *module)
{
    StrBuf *why = &attempt->figure->why;
    const HeldDiag *held = why->len == 0 ? diag_hold_first_error(&attempt->messages) : NULL;
    attempt->place = held ? held->loc : module->loc;
    if (held) strbuf_add_str(why, strbuf_str(&held->text));
    if (why->len == 0) strbuf_add_c(why, "no reason is known");
}

/* The greatest share of what the cards have, over the kinds of resources. */
static double greatest_share(const Op *design, const Device *device, int64_t cards, int64_t copies)
{
    double most = 0;
    for (CostKind k = 0; k < COST_KINDS; k++) {
        const int64_t *total = driver_resource_of(&device->total, k);
        if (!total || *total <= 0) continue;
        double share = (double)(driver_use(design, k) * copies) / (double)(*total * cards);
        if (share > most) most = share;
    }
    return most;
}

static void measure(Attempt *attempt)
{
    ModeFigure *figure = attempt->figure;
    int64_t copies;
    figure->is_proven = driver_design_times(attempt->design, &figure->interval, &figure->latency);
    driver_count_cards(attempt->design, &figure->cards, &copies);
    figure->designs = copies * sys_tile_size(attempt->design);
    figure->fps = (double)(figure->designs * attempt->target.clock) * 1e6 /
                  (double)i64_max(figure->interval, 1);
    figure->share = greatest_share(attempt->design, &attempt->target.device, figure->cards, copies);
}

static void try_mode(const Modes *modes, Attempt *attempt, const Op *module, bool has_pipeline)
{
    CompileOptions options = *modes->options;
    Op *design = op_clone(module, NULL);
    options.cards = &attempt->cards;
    options.choice = NULL;
    if (strcmp(attempt->figure->mode, "dp") != 0) options.honors_dies = false;
    diag_hold_begin(&attempt->messages, module->ctx);
    attempt->figure->fits = resolve(attempt, modes->options->cards, module->ctx) &&
                            driver_compile(&design, &options, &attempt->target,
                                           has_pipeline ? &attempt->pipeline : NULL);
    diag_hold_end(&attempt->messages);
    if (attempt->figure->fits) {
        attempt->design = design;
        measure(attempt);
    } else {
        take_reason(attempt, module);
        op_erase(design);
    }
}

/* The choice. */

static Goal goal_of(const CompileOptions *options)
{
    return (Goal){.search = &options->search,
                  .is_for_a_card = options->cards->options->min_utilization != LIMIT_NOT_GIVEN};
}

static void find_keys(const ModeFigure *figure, const Goal *goal, double *keys)
{
    const SearchOptions *search = goal->search;
    const double fps = goal->is_for_a_card ? figure->fps / (double)figure->cards : figure->fps;
    const bool misses = search->fps > 0 && figure->fps < (double)search->fps;
    const bool is_latency = driver_asks_latency(search), is_rate = search->fps > 0 && !misses;
    const double latency = (double)figure->latency;
    keys[KEY_UNPROVEN] = !figure->is_proven;
    keys[KEY_MISSES] = misses;
    keys[KEY_VALUE] = is_latency ? latency : is_rate ? figure->share : -fps;
    keys[KEY_TIE] = is_latency ? -fps : latency;
}

/* The first key that tells them apart, KEYS if none does. */
static int compare(const ModeFigure *a, const ModeFigure *b, const Goal *goal, bool *is_better)
{
    double of_a[KEYS], of_b[KEYS];
    int key = 0;
    find_keys(a, goal, of_a);
    find_keys(b, goal, of_b);
    while (key < KEYS && !(of_a[key] < of_b[key]) && !(of_b[key] < of_a[key])) key++;
    *is_better = key < KEYS && of_a[key] < of_b[key];
    return key;
}

/* The best mode but for one; of equal ones the first. NULL: none is possible. */
static const ModeFigure *find_best(const ModeChoice *choice, const ModeFigure *but,
                                   const Goal *goal)
{
    const ModeFigure *best = NULL;
    for (size_t i = 0; i < choice->count; i++) {
        const ModeFigure *figure = &choice->modes[i];
        bool is_better = true;
        if (best) (void)compare(figure, best, goal, &is_better);
        if (figure->fits && figure != but && is_better) best = figure;
    }
    return best;
}

static void explain(ModeChoice *choice, const ModeFigure *best, const Goal *goal)
{
    StrBuf *out = &choice->reason;
    const SearchOptions *search = goal->search;
    const ModeFigure *next = find_best(choice, best, goal);
    const char *of_what = goal->is_for_a_card ? " for a card" : "";
    const bool is_latency = driver_asks_latency(search);
    const bool is_rate = search->fps > 0 && best->fps >= (double)search->fps && !is_latency;
    const long long fps = search->fps;
    bool is_better;
    if (search->fps > 0 && best->fps < (double)search->fps)
        strbuf_printf(out, "none reaches the %lld frames/s that are asked for; ", fps);
    if (!next) {
        strbuf_add_c(out, "the only one that is possible");
        return;
    }
    switch (compare(best, next, goal, &is_better)) {
    case KEY_UNPROVEN: strbuf_add_c(out, "the only one whose figures are proven"); break;
    case KEY_MISSES:
        strbuf_printf(out, "the only one that reaches the %lld frames/s that are asked for", fps);
        break;
    case KEY_VALUE:
        if (is_rate)
            strbuf_printf(out, "the least resources for the %lld frames/s that are asked for", fps);
        else
            strbuf_printf(out, "%s%s than in ",
                          is_latency ? "the first frame takes less" : "more frames a second",
                          is_latency ? "" : of_what);
        strbuf_printf(out, "%s%s, the next best", is_rate ? "; more in " : "", next->mode);
        break;
    case KEY_TIE:
        strbuf_printf(out, "%s%s as in %s, the next best, and %s",
                      is_latency ? "the first frame takes as long"
                      : is_rate  ? "as few resources"
                                 : "as many frames a second",
                      is_latency || is_rate ? "" : of_what, next->mode,
                      is_latency ? "more frames a second" : "the first one comes sooner");
        break;
    default: strbuf_printf(out, "%s, the next best, is no better", next->mode);
    }
}

/* None is possible: what is wrong with all alike, else a note for each. False. */
static bool report_all(const Modes *modes, const Op *module)
{
    const ModeChoice *choice = modes->choice;
    const System *system = &modes->options->cards->system;
    bool is_same = true;
    for (size_t i = 1; i < choice->count; i++)
        is_same &= str_eq(strbuf_str(&choice->modes[0].why), strbuf_str(&choice->modes[i].why));
    if (is_same) {
        diag_hold_report(&modes->attempts[0].messages);
        return false;
    }
    diag_error(module->ctx, module->loc, "no mode is possible on %u x %.*s", system->card_count,
               STR_ARG(system->cards[0].device.name));
    for (size_t i = 0; i < choice->count; i++)
        diag_note(module->ctx, modes->attempts[i].place, "%s: %s", choice->modes[i].mode,
                  choice->modes[i].why.data);
    return false;
}

static Modes *begin(const CompileOptions *options, ModeChoice *choice)
{
    Modes *modes = xcalloc(1, sizeof *modes);
    modes->options = options;
    modes->choice = choice;
    choice->cards = options->cards->system.card_count;
    choice->count = choice->cards > 1 ? DRIVER_MODES : MODES_OF_ONE_CARD;
    for (size_t i = 0; i < choice->count; i++) {
        choice->modes[i].mode = mode_names[i];
        modes->attempts[i].figure = &choice->modes[i];
    }
    return modes;
}

static void end(Modes *modes)
{
    for (size_t i = 0; i < modes->choice->count; i++) {
        Attempt *attempt = &modes->attempts[i];
        if (attempt->design) op_erase(attempt->design);
        strbuf_free(&attempt->pipeline);
        diag_hold_free(&attempt->messages);
    }
    free(modes);
}

bool driver_compile_modes(Op **module, const CompileOptions *options, StrBuf *pipeline)
{
    ModeChoice own = {0};
    Modes *modes = begin(options, options->choice ? options->choice : &own);
    ModeChoice *choice = modes->choice;
    for (size_t i = 0; i < choice->count; i++)
        try_mode(modes, &modes->attempts[i], *module, pipeline != NULL);
    const Goal goal = goal_of(options);
    const ModeFigure *best = find_best(choice, NULL, &goal);
    choice->taken = best ? (size_t)(best - choice->modes) : choice->count;
    Attempt *taken = &modes->attempts[best ? choice->taken : choice->count - 1];
    if (best) {
        explain(choice, best, &goal);
        choice->clock = taken->target.clock;
        diag_hold_report(&taken->messages);
        op_erase(*module);
        *module = taken->design;
        taken->design = NULL;
    }
    if (pipeline) strbuf_add_str(pipeline, strbuf_str(&taken->pipeline));
    const bool ok = best || report_all(modes, *module);
    end(modes);
    driver_mode_choice_free(&own);
    return ok;
}

/* What the choice says. */

void driver_print_modes(const ModeChoice *choice, StrBuf *out)
{
    strbuf_printf(out, "mode: %s (%s; by our model at %lld MHz)\n",
                  choice->modes[choice->taken].mode, choice->reason.data, (long long)choice->clock);
    for (size_t i = 0; i < choice->count; i++) {
        const ModeFigure *figure = &choice->modes[i];
        strbuf_printf(out, "  %-5s ", figure->mode);
        if (!figure->fits) {
            strbuf_printf(out, "not possible: %s\n", figure->why.data);
            continue;
        }
        strbuf_printf(out, "%" PRId64 " cycles from frame to frame", figure->interval);
        if (figure->designs > 1)
            strbuf_printf(out, " in each of %" PRId64 " designs", figure->designs);
        if (figure->cards < choice->cards)
            strbuf_printf(out, " on %" PRId64 " of the cards", figure->cards);
        strbuf_printf(out, ", %.1f frames/s; %" PRId64 " for the first one (%s); %.1f %% of %s\n",
                      figure->fps, figure->latency, figure->is_proven ? "proven" : "predicted",
                      figure->share * 100, figure->cards < choice->cards ? "these" : "the cards");
    }
}

static void write_figure(JsonWriter *json, const ModeFigure *figure)
{
    json_begin_object(json);
    json_member_string(json, "mode", str_from(figure->mode));
    json_member_bool(json, "possible", figure->fits);
    if (figure->fits) {
        json_member_int(json, "cycles", figure->interval);
        json_member_int(json, "first_frame_cycles", figure->latency);
        json_member_int(json, "designs", figure->designs);
        json_member_int(json, "cards", figure->cards);
        json_member_bool(json, "proven", figure->is_proven);
        json_write_key(json, STR("fps"));
        json_write_number(json, "%.1f", figure->fps);
        json_write_key(json, STR("share_percent"));
        json_write_number(json, "%.1f", figure->share * 100);
    } else {
        json_member_string(json, "reason", strbuf_str(&figure->why));
    }
    json_end_object(json);
}

void driver_write_modes(const ModeChoice *choice, StrBuf *out)
{
    JsonWriter json = {.out = out};
    json_begin_object(&json);
    json_member_string(&json, "mode", str_from(choice->modes[choice->taken].mode));
    json_member_string(&json, "reason", strbuf_str(&choice->reason));
    json_member_int(&json, "clock_mhz", choice->clock);
    json_member_array(&json, "modes");
    for (size_t i = 0; i < choice->count; i++) {
        json_write_line(&json, 2);
        write_figure(&json, &choice->modes[i]);
    }
    json_end_array(&json);
    json_end_object(&json);
    strbuf_add_char(out, '\n');
}

void driver_mode_choice_free(ModeChoice *choice)
{
    for (size_t i = 0; i < choice->count; i++) strbuf_free(&choice->modes[i].why);
    strbuf_free(&choice->reason);
}
