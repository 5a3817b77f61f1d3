/* How the channels of maps lie in their words. A convolution of several groups reads the words of one
 * group at a time and writes whole words, so each group of such a map begins with a word of its own
 * where its channels do not fill words anyway; the lanes behind them are filled up. Layers that work
 * lane by lane take and give maps of the same layout, which a dense convolution can read as well.
 * Tests: lit/lowering/network_to_program/groups.mir, test/e2e/popcount_engine_check.py */
#include "lowering/network_to_program/internal.h"

static uint64_t groups_of(const Plan *plan, const Value *map)
{
    uintptr_t groups = (uintptr_t)ptrmap_get(&plan->groups, map);
    return groups ? groups : 1;
}

static uint64_t least_common_multiple(uint64_t a, uint64_t b)
{
    uint64_t x = a, y = b;
    while (y > 0) {
        uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return a / x * b;
}

/* True: the map has more groups than before. All numbers divide its channels, so this ends. */
static bool need(Plan *plan, const Value *map, uint64_t groups)
{
    uint64_t before = groups_of(plan, map), all = least_common_multiple(before, groups);
    if (all == before) return false;
    ptrmap_put(&plan->groups, map, (void *)(uintptr_t)all);
    return true;
}

/* A map that a convolution of groups reads or writes. */
static bool need_of_conv(Plan *plan, const Value *map, uint64_t groups)
{
    uint64_t each = (uint64_t)sa_map_dims(map)[2] / groups;
    bool is_aligned = each % plan->lanes == 0 && groups_of(plan, map) == 1;
    return !is_aligned && need(plan, map, groups);
}

static bool join(Plan *plan, const Value *a, const Value *b)
{
    bool grew = need(plan, a, groups_of(plan, b));
    return need(plan, b, groups_of(plan, a)) || grew;
}

static bool grow(Plan *plan, const Op *op)
{
    const Value *in = op_operand(op, 0), *out = op_result(op, 0);
    uint64_t groups = (uint64_t)sa_int(op, SA_ATTR_GROUPS, 1);
    bool is_dense = op->def == SA(CONV) && !op_attr(op, "depthwise"), grew = false;
    if (groups > 1) {
        grew = need_of_conv(plan, in, groups);
        grew |= need_of_conv(plan, out, groups);
    }
    if (!is_dense) grew |= join(plan, in, out);
    if (sa_operand(op)) grew |= join(plan, sa_operand(op), out);
    return grew;
}

void to_program_find_groups(Plan *plan)
{
    for (bool grew = true; grew;) {
        grew = false;
        FOR_EACH_OP(op, region_entry(op_region(plan->network, 0)))
            if (sa_is_layer(op)) grew |= grow(plan, op);
    }
}

MapLanes to_program_lanes(const Plan *plan, const Value *map)
{
    uint64_t groups = groups_of(plan, map), channels = (uint64_t)sa_map_dims(map)[2];
    uint64_t each = channels / groups, lanes = plan->lanes;
    return (MapLanes){
        .groups = groups, .channels = each, .lanes = (each / lanes + (each % lanes != 0)) * lanes};
}

int64_t to_program_channel(const MapLanes *lanes, uint64_t lane)
{
    uint64_t group = lane / lanes->lanes, channel = lane % lanes->lanes;
    bool is_there = group < lanes->groups && channel < lanes->channels;
    return is_there ? (int64_t)(group * lanes->channels + channel) : -1;
}
