/* C++ functions of an emithls module: statements and declarations. Single-use values are nested
 * into the expression that uses them. Two kinds of values become named constants: one that reads an
 * array, if a store would come between, and one with several uses, where it is computed.
 * Tests: lit/emit/functions.mir, test/e2e */
#include <assert.h>
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/arith/arith.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "schedule/schedule.h"

/* Longer expressions get a name instead of being part of another one: as a rule, where they are
 * printed several times, and in any case, so that the text of n ops grows with n. */
enum { MAX_NESTED = 48, MAX_COPIED = 100, MAX_PART = 400 };

const char *emit_fresh_label(Function *f, Str raw)
{
    return emit_scope_add(&f->labels, f->e->ctx, NULL, raw);
}

void emit_label(Function *f, const char *label)
{
    f->depth--;
    emit_line(f, "%s:", label);
    f->depth++;
}

const char *emit_name_of(const Function *f, const Value *value)
{
    return ptrmap_get(&f->names, value);
}

static void set_expr(Function *f, const Value *value, const Expr *expr)
{
    ptrmap_put(&f->exprs, value, arena_copy(&f->e->arena, expr, sizeof(*expr)));
}

/* Text that an expression is printed as, where it is not a part of another one. What it needs is
 * recorded here and not when the expression is made, since one without uses is never printed. */
static const char *printed_text(Function *f, const Expr *expr)
{
    f->e->needs |= expr->needs;
    return expr->uncast ? expr->uncast : expr->text;
}

/* Gives a value a name: `const T name = expr;` */
static void materialize_as(Function *f, Value *value, Str raw_name)
{
    const Expr *expr = ptrmap_get(&f->exprs, value);
    bool is_bool = type_is_int_width(value->type, 1);
    const char *name = emit_function_name(f, raw_name);
    bool is_int =
        value->type->kind == TYPE_INDEX && expr->low >= INT32_MIN && expr->high <= INT32_MAX;
    const char *type = is_bool ? "bool" : is_int ? "int" : cpp_type(f->e, value->type);
    emit_line(f, "const %s %s = %s;", type, name, printed_text(f, expr));
    Expr leaf = cpp_leaf(name, value->type, false);
    leaf.low = expr->low;
    leaf.high = expr->high;
    if (is_bool) leaf.kind = CPP_BOOL;
    if (is_int) leaf.kind = CPP_BUILTIN;
    set_expr(f, value, &leaf);
}

static void materialize(Function *f, Value *value)
{
    materialize_as(f, value, STR("value"));
}

static void drop_pending(Function *f, const Value *value)
{
    for (size_t i = 0; i < f->pending.len; i++) {
        if (f->pending.data[i] != value) continue;
        memmove(&f->pending.data[i], &f->pending.data[i + 1],
                (f->pending.len - i - 1) * sizeof(Value *));
        f->pending.len--;
        return;
    }
}

/* Names all array reads that a coming side effect must not overtake. */
void emit_flush_pending(Function *f)
{
    for (size_t i = 0; i < f->pending.len; i++) materialize(f, f->pending.data[i]);
    f->pending.len = 0;
}

static bool used_in_own_block(const Value *value)
{
    FOR_EACH_USE(use, value)
        if (use->owner->block != value_block(value)) return false;
    return true;
}

/* The longest text of a value with one use that is nested there. Stored values are no part of
 * another one. Parts of a named value are nested even if they are long, and so are loads and changes
 * of width, because a name of the wider type would hide the narrow one. */
static size_t longest_nested(const Value *value)
{
    const Op *user = value->uses->owner;
    const OpDef *def = value_def(value)->def;
    if (user->def == EMITHLS(STORE) || user->def == EMITHLS(WRITE)) return SIZE_MAX;
    bool is_part = op_attr(user, EMITHLS_ATTR_NAME) || def == EMITHLS(LOAD) ||
                   def == ARITH(EXTSI) || def == ARITH(EXTUI) || def == ARITH(TRUNCI);
    return is_part ? MAX_PART : MAX_NESTED;
}

static void print_bind_op(Function *f, const Value *value, Str impl)
{
    const Expr *expr = ptrmap_get(&f->exprs, value);
    if (str_eq_c(impl, "fabric"))
        emit_pragma(f, "bind_op variable=%s op=mul impl=fabric latency=%lld", expr->text,
                    (long long)latency_lut_product_stages(value_def(value)));
    else
        emit_pragma(f, "bind_op variable=%s op=mul impl=%.*s", expr->text, STR_ARG(impl));
}

static void define(Function *f, Value *value, const Expr *expr)
{
    const Attr *name = op_attr(value_def(value), EMITHLS_ATTR_NAME);
    const Attr *bind = op_attr(value_def(value), EMITHLS_ATTR_BIND);
    if (!value_has_uses(value)) return;
    set_expr(f, value, expr);
    if (name && name->kind == ATTR_STRING) {
        materialize_as(f, value, name->u.string);
        if (bind && bind->kind == ATTR_STRING) print_bind_op(f, value, bind->u.string);
        return;
    }
    bool is_single = value_has_one_use(value);
    size_t length = strlen(expr->text);
    bool cheap = !expr->reads && expr->prec >= PREC_UNARY && expr->kind != CPP_AP &&
                 length <= (is_single ? MAX_PART : MAX_COPIED);
    bool nests = is_single && used_in_own_block(value) && length <= longest_nested(value);
    if (cheap) return;
    if (!nests)
        materialize(f, value);
    else if (expr->reads)
        *vec_push(&f->pending) = value;
}

static const Expr *use_operand(Function *f, const Op *op, uint32_t index)
{
    const Value *value = op_operand(op, index);
    drop_pending(f, value);
    return ptrmap_get(&f->exprs, value);
}

typedef struct CounterList {
    Counters all;
    const char *names[NAME_MAX_LENGTH];
    int64_t extents[NAME_MAX_LENGTH];
} CounterList;

/* Above all magnitudes of a value. */
static int64_t extent_of(const Expr *expr)
{
    Wide most = expr->high > -expr->low ? expr->high : -expr->low;
    return most < INT64_MAX ? (int64_t)most + 1 : INT64_MAX;
}

/* A loop counter by its name, or an index that is computed by the name it gets now. */
static const char *index_name(Function *f, Value *index, int64_t *extent)
{
    const char *name = emit_name_of(f, index);
    *extent = (int64_t)(uintptr_t)ptrmap_get(&f->extents, index);
    if (name) return name;
    drop_pending(f, index);
    materialize(f, index);
    const Expr *leaf = ptrmap_get(&f->exprs, index);
    assert(leaf);
    *extent = extent_of(leaf);
    return leaf->text;
}

static bool collect_counters(Function *f, const Op *op, uint32_t first, CounterList *out)
{
    if (op->operand_count - first > COUNT_OF(out->names))
        return op_error(op, "uses more than %zu counters", COUNT_OF(out->names));
    for (uint32_t i = first; i < op->operand_count; i++)
        out->names[i - first] = index_name(f, op_operand(op, i), &out->extents[i - first]);
    out->all = (Counters){op, out->names, out->extents};
    return true;
}

/* An index of a memory, which holds frames one after another. */
static const char *in_frame(Function *f, const Value *array, const char *at)
{
    int64_t size = emithls_array_dim(array->type, 0);
    if (size == 1) return f->frame;
    return emit_arena_printf(&f->e->arena, "%s * %lld + %s", f->frame, (long long)size, at);
}

/* array[i][j]; packed: array[i], j. NULL: diagnosed. */
static const char *indexed(Function *f, const Op *op, const Value *array, uint32_t first_index,
                           bool is_packed)
{
    CounterList list;
    const AffineMap *map = op_attr(op, "map")->u.map;
    if (!collect_counters(f, op, first_index, &list)) return NULL;
    const char *text = emit_name_of(f, array);
    bool has_frames = array->is_arg && f->frame;
    for (uint32_t i = 0; i < map->result_count; i++) {
        bool is_of_frames = has_frames && i == 0;
        const char *at = cpp_affine(f->e, map->results[i], map->dim_count, &list.all,
                                    is_of_frames ? PREC_ADD : PREC_TERNARY);
        if (!at) return NULL;
        if (is_of_frames) at = in_frame(f, array, at);
        bool is_lane = is_packed && i + 1 == map->result_count;
        text = emit_arena_printf(&f->e->arena, is_lane ? "%s, %s" : "%s[%s]", text, at);
    }
    return text;
}

static const char *element(Function *f, const Op *op, const Value *array, uint32_t first_index)
{
    return indexed(f, op, array, first_index, false);
}

static const char *condition(Function *f, const Op *op)
{
    CounterList list;
    if (!collect_counters(f, op, 0, &list)) return NULL;
    return cpp_condition(f->e, op_attr(op, EMITHLS_ATTR_CONDITION)->u.set, &list.all);
}

/* Gives an operand a name, unless its text is a name or a number. */
static void name_operand(Function *f, Value *value)
{
    const Expr *expr = ptrmap_get(&f->exprs, value);
    size_t length = strlen(expr->text);
    if (length == strcspn(expr->text, " ([.")) return;
    drop_pending(f, value);
    materialize(f, value);
}

static bool print_scalar(Function *f, Op *op)
{
    Expr operands[4], result;
    if (op->operand_count > COUNT_OF(operands) || op->result_count != 1)
        return op_error(op, "has no C++ form");
    if (cpp_repeats_operands(op))
        for (uint32_t i = 0; i < op->operand_count; i++) name_operand(f, op_operand(op, i));
    for (uint32_t i = 0; i < op->operand_count; i++) operands[i] = *use_operand(f, op, i);
    if (!cpp_expr(f->e, op, operands, &result)) return false;
    define(f, op_result(op, 0), &result);
    return true;
}

/* The table behind an array, or NULL. */
static const Op *table_of(const Value *array)
{
    Op *get = value_def(array);
    return get && get->def == EMITHLS(GET) ? symbol_lookup(get, op_attr(get, EMITHLS_ATTR_TABLE))
                                           : NULL;
}

/* An element of a table in the form that the parameter header gives it. */
static bool table_element(Function *f, const Op *op, const Op *table, Expr *out)
{
    const Type *type = op_result(op, 0)->type;
    TableForm form = emit_table_form(f->e, table);
    const char *text = indexed(f, op, op_operand(op, 0), 1, form.per_word > 1);
    if (!text) return false;
    if (form.bits > 0) {
        if (!form.is_exact)
            text = emit_arena_printf(&f->e->arena, "%s(%s)", cpp_type(f->e, type), text);
        *out = cpp_leaf(text, type, true);
        return true;
    }
    if (form.per_word > 1 && type_is_int_width(type, 1))
        text = emit_arena_printf(&f->e->arena, "bool(packed<1>(%s))", text);
    else if (form.per_word > 1)
        text = emit_arena_printf(&f->e->arena, "packed<%u>(%s)", type_width(type), text);
    else if (!form.is_exact)
        text = emit_arena_printf(&f->e->arena, "%s(%s)", cpp_type(f->e, type), text);
    *out = cpp_leaf(text, type, true);
    if (type_is_int_width(type, 1))
        out->kind = CPP_BOOL;
    else if (form.is_exact && type_is_integer(type) && type_width(type) <= PACKED_BITS)
        out->kind = CPP_BUILTIN;
    return true;
}

static bool print_load(Function *f, Op *op)
{
    const Op *table = table_of(op_operand(op, 0));
    Expr expr;
    if (table) {
        if (!table_element(f, op, table, &expr)) return false;
    } else {
        const char *text = element(f, op, op_operand(op, 0), 1);
        if (!text) return false;
        expr = cpp_leaf(text, op_result(op, 0)->type, true);
        /* One of several bits is a reference to it. */
        if (type_is_int_width(op_result(op, 0)->type, 1)) expr.kind = CPP_BOOL;
    }
    define(f, op_result(op, 0), &expr);
    return true;
}

/* a = a + b  ->  a += b */
static void print_assignment(Function *f, const char *target, const char *value)
{
    size_t n = strlen(target);
    if (strncmp(value, target, n) == 0 && strncmp(value + n, " + ", 3) == 0)
        emit_line(f, "%s += %s;", target, value + n + 3);
    else
        emit_line(f, "%s = %s;", target, value);
}

/* Whether the op gives a value that is only stored by the one right behind it. */
static bool is_taken_next(const Op *op)
{
    return (op->def == EMITHLS(READ) || op->def == EMITHLS(LOAD)) &&
           value_has_one_use(op_result(op, 0)) && op_result(op, 0)->uses->owner == op->next &&
           op->next->def == EMITHLS(STORE);
}

/* The store of a whole scalar right behind its declaration, which becomes the initializer; a word
 * may be read between them. NULL: there is none. */
static const Op *first_store(const Op *variable)
{
    const Op *op = variable->next;
    if (op && is_taken_next(op)) op = op->next;
    bool is_first = op && op->def == EMITHLS(STORE) &&
                    op_operand(op, 1) == op_result(variable, 0) && op->operand_count == 2 &&
                    op_attr(op, "map")->u.map->result_count == 0;
    return is_first ? op : NULL;
}

static bool is_first_store(const Op *op)
{
    const Op *variable = value_def(op_operand(op, 1));
    return variable && variable->def == EMITHLS(VARIABLE) && first_store(variable) == op;
}

static bool print_store(Function *f, Op *op)
{
    const Expr *value = use_operand(f, op, 0);
    const char *target = element(f, op, op_operand(op, 1), 2);
    if (!target) return false;
    emit_flush_pending(f);
    if (is_first_store(op))
        emit_line(f, "%s %s = %s;", cpp_type(f->e, op_operand(op, 0)->type), target,
                  printed_text(f, value));
    else
        print_assignment(f, target, printed_text(f, value));
    return true;
}

/* A read is nested only into the statement right behind it. */
static bool print_read(Function *f, Op *op)
{
    Value *value = op_result(op, 0);
    emit_flush_pending(f);
    const EmitPort *port = emit_dma_port(f->e, op_operand(op, 0));
    const char *text =
        emit_arena_printf(&f->e->arena, port ? "%s%s.read())" : "%s%s.read()",
                          port ? emit_arena_printf(&f->e->arena, "%s(", port->convert) : "",
                          emit_name_of(f, op_operand(op, 0)));
    Expr expr = cpp_leaf(text, value->type, true);
    set_expr(f, value, &expr);
    bool nests = value_has_one_use(value) && op->next && value->uses->owner == op->next &&
                 (op->next->def == EMITHLS(STORE) || op->next->def == EMITHLS(WRITE));
    if (!value_has_uses(value))
        emit_line(f, "%s;", text);
    else if (nests)
        *vec_push(&f->pending) = value;
    else
        materialize(f, value);
    return true;
}

/* The condition that no write follows in this frame: all loops are in their last iterations. */
static const char *last_iteration(Function *f, const Op *write)
{
    StrBuf text = {0};
    for (const Op *op = block_parent_op(write->block); op->def == EMITHLS(FOR);
         op = block_parent_op(op->block)) {
        int64_t extents[NEST_MAX_COUNTERS];
        size_t count = emithls_for_extents(op, extents, NEST_MAX_COUNTERS);
        for (size_t i = 0; i < count; i++)
            strbuf_printf(&text, "%s%s == %lld", text.len > 0 ? " && " : "",
                          emit_name_of(f, region_entry(op_region(op, 0))->args[i]),
                          (long long)extents[i] - 1);
    }
    const char *condition =
        emit_arena_printf(&f->e->arena, "%s", text.len > 0 ? text.data : "true");
    strbuf_free(&text);
    return condition;
}

static bool print_write(Function *f, Op *op)
{
    const Expr *value = use_operand(f, op, 0);
    emit_flush_pending(f);
    const char *stream = emit_name_of(f, op_operand(op, 1)), *text = printed_text(f, value);
    const EmitPort *port = emit_dma_port(f->e, op_operand(op, 1));
    if (port)
        emit_line(f, "%s.write(%s(%s, %s));", stream, port->convert, text, last_iteration(f, op));
    else
        emit_line(f, "%s.write(%s);", stream, text);
    return true;
}

static bool print_variable(Function *f, Op *op)
{
    const Type *type = op_result(op, 0)->type;
    const char *name = emit_declare_name(f, op_result(op, 0), op_attr(op, "name")->u.string);
    StrBuf dims = {0};
    for (uint32_t i = 0; i < emithls_array_rank(type); i++)
        strbuf_printf(&dims, "[%lld]", (long long)emithls_array_dim(type, i));
    /* Arrays of the function are memories: static, so that nothing has to clear them. Temporary
     * ones are written before they are read. Where a loop rewinds, all variables of the function
     * last. */
    bool is_array = emithls_array_rank(type) > 0;
    if (first_store(op)) return true;
    const Op *owner = block_parent_op(op->block);
    bool is_memory =
        owner->def == EMITHLS(FUNC) &&
        ((is_array && !op_attr(op, EMITHLS_ATTR_TEMPORARY)) || emithls_rewound_loop(owner));
    emit_line(f, "%s%s %s%s%s;", is_memory ? "static " : "",
              cpp_type(f->e, emithls_array_elem(type)), name, dims.data ? dims.data : "",
              is_array ? "" : "{}");
    strbuf_free(&dims);
    return true;
}

static bool print_get(Function *f, Op *op)
{
    const Ident *symbol = op_attr(op, EMITHLS_ATTR_TABLE)->u.symbol.names[0];
    ptrmap_put(&f->names, op_result(op, 0), (void *)(uintptr_t)cpp_global(f->e, symbol));
    return true;
}

static bool print_stream(Function *f, Op *op)
{
    const char *name = emit_declare_name(f, op_result(op, 0), op_attr(op, "name")->u.string);
    const Attr *impl = op_attr(op, EMITHLS_ATTR_IMPL);
    ptrmap_put(&f->e->fifos, op, (void *)(uintptr_t)name);
    emit_line(f, "%s %s(\"%s\");", cpp_type(f->e, op_result(op, 0)->type), name, name);
    emit_pragma(f, "stream variable=%s depth=%lld", name,
                (long long)attr_int_value(op_attr(op, DFG_ATTR_DEPTH)));
    if (impl)
        emit_pragma(f, "bind_storage variable=%s type=fifo impl=%.*s", name,
                    STR_ARG(impl->u.string));
    return true;
}

static bool print_call(Function *f, Op *op)
{
    StrBuf args = {0};
    bool has_memory = false,
         is_same = op_attr(symbol_lookup(op, op_attr(op, "callee")), EMITHLS_ATTR_SAME_MEMORY);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        has_memory |= type_is_a(op_operand(op, i)->type, &emithls_type_array) && !is_same;
        strbuf_printf(&args, "%s%s", i ? ", " : "", emit_name_of(f, op_operand(op, i)));
    }
    if (has_memory) strbuf_printf(&args, ", %s", f->frame);
    if (op->prev && op->prev->def == EMITHLS(STREAM)) strbuf_add_char(f->out, '\n');
    emit_line(f, "%s(%s);", cpp_global(f->e, op_attr(op, "callee")->u.symbol.names[0]),
              args.data ? args.data : "");
    strbuf_free(&args);
    return true;
}

/* "first": all counters at 0; "inside" otherwise. */
static Str condition_name(const IntegerSet *set)
{
    for (uint32_t i = 0; i < set->constraint_count; i++)
        if (!set->is_eq[i] || set->constraints[i]->kind != AFFINE_DIM) return STR("inside");
    return STR("first");
}

static bool print_cond(Function *f, Op *op)
{
    const char *text = condition(f, op);
    if (!text) return false;
    bool conjunction = op_attr(op, EMITHLS_ATTR_CONDITION)->u.set->constraint_count > 1;
    Expr expr = {
        .text = text, .prec = conjunction ? PREC_AND : PREC_EQUAL, .kind = CPP_BOOL, .high = 1};
    if (conjunction && value_has_uses(op_result(op, 0))) {
        set_expr(f, op_result(op, 0), &expr);
        materialize_as(f, op_result(op, 0),
                       condition_name(op_attr(op, EMITHLS_ATTR_CONDITION)->u.set));
        return true;
    }
    define(f, op_result(op, 0), &expr);
    return true;
}

/* Whether an operand is a counter that is advanced by hand, which is no int. */
static bool uses_flat_counter(const Op *op)
{
    for (uint32_t i = 0; i < op->operand_count; i++) {
        const Value *value = op_operand(op, i);
        if (value->is_arg && op_attr(block_parent_op(value->owner.block), "begin")) return true;
    }
    return false;
}

static bool print_index(Function *f, Op *op)
{
    CounterList list;
    const AffineMap *map = op_attr(op, "map")->u.map;
    if (!collect_counters(f, op, 0, &list)) return false;
    const char *text = cpp_affine(f->e, map->results[0], map->dim_count, &list.all, PREC_PRIMARY);
    if (!text) return false;
    int64_t low, high;
    affine_bounds(map->results[0], list.extents, &low, &high);
    bool is_int = low >= INT32_MIN && high <= INT32_MAX, is_cast = uses_flat_counter(op);
    if (is_cast) text = emit_arena_printf(&f->e->arena, is_int ? "int(%s)" : "(long long)%s", text);
    Expr expr = {.text = text,
                 .prec = is_cast && !is_int ? PREC_UNARY : PREC_PRIMARY,
                 .kind = CPP_BUILTIN,
                 .low = low,
                 .high = high};
    define(f, op_result(op, 0), &expr);
    return true;
}

static bool print_popcount(Function *f, Op *op)
{
    const Expr *bits = use_operand(f, op, 0);
    const char *text = emit_arena_printf(&f->e->arena, "popcount(%s)", bits->text);
    Expr expr = {.text = text,
                 .prec = PREC_PRIMARY,
                 .kind = CPP_AP,
                 .high = emithls_lanes(op_operand(op, 0)->type),
                 .reads = bits->reads};
    define(f, op_result(op, 0), &expr);
    return true;
}

bool emit_body(Function *f, Op *op)
{
    size_t visible = f->scope.changes.len;
    f->depth++;
    bool ok = emit_block(f, region_entry(op_region(op, 0)));
    emit_flush_pending(f);
    f->depth--;
    emit_scope_leave(&f->scope, visible);
    return ok;
}

static bool print_if(Function *f, Op *op)
{
    const char *text = condition(f, op);
    if (!text) return false;
    emit_flush_pending(f);
    emit_line(f, "if (%s) {", text);
    bool ok = emit_body(f, op);
    emit_line(f, "}");
    return ok;
}

/* static bool loaded = false; if (!loaded) { …; loaded = true; } */
static bool print_once(Function *f, Op *op)
{
    const char *name = emit_function_name(f, op_attr(op, "name")->u.string);
    emit_flush_pending(f);
    emit_line(f, "static bool %s = false;", name);
    emit_line(f, "if (!%s) {", name);
    bool ok = emit_body(f, op);
    f->depth++;
    emit_line(f, "%s = true;", name);
    f->depth--;
    emit_line(f, "}");
    return ok;
}

static bool print_op(Function *f, Op *op)
{
    static const struct {
        int op;
        StmtPrinter *print;
    } table[] = {
        {EMITHLS_FOR, emit_for},
        {EMITHLS_ONCE, print_once},
        {EMITHLS_IF, print_if},
        {EMITHLS_COND, print_cond},
        {EMITHLS_INDEX, print_index},
        {EMITHLS_POPCOUNT, print_popcount},
        {EMITHLS_LOAD, print_load},
        {EMITHLS_STORE, print_store},
        {EMITHLS_READ, print_read},
        {EMITHLS_WRITE, print_write},
        {EMITHLS_VARIABLE, print_variable},
        {EMITHLS_GET, print_get},
        {EMITHLS_STREAM, print_stream},
        {EMITHLS_CALL, print_call},
        {EMITHLS_INTERFACE, emit_interface},
        {EMITHLS_DATAFLOW, emit_dataflow},
        {EMITHLS_ARRAY_PARTITION, emit_array_pragma},
        {EMITHLS_ARRAY_RESHAPE, emit_array_pragma},
        {EMITHLS_BIND_STORAGE, emit_bind_storage},
        {EMITHLS_DEPENDENCE, emit_dependence},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (op->def == &emithls_ops[table[i].op]) return table[i].print(f, op);
    return print_scalar(f, op);
}

bool emit_block(Function *f, Block *block)
{
    FOR_EACH_OP(op, block)
        if (!print_op(f, op) || !emit_has_room(&f->e->budget, op, f->out->len)) return false;
    return true;
}
