/* What may stand at the cursor: values behind %, symbols behind @, passes in a comment's command,
 * attributes inside an op's braces, else ops.
 * Tests: test/e2e/lsp_check.py */
#include <string.h>

#include "driver/driver.h"
#include "ir/asm/print/print.h"
#include "lsp/internal.h"

/* Kinds of LSP. */
enum { KIND_FUNCTION = 3, KIND_FIELD = 5, KIND_VARIABLE = 6, KIND_KEYWORD = 14 };

typedef struct Completion {
    const Document *document;
    Str text, prefix; /* what is written of the word */
    Span span;        /* that is replaced */
    json_t *items, *seen, *range;
} Completion;

static void add(Completion *c, Str label, int kind, const char *detail)
{
    enum { MOST = 2000 };
    StrBuf key = {0};
    if (label.len < c->prefix.len || memcmp(label.data, c->prefix.data, c->prefix.len) != 0 ||
        json_array_size(c->items) >= MOST)
        return;
    strbuf_add_str(&key, label);
    bool is_new = !json_object_get(c->seen, key.data);
    if (is_new) {
        json_object_set_new(c->seen, key.data, json_true());
        json_t *item = json_pack("{s:o, s:i, s:{s:O, s:o}}", "label", lsp_string(label), "kind",
                                 kind, "textEdit", "range", c->range, "newText", lsp_string(label));
        if (detail) json_object_set_new(item, "detail", lsp_string(str_from(detail)));
        json_array_append_new(c->items, item);
    }
    strbuf_free(&key);
}

static void add_values(Completion *c)
{
    for (size_t i = 0; i < c->document->mentions.len; i++) {
        const Mention *mention = &c->document->mentions.data[i];
        if (mention->span.begin == c->span.begin) continue; /* the word itself */
        add(c, lsp_slice(c->text, mention->span), KIND_VARIABLE,
            type_str(c->document->ctx, mention->type));
    }
}

static void add_symbols(Completion *c)
{
    SymbolPlaces places = {0};
    lsp_symbols(c->document, &places);
    for (size_t i = 0; i < places.len; i++)
        if (places.data[i].span.begin != c->span.begin)
            add(c, lsp_slice(c->text, places.data[i].span), KIND_FUNCTION, NULL);
    vec_free(&places);
}

static void add_passes(Completion *c)
{
    const PassTable *table = driver_all_passes();
    for (size_t i = 0; i < table->count; i++)
        add(c, str_from(table->passes[i]->name), KIND_KEYWORD, table->passes[i]->summary);
}

static void add_ops(Completion *c)
{
    StrBuf name = {0};
    for (size_t i = 0; i < dialect_count(c->document->ctx); i++) {
        const DialectDef *dialect = dialect_at(c->document->ctx, i);
        for (size_t j = 0; j < dialect->op_count; j++) {
            strbuf_clear(&name);
            strbuf_printf(&name, "%s.%s", dialect->name, dialect->ops[j].name);
            add(c, strbuf_str(&name), KIND_KEYWORD, dialect->ops[j].summary);
        }
    }
    strbuf_free(&name);
}

/* The line from its begin to the cursor. */
static Str line_before(Str text, size_t offset)
{
    size_t begin = offset;
    while (begin > 0 && text.data[begin - 1] != '\n') begin--;
    return (Str){text.data + begin, offset - begin};
}

static bool is_in_comment(Str line)
{
    for (size_t i = 0; i + 1 < line.len; i++)
        if (line.data[i] == '/' && line.data[i + 1] == '/') return true;
    return false;
}

/* The row of the op whose braces are open at the end of the line, or NULL. */
static const OpDef *open_op(const Document *document, Str line)
{
    const OpDef *op = NULL;
    int depth = 0;
    for (size_t i = 0; i < line.len;) {
        Span token = lsp_token_at(line, i);
        Str word = lsp_slice(line, token);
        if (word.len > 2 && word.data[0] == '"') word = (Str){word.data + 1, word.len - 2};
        const OpInfo *info = opinfo_lookup(document->ctx, word);
        if (info) {
            op = info->def;
            depth = 0;
        }
        depth += str_eq_c(word, "{") - str_eq_c(word, "}");
        i = token.end > i ? token.end : i + 1;
    }
    return depth > 0 ? op : NULL;
}

static void add_attrs(Completion *c, const OpDef *op)
{
    for (const AttrArgDef *attr = op->attrs; attr && attr->name; attr++)
        add(c, str_from(attr->name), KIND_FIELD, attr->attr->what);
}

json_t *lsp_complete(const Document *document, size_t offset)
{
    Str text = strbuf_str(&document->text);
    Span span = lsp_word_at(text, offset);
    Completion c = {
        .document = document, .text = text, .items = json_array(), .seen = json_object()};
    Str line = line_before(text, offset);
    bool is_comment = is_in_comment(line);
    if (is_comment)
        while (span.begin < offset && text.data[span.begin] == '-') span.begin++;
    c.span = (Span){span.begin, offset};
    c.prefix = lsp_slice(text, c.span);
    c.range = lsp_range(text, c.span);
    char sigil = c.prefix.len > 0 ? c.prefix.data[0] : '\0';
    const OpDef *op = is_comment ? NULL : open_op(document, line);
    if (is_comment)
        add_passes(&c);
    else if (sigil == '%')
        add_values(&c);
    else if (sigil == '@')
        add_symbols(&c);
    else if (op && op->attrs)
        add_attrs(&c, op);
    else
        add_ops(&c);
    json_decref(c.seen);
    json_decref(c.range);
    return json_pack("{s:b, s:o}", "isIncomplete", 0, "items", c.items);
}
