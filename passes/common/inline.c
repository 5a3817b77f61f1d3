/* inline: inlines calls bottom-up. Functions that call each other in a cycle are handled together,
 * after the functions that they call. Each function is simplified, then its calls are inlined,
 * until nothing is left to inline. The last call of a private function takes over its body; dead
 * functions are erased at the end.
 * Requires: verified IR; the pass runs on an op with a symbol table.
 * Changes: functions.
 * Tests: lit/passes/common/inline.mir, lit/passes/common/inline-*.mir */
#include "analysis/analysis.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "passes/common/internal.h"
#include "passes/common/passes.h"

enum { NO_HISTORY = -1 };

typedef struct ResolvedCall {
    Op *call;
    CallNode *caller, *callee;
    int history; /* the inlining that brought the call, or NO_HISTORY */
} ResolvedCall;

/* One call that was inlined. */
typedef struct History {
    const CallNode *callee;
    int before; /* what brought that call */
} History;

typedef struct PipelineByName {
    Str op;
    Pipeline *pipeline; /* NULL: nothing to run */
} PipelineByName;

typedef struct Inliner {
    Pass *pass;
    SymbolTables *tables;
    CallGraph graph;
    CallUses uses;
    VEC(ResolvedCall) calls; /* of the component, growing while they are inlined */
    VEC(History) history;
    CallNodes dead;                /* to erase at the end */
    PtrMap is_dead;                /* CallNode* */
    VEC(PipelineByName) pipelines; /* of op-pipelines, then those made on demand */
} Inliner;

static void add_pipeline(Inliner *inliner, Str op, Pipeline *pipeline)
{
    *vec_push(&inliner->pipelines) = (PipelineByName){op, pipeline};
}

static bool read_op_pipelines(Inliner *inliner)
{
    const Pass *pass = inliner->pass;
    size_t count;
    const Str *texts = pass_list(pass, "op-pipelines", &count);
    for (size_t i = 0; i < count; i++) {
        Pipeline *pipeline = pipeline_from_text(pass->ctx, pass->table, texts[i]);
        if (!pipeline) return false;
        add_pipeline(inliner, str_from(pipeline_anchor(pipeline)), pipeline);
    }
    return true;
}

/* The pipeline by which functions of that kind are simplified. False: diagnosed. */
static bool find_pipeline(Inliner *inliner, const Op *func, Pipeline **out)
{
    const Pass *pass = inliner->pass;
    for (size_t i = 0; i < inliner->pipelines.len; i++) {
        if (!str_eq(inliner->pipelines.data[i].op, op_name(func))) continue;
        *out = inliner->pipelines.data[i].pipeline;
        return true;
    }
    Str text = pass_string(pass, "default-pipeline");
    *out = text.len ? pipeline_create(pass->ctx, pass->table, op_name(func).data) : NULL;
    add_pipeline(inliner, op_name(func), *out);
    return !*out || pipeline_parse(*out, text);
}

static bool has_children(const CallNode *node)
{
    for (size_t i = 0; i < node->edges.len; i++)
        if (node->edges.data[i].is_child) return true;
    return false;
}

static bool simplify(Inliner *inliner, const CallNodes *members)
{
    for (size_t i = 0; i < members->len; i++) {
        CallNode *node = members->data[i];
        Pipeline *pipeline;
        if (has_children(node) || !op_has_trait(node->op, TRAIT_ISOLATED)) continue;
        if (!find_pipeline(inliner, node->op, &pipeline)) return false;
        if (pipeline && !pass_run_pipeline(inliner->pass, pipeline, node->op)) return false;
    }
    for (size_t i = 0; i < members->len; i++) {
        CallNode *node = members->data[i];
        if (has_children(node) || !op_has_trait(node->op, TRAIT_ISOLATED)) continue;
        call_uses_recompute(&inliner->uses, node);
    }
    return true;
}

static void push_blocks(OpRanges *ranges, const Region *region)
{
    FOR_EACH_BLOCK(block, region) *vec_push(ranges) = (OpRange){block->first, NULL};
}

static void add_call(Inliner *inliner, Op *op, int history)
{
    CallNode *callee = call_graph_callee(&inliner->graph, op, inliner->tables);
    CallNode *caller = call_graph_around(&inliner->graph, op->block->parent);
    if (callee) *vec_push(&inliner->calls) = (ResolvedCall){op, caller, callee, history};
}

/* Collects the calls in the ranges, from the last range to the first, and empties the list.
 * Functions inside functions are searched only if inlining put them there; the others are in
 * components of their own. */
static void collect_calls(Inliner *inliner, OpRanges *ranges, int history)
{
    while (ranges->len) {
        OpRange range = ranges->data[--ranges->len];
        for (Op *op = range.first; op != range.end; op = op->next) {
            if (op_has_trait(op, TRAIT_CALL)) {
                add_call(inliner, op, history);
                continue;
            }
            for (uint32_t i = 0; i < op->region_count; i++) {
                bool is_body = call_graph_node(&inliner->graph, op_region(op, i)) != NULL;
                if (!is_body || history != NO_HISTORY) push_blocks(ranges, op_region(op, i));
            }
        }
    }
}

static bool count_op(Op *op, void *user)
{
    (void)op;
    ++*(uint32_t *)user;
    return true;
}

static uint32_t count_body(const CallNode *node)
{
    uint32_t count = 0;
    FOR_EACH_INNER(op, node->op) (void)op_walk(op, count_op, &count);
    return count;
}

static bool is_profitable(const Inliner *inliner, const ResolvedCall *it)
{
    uint32_t threshold = (uint32_t)pass_int(inliner->pass, "inlining-threshold");
    if (threshold == 0 || threshold == UINT32_MAX) return threshold != 0;
    uint32_t caller = count_body(it->caller);
    return caller == 0 || count_body(it->callee) * 100 / caller <= threshold;
}

/* A body with branches fits where regions may have several blocks. */
static bool fits_blocks(const ResolvedCall *it)
{
    const Region *body = it->callee->region;
    const Op *around = op_parent(it->call);
    return body->first == body->last || around->name == it->callee->op->name ||
           !op_has_trait(around, TRAIT_SINGLE_BLOCK);
}

static bool came_by_inlining(const Inliner *inliner, const ResolvedCall *it)
{
    for (int at = it->history; at != NO_HISTORY; at = inliner->history.data[at].before)
        if (inliner->history.data[at].callee == it->callee) return true;
    return false;
}

static bool should_inline(const Inliner *inliner, const ResolvedCall *it)
{
    bool is_recursive = ptrmap_has(&it->callee->called, it->callee) ||
                        region_is_ancestor(it->callee->region, it->call->block->parent);
    return !came_by_inlining(inliner, it) && !op_is_terminator(it->call) && !is_recursive &&
           fits_blocks(it) && is_profitable(inliner, it);
}

static void mark_dead(Inliner *inliner, CallNode *node)
{
    if (!ptrmap_put(&inliner->is_dead, node, node)) *vec_push(&inliner->dead) = node;
}

static bool inline_one(Inliner *inliner, ResolvedCall it)
{
    OpRanges inlined = {0};
    bool moves_body = call_uses_is_last(it.callee);
    bool ok = inline_call(it.call, it.callee->op, moves_body, &inlined);
    if (ok) {
        *vec_push(&inliner->history) = (History){it.callee, it.history};
        collect_calls(inliner, &inlined, (int)inliner->history.len - 1);
        call_uses_drop_call(&inliner->uses, it.caller, it.call);
        call_uses_merge(it.callee, it.caller);
        op_erase(it.call);
    }
    if (ok && moves_body) {
        call_uses_erase(it.callee);
        mark_dead(inliner, it.callee);
    }
    vec_free(&inlined);
    return ok;
}

static void collect_members(Inliner *inliner, const CallNodes *members)
{
    for (size_t i = 0; i < members->len; i++) {
        CallNode *node = members->data[i];
        OpRanges ranges = {0};
        if (call_uses_is_dead(node)) {
            mark_dead(inliner, node);
            continue;
        }
        push_blocks(&ranges, node->region);
        collect_calls(inliner, &ranges, NO_HISTORY);
        vec_free(&ranges);
    }
}

static void drop_dead(const Inliner *inliner, CallNodes *members)
{
    size_t kept = 0;
    for (size_t i = 0; i < members->len; i++)
        if (!ptrmap_has(&inliner->is_dead, members->data[i]))
            members->data[kept++] = members->data[i];
    members->len = kept;
}

/* True if any call was inlined. */
static bool inline_calls(Inliner *inliner, CallNodes *members)
{
    bool any = false;
    inliner->history.len = 0;
    inliner->calls.len = 0;
    collect_members(inliner, members);
    for (size_t i = 0; i < inliner->calls.len; i++) {
        ResolvedCall it = inliner->calls.data[i];
        if (ptrmap_has(&inliner->is_dead, it.caller) || !should_inline(inliner, &it)) continue;
        any |= inline_one(inliner, it);
    }
    drop_dead(inliner, members);
    return any;
}

static bool inline_component(void *user, CallNodes *members)
{
    Inliner *inliner = user;
    uint32_t rounds = (uint32_t)pass_int(inliner->pass, "max-iterations"), done = 0;
    do {
        if (!simplify(inliner, members)) return false;
        if (!inline_calls(inliner, members)) return true;
    } while (++done < rounds);
    return true;
}

static bool run_on(Inliner *inliner, Op *op)
{
    const Pass *pass = inliner->pass;
    pass_analysis_begin(pass, "CallGraph");
    call_graph_init(&inliner->graph, op, inliner->tables);
    pass_analysis_end(pass);
    call_uses_init(&inliner->uses, op, &inliner->graph, inliner->tables);
    bool ok = read_op_pipelines(inliner) &&
              call_graph_each_component(&inliner->graph, inline_component, inliner);
    for (size_t i = 0; ok && i < inliner->dead.len; i++) op_erase(inliner->dead.data[i]->op);
    call_uses_free(&inliner->uses);
    call_graph_free(&inliner->graph);
    return ok;
}

static bool run_inline(Pass *pass, Op *op)
{
    if (!op_has_trait(op, TRAIT_SYMBOL_TABLE))
        return op_error(op, " was scheduled to run under the inliner, but does not define a symbol "
                            "table");
    Inliner inliner = {.pass = pass, .tables = symtabs_create()};
    bool ok = run_on(&inliner, op);
    for (size_t i = 0; i < inliner.pipelines.len; i++)
        pipeline_free(inliner.pipelines.data[i].pipeline);
    vec_free(&inliner.pipelines);
    vec_free(&inliner.calls);
    vec_free(&inliner.history);
    vec_free(&inliner.dead);
    ptrmap_free(&inliner.is_dead);
    symtabs_free(inliner.tables);
    return ok;
}

const PassDef pass_inline = {
    .name = "inline",
    .title = "Inliner",
    .summary = "Inline function calls",
    .description = "Replaces calls by the bodies of the functions they call, callees first, and "
                   "erases private functions that nothing calls any more. Dialects say which of "
                   "their ops take part.",
    .options =
        OPTIONS({.name = "default-pipeline",
                 .kind = OPTION_STRING,
                 .fallback = "canonicalize",
                 .help = "Passes that simplify functions for whose op op-pipelines has none"},
                {.name = "op-pipelines",
                 .kind = OPTION_PIPELINE_LIST,
                 .help = "Passes that simplify functions, as func.func(cse)"},
                {.name = "max-iterations",
                 .kind = OPTION_UINT,
                 .fallback = "4",
                 .help = "Rounds at most for functions that call each other"},
                {.name = "inlining-threshold",
                 .kind = OPTION_UINT,
                 .fallback = "4294967295",
                 .help = "Largest size of a callee in percent of the caller's"}),
    .run = run_inline,
};
