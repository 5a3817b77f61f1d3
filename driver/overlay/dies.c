/* An engine on the dies of a device. What belongs to rows of the array, their memories, lanes of the
 * processing unit and of the weight buffer, goes with the rows, of which each die takes as many as it
 * holds; pages, ports and units are on one die. What goes from row to row crosses the borders: the words
 * that the array takes in, weights for the rows beyond, their results and second operands. */
#include <string.h>

#include "driver/overlay/internal.h"
#include "emit/overlay/overlay.h"

static const CostKind KINDS[] = {COST_DSP, COST_BRAM18, COST_URAM, COST_LUT, COST_FF};

static int64_t limit_of(const Resources *limits, CostKind kind)
{
    switch (kind) {
    case COST_DSP: return limits->dsp;
    case COST_BRAM18: return limits->bram18;
    case COST_URAM: return limits->uram;
    case COST_LUT: return limits->lut;
    default: return limits->ff;
    }
}

static bool is_within(const Cost *cost, const Resources *limits)
{
    for (size_t i = 0; i < COUNT_OF(KINDS); i++)
        if (cost->items[KINDS[i]] > limit_of(limits, KINDS[i])) return false;
    return true;
}

/* Percent of the die's block RAM, UltraRAM and DSPs on average, as Elastic-DF's Eq. 9 has it. */
static bool is_within_mean(const DeviceTarget *target, uint32_t die, const Cost *cost)
{
    const Resources *all = &target->device.dies[die].resources;
    int64_t percent = 0, kinds = 0;
    for (size_t i = 0; i < 3; i++) {
        int64_t most = limit_of(all, KINDS[i]);
        if (most == 0) continue;
        percent += 100 * cost->items[KINDS[i]] / most;
        kinds++;
    }
    return target->mean_percent == 0 || kinds == 0 || percent <= kinds * target->mean_percent;
}

/* What is on the die with the buffers, besides rows; and what so many rows take. */
static Cost cost_of(const OverlayRequest *request, const SaOverlay *size, int64_t rows,
                    bool has_buffers)
{
    OverlayHlsPart parts[OVERLAY_HLS_PARTS];
    Cost total, cost = {0};
    SaOverlay part = *size;
    part.rows = (uint32_t)(rows > 0 ? rows : 1);
    const Device *target = &request->target->device;
    const OverlayHlsDevice device = {target->total.uram > 0, sched_dsp_shape(target->dsp_kind)};
    overlay_hls_cost(&part, &device, parts, &total);
    for (size_t i = 0; i < OVERLAY_HLS_PARTS; i++)
        if (parts[i].has_rows ? rows > 0 : has_buffers) cost_add(&cost, &parts[i].cost);
    return cost;
}

Cost overlay_search_cost(const OverlayRequest *request, const SaOverlay *size)
{
    return cost_of(request, size, size->rows, true);
}

static bool die_holds(const OverlayRequest *request, const SaOverlay *size, uint32_t die,
                      int64_t rows, bool has_buffers)
{
    Cost cost = cost_of(request, size, rows, has_buffers);
    return is_within(&cost, &request->target->dies[die]) &&
           is_within_mean(request->target, die, &cost);
}

static int64_t most_rows(const OverlayRequest *request, const SaOverlay *size, uint32_t die,
                         int64_t wanted, bool has_buffers)
{
    int64_t low = -1, high = wanted;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (die_holds(request, size, die, middle, has_buffers))
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Wires of the border with so many rows beyond it. */
static int64_t border_wires(const SaOverlay *size, int64_t rows)
{
    int64_t word = (int64_t)size->cols * size->act_bits;
    int64_t weights = rows * size->weight_bits * size->fill_words;
    return word + weights + 2 * rows * size->act_bits;
}

/* Neighbours of the die with the buffers first, on both sides in turns. */
static bool spread(const OverlayRequest *request, const SaOverlay *size, uint32_t home,
                   OverlayPlace *out)
{
    const Device *device = &request->target->device;
    int64_t left = size->rows, dies = device->die_count;
    *out = (OverlayPlace){.engines = 1, .die = home};
    for (int64_t distance = 0; distance < dies && left > 0; distance++)
        for (int side = 0; side < (distance > 0 ? 2 : 1) && left > 0; side++) {
            int64_t die = side == 0 ? home + distance : home - distance;
            if (die < 0 || die >= dies) continue;
            int64_t rows = most_rows(request, size, (uint32_t)die, left, distance == 0);
            if (rows < 0) return false; /* not even the buffers */
            out->rows[die] = rows;
            left -= rows;
            if (rows > 0 && distance * device->registers * 2 > out->registers)
                out->registers = distance * device->registers * 2;
        }
    return left == 0;
}

static bool wires_suffice(const OverlayRequest *request, const SaOverlay *size, OverlayPlace *place)
{
    const Device *device = &request->target->device;
    for (uint32_t die = 0; die + 1 < device->die_count; die++) {
        int64_t beyond = 0;
        for (uint32_t i = 0; i < device->die_count; i++)
            if (die < place->die ? i <= die : i > die) beyond += place->rows[i];
        int64_t wires = beyond > 0 ? border_wires(size, beyond) : 0;
        if (wires > place->wires) place->wires = wires;
        if (wires > device->wires[die][die + 1]) return false;
    }
    return true;
}

/* Each engine has a bank for maps and one for weights, where the description tells of banks. */
static int64_t most_engines(const Device *device)
{
    int64_t banks = 0;
    for (uint32_t i = 0; i < device->bank_count; i++) banks += device->banks[i].count;
    return banks > 0 ? i64_max(1, banks / 2) : DEVICE_MAX_DIES;
}

static bool place_on_each(const OverlayRequest *request, const SaOverlay *size, OverlayPlace *out)
{
    const Device *device = &request->target->device;
    *out = (OverlayPlace){0};
    for (uint32_t die = 0; die < device->die_count; die++) {
        if (!die_holds(request, size, die, size->rows, true)) continue;
        if (out->engines++ == 0) out->die = die;
        out->rows[die] = size->rows;
    }
    out->engines = i64_min(out->engines, most_engines(device));
    return out->engines > 0;
}

bool overlay_search_place(const OverlayRequest *request, const SaOverlay *size, OverlayPlace *out)
{
    const DeviceTarget *target = request->target;
    if (request->is_for_each_die) return place_on_each(request, size, out);
    Cost total = overlay_search_cost(request, size);
    if (!is_within(&total, &target->budget)) return false;
    OverlayPlace place;
    bool found = false;
    for (uint32_t home = 0; home < target->device.die_count; home++) {
        if (!spread(request, size, home, &place) || !wires_suffice(request, size, &place)) continue;
        if (!found || place.registers < out->registers) *out = place;
        found = true;
    }
    return found;
}

void overlay_search_lacks(const OverlayRequest *request, const SaOverlay *size,
                          bool lacks[COST_KINDS])
{
    const DeviceTarget *target = request->target;
    Cost total = overlay_search_cost(request, size);
    memset(lacks, 0, COST_KINDS * sizeof *lacks);
    for (size_t i = 0; i < COUNT_OF(KINDS); i++) {
        const Resources *limits = &target->budget;
        int64_t most = limit_of(limits, KINDS[i]);
        for (uint32_t die = 0; request->is_for_each_die && die < target->device.die_count; die++)
            most = die == 0 ? limit_of(&target->dies[0], KINDS[i])
                            : i64_max(most, limit_of(&target->dies[die], KINDS[i]));
        lacks[KINDS[i]] = total.items[KINDS[i]] > most;
    }
}
