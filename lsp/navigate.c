/* Definitions and references of values and symbols.
 * Tests: test/e2e/lsp_check.py */
#include "lsp/internal.h"

static json_t *location(const Document *document, Span span, Place *place)
{
    return json_pack("{s:o, s:o}", "uri", lsp_string(str_from(document->uri)), "range",
                     lsp_range_from(strbuf_str(&document->text), span, place));
}

/* The places that definition or references of one thing ask for. */
typedef struct Wanted {
    bool definitions, uses;
} Wanted;

static bool is_wanted(Wanted wanted, bool defines)
{
    return defines ? wanted.definitions : wanted.uses;
}

static void add_values(const Document *document, const Mention *of, Wanted wanted, json_t *out)
{
    Place place = {0};
    for (size_t i = 0; i < document->mentions.len; i++) {
        const Mention *mention = &document->mentions.data[i];
        if (mention->id == of->id && is_wanted(wanted, mention->defines))
            json_array_append_new(out, location(document, mention->span, &place));
    }
}

static void add_symbols(const Document *document, Str name, Wanted wanted, json_t *out)
{
    SymbolPlaces symbols = {0};
    Place place = {0};
    Str text = strbuf_str(&document->text);
    lsp_symbols(document, &symbols);
    for (size_t i = 0; i < symbols.len; i++) {
        const SymbolPlace *symbol = &symbols.data[i];
        if (str_eq(lsp_slice(text, symbol->span), name) && is_wanted(wanted, symbol->defines))
            json_array_append_new(out, location(document, symbol->span, &place));
    }
    vec_free(&symbols);
}

static json_t *find(const Document *document, size_t offset, Wanted wanted)
{
    json_t *out = json_array();
    Str text = strbuf_str(&document->text);
    const Mention *mention = lsp_mention_at(document, offset);
    Str word = lsp_slice(text, lsp_word_at(text, offset));
    if (mention)
        add_values(document, mention, wanted, out);
    else if (word.len > 1 && word.data[0] == '@')
        add_symbols(document, word, wanted, out);
    return out;
}

json_t *lsp_definition(const Document *document, size_t offset)
{
    return find(document, offset, (Wanted){.definitions = true});
}

json_t *lsp_references(const Document *document, size_t offset, bool with_definition)
{
    return find(document, offset, (Wanted){.definitions = with_definition, .uses = true});
}
