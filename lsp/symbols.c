/* Symbols: @name, whose definitions stand behind the name of an op that is one, as in
 * `func.func private @f`. Found in the text itself, so that a text that does not parse has them, too.
 * Tests: test/e2e/lsp_check.py */
#include <string.h>

#include "lsp/internal.h"

/* The next token behind an offset that is no blank and no comment. */
static Span next_token(Str text, size_t offset)
{
    while (offset < text.len) {
        char c = text.data[offset];
        if (c == '/' && offset + 1 < text.len && text.data[offset + 1] == '/') {
            const char *newline = memchr(text.data + offset, '\n', text.len - offset);
            offset = newline ? (size_t)(newline - text.data) : text.len;
        } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            offset++;
        } else {
            break;
        }
    }
    return lsp_token_at(text, offset);
}

static bool is_symbol_op(const Document *document, Str name)
{
    const OpInfo *info = opinfo_lookup(document->ctx, name);
    return info && (info->def->traits & TRAIT_SYMBOL);
}

static bool is_visibility(Str word)
{
    return str_eq_c(word, "private") || str_eq_c(word, "public") || str_eq_c(word, "nested");
}

void lsp_symbols(const Document *document, SymbolPlaces *out)
{
    Str text = strbuf_str(&document->text);
    bool follows_op = false;
    for (Span token = next_token(text, 0); token.begin < text.len;
         token = next_token(text, token.end)) {
        Str word = lsp_slice(text, token);
        if (word.len > 1 && word.data[0] == '@') *vec_push(out) = (SymbolPlace){token, follows_op};
        if (word.len == 0) token.end++;
        if (!is_visibility(word)) follows_op = is_symbol_op(document, word);
    }
}
