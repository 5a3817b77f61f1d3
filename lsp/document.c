/* Documents: their text, and what the parser says of it. Every parse has a context of its own, because
 * types and attributes live as long as their context.
 * Tests: test/e2e/lsp_check.py */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialects.h"
#include "ir/asm/print/print.h"
#include "lsp/internal.h"

#define BUFFER "document"

static char *copy_text(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(xmalloc(size), text, size);
}

Document *lsp_document_create(const char *uri, int64_t version, Str text)
{
    Document *document = xcalloc(1, sizeof *document);
    document->uri = copy_text(uri);
    document->version = version;
    strbuf_add_c(&document->text, " "); /* so that there is a text, though it be empty */
    strbuf_clear(&document->text);
    strbuf_add_str(&document->text, text);
    return document;
}

static void forget_parse(Document *document)
{
    context_destroy(document->ctx);
    document->ctx = NULL;
    vec_free(&document->mentions);
    json_decref(document->diagnostics);
    document->diagnostics = NULL;
}

void lsp_document_free(Document *document)
{
    forget_parse(document);
    strbuf_free(&document->text);
    free(document->uri);
    free(document);
}

void lsp_document_edit(Document *document, Span span, Str text)
{
    StrBuf edited = {0};
    Str before = strbuf_str(&document->text);
    if (span.end < span.begin) span.end = span.begin;
    strbuf_add_c(&edited, " ");
    strbuf_clear(&edited);
    strbuf_add(&edited, before.data, span.begin);
    strbuf_add_str(&edited, text);
    strbuf_add(&edited, before.data + span.end, before.len - span.end);
    strbuf_free(&document->text);
    document->text = edited;
}

typedef struct Collector {
    Document *document;
    Str text;
    PtrMap ids; /* value to its id + 1 */
    uintptr_t next;
} Collector;

static uint32_t id_of(Collector *c, const ParseMention *mention)
{
    uintptr_t id =
        (uintptr_t)ptrmap_get(&c->ids, mention->former ? mention->former : mention->value);
    if (!id) id = ++c->next;
    ptrmap_put(&c->ids, mention->value, (void *)id);
    return (uint32_t)id;
}

static void on_mention(void *user, const ParseMention *mention)
{
    Collector *c = user;
    uint32_t id = id_of(c, mention);
    const char *begin = mention->name.data;
    if (mention->name.len == 0 || begin < c->text.data || begin >= c->text.data + c->text.len)
        return; /* a name that the text does not have */
    size_t offset = (size_t)(begin - c->text.data);
    *vec_push(&c->document->mentions) =
        (Mention){{offset, offset + mention->name.len}, id, mention->defines, mention->type};
}

static Span place_of(Str text, const Attr *loc)
{
    const Attr *place = loc_find_file(loc);
    if (!place || place->u.loc_file.line == 0) return (Span){0, 0};
    size_t offset = lsp_offset_of_line(text, place->u.loc_file.line, place->u.loc_file.col);
    return lsp_token_at(text, offset);
}

static json_t *related(const Collector *c, const Diag *notes, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_pack("{s:{s:o, s:o}, s:o}", "location", "uri",
                                              lsp_string(str_from(c->document->uri)), "range",
                                              lsp_range(c->text, place_of(c->text, notes[i].loc)),
                                              "message", lsp_string(notes[i].text)));
    return list;
}

static void on_diagnostic(void *user, Context *ctx, const Diag *diag, const Diag *notes,
                          size_t note_count)
{
    static const int severities[] = {
        [DIAG_ERROR] = 1, [DIAG_WARNING] = 2, [DIAG_REMARK] = 3, [DIAG_NOTE] = 3};
    enum { MOST = 1000 };
    const Collector *c = user;
    (void)ctx;
    if (json_array_size(c->document->diagnostics) >= MOST) return;
    json_array_append_new(c->document->diagnostics,
                          json_pack("{s:o, s:i, s:s, s:o, s:o}", "range",
                                    lsp_range(c->text, place_of(c->text, diag->loc)), "severity",
                                    severities[diag->kind], "source", "ming", "message",
                                    lsp_string(diag->text), "relatedInformation",
                                    related(c, notes, note_count)));
}

void lsp_document_parse(Document *document)
{
    forget_parse(document);
    document->diagnostics = json_array();
    document->ctx = context_create();
    dialects_register_all(document->ctx);
    diag_show_op(document->ctx, false);
    Collector c = {.document = document, .text = strbuf_str(&document->text)};
    diag_set_handler(document->ctx, on_diagnostic, &c, NULL, NULL);
    const ParseOptions options = {.mentions = on_mention, .user = &c};
    Op *module = parse_module(document->ctx, c.text, STR(BUFFER), &options);
    diag_flush(document->ctx);
    diag_remove_source(document->ctx, STR(BUFFER));
    diag_set_handler(document->ctx, NULL, NULL, NULL, NULL);
    if (module) op_erase(module);
    ptrmap_free(&c.ids);
}

const Mention *lsp_mention_at(const Document *document, size_t offset)
{
    for (size_t i = 0; i < document->mentions.len; i++) {
        const Mention *mention = &document->mentions.data[i];
        if (mention->span.begin <= offset && offset <= mention->span.end) return mention;
    }
    return NULL;
}
