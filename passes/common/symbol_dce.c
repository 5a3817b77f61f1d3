/* symbol-dce: erases symbols that nothing reaches. Liveness starts at what must stay (ops that are
 * no symbols, public symbols, and symbols that other scopes may see) and spreads along symbol
 * references.
 * Requires: verified IR; the pass runs on an op with a symbol table.
 * Changes: symbols.
 * Tests: lit/passes/common/symbol-dce.mir */
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "passes/common/passes.h"

/* A live op whose references are to be followed. */
typedef struct LiveOp {
    Op *op;
    bool hidden; /* its symbol table is out of reach of the scopes around it */
} LiveOp;

typedef struct SymbolLiveness {
    SymbolTables *tables;
    PtrMap live; /* Op* of symbols */
    VEC(LiveOp) pending;
    bool hidden; /* of the op being followed */
} SymbolLiveness;

static bool has_visibility(const Op *op, const char *name)
{
    const Attr *visibility = op_attr(op, "sym_visibility");
    if (!visibility) return str_eq_c(STR("public"), name);
    return visibility->kind == ATTR_STRING && str_eq_c(visibility->u.string, name);
}

static void mark_live(SymbolLiveness *liveness, Op *symbol)
{
    if (ptrmap_put(&liveness->live, symbol, symbol)) return;
    *vec_push(&liveness->pending) = (LiveOp){symbol, liveness->hidden};
}

/* Marks what a symbol table keeps whether it is referenced or not. */
static void mark_kept(SymbolLiveness *liveness, Op *table, bool hidden)
{
    liveness->hidden = hidden;
    FOR_EACH_INNER(op, table) {
        if (!op_has_trait(op, TRAIT_SYMBOL) || !symbol_name(op)) {
            *vec_push(&liveness->pending) = (LiveOp){op, hidden};
            continue;
        }
        bool out_of_reach = hidden || has_visibility(op, "private");
        if (!out_of_reach || has_visibility(op, "public")) mark_live(liveness, op);
    }
}

typedef struct DceScope {
    SymbolLiveness *liveness;
    const Op *op; /* where references are resolved from */
} DceScope;

/* Every symbol on the path of a nested reference is live. */
static void mark_reference(void *data, Op *user, const Attr *ref)
{
    const DceScope *scope = data;
    (void)user;
    for (uint32_t count = 1; count <= ref->u.symbol.count; count++) {
        const Attr *prefix = attr_symbol_nested(ref->ctx, ref->u.symbol.names, count);
        Op *symbol = symtabs_lookup(scope->liveness->tables, scope->op, prefix);
        if (!symbol) return;
        mark_live(scope->liveness, symbol);
    }
}

/* Follows the references of an op and of what it holds, but not into nested symbol tables. */
static bool follow(SymbolLiveness *liveness, Op *op)
{
    DceScope scope = {liveness, op_parent(op)};
    Op *unknown = symbol_each_use(op, mark_reference, &scope);
    if (!unknown) return true;
    return op_emit_error(unknown, "operation contains potentially unknown symbol table, meaning "
                                  "that we can't reliable compute symbol uses");
}

static bool spread(SymbolLiveness *liveness)
{
    while (liveness->pending.len) {
        LiveOp at = liveness->pending.data[--liveness->pending.len];
        if (op_has_trait(at.op, TRAIT_SYMBOL_TABLE)) {
            bool is_symbol = op_has_trait(at.op, TRAIT_SYMBOL) && symbol_name(at.op);
            bool hidden = at.hidden || !is_symbol || has_visibility(at.op, "private");
            mark_kept(liveness, at.op, hidden);
        }
        liveness->hidden = at.hidden;
        if (!follow(liveness, at.op)) return false;
    }
    return true;
}

static bool collect_tables(Op *op, void *user)
{
    if (op_has_trait(op, TRAIT_SYMBOL_TABLE)) *vec_push((OpVec *)user) = op;
    return true;
}

static void erase_dead_in(Pass *pass, const SymbolLiveness *liveness, const Op *table)
{
    Op *next;
    for (Op *op = op_first_inner(table); op; op = next) {
        next = op_next_inner(op);
        bool is_symbol = op_has_trait(op, TRAIT_SYMBOL) && symbol_name(op);
        if (!is_symbol || ptrmap_has(&liveness->live, op)) continue;
        op_erase(op);
        pass_count(pass, "num-dce'd", 1);
    }
}

/* Erases inner tables first, so that none is visited after it was erased with an outer one. */
static void erase_dead(Pass *pass, const SymbolLiveness *liveness, Op *root)
{
    OpVec tables = {0};
    (void)op_walk_post(root, collect_tables, &tables);
    for (size_t i = 0; i < tables.len; i++) erase_dead_in(pass, liveness, tables.data[i]);
    vec_free(&tables);
}

static bool run_symbol_dce(Pass *pass, Op *op)
{
    if (!op_has_trait(op, TRAIT_SYMBOL_TABLE))
        return op_error(op, " was scheduled to run under SymbolDCE, but does not define a symbol "
                            "table");
    bool is_symbol = op_parent(op) && op_has_trait(op, TRAIT_SYMBOL) && symbol_name(op);
    SymbolLiveness liveness = {.tables = symtabs_create()};
    mark_kept(&liveness, op, !is_symbol || has_visibility(op, "private"));
    bool ok = spread(&liveness);
    symtabs_free(liveness.tables);
    vec_free(&liveness.pending);
    if (ok) erase_dead(pass, &liveness, op);
    ptrmap_free(&liveness.live);
    return ok;
}

const PassDef pass_symbol_dce = {
    .name = "symbol-dce",
    .title = "SymbolDCE",
    .summary = "Eliminate dead symbols",
    .description = "Erases symbols that are neither visible from outside nor referenced by "
                   "anything that stays.",
    .stats = STATS({"num-dce'd", "Number of symbols DCE'd"}),
    .run = run_symbol_dce,
};
