/* Permutations of the dies under which platform and anchors stay as they are: mirrored dies, equal
 * cards. Of placements that differ by one only the first has to be looked at.
 * Tests: test/e2e/place_check.py */
#include <string.h>

#include "target/partition/internal.h"

/* A permutation in the making. */
typedef struct Permutation {
    const PartitionState *state;
    uint64_t dies; /* that may be used: they are mapped to one another */
    uint8_t image[PARTITION_MAX_DIES];
    uint64_t taken;
    int64_t steps; /* left */
    PartitionSymmetry *out;
} Permutation;

static bool look_alike(const Permutation *p, uint32_t a, uint32_t b)
{
    const PartitionPlatform *platform = p->state->model->platform;
    const PartitionDie *x = &platform->dies[a], *y = &platform->dies[b];
    if ((p->dies >> a & 1) != (p->dies >> b & 1) || x->controllers != y->controllers ||
        memcmp(x->capacity, y->capacity, sizeof x->capacity) != 0 ||
        memcmp(x->limit, y->limit, sizeof x->limit) != 0 ||
        memcmp(x->charge, y->charge, sizeof x->charge) != 0)
        return false;
    for (size_t i = 0; i < platform->averages.len; i++)
        if ((platform->averages.data[i].dies >> a & 1) !=
            (platform->averages.data[i].dies >> b & 1))
            return false;
    for (uint32_t u = 0; u < p->state->units.count; u++)
        if ((p->state->units.dies[u] >> a & 1) != (p->state->units.dies[u] >> b & 1)) return false;
    return true;
}

/* The link between two dies, seen from the first one; NULL: none. */
static const PartitionLink *link_between(const PartitionPlatform *platform, uint32_t a, uint32_t b,
                                         int *end)
{
    for (size_t i = 0; i < platform->links.len; i++) {
        const PartitionLink *link = &platform->links.data[i];
        *end = link->dies[1] == a;
        if ((link->dies[0] == a && link->dies[1] == b) ||
            (link->dies[0] == b && link->dies[1] == a))
            return link;
    }
    return NULL;
}

/* Whether two dies are joined as their images are. */
static bool keeps_pair(const Permutation *p, uint32_t a, uint32_t b)
{
    const PartitionPlatform *platform = p->state->model->platform;
    uint32_t x = p->image[a], y = p->image[b];
    int end = 0, image_end = 0;
    const PartitionLink *link = link_between(platform, a, b, &end);
    const PartitionLink *image = link_between(platform, x, y, &image_end);
    if ((platform->dies[a].card == platform->dies[b].card) !=
        (platform->dies[x].card == platform->dies[y].card))
        return false;
    if (p->state->paths.between[a][b].hops != p->state->paths.between[x][y].hops) return false;
    if (!link || !image) return link == image;
    return link->is_ethernet == image->is_ethernet && link->capacity == image->capacity &&
           memcmp(link->charge[end], image->charge[image_end], sizeof link->charge[0]) == 0 &&
           memcmp(link->charge[!end], image->charge[!image_end], sizeof link->charge[0]) == 0;
}

static void map_from(Permutation *p, uint32_t die)
{
    uint32_t count = p->state->model->platform->die_count;
    bool is_identity = true;
    if (p->out->count == PARTITION_MAX_PERMUTATIONS) return;
    if (die == count) {
        for (uint32_t i = 0; i < count; i++) is_identity &= p->image[i] == i;
        if (!is_identity) memcpy(p->out->image[p->out->count++], p->image, sizeof p->image);
        return;
    }
    for (uint32_t to = 0; to < count && p->steps-- > 0; to++) {
        bool ok = !(p->taken >> to & 1) && look_alike(p, die, to);
        p->image[die] = (uint8_t)to;
        for (uint32_t i = 0; ok && i < die; i++) ok = keeps_pair(p, i, die);
        if (!ok) continue;
        p->taken |= UINT64_C(1) << to;
        map_from(p, die + 1);
        p->taken &= ~(UINT64_C(1) << to);
    }
}

/* Where dies of a card are joined in a circle, paths of equal length may have been chosen in a way
 * that a permutation does not keep. */
static bool is_tree(const PartitionPlatform *platform)
{
    return platform->links.len < platform->die_count;
}

void partition_find_symmetry(const PartitionState *state, uint64_t dies, PartitionSymmetry *out)
{
    enum { MOST_STEPS = 20000 };
    Permutation p = {.state = state, .dies = dies, .steps = MOST_STEPS, .out = out};
    out->count = 0;
    if (is_tree(state->model->platform)) map_from(&p, 0);
}

bool partition_is_first(const PartitionSymmetry *symmetry, uint64_t used, uint32_t die)
{
    for (uint32_t i = 0; i < symmetry->count; i++) {
        const uint8_t *image = symmetry->image[i];
        bool stays = image[die] < die;
        for (uint64_t left = used; stays && left; left &= left - 1) {
            uint32_t other = 0;
            while (!(left >> other & 1)) other++;
            stays = image[other] == other;
        }
        if (stays) return false;
    }
    return true;
}
