/* What stands under the cursor: an op's row of its table, a value's type, a symbol's definition.
 * Tests: test/e2e/lsp_check.py */
#include <string.h>

#include "ir/asm/print/print.h"
#include "lsp/internal.h"

static void add_args(StrBuf *out, const char *title, const ArgDef *args)
{
    static const char *const arities[] = {
        [ARITY_ONE] = "", [ARITY_OPTIONAL] = "optional ", [ARITY_VARIADIC] = "variadic of "};
    if (!args || !args->name) return;
    strbuf_printf(out, "\n\n%s:\n", title);
    for (; args->name; args++)
        strbuf_printf(out, "- `%s`: %s%s\n", args->name, arities[args->arity], args->type->what);
}

static void add_attrs(StrBuf *out, const AttrArgDef *attrs)
{
    if (!attrs || !attrs->name) return;
    strbuf_add_c(out, "\n\nAttributes:\n");
    for (; attrs->name; attrs++)
        strbuf_printf(out, "- `%s`: %s%s\n", attrs->name, attrs->optional ? "optional " : "",
                      attrs->attr->what);
}

static void describe_op(StrBuf *out, Str name, const OpDef *def)
{
    strbuf_printf(out, "**`%.*s`**", STR_ARG(name));
    if (def->summary) strbuf_printf(out, ": %s", def->summary);
    if (def->description) strbuf_printf(out, "\n\n%s", def->description);
    add_args(out, "Operands", def->operands);
    add_args(out, "Results", def->results);
    add_attrs(out, def->attrs);
}

static void describe_value(StrBuf *out, const Document *document, const Mention *mention)
{
    Str name = lsp_slice(strbuf_str(&document->text), mention->span);
    strbuf_printf(out, "```mlir\n%.*s : %s\n```", STR_ARG(name),
                  type_str(document->ctx, mention->type));
}

/* The line of a symbol's definition. */
static void describe_symbol(StrBuf *out, const Document *document, Str name)
{
    SymbolPlaces places = {0};
    Str text = strbuf_str(&document->text);
    lsp_symbols(document, &places);
    for (size_t i = 0; i < places.len; i++) {
        Span span = places.data[i].span;
        if (!places.data[i].defines || !str_eq(lsp_slice(text, span), name)) continue;
        while (span.begin > 0 && text.data[span.begin - 1] != '\n') span.begin--;
        while (span.end < text.len && text.data[span.end] != '\n') span.end++;
        strbuf_printf(out, "```mlir\n%.*s\n```", STR_ARG(lsp_slice(text, span)));
        break;
    }
    vec_free(&places);
}

json_t *lsp_hover(const Document *document, size_t offset)
{
    StrBuf out = {0};
    Str text = strbuf_str(&document->text);
    Span span = lsp_word_at(text, offset);
    Str word = lsp_slice(text, span);
    const Mention *mention = lsp_mention_at(document, offset);
    const OpInfo *info = opinfo_lookup(document->ctx, word);
    if (mention) {
        span = mention->span;
        describe_value(&out, document, mention);
    } else if (word.len > 1 && word.data[0] == '@') {
        describe_symbol(&out, document, word);
    } else if (info) {
        describe_op(&out, word, info->def);
    }
    json_t *hover = json_null();
    if (out.len > 0)
        hover = json_pack("{s:{s:s, s:o}, s:o}", "contents", "kind", "markdown", "value",
                          lsp_string(strbuf_str(&out)), "range", lsp_range(text, span));
    strbuf_free(&out);
    return hover;
}
