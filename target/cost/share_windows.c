/* share-windows: lets a window process give several streams. A reader behind the same fork takes a
 * part of its windows if its own window lies in them, or a single tap if it reads the tensor as it
 * is. So the skip of a residual block is the window's centre tap, as it leaves, and a 1x1
 * convolution of stride s reads the centre tap of a 3x3 window of stride s; both save FIFOs and
 * windows. Readers are moved one after the other, while windows and FIFOs are estimated to hold
 * fewer bits, each time where that saves most. A fork stays for the readers that are left.
 * Requires: a region as convert-linalg-to-dfg leaves it, behind canonicalize.
 * Changes: forks, windows and their readers' channels.
 * Tests: lit/target/cost/share-windows.mir */
#include "dialects/dfg/dfg.h"
#include "ir/core/core.h"
#include "ir/pass/pass.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"
#include "target/cost/internal.h"

enum { NOWHERE = -1 }; /* a branch that the fork feeds itself */
#define NONE UINT32_MAX

/* An output of the fork. Delays are parts of a frame. */
typedef struct Branch {
    Value *end; /* into which the fork sends */
    Op *reader; /* NULL: the region's port */
    Op *window; /* of the reader, if it slides one; else NULL */
    WindowParams params;
    int64_t own, rest; /* delay of the window; of all behind it */
    double bits;       /* that the window keeps */
    int host;          /* the branch whose window gives this one, or NOWHERE */
    WindowPart part;   /* of the host's windows */
} Branch;

/* Of a branch that has no host, and its guests. */
typedef struct Group {
    uint32_t guests;
    int64_t behind; /* the longest delay behind them */
    double frames;  /* bits of a frame of what each of them reads, added up */
    double rests;   /* the same, each times its delay */
} Group;

/* Of all groups. */
typedef struct Totals {
    int64_t count;
    int64_t waits;       /* delays of the windows and what is behind them, added up */
    uint32_t slowest[3]; /* the groups with the longest ones; NONE where there are fewer */
    double windows;      /* bits */
    double parts;        /* bits that wait behind windows */
} Totals;

typedef struct Sharing {
    Pass *pass;
    Op *fork; /* its instantiate */
    Branch *branches;
    Group *groups; /* by branch */
    uint32_t count;
    double frame; /* bits */
} Sharing;

static Op *callee(const Op *instantiate)
{
    return symbol_lookup(instantiate, op_attr(instantiate, "callee"));
}

static Op *find_window(const Op *process)
{
    FOR_EACH_OP(op, region_entry(op_region(process, 0)))
        if (op->def == DFG(WINDOW)) return op;
    return NULL;
}

static double bits_of(const Type *tensor)
{
    int64_t count = 0;
    bool counted = type_element_count(tensor, &count);
    return counted ? (double)count * (double)cost_element_bits(type_elem(tensor)) : 0;
}

static bool read_window(Branch *branch)
{
    WindowSchedule sched;
    const Op *process = callee(branch->reader);
    if (!sched_window(process, NULL, &sched)) return false;
    branch->window = find_window(process);
    branch->params = sched.params;
    double element = (double)cost_element_bits(type_elem(op_operand(sched.window, 0)->type));
    for (uint32_t level = 0; level < sched.params.count; level++)
        branch->bits +=
            (double)sched_window_taps(&sched, level) * (double)sched_window_history(&sched, level) *
            (double)sched_window_row_words(&sched, level) * (double)sched.lanes * element;
    return cost_process_delay(process, &branch->own);
}

static bool read_branch(Branch *branch, Value *end)
{
    ProcessKind kind;
    PtrMap known = {0};
    *branch = (Branch){.end = end, .host = NOWHERE};
    const Use *use = value_def(end) ? op_result(value_def(end), 1)->uses : NULL;
    if (!use || use->owner->def != DFG(INSTANTIATE)) return true;
    branch->reader = use->owner;
    if (!sched_process_kind(callee(branch->reader), &kind)) return false;
    bool ok = cost_delay_behind(end, &known, &branch->rest) &&
              (kind != PROCESS_WINDOW || read_window(branch));
    branch->rest -= branch->own;
    ptrmap_free(&known);
    return ok;
}

static bool read_fork(Sharing *s)
{
    uint32_t inputs = dfg_instantiate_inputs(s->fork);
    s->count = s->fork->operand_count - inputs;
    s->branches = ARENA_ARRAY(&s->pass->scratch, Branch, s->count);
    s->groups = ARENA_ARRAY(&s->pass->scratch, Group, s->count);
    s->frame = bits_of(dfg_payload(op_operand(s->fork, 0)->type));
    for (uint32_t i = 0; i < s->count; i++)
        if (!read_branch(&s->branches[i], op_operand(s->fork, inputs + i))) return false;
    return true;
}

/* One dimension of the windows `guest` as taps of those of `host`. */
static bool holds_dim(const WindowParams *host, const WindowParams *guest, uint32_t i,
                      WindowPart *part)
{
    int64_t offset = host->low[i] - guest->low[i];
    part->first[i] = offset / host->dilation[i];
    part->taps[i] = guest->kernel[i];
    return offset >= 0 && offset % host->dilation[i] == 0 && host->stride[i] == guest->stride[i] &&
           host->out[i] == guest->out[i] &&
           (guest->kernel[i] == 1 || guest->dilation[i] == host->dilation[i]) &&
           part->first[i] + part->taps[i] <= host->kernel[i];
}

/* The tensor itself, as windows of one tap. */
static WindowParams single_taps(const WindowParams *host)
{
    WindowParams guest = {.rank = host->rank, .count = host->count, .first = host->first};
    for (uint32_t i = 0; i < host->count; i++) {
        guest.kernel[i] = guest.stride[i] = guest.dilation[i] = 1;
        guest.out[i] = host->in[host->first + i];
    }
    return guest;
}

static bool is_padded(const WindowParams *w)
{
    for (uint32_t i = 0; i < w->count; i++)
        if (w->low[i] > 0 || w->high[i] > 0) return true;
    return false;
}

/* Whether the windows of `host` hold what `guest` reads. */
static bool holds(const Branch *host, const Branch *guest, WindowPart *part)
{
    const Type *slid = op_operand(host->window, 0)->type;
    const WindowParams plain = single_taps(&host->params);
    const WindowParams *taps = guest->window ? &guest->params : &plain;
    part->has_taps = guest->window != NULL;
    if (guest->window
            ? op_operand(guest->window, 0)->type != slid || guest->window->result_count > 1 ||
                  taps->first != host->params.first || taps->count != host->params.count ||
                  (is_padded(taps) &&
                   op_attr(guest->window, "pad_value") != op_attr(host->window, "pad_value"))
            : dfg_payload(guest->end->type) != slid)
        return false;
    for (uint32_t i = 0; i < taps->count; i++)
        if (!holds_dim(&host->params, taps, i, part)) return false;
    return true;
}

/* Bits of a frame of what a branch reads, each element once. */
static double frame_of(const Sharing *s, const Branch *branch)
{
    double frame = s->frame;
    for (uint32_t i = 0; branch->window && i < branch->params.count; i++)
        frame *=
            (double)branch->params.out[i] / (double)branch->params.in[branch->params.first + i];
    return frame;
}

static Group group_of_one(const Sharing *s, const Branch *branch)
{
    double frame = frame_of(s, branch);
    return (Group){
        .behind = branch->rest, .frames = frame, .rests = cost_part_of_frame(branch->rest) * frame};
}

static Group join_groups(const Group *host, const Group *guest)
{
    return (Group){.guests = host->guests + 1,
                   .behind = i64_max(host->behind, guest->behind),
                   .frames = host->frames + guest->frames,
                   .rests = host->rests + guest->rests};
}

static void read_groups(Sharing *s)
{
    for (uint32_t i = 0; i < s->count; i++) s->groups[i] = group_of_one(s, &s->branches[i]);
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->branches[i].host == NOWHERE) continue;
        Group *host = &s->groups[s->branches[i].host];
        *host = join_groups(host, &s->groups[i]);
    }
}

/* How long the fork would wait for a branch alone. */
static int64_t wait_for(const Sharing *s, uint32_t host)
{
    return s->branches[host].own + s->groups[host].behind;
}

/* Bits that wait in the FIFOs behind a group's window, for the longest one of them. */
static double parts_held(const Group *group)
{
    return cost_part_of_frame(group->behind) * group->frames - group->rests;
}

static void add_slowest(const Sharing *s, Totals *t, uint32_t host)
{
    for (uint32_t i = 0; i < 3; i++) {
        if (t->slowest[i] != NONE && wait_for(s, t->slowest[i]) >= wait_for(s, host)) continue;
        uint32_t next = t->slowest[i];
        t->slowest[i] = host;
        if (next == NONE) break;
        host = next;
    }
}

static Totals add_groups(const Sharing *s)
{
    Totals t = {.slowest = {NONE, NONE, NONE}};
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->branches[i].host != NOWHERE) continue;
        t.count++;
        t.waits += wait_for(s, i);
        t.windows += s->branches[i].bits;
        t.parts += parts_held(&s->groups[i]);
        add_slowest(s, &t, i);
    }
    return t;
}

/* Bits that windows and FIFOs hold: a branch waits for the longest one at the fork, a part for the
 * longest one behind its window. */
static double bits_held(const Sharing *s, const Totals *t, int64_t longest)
{
    return t->windows + cost_part_of_frame(t->count * longest - t->waits) * s->frame + t->parts;
}

/* The same with `guest`, which has no guests, moved to `host`. */
static double bits_held_after(const Sharing *s, const Totals *t, uint32_t guest, uint32_t host)
{
    Totals after = *t;
    Group joined = join_groups(&s->groups[host], &s->groups[guest]);
    int64_t wait = s->branches[host].own + joined.behind, longest = wait;
    for (uint32_t i = 0; i < 3; i++)
        if (t->slowest[i] != NONE && t->slowest[i] != guest && t->slowest[i] != host)
            longest = i64_max(longest, wait_for(s, t->slowest[i]));
    after.count--;
    after.waits += wait - wait_for(s, guest) - wait_for(s, host);
    after.windows -= s->branches[guest].bits;
    after.parts +=
        parts_held(&joined) - parts_held(&s->groups[guest]) - parts_held(&s->groups[host]);
    return bits_held(s, &after, longest);
}

/* Streams that a branch's window gives. */
static uint32_t stream_count(const Sharing *s, uint32_t host)
{
    return s->branches[host].window->result_count + s->groups[host].guests;
}

static bool may_move(const Sharing *s, uint32_t guest, uint32_t host, WindowPart *part)
{
    const Branch *from = &s->branches[guest], *to = &s->branches[host];
    return guest != host && to->window && from->host == NOWHERE && to->host == NOWHERE &&
           pass_bool(s->pass, from->window ? "merge" : "reuse") &&
           (!from->window || stream_count(s, guest) == 1) &&
           stream_count(s, host) < SCHED_MAX_PARTS && holds(to, from, part);
}

/* Moves the branch that saves most to the window where it does. False: none saves any. Quadratic in
 * the branches. */
static bool move_one(Sharing *s)
{
    WindowPart part, best_part;
    Branch *best = NULL;
    int best_host = NOWHERE;
    read_groups(s);
    Totals totals = add_groups(s);
    double least = bits_held(s, &totals, wait_for(s, totals.slowest[0]));
    for (uint32_t guest = 0; guest < s->count; guest++)
        for (uint32_t host = 0; host < s->count; host++) {
            if (!may_move(s, guest, host, &part)) continue;
            double bits = bits_held_after(s, &totals, guest, host);
            if (bits >= least) continue;
            least = bits;
            best = &s->branches[guest];
            best_host = (int)host;
            best_part = part;
        }
    if (!best) return false;
    best->host = best_host;
    best->part = best_part;
    return true;
}

/* The window with a result more for each guest; replaces the old one. */
static Op *widen_window(const Sharing *s, uint32_t host)
{
    Op *old = s->branches[host].window;
    Context *ctx = old->ctx;
    const Attr *given = op_attr(old, "parts");
    VEC(const Type *) types = {0};
    VEC(const Attr *) parts = {0};
    for (uint32_t i = 0; given && i < given->u.array.count; i++)
        *vec_push(&parts) = given->u.array.items[i];
    for (uint32_t i = 0; i < old->result_count; i++) *vec_push(&types) = op_result(old, i)->type;
    for (uint32_t i = 0; i < s->count; i++) {
        const Branch *b = &s->branches[i];
        if (b->host != (int)host) continue;
        *vec_push(&types) = b->window ? op_result(b->window, 0)->type : dfg_payload(b->end->type);
        *vec_push(&parts) = attr_i64_array(ctx, b->part.first, s->branches[host].params.count);
    }
    op_set_attr(old, "parts", attr_array(ctx, parts.data, parts.len));
    Value *source = op_operand(old, 0);
    OpState state = {.name = old->name,
                     .loc = old->loc,
                     .operands = &source,
                     .operand_count = 1,
                     .result_types = types.data,
                     .result_count = (uint32_t)types.len,
                     .attrs = old->attrs,
                     .props = old->props};
    Op *window = op_create(ctx, &state);
    op_insert_before(window, old);
    for (uint32_t i = 0; i < old->result_count; i++)
        value_replace_all(op_result(old, i), op_result(window, i));
    op_erase(old);
    vec_free(&types);
    vec_free(&parts);
    return window;
}

/* Moves the instantiate of a window behind the fork, and the channels that it sends into in front of
 * it, so that processes stay in the order of their streams. */
static void move_behind_fork(const Sharing *s, Op *instantiate)
{
    for (uint32_t i = 1; i < instantiate->operand_count; i++) {
        Op *channel = value_def(op_operand(instantiate, i));
        if (!channel || op_is_before(channel, s->fork)) continue;
        op_unlink(channel);
        op_insert_before(channel, s->fork);
    }
    op_unlink(instantiate);
    op_insert_after(instantiate, s->fork);
}

/* Lets a window send into the channels of its guests' readers. */
static void widen_host(const Sharing *s, uint32_t host)
{
    Op *instantiate = s->branches[host].reader, *process = callee(instantiate);
    Op *window = widen_window(s, host);
    Builder b = builder_at_end(region_entry(op_region(process, 0)), window->loc);
    VEC(Value *) ends = {0};
    for (uint32_t i = 1; i < instantiate->operand_count; i++)
        *vec_push(&ends) = op_operand(instantiate, i);
    for (uint32_t i = 0; i < s->count; i++) {
        const Branch *guest = &s->branches[i];
        if (guest->host != (int)host) continue;
        Value *end = guest->window ? op_operand(guest->reader, 1) : guest->end;
        Value *push[2] = {op_result(window, (uint32_t)ends.len),
                          dfg_add_output(process, end->type)};
        build(&b, DFG(PUSH), push, 2, NULL, 0, NULL, 0);
        *vec_push(&ends) = end;
    }
    op_set_operand_group(instantiate, 1, ends.data, (uint32_t)ends.len);
    vec_free(&ends);
    move_behind_fork(s, instantiate);
}

static void erase_instance(Op *instantiate)
{
    Op *process = callee(instantiate);
    op_erase(instantiate);
    op_erase(process);
}

/* Takes the process out, so that its input goes on to its only output's reader. */
static void bypass_fork(Op *fork)
{
    Value *source = op_operand(fork, 0);
    Op *channel = value_def(op_operand(fork, 1));
    erase_instance(fork);
    value_replace_all(op_result(channel, 1), source);
    op_erase(channel);
}

/* Erases the outputs of the fork that windows feed now, and what is without work then. */
static void narrow_fork(const Sharing *s)
{
    Op *process = callee(s->fork);
    VEC(Value *) ends = {0};
    for (uint32_t i = 0; i < s->count; i++)
        if (s->branches[i].host == NOWHERE) *vec_push(&ends) = s->branches[i].end;
    op_set_operand_group(s->fork, 1, ends.data, (uint32_t)ends.len);
    vec_free(&ends);
    for (uint32_t i = s->count; i-- > 0;) {
        const Branch *guest = &s->branches[i];
        if (guest->host == NOWHERE) continue;
        op_erase(dfg_port(process, 1 + i)->uses->owner);
        dfg_erase_output(process, i);
        if (!guest->window) continue;
        erase_instance(guest->reader);
        op_erase(value_def(guest->end));
    }
    if (s->fork->operand_count == 2) bypass_fork(s->fork);
}

static bool share_fork(Pass *pass, Op *fork)
{
    Sharing s = {.pass = pass, .fork = fork};
    uint64_t moved = 0;
    if (!read_fork(&s)) return false;
    while (s.count > 1 && move_one(&s)) moved++;
    pass_count(pass, "shared", moved);
    if (moved == 0) return true;
    for (uint32_t i = 0; i < s.count; i++)
        if (s.branches[i].host == NOWHERE && s.branches[i].window &&
            stream_count(&s, i) > s.branches[i].window->result_count)
            widen_host(&s, i);
    narrow_fork(&s);
    return true;
}

static bool share_in_region(Pass *pass, Op *region)
{
    ProcessKind kind;
    VEC(Op *) forks = {0};
    bool ok = true;
    FOR_EACH_OP(op, region_entry(op_region(region, 0))) {
        if (op->def != DFG(INSTANTIATE)) continue;
        ok = ok && sched_process_kind(callee(op), &kind);
        if (ok && kind == PROCESS_FORK) *vec_push(&forks) = op;
    }
    for (size_t i = 0; ok && i < forks.len; i++) ok = share_fork(pass, forks.data[i]);
    vec_free(&forks);
    return ok;
}

static bool share_windows(Pass *pass, Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == DFG(REGION) && !share_in_region(pass, op)) return false;
    return true;
}

const PassDef pass_share_windows = {
    .name = "share-windows",
    .summary = "Let windows give their parts to other readers of the same tensor",
    .anchor = "builtin.module",
    .options = OPTIONS({"reuse", OPTION_BOOL, "true", "give the tensor itself as a tap"},
                       {"merge", OPTION_BOOL, "true", "give windows that lie in others"}),
    .stats = STATS({"shared", "readers that windows of others feed"}),
    .run = share_windows,
};
