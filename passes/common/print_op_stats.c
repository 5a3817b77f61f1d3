/* print-op-stats: counts ops by name and prints the table to standard error, as text or JSON.
 * Preserves: everything.
 * Tests: lit/passes/common/print-op-stats.mir */
#include <stdlib.h>

#include "passes/common/passes.h"

typedef struct OpCount {
    Str name;
    size_t number;
} OpCount;

typedef VEC(OpCount) Counts;

static bool count_op(Op *op, void *user)
{
    PtrMap *by_name = user;
    uintptr_t number = (uintptr_t)ptrmap_get(by_name, op->name);
    ptrmap_put(by_name, op->name, (void *)(number + 1));
    return true;
}

static int compare_counts(const void *a, const void *b)
{
    const OpCount *ca = a, *cb = b;
    return str_cmp(ca->name, cb->name);
}

static void collect(Op *op, Counts *out)
{
    PtrMap by_name = {0};
    (void)op_walk(op, count_op, &by_name);
    for (size_t i = 0; i < by_name.len; i++) {
        const Ident *name = by_name.entries[i].key;
        *vec_push(out) = (OpCount){name->str, (size_t)(uintptr_t)by_name.entries[i].value};
    }
    qsort(out->data, out->len, sizeof *out->data, compare_counts);
    ptrmap_free(&by_name);
}

static void print_json(const Counts *counts)
{
    fprintf(stderr, "{\n");
    for (size_t i = 0; i < counts->len; i++)
        fprintf(stderr, "  \"%.*s\" : %zu%s\n", STR_ARG(counts->data[i].name),
                counts->data[i].number, i + 1 < counts->len ? "," : "");
    fprintf(stderr, "}\n");
}

/* Columns meet at the dot. */
static void print_text(const Counts *counts)
{
    size_t left = 0, right = 0;
    for (size_t i = 0; i < counts->len; i++) {
        Str name = counts->data[i].name;
        size_t prefix = dialect_prefix(name).len, rest = name.len - (prefix ? prefix + 1 : 0);
        if (prefix > left) left = prefix;
        if (rest > right) right = rest;
    }
    fprintf(stderr, "Operations encountered:\n-----------------------\n");
    for (size_t i = 0; i < counts->len; i++) {
        Str name = counts->data[i].name;
        size_t prefix = dialect_prefix(name).len, skip = prefix ? prefix + 1 : 0;
        fprintf(stderr, "%*.*s%c%-*.*s , %zu\n", (int)left + 2, (int)prefix, name.data,
                prefix ? '.' : ' ', (int)right, (int)(name.len - skip), name.data + skip,
                counts->data[i].number);
    }
}

static bool run_print_op_stats(Pass *pass, Op *op)
{
    Counts counts = {0};
    collect(op, &counts);
    if (pass_bool(pass, "json"))
        print_json(&counts);
    else
        print_text(&counts);
    vec_free(&counts);
    return true;
}

const PassDef pass_print_op_stats = {
    .name = "print-op-stats",
    .title = "PrintOpStats",
    .summary = "Print statistics of operations",
    .description = "Prints how often each op occurs, in order of the names.",
    .options = OPTIONS({.name = "json", .kind = OPTION_BOOL, .help = "print the stats as JSON"}),
    .run = run_print_op_stats,
};
