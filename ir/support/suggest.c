/* Which of the names that exist is meant by one that does not: the nearest by Levenshtein distance,
 * the number of characters to insert, delete or replace.
 * Tests: test/unit/ir/support/support_test.c, lit/tools/command-line.mir */
#include "ir/support/support.h"

enum { MAX_LENGTH = 63 }; /* of names that are compared */

/* A third of the characters, so that short names need to be nearly right. */
static size_t most_distance(Str wanted)
{
    return (wanted.len + 1) / 3;
}

/* One row of the table at a time: row[j] is the distance of the first i characters of a to the
 * first j of b. */
static size_t distance_of(Str a, Str b)
{
    size_t row[MAX_LENGTH + 1];
    for (size_t j = 0; j <= b.len; j++) row[j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t replaced = diagonal + (a.data[i - 1] != b.data[j - 1]);
            diagonal = row[j];
            size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[b.len];
}

void suggestion_try(Suggestion *s, Str candidate)
{
    if (s->wanted.len > MAX_LENGTH || candidate.len > MAX_LENGTH || candidate.len == 0) return;
    size_t distance = distance_of(s->wanted, candidate);
    if (distance > most_distance(s->wanted)) return;
    bool is_better = s->best.len == 0 || distance < s->distance ||
                     (distance == s->distance && str_cmp(candidate, s->best) < 0);
    if (!is_better) return;
    s->best = candidate;
    s->distance = distance;
}

void suggestion_print(const Suggestion *s, StrBuf *out)
{
    if (s->best.len > 0) strbuf_printf(out, " (did you mean '%.*s'?)", STR_ARG(s->best));
}
