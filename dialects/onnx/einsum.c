/* Equations of Einsum: which dimension of an operand goes along which index of the sum.
 *   equation ::= term (',' term)* ('->' term)?
 *   term     ::= letter* ('...' letter*)?
 * Blanks count for nothing. An ellipsis stands for the dimensions without letters, from the right,
 * and these broadcast. Without '->' the result has them first and then the letters that stand once
 * in the equation, in the order of ASCII.
 * Tests: lit/dialects/onnx/invalid-einsum.mir, test/e2e/onnx_cases.py, test/e2e/places_check.py */
#include <string.h>

#include "dialects/onnx/internal.h"

enum { LETTERS = 52 };

/* Number of a letter: 0 to 51 in the order of ASCII; -1: it is none. */
static int letter_number(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    return c >= 'a' && c <= 'z' ? c - 'a' + 26 : -1;
}

/* A term as it is written. */
typedef struct Term {
    uint32_t count, before; /* letters; those before the ellipsis */
    uint8_t letters[ONNX_MAX_RANK];
    bool has_ellipsis;
} Term;

/* Reads a term up to a comma, "->" or the end. */
static bool read_term(Str text, size_t *at, Term *out, StrBuf *why)
{
    *out = (Term){0};
    for (; *at < text.len; ++*at) {
        char c = text.data[*at];
        int number = letter_number(c);
        if (c == ' ') continue;
        if (c == ',' || c == '-') return true;
        if (c == '.' && !out->has_ellipsis && *at + 2 < text.len && text.data[*at + 1] == '.' &&
            text.data[*at + 2] == '.') {
            out->has_ellipsis = true;
            out->before = out->count;
            *at += 2;
            continue;
        }
        if (number < 0 || out->count == ONNX_MAX_RANK) {
            onnx_why(why, "the equation ");
            strbuf_add_quoted(why, text);
            return onnx_why(why, " is wrong at character %zu", *at + 1);
        }
        out->letters[out->count++] = (uint8_t)number;
    }
    return true;
}

typedef struct Parser {
    Term terms[EINSUM_MAX_OPERANDS], result;
    uint32_t ellipsis[EINSUM_MAX_OPERANDS]; /* dimensions that the ellipsis of a term stands for */
    uint32_t most;                          /* the most of them */
    bool is_explicit;
} Parser;

static bool read_equation(Str text, uint32_t count, Parser *p, StrBuf *why)
{
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++, at++) {
        if (!read_term(text, &at, &p->terms[i], why)) return false;
        bool is_last = at == text.len || text.data[at] == '-';
        if (is_last != (i + 1 == count))
            return onnx_why(why, "the equation has %s terms than the %u operands",
                            is_last ? "fewer" : "more", count);
        if (is_last) break;
    }
    p->is_explicit = at < text.len;
    if (!p->is_explicit) return true;
    bool is_arrow = at + 1 < text.len && text.data[at + 1] == '>';
    at += 2;
    if (is_arrow && !read_term(text, &at, &p->result, why)) return false;
    return (is_arrow && at == text.len) ||
           onnx_why(why, "the equation has no single result behind '->'");
}

/* The labels of a term, of which `hidden` dimensions stand behind the ellipsis. */
static void put_labels(const Term *term, uint32_t hidden, uint32_t most, EinsumTerm *out)
{
    uint32_t before = term->has_ellipsis ? term->before : term->count;
    out->rank = 0;
    for (uint32_t i = 0; i < before; i++) out->labels[out->rank++] = term->letters[i];
    for (uint32_t i = 0; term->has_ellipsis && i < hidden; i++)
        out->labels[out->rank++] = (uint8_t)(LETTERS + most - hidden + i);
    for (uint32_t i = before; i < term->count; i++) out->labels[out->rank++] = term->letters[i];
}

static void add_label(StrBuf *why, uint32_t label)
{
    if (label >= LETTERS)
        onnx_why(why, "a dimension of the ellipsis");
    else
        onnx_why(why, "'%c'", label < 26 ? (int)('A' + label) : (int)('a' + label - 26));
}

/* Joins the extents of an operand; an extent of 1 broadcasts, but not along a diagonal. */
static bool join_extents(const EinsumTerm *term, const Type *type, int64_t *extents, StrBuf *why)
{
    int64_t own[EINSUM_MAX_LABELS];
    memset(own, 0, sizeof own);
    for (uint32_t i = 0; i < term->rank; i++) {
        uint32_t label = term->labels[i];
        int64_t dim = type->u.shaped.dims[i], *all = &extents[label];
        bool fits = *all < 0 || *all == dim || *all == 1 || dim == 1;
        for (uint32_t k = 0; k < i; k++) fits &= term->labels[k] != label || own[label] == dim;
        if (!fits) {
            add_label(why, label);
            return onnx_why(why, " has extents of %lld and %lld", (long long)*all, (long long)dim);
        }
        own[label] = dim;
        if (*all < 0 || *all == 1) *all = dim;
    }
    return true;
}

/* The terms' labels and all extents. */
static bool label_operands(Parser *p, const Type *const *types, Einsum *out, StrBuf *why)
{
    for (uint32_t i = 0; i < EINSUM_MAX_LABELS; i++) out->extents[i] = -1;
    for (uint32_t i = 0; i < out->operand_count; i++) {
        uint32_t rank = types[i]->u.shaped.rank, count = p->terms[i].count;
        if (rank > ONNX_MAX_RANK || rank < count || (rank > count && !p->terms[i].has_ellipsis))
            return onnx_why(why, "operand %u has %u dimensions, its term %u letters", i, rank,
                            count);
        p->ellipsis[i] = rank - count;
        if (p->ellipsis[i] > p->most) p->most = p->ellipsis[i];
    }
    for (uint32_t i = 0; i < out->operand_count; i++) {
        put_labels(&p->terms[i], p->ellipsis[i], p->most, &out->terms[i]);
        if (!join_extents(&out->terms[i], types[i], out->extents, why)) return false;
    }
    return true;
}

/* Letters that stand once, behind the dimensions of the ellipsis. */
static bool implicit_result(Parser *p, const Einsum *out, StrBuf *why)
{
    uint32_t uses[LETTERS] = {0};
    p->result = (Term){.has_ellipsis = true};
    for (uint32_t i = 0; i < out->operand_count; i++)
        for (uint32_t k = 0; k < p->terms[i].count; k++) uses[p->terms[i].letters[k]]++;
    for (uint32_t k = 0; k < LETTERS; k++) {
        if (uses[k] != 1) continue;
        if (p->result.count == ONNX_MAX_RANK)
            return onnx_why(why, "the result has too many dimensions");
        p->result.letters[p->result.count++] = (uint8_t)k;
    }
    return true;
}

static bool check_result(const Parser *p, const Einsum *out, StrBuf *why)
{
    bool seen[EINSUM_MAX_LABELS] = {false};
    if (p->result.count + p->most > ONNX_MAX_RANK)
        return onnx_why(why, "the result has too many dimensions");
    if (p->is_explicit && p->most > 0 && !p->result.has_ellipsis)
        return onnx_why(why, "operands have an ellipsis and the result has none");
    for (uint32_t i = 0; i < p->result.count; i++) {
        uint32_t label = p->result.letters[i];
        bool twice = seen[label];
        seen[label] = true;
        if (out->extents[label] >= 0 && !twice) continue;
        onnx_why(why, "the result has ");
        add_label(why, label);
        return onnx_why(why, twice ? " twice" : ", which no operand has");
    }
    return true;
}

bool onnx_einsum(Str equation, const Type *const *types, uint32_t count, Einsum *out, StrBuf *why)
{
    Parser p = {.most = 0};
    *out = (Einsum){.operand_count = count};
    if (count == 0 || count > EINSUM_MAX_OPERANDS)
        return onnx_why(why, "has %u operands; 1 to %d are supported", count, EINSUM_MAX_OPERANDS);
    if (!read_equation(equation, count, &p, why) || !label_operands(&p, types, out, why))
        return false;
    if (!p.is_explicit && !implicit_result(&p, out, why)) return false;
    if (!check_result(&p, out, why)) return false;
    put_labels(&p.result, p.most, p.most, &out->result);
    return true;
}

bool onnx_infer_einsum(const Op *op, const Type **results, StrBuf *why)
{
    const Type *types[EINSUM_MAX_OPERANDS] = {NULL};
    const Type *elem = op->operand_count > 0 ? type_elem(onnx_type(op, 0)) : NULL;
    Einsum sum;
    OnnxShape shape = {.rank = 0};
    if (!elem) return onnx_why(why, "has no operand");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        if (!onnx_check_elem(op, i, ELEM_NUMERIC, why) || !onnx_check_elem_is(op, i, elem, why))
            return false;
        if (i < EINSUM_MAX_OPERANDS) types[i] = onnx_type(op, i);
    }
    results[0] = type_unranked_tensor(elem);
    if (!onnx_all_static(op)) return true;
    if (!onnx_einsum(onnx_string(op, "equation", ""), types, op->operand_count, &sum, why))
        return false;
    for (uint32_t i = 0; i < sum.result.rank; i++)
        shape.dims[shape.rank++] = sum.extents[sum.result.labels[i]];
    return onnx_make_tensor(elem, &shape, &results[0], why);
}

/* The walk over all labels: those of the result, then the others. */
typedef struct Walk {
    uint32_t rank, kept;
    int64_t dims[EINSUM_MAX_LABELS], index[EINSUM_MAX_LABELS];
    int64_t strides[EINSUM_MAX_OPERANDS][EINSUM_MAX_LABELS]; /* 0 where an operand is stretched */
    int64_t offsets[EINSUM_MAX_OPERANDS];
} Walk;

static void walk_add(Walk *walk, const Einsum *sum, const Eval *e, uint32_t label)
{
    uint32_t at = walk->rank++;
    walk->dims[at] = sum->extents[label];
    for (uint32_t i = 0; i < sum->operand_count; i++) {
        const int64_t *dims = onnx_array_dims(e->inputs[i]);
        int64_t stride = 1;
        for (uint32_t d = sum->terms[i].rank; d-- > 0; stride *= dims[d])
            if (sum->terms[i].labels[d] == label && dims[d] > 1) walk->strides[i][at] += stride;
    }
}

static void walk_init(Walk *walk, const Einsum *sum, const Eval *e)
{
    bool seen[EINSUM_MAX_LABELS] = {false};
    memset(walk, 0, sizeof *walk);
    for (uint32_t i = 0; i < sum->result.rank; i++) {
        seen[sum->result.labels[i]] = true;
        walk_add(walk, sum, e, sum->result.labels[i]);
    }
    walk->kept = walk->rank;
    for (uint32_t label = 0; label < EINSUM_MAX_LABELS; label++)
        if (sum->extents[label] >= 0 && !seen[label]) walk_add(walk, sum, e, label);
}

/* The next index of the dimensions from `first` to before `last`; false, and back at the first
 * one, after the last. */
static bool walk_next(Walk *walk, const Einsum *sum, uint32_t first, uint32_t last)
{
    for (uint32_t d = last; d-- > first;) {
        bool stays = ++walk->index[d] < walk->dims[d];
        int64_t steps = stays ? 1 : 1 - walk->dims[d];
        for (uint32_t i = 0; i < sum->operand_count; i++)
            walk->offsets[i] += steps * walk->strides[i][d];
        if (stays) return true;
        walk->index[d] = 0;
    }
    return false;
}

/* One product; wraps as integers do. */
static void add_product(const Eval *e, const Walk *walk, const Einsum *sum, bool is_float,
                        double *real, uint64_t *whole)
{
    double x = 1.0;
    uint64_t q = 1;
    for (uint32_t i = 0; i < sum->operand_count; i++) {
        if (is_float)
            x *= array_get_f64(e->inputs[i], walk->offsets[i]);
        else
            q *= (uint64_t)array_get_i64(e->inputs[i], walk->offsets[i]);
    }
    *real += x;
    if (is_float) onnx_round_partials(e->results[0], real, 1);
    *whole += q;
}

bool onnx_eval_einsum(const Eval *e)
{
    const Type *types[EINSUM_MAX_OPERANDS] = {NULL};
    Array *y = e->results[0];
    Einsum sum;
    Walk walk;
    for (uint32_t i = 0; i < e->op->operand_count && i < EINSUM_MAX_OPERANDS; i++)
        types[i] = e->inputs[i]->type;
    if (!onnx_einsum(onnx_string(e->op, "equation", ""), types, e->op->operand_count, &sum, e->why))
        return false;
    walk_init(&walk, &sum, e);
    bool is_float = array_is_float(y), is_empty = false;
    for (uint32_t d = walk.kept; d < walk.rank; d++) is_empty |= walk.dims[d] == 0;
    for (int64_t at = 0; at < y->count && !is_empty; at++) {
        double real = 0.0;
        uint64_t whole = 0;
        do add_product(e, &walk, &sum, is_float, &real, &whole);
        while (walk_next(&walk, &sum, walk.kept, walk.rank));
        if (is_float)
            array_set_f64(y, at, real);
        else
            array_set_i64(y, at, (int64_t)whole);
        (void)walk_next(&walk, &sum, 0, walk.kept);
    }
    return true;
}
