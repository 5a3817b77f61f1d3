/* Perturbations of a design: reads them, and applies them to processes, loops and FIFOs.
 *
 *   perturbation := item (`,` item)*
 *   item         := kind? deeper | name `=` number | `random:` number
 *   kind         := `kernel` | `window` | `other`
 *   deeper       := `x` factor (`+` number)? | `+` number
 *   name         := `fifo-latency` | `start` | `end`
 *
 * A pipeline of depth d becomes as deep as its kind says. Its reads stay where they are and its
 * writes come as much later as it is deeper. Reads that come later together are the same as a start
 * that comes later, so this loses nothing.
 * Tests: lit/tools/ming-sim-perturb.mir */
#include "sim/design/design.h"

enum { MOST_CYCLES = 10000, MOST_FACTOR = 100, PERMILLE = 1000 };

HlsPerturbation design_bound(int64_t permille)
{
    HlsPerturbation bound = {.is_bound = true,
                             .start_late = HLS_BOUND_LATE,
                             .end_late = HLS_BOUND_LATE,
                             .fifo_late = HLS_BOUND_FIFO_LATE};
    for (int k = 0; k < HLS_PROCESS_KINDS; k++)
        bound.kinds[k] = (HlsDeeper){permille, HLS_BOUND_CYCLES};
    return bound;
}

/* Takes a prefix off a text. */
static bool take(Str *text, const char *prefix)
{
    if (!str_starts_with(*text, prefix)) return false;
    size_t len = strlen(prefix);
    *text = (Str){text->data + len, text->len - len};
    return true;
}

/* Takes digits off a text. False: there are none, or the number is above `most`. */
static bool take_number(Str *text, uint64_t most, uint64_t *out)
{
    const char *end = text->data + text->len, *at = text->data;
    uint64_t value = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) {
        if (value > (most - (uint64_t)(*at - '0')) / 10) return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    if (at == text->data) return false;
    *text = (Str){at, (size_t)(end - at)};
    *out = value;
    return true;
}

/* A factor of at least 1, with up to three decimals, as what it adds in thousandths. */
static bool take_factor(Str *text, int64_t *permille)
{
    uint64_t whole, fraction = 0, unit = PERMILLE;
    if (!take_number(text, MOST_FACTOR, &whole)) return false;
    if (take(text, ".")) {
        size_t before = text->len;
        if (!take_number(text, PERMILLE - 1, &fraction)) return false;
        for (size_t digits = before - text->len; digits > 0; digits--) unit /= 10;
        if (unit == 0) return false;
    }
    *permille = (int64_t)(whole * PERMILLE + fraction * unit) - PERMILLE;
    return *permille >= 0;
}

static bool take_deeper(Str *text, HlsDeeper *out)
{
    uint64_t cycles = 0;
    *out = (HlsDeeper){0, 0};
    bool has_factor = take(text, "x");
    if (has_factor && !take_factor(text, &out->permille)) return false;
    bool has_cycles = take(text, "+");
    if (has_cycles && !take_number(text, MOST_CYCLES, &cycles)) return false;
    out->cycles = (int64_t)cycles;
    return (has_factor || has_cycles) && text->len == 0;
}

static const char *const kind_names[HLS_PROCESS_KINDS] = {"kernel", "window", "other"};

static bool parse_deeper(Str item, HlsPerturbation *out)
{
    int first = 0, last = HLS_PROCESS_KINDS - 1;
    for (int k = 0; k < HLS_PROCESS_KINDS; k++)
        if (take(&item, kind_names[k])) {
            first = last = k;
            break;
        }
    HlsDeeper deeper;
    if (!take_deeper(&item, &deeper)) return false;
    for (int k = first; k <= last; k++) out->kinds[k] = deeper;
    return true;
}

/* *is_bounded: the item says how much is later, and not only that it is random. */
static bool parse_item(Str item, HlsPerturbation *out, bool *is_bounded)
{
    uint64_t number;
    if (take(&item, "random:")) {
        out->is_random = take_number(&item, UINT64_MAX, &out->seed);
        return out->is_random && item.len == 0;
    }
    *is_bounded = true;
    if (take(&item, "fifo-latency=")) {
        if (!take_number(&item, MOST_CYCLES, &number) || number == 0) return false;
        out->fifo_late = (int64_t)number - 1;
        return item.len == 0;
    }
    int64_t *late = take(&item, "start=") ? &out->start_late
                    : take(&item, "end=") ? &out->end_late
                                          : NULL;
    if (!late) return parse_deeper(item, out);
    if (!take_number(&item, MOST_CYCLES, &number)) return false;
    *late = (int64_t)number;
    return item.len == 0;
}

bool design_parse_perturbation(Str text, HlsPerturbation *out, StrBuf *why)
{
    bool is_bounded = false;
    *out = (HlsPerturbation){.is_random = false};
    for (size_t begin = 0, end; begin <= text.len; begin = end + 1) {
        for (end = begin; end < text.len && text.data[end] != ',';) end++;
        Str item = {text.data + begin, end - begin};
        if (parse_item(item, out, &is_bounded)) continue;
        strbuf_printf(why,
                      "'%.*s' is no perturbation; there are +8, x1.5 and x1.5+8, also behind "
                      "kernel, window or other, fifo-latency=2, start=2, end=2 and random:SEED",
                      STR_ARG(item));
        return false;
    }
    if (is_bounded) return true;
    HlsPerturbation bound = design_bound(HLS_BOUND_PERMILLE);
    bound.is_random = true;
    bound.is_bound = false;
    bound.seed = out->seed;
    *out = bound;
    return true;
}

/* Draws from 0 to most if the perturbation is random. */
static int64_t draw(const HlsPerturbation *p, uint64_t *state, int64_t most)
{
    if (!p->is_random) return most;
    *state = hash_combine(*state, p->seed);
    return (int64_t)(*state % (uint64_t)(most + 1));
}

static void perturb_loop(HlsLoop *loop, const HlsPerturbation *p, HlsDeeper deeper, uint64_t *state)
{
    int64_t depth = loop->depth - loop->late;
    loop->late = draw(p, state, depth * deeper.permille / PERMILLE + deeper.cycles);
    loop->depth = depth + loop->late;
    for (size_t a = 0; a < loop->accesses.len; a++) {
        HlsAccess *access = &loop->accesses.data[a];
        access->late = access->is_write ? loop->late : 0;
        access->early = p->is_bound ? access->late : 0;
    }
}

static void perturb_process(HlsProcess *process, const HlsPerturbation *p, uint64_t *state)
{
    HlsDeeper deeper = p->kinds[process->kind];
    if (!process->func) return;
    process->start_late = draw(p, state, p->start_late);
    process->end_late = draw(p, state, p->end_late);
    for (size_t l = 0; l < process->loops.len; l++)
        perturb_loop(&process->loops.data[l], p, deeper, state);
    process->cycles = design_process_cycles(process);
}

static const HlsPerturbation nothing = {.is_random = false};

void design_perturb_some(HlsDesign *design, const HlsPerturbation *perturbation,
                         const bool *processes)
{
    uint64_t state = perturbation->seed;
    for (size_t i = 0; i < design->processes.len; i++)
        perturb_process(&design->processes.data[i],
                        !processes || processes[i] ? perturbation : &nothing, &state);
    for (size_t i = design->port_count; i < design->streams.len; i++) {
        HlsStream *stream = &design->streams.data[i];
        bool is_late = !processes || processes[stream->reader];
        stream->late = stream->latency - 1 +
                       (is_late ? draw(perturbation, &state, perturbation->fifo_late) : 0);
    }
}

void design_perturb(HlsDesign *design, const HlsPerturbation *perturbation)
{
    design_perturb_some(design, perturbation ? perturbation : &nothing, NULL);
}
