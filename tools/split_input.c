/* The search is for a marker without its last characters: where those do not follow, it is a near
 * miss and the piece goes on. */
#include <string.h>

#include "tools/internal.h"

/* Characters that tell a marker from a near miss. */
enum { TELLING = 2 };

/* First occurrence of the needle, or NULL. */
static const char *find(Str text, Str needle)
{
    const char *end = text.data + text.len;
    for (const char *at = text.data; (size_t)(end - at) >= needle.len; at++) {
        at = memchr(at, needle.data[0], (size_t)(end - at));
        if (!at || (size_t)(end - at) < needle.len) return NULL;
        if (memcmp(at, needle.data, needle.len) == 0) return at;
    }
    return NULL;
}

static uint32_t count_lines(const char *from, const char *to)
{
    uint32_t lines = 0;
    while ((from = memchr(from, '\n', (size_t)(to - from)))) {
        lines++;
        from++;
    }
    return lines;
}

static void warn(Str text, const char *at, uint32_t line, const char *name)
{
    const char *begin = at, *end = at, *last = text.data + text.len;
    while (begin > text.data && begin[-1] != '\n') begin--;
    while (end < last && *end != '\n') end++;
    fprintf(stderr, "%s:%u:%d: warning: near miss with file split marker\n%.*s\n%*s^\n", name, line,
            (int)(at - begin) + 1, (int)(end - begin), begin, (int)(at - begin), "");
}

void split_input(InputPieces *out, Str text, Str marker, const char *name)
{
    size_t telling = marker.len > TELLING ? TELLING : 0;
    Str needle = {marker.data, marker.len - telling};
    const char *end = text.data + text.len, *begin = text.data, *from = begin, *at;
    uint32_t line = 1, begin_line = 1;
    while ((at = find((Str){from, (size_t)(end - from)}, needle))) {
        line += count_lines(from, at);
        from = at + needle.len;
        bool is_marker =
            (size_t)(end - from) > telling && memcmp(from, marker.data + needle.len, telling) == 0;
        if (!is_marker) {
            warn(text, from, line, name);
            continue;
        }
        *vec_push(out) = (InputPiece){{begin, (size_t)(at - begin)}, begin_line};
        from += telling;
        begin = from;
        begin_line = line;
    }
    *vec_push(out) = (InputPiece){{begin, (size_t)(end - begin)}, begin_line};
}
