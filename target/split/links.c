/* Links between cards as text of a pass:
 *   links ::= link (',' link)*
 *   link  ::= end '-' end ':' gbps ':' latency-ns ':' payload ':' overhead ':' protocol
 *   end   ::= card '.' die ['.' port]   without one: 1 to a later card, 0 to an earlier one
 * Tests: lit/target/split/place-cards-invalid.mir */
#include <string.h>

#include "ir/asm/print/print.h"
#include "target/split/internal.h"

enum { MOST = 2000000000 }; /* ns of two transfers of the host at most */

typedef struct Reader {
    const char *at, *end;
} Reader;

static bool take(Reader *r, char c)
{
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

/* A number, and what stands behind it. */
static bool take_number(Reader *r, char behind, int64_t least, int64_t *out)
{
    const char *first = r->at;
    for (*out = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9' && *out <= MOST; r->at++)
        *out = *out * 10 + (*r->at - '0');
    return r->at > first && *out >= least && *out <= MOST && take(r, behind);
}

static bool take_protocol(Reader *r, Str *out)
{
    const char *first = r->at;
    while (r->at < r->end && *r->at != ',') r->at++;
    *out = (Str){first, (size_t)(r->at - first)};
    return str_eq_c(*out, "udp") || str_eq_c(*out, "credit") || str_eq_c(*out, "either") ||
           str_eq_c(*out, SYS_HOST);
}

/* An end and what stands behind it; port -1: it has none. */
static bool take_end(Reader *r, char behind, int end, SplitLink *out)
{
    const char *begin;
    if (!take_number(r, '.', 0, &out->cards[end])) return false;
    begin = r->at;
    out->ports[end] = -1;
    if (take_number(r, behind, 0, &out->dies[end])) return true;
    r->at = begin;
    return take_number(r, '.', 0, &out->dies[end]) && take_number(r, behind, 0, &out->ports[end]);
}

static bool is_possible(SplitLink *link)
{
    for (int end = 0; end < 2; end++)
        if (link->ports[end] < 0) link->ports[end] = link->cards[!end] > link->cards[end];
    return link->cards[0] != link->cards[1] &&
           i64_max(link->cards[0], link->cards[1]) < SYS_MAX_CARDS &&
           i64_max(link->dies[0], link->dies[1]) < SYS_MAX_DIES &&
           i64_max(link->ports[0], link->ports[1]) < SYS_MAX_PORTS;
}

static bool take_link(Reader *r, SplitLink *out)
{
    return take_end(r, '-', 0, out) && take_end(r, ':', 1, out) &&
           take_number(r, ':', 1, &out->gbps) && take_number(r, ':', 1, &out->latency_ns) &&
           take_number(r, ':', 64, &out->payload) && take_number(r, ':', 0, &out->overhead) &&
           take_protocol(r, &out->protocol) && is_possible(out);
}

bool split_links(const Op *at, Str text, SplitLinks *out)
{
    Reader r = {text.data, text.data + text.len};
    bool ok = true;
    while (ok && r.at < r.end) {
        ok = take_link(&r, vec_push(out)) && (r.at == r.end || (take(&r, ',') && r.at < r.end));
    }
    return ok || op_error(at, "has 'links' that are no list of "
                              "card.die.port-card.die.port:gbps:latency:payload:overhead:protocol");
}
