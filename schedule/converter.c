/* Schedules of width converters. Small words S make up a large word L of the same frame F under two
 * conditions: each extent of L is a multiple of that of S, and the words of S inside L are
 * neighbours in row-major order. The latter holds if L spans the whole frame in all dimensions
 * inside the outermost one where L exceeds S.
 * Tests: lit/lowering/dfg_to_emithls/converter.mir, test/unit/schedule/converter_test.c */
#include <string.h>

#include "ir/asm/print/print.h"
#include "schedule/schedule.h"

/* At most so many elements in a word between two converters. */
enum { MAX_ELEMENTS = 1 << 20 };

/* Shapes of two words and their frame. */
typedef struct ConverterWords {
    uint32_t rank;
    const int64_t *frame;
    int64_t from[2 * DFG_MAX_RANK], to[2 * DFG_MAX_RANK];
} ConverterWords;

static bool make_up(const ConverterWords *w, const int64_t *small, const int64_t *large)
{
    bool whole = true; /* all dimensions inside this one */
    for (uint32_t i = w->rank; i-- > 0;) {
        if (large[i] % small[i] != 0 || (large[i] > small[i] && !whole)) return false;
        whole &= large[i] == w->frame[i];
    }
    return true;
}

static bool read_words(const Type *from, const Type *to, ConverterWords *out)
{
    const Type *frame = dfg_payload(from);
    *out = (ConverterWords){.rank = frame->u.shaped.rank, .frame = frame->u.shaped.dims};
    dfg_word(from, out->from);
    dfg_word(to, out->to);
    return frame == dfg_payload(to);
}

bool sched_can_convert(const Type *from, const Type *to)
{
    ConverterWords w;
    return read_words(from, to, &w) && (make_up(&w, w.from, w.to) || make_up(&w, w.to, w.from));
}

static int64_t elements(const int64_t *word, uint32_t rank)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < rank && count <= MAX_ELEMENTS; i++) count *= word[i];
    return count;
}

/* The smallest word that both make up: where either is exceeded, it spans all inner dimensions. */
static void common_multiple(const ConverterWords *w, int64_t *out)
{
    bool exceeds = false; /* in a dimension outside this one */
    for (uint32_t i = 0; i < w->rank; i++) {
        int64_t multiple = w->from[i] / i64_gcd(w->from[i], w->to[i]) * w->to[i];
        out[i] = exceeds ? w->frame[i] : multiple;
        exceeds |= out[i] > w->from[i] || out[i] > w->to[i];
    }
}

WordConversion sched_conversion(const Type *from, const Type *to, int64_t max_bits,
                                const Type **middle)
{
    ConverterWords w;
    int64_t word[2 * DFG_MAX_RANK], bits = type_width(type_elem(dfg_payload(from)));
    if (!read_words(from, to, &w)) return CONVERSION_NONE;
    if (make_up(&w, w.from, w.to) || make_up(&w, w.to, w.from)) return CONVERSION_DIRECT;
    common_multiple(&w, word);
    int64_t count = elements(word, w.rank);
    bool ok = count <= MAX_ELEMENTS && count * bits <= max_bits;
    if (!ok) {
        for (uint32_t i = 0; i < w.rank; i++) word[i] = i64_gcd(w.from[i], w.to[i]);
        ok = make_up(&w, word, w.from) && make_up(&w, word, w.to);
    }
    *middle = dfg_end_type(from->u.dialect.def, dfg_payload(from), word);
    return ok ? CONVERSION_BY_WAY_OF : CONVERSION_NONE;
}

bool sched_converter(const Op *process, ConverterSchedule *out)
{
    ConverterWords w;
    const Type *from = dfg_port(process, 0)->type, *to = dfg_port(process, 1)->type;
    if (!read_words(from, to, &w))
        return op_error(process, "regroups words of frames of different types");
    *out = (ConverterSchedule){.process = process, .rank = w.rank};
    out->joins = make_up(&w, w.from, w.to);
    if (!out->joins && !make_up(&w, w.to, w.from))
        return op_error(process, "regroups words that do not make up each other: elements would "
                                 "change their order");
    memcpy(out->small, out->joins ? w.from : w.to, sizeof(out->small));
    memcpy(out->large, out->joins ? w.to : w.from, sizeof(out->large));
    out->parts = elements(out->large, w.rank) / elements(out->small, w.rank);
    out->words = dfg_words_per_frame(out->joins ? to : from);
    return true;
}

int64_t sched_converter_trips(const ConverterSchedule *sched)
{
    return sched->parts * sched->words;
}
