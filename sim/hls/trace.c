/* What a run leaves for pictures: parts of the time for the chart, changes for the waveform.
 *
 * Time is cut into TRACE_PARTS parts of equal length. When the run outgrows them, neighbouring
 * parts are added up and each part becomes twice as long, so memory stays bounded.
 *
 * Processes are simulated out of step, so of the changes the earliest ones are kept: whenever there
 * are twice as many as wanted, `to` moves to where the wanted number ends. Later changes can only
 * move it further ahead, so the result does not depend on when that happens.
 * Tests: lit/tools/ming-sim-charts.mir, lit/tools/ming-sim-waveform.test */
#include <stdlib.h>

#include "sim/hls/internal.h"

static uint32_t signal_count(const HlsDesign *design)
{
    return (uint32_t)(design->processes.len + design->streams.len);
}

HlsTrace *hls_sim_trace_create(const HlsDesign *design, const HlsTraceOptions *options)
{
    HlsTrace *t = xcalloc(1, sizeof *t);
    *t = (HlsTrace){.design = design, .options = *options, .width = 1};
    t->to = options->to > 0 ? options->to : INT64_MAX;
    t->states = xcalloc(design->processes.len * HLS_STATE_COUNT, sizeof *t->states);
    t->done = xcalloc(design->processes.len, sizeof *t->done);
    t->fills = xcalloc(design->streams.len, sizeof *t->fills);
    t->levels = xcalloc(design->streams.len, sizeof *t->levels);
    t->since = xcalloc(design->streams.len, sizeof *t->since);
    t->signals = xcalloc(signal_count(design), sizeof *t->signals);
    for (uint32_t i = 0; i < signal_count(design); i++)
        t->signals[i] = (HlsTraceSignal){.is_kept = options->keeps_changes,
                                         .first = i < design->processes.len ? HLS_IDLE : 0};
    return t;
}

void hls_sim_trace_free(HlsTrace *t)
{
    if (!t) return;
    for (uint32_t i = 0; i < signal_count(t->design); i++) vec_free(&t->signals[i].changes);
    free(t->signals);
    free(t->states);
    free(t->done);
    free(t->fills);
    free(t->levels);
    free(t->since);
    free(t);
}

/* Whether a name is one that a pattern describes, whose `*` stands for any text. */
static bool matches(Str pattern, Str name)
{
    size_t star = SIZE_MAX, retry = 0, p = 0, n = 0;
    while (n < name.len) {
        if (p < pattern.len && pattern.data[p] == '*') {
            star = p++;
            retry = n;
        } else if (p < pattern.len && pattern.data[p] == name.data[n]) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.data[p] == '*') p++;
    return p == pattern.len;
}

Str hls_sim_trace_name(const HlsDesign *design, uint32_t signal)
{
    size_t processes = design->processes.len;
    return signal < processes ? design->processes.data[signal].name
                              : design->streams.data[signal - processes].name;
}

bool hls_sim_trace_choose(HlsTrace *t, Str pattern, Suggestion *near)
{
    bool found = false;
    for (uint32_t i = 0; !t->has_chosen && i < signal_count(t->design); i++)
        t->signals[i].is_kept = false;
    t->has_chosen = true;
    for (uint32_t i = 0; i < signal_count(t->design); i++) {
        Str name = hls_sim_trace_name(t->design, i);
        bool is_meant = matches(pattern, name);
        t->signals[i].is_kept |= is_meant && t->options.keeps_changes;
        found |= is_meant;
        suggestion_try(near, name);
    }
    return found;
}

static void fold_row(HlsTraceRow *row)
{
    enum { HALF = TRACE_PARTS / 2 };
    for (int i = 0; i < HALF; i++) row->parts[i] = row->parts[2 * i] + row->parts[2 * i + 1];
    memset(&row->parts[HALF], 0, sizeof row->parts / 2);
}

static void fold(HlsTrace *t)
{
    for (size_t i = 0; i < t->design->processes.len * HLS_STATE_COUNT; i++) fold_row(&t->states[i]);
    for (size_t i = 0; i < t->design->streams.len; i++) fold_row(&t->fills[i]);
    t->width *= 2;
}

/* Adds weight for every cycle of [from, to). */
static void add_cycles(HlsTrace *t, HlsTraceRow *row, int64_t from, int64_t to, int64_t weight)
{
    t->end = to > t->end ? to : t->end;
    while (to > t->width * TRACE_PARTS) fold(t);
    while (from < to) {
        int64_t part = from / t->width, next = (part + 1) * t->width;
        next = next < to ? next : to;
        row->parts[part] += (next - from) * weight;
        from = next;
    }
}

/* Changes of a signal before a cycle. */
static size_t changes_before(const HlsTraceSignal *signal, int64_t time)
{
    size_t low = 0, high = signal->changes.len;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (signal->changes.data[middle].time < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int64_t all_before(const HlsTrace *t, int64_t time)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < signal_count(t->design); i++)
        sum += (int64_t)changes_before(&t->signals[i], time);
    return sum;
}

/* The latest cycle before which there are no more changes than wanted. */
static int64_t find_cut(const HlsTrace *t)
{
    int64_t low = t->options.from, high = t->end + 1;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (all_before(t, middle) <= t->options.most_changes)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void cut(HlsTrace *t)
{
    t->to = find_cut(t);
    t->is_cut = true;
    t->change_count = 0;
    for (uint32_t i = 0; i < signal_count(t->design); i++) {
        HlsTraceSignal *signal = &t->signals[i];
        signal->changes.len = changes_before(signal, t->to);
        t->change_count += (int64_t)signal->changes.len;
    }
}

/* Times of one signal never go back. Of several values in one cycle the last one counts. */
static void add_change(HlsTrace *t, uint32_t index, int64_t time, int64_t value)
{
    HlsTraceSignal *signal = &t->signals[index];
    size_t count = signal->changes.len;
    HlsTraceChange *last = count > 0 ? &signal->changes.data[count - 1] : NULL;
    if (!signal->is_kept || time >= t->to) return;
    if (time <= t->options.from) {
        signal->first = value;
    } else if (last && last->time == time) {
        last->value = value;
    } else if (value != (last ? last->value : signal->first)) {
        *vec_push(&signal->changes) = (HlsTraceChange){time, value};
        t->change_count++;
        if (t->options.most_changes > 0 && t->change_count > 2 * t->options.most_changes) cut(t);
    }
}

/* Processes that are done rest while others go on. */
void hls_sim_trace_finish(HlsTrace *t)
{
    for (uint32_t i = 0; i < t->design->processes.len; i++)
        if (t->done[i] < t->end) add_change(t, i, t->done[i], HLS_IDLE);
    if (t->options.most_changes > 0 && t->change_count > t->options.most_changes) cut(t);
    t->to = t->to < t->end ? t->to : t->end;
}

void hls_sim_trace_state(void *trace, uint32_t process, HlsState state, int64_t from, int64_t to)
{
    HlsTrace *t = trace;
    t->done[process] = to;
    add_cycles(t, &t->states[process * HLS_STATE_COUNT + state], from, to, 1);
    add_change(t, process, from, state);
}

void hls_sim_trace_level(void *trace, uint32_t stream, int64_t time, int64_t level)
{
    HlsTrace *t = trace;
    add_cycles(t, &t->fills[stream], t->since[stream], time, t->levels[stream]);
    t->levels[stream] = level;
    t->since[stream] = time;
    add_change(t, (uint32_t)t->design->processes.len + stream, time, level);
}

int64_t hls_sim_trace_cut(const HlsTrace *t)
{
    return t->is_cut ? t->to : HLS_UNKNOWN;
}

int64_t hls_sim_trace_end(const HlsTrace *t)
{
    return t->end;
}
