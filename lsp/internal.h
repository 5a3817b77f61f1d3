/* Between the sources of lsp/. Places of a document are offsets in bytes; LSP counts lines from 0 and
 * in them units of UTF-16. */
#ifndef MING_LSP_INTERNAL_H
#define MING_LSP_INTERNAL_H

#include <jansson.h>

#include "ir/asm/parse/parse.h"
#include "lsp/lsp.h"

/* Part of a text. */
typedef struct Span {
    size_t begin, end;
} Span;

/* A place that names a value; all places of one value have the same id. */
typedef struct Mention {
    Span span;
    uint32_t id;
    bool defines;
    const Type *type;
} Mention;

typedef struct Document {
    char *uri;
    int64_t version;
    StrBuf text;
    Context *ctx;          /* of the last parse; types of the mentions live in it */
    VEC(Mention) mentions; /* in the order of the parse */
    json_t *diagnostics;   /* of the last parse */
} Document;

/* document.c: texts and what their parse finds. */
Document *lsp_document_create(const char *uri, int64_t version, Str text);
void lsp_document_free(Document *document);
/* Replaces a part of the text. */
void lsp_document_edit(Document *document, Span span, Str text);
/* Parses the text, after all edits of a message. */
void lsp_document_parse(Document *document);
/* The mention at an offset, or NULL. */
const Mention *lsp_mention_at(const Document *document, size_t offset);

/* position.c */
size_t lsp_offset(Str text, const json_t *position);
json_t *lsp_range(Str text, Span span);
/* A place that was found before. The next one, if it is behind it, is found from there, so that many
 * in a row take one walk through the text. */
typedef struct Place {
    size_t offset;
    json_int_t line, column;
} Place;
json_t *lsp_range_from(Str text, Span span, Place *place);
/* The offset of a line and column in bytes, both from 1. */
size_t lsp_offset_of_line(Str text, uint32_t line, uint32_t column);
/* The word around an offset: a name with its %, @, ^ or !, or the name of an op or keyword. */
Span lsp_word_at(Str text, size_t offset);
/* The token that begins at an offset. */
Span lsp_token_at(Str text, size_t offset);
static inline Str lsp_slice(Str text, Span span)
{
    return (Str){text.data + span.begin, span.end - span.begin};
}

/* symbols.c: places of @name, found without a parse. */
typedef struct SymbolPlace {
    Span span; /* with @ */
    bool defines;
} SymbolPlace;
typedef VEC(SymbolPlace) SymbolPlaces;
void lsp_symbols(const Document *document, SymbolPlaces *out);

/* Answers; each gives a new reference, json null where there is nothing. */
json_t *lsp_hover(const Document *document, size_t offset);
json_t *lsp_complete(const Document *document, size_t offset);
json_t *lsp_definition(const Document *document, size_t offset);
json_t *lsp_references(const Document *document, size_t offset, bool with_definition);

/* json string of a text, in which bytes that are not UTF-8 are replaced. */
json_t *lsp_string(Str text);

#endif
