/* check-dies: what the dies of cards take beyond what a design may use of them.
 *
 * place-cards chooses dies before FIFOs are sized and links have their room, and later passes add what
 * loads weights and reaches memories. So a die may end above its limit, which is a recommendation: a
 * warning says so. A design that takes more than a die has cannot be built: an error.
 * Requires: a design on cards, all of whose processes have a place and their report; else nothing is done.
 * Changes: nothing.
 * Tests: lit/target/split/check-dies.mir */
#include <stdlib.h>

#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "target/cost/cost.h"
#include "target/dse/dse.h"
#include "target/split/split.h"

typedef int64_t DieUse[PARTITION_KINDS];

typedef struct DieCheck {
    const Op *top;
    const Attr *cards;
    bool is_dp;
    int64_t designs; /* on each die, with "dp" */
    DieUse use[SYS_MAX_CARDS][SYS_MAX_DIES];
} DieCheck;

/* Of IR that nobody has checked, so that sums stay in 64 bits. */
static int64_t amount(const Op *func, CostKind kind)
{
    int64_t own = attr_dict_int(op_attr(func, DFG_ATTR_REPORT), cost_names[kind].key, 0);
    return i64_max(0, i64_min(own, PARTITION_MAX_AMOUNT));
}

/* With "dp" processes count on the first card, which stands for all. */
static void add_process(DieCheck *c, const Op *func)
{
    SysPlace place;
    if (!func || !sys_place(func, &place)) return;
    const int64_t card = c->is_dp ? 0 : place.card;
    if (card >= SYS_MAX_CARDS || place.die >= SYS_MAX_DIES) return;
    for (int k = 0; k < PARTITION_KINDS; k++)
        c->use[card][place.die][k] += c->designs * amount(func, dse_cost_kind((PartitionKind)k));
}

/* "card c0"; with "dp" the first one is as the others. */
static void add_card(const DieCheck *c, const Attr *card, StrBuf *out)
{
    const Str name = attr_dict_get_c(card, SYS_CARD_NAME)->u.string;
    if (c->is_dp)
        strbuf_add_c(out, "each card");
    else
        strbuf_printf(out, "card %.*s", STR_ARG(name));
}

/* False: it takes more than there is, which is diagnosed. */
static bool check_kind(const DieCheck *c, const char *card, const PartitionDie *die,
                       const int64_t *use, int k)
{
    const char *title = cost_names[dse_cost_kind((PartitionKind)k)].title;
    const int64_t limit = die->limit[k] * c->designs;
    if (use[k] > die->capacity[k])
        return op_error(c->top, "takes %lld %s on die %.*s of %s, which has %lld",
                        (long long)use[k], title, STR_ARG(die->name), card,
                        (long long)die->capacity[k]);
    if (use[k] > limit)
        op_warning(c->top, "takes %lld %s on die %.*s of %s, of which at most %lld are recommended",
                   (long long)use[k], title, STR_ARG(die->name), card, (long long)limit);
    return true;
}

static bool check_card(const DieCheck *c, uint32_t card)
{
    PartitionPlatform platform;
    const Attr *own = c->cards->u.array.items[card];
    StrBuf name = {0};
    bool ok = true;
    add_card(c, own, &name);
    if (dse_platform_of(attr_dict_get_c(own, SYS_CARD_DIES), NULL, &platform))
        for (uint32_t die = 0; die < platform.die_count; die++)
            for (int k = 0; k < PARTITION_KINDS; k++)
                ok &= check_kind(c, strbuf_str(&name).data, &platform.dies[die], c->use[card][die],
                                 k);
    partition_platform_free(&platform);
    strbuf_free(&name);
    return ok;
}

static bool check_dies(Pass *pass, Op *module)
{
    (void)pass;
    const Attr *mode = op_attr(module, SYS_ATTR_MODE),
               *instances = op_attr(module, SYS_ATTR_INSTANCES);
    DieCheck *c = xcalloc(1, sizeof *c);
    c->top = emithls_top(module);
    c->cards = op_attr(module, SYS_ATTR_CARDS);
    c->is_dp = mode && str_eq_c(mode->u.string, "dp");
    c->designs = c->is_dp && instances ? attr_int_value(instances) : 1;
    bool ok = true;
    if (c->top && c->cards) {
        FOR_EACH_OP(op, region_entry(op_region(c->top, 0)))
            if (op->def == EMITHLS(CALL)) add_process(c, symbol_lookup(op, op_attr(op, "callee")));
        for (uint32_t card = 0; card < (c->is_dp ? 1 : c->cards->u.array.count); card++)
            ok &= check_card(c, card);
    }
    free(c);
    return ok;
}

const PassDef pass_check_dies = {
    .name = "check-dies",
    .summary = "Say what a design on cards takes of a die beyond its limit",
    .anchor = "builtin.module",
    .run = check_dies,
};
