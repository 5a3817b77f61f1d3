/* Links between cards as text of a pass:
 *   links ::= link (',' link)*
 *   link  ::= end '-' end ':' gbps ':' latency-ns ':' payload ':' overhead ':' protocol
 *   end   ::= card '.' die
 * Tests: lit/target/split/place-cards-invalid.mir */
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/split/internal.h"

typedef struct Reader {
    const char *at, *end;
} Reader;

static bool take(Reader *r, char c)
{
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

/* A number up to a million, and what stands behind it. */
static bool take_number(Reader *r, char behind, int64_t least, int64_t *out)
{
    const char *first = r->at;
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && *out <= 1000000; r->at++)
        *out = *out * 10 + (*r->at - '0');
    return r->at > first && *out >= least && *out <= 1000000 && take(r, behind);
}

static bool take_protocol(Reader *r, Str *out)
{
    const char *first = r->at;
    while (r->at < r->end && *r->at != ',') r->at++;
    *out = (Str){first, (size_t)(r->at - first)};
    return str_eq_c(*out, "udp") || str_eq_c(*out, "credit") || str_eq_c(*out, "either");
}

static bool take_link(Reader *r, SplitLink *out)
{
    return take_number(r, '.', 0, &out->cards[0]) && take_number(r, '-', 0, &out->dies[0]) &&
           take_number(r, '.', 0, &out->cards[1]) && take_number(r, ':', 0, &out->dies[1]) &&
           take_number(r, ':', 1, &out->gbps) && take_number(r, ':', 1, &out->latency_ns) &&
           take_number(r, ':', 64, &out->payload) && take_number(r, ':', 0, &out->overhead) &&
           take_protocol(r, &out->protocol) && out->cards[0] != out->cards[1] &&
           i64_max(out->cards[0], out->cards[1]) < SYS_MAX_CARDS &&
           i64_max(out->dies[0], out->dies[1]) < SYS_MAX_DIES;
}

bool split_links(const Op *at, Str text, SplitLinks *out)
{
    Reader r = {text.data, text.data + text.len};
    bool ok = true;
    while (ok && r.at < r.end) {
        ok = take_link(&r, vec_push(out)) && (r.at == r.end || (take(&r, ',') && r.at < r.end));
    }
    return ok || op_error(at, "has 'links' that are no list of "
                              "card.die-card.die:gbps:latency:payload:overhead:protocol");
}
