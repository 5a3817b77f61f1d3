/* The text form of pipelines:
 *   pipeline = [ element ("," element)* ]
 *   element  = anchor "(" pipeline ")" | pass [ "{" options "}" ]
 * The structure is read first, then names are looked up, then options are read, because upstream
 * reports errors in this order. Errors point into the text.
 * Tests: test/unit/ir/pass/pass_test.c, lit/tools/pipeline.mir */
#include <string.h>

#include "ir/asm/print/print.h"
#include "ir/pass/internal.h"

#define BUFFER_NAME "MLIR Textual PassPipeline Parser"
#define NOT_WRAPPED                                                                                \
    "expected pass pipeline to be wrapped with the anchor operation type, e.g. "                   \
    "'builtin.module(...)'"
enum { MAX_NESTING = 100 };

typedef struct Element {
    Str name, options;
    bool is_nested;
    struct Element *inner, *next; /* of a nested pipeline: never without elements */
    const PassDef *def;           /* of a pass */
} Element;

typedef struct PipelineParser {
    Str text;
    size_t at;
    int depth;
    Arena arena; /* of the elements */
    StrBuf *error;
} PipelineParser;

static Str trim(Str text)
{
    while (text.len && is_space(text.data[0])) text = (Str){text.data + 1, text.len - 1};
    while (text.len && is_space(text.data[text.len - 1])) text.len--;
    return text;
}

/* The message with the line it is about and a caret, as diagnostics show them. */
static bool error_at(PipelineParser *p, size_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);

static bool error_at(PipelineParser *p, size_t at, const char *fmt, ...)
{
    size_t begin = at, end = at, line = 1;
    while (begin > 0 && p->text.data[begin - 1] != '\n') begin--;
    while (end < p->text.len && p->text.data[end] != '\n') end++;
    for (size_t i = 0; i < begin; i++) line += p->text.data[i] == '\n';
    strbuf_printf(p->error, BUFFER_NAME ":%zu:%zu: error: ", line, at - begin + 1);
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(p->error, fmt, args);
    va_end(args);
    strbuf_printf(p->error, "\n%.*s\n", (int)(end - begin), p->text.data + begin);
    for (size_t i = begin; i < at; i++)
        strbuf_add_char(p->error, p->text.data[i] == '\t' ? '\t' : ' ');
    strbuf_add_c(p->error, "^\n");
    return false;
}

static bool at_char(const PipelineParser *p, char c)
{
    return p->at < p->text.len && p->text.data[p->at] == c;
}

static void skip_space(PipelineParser *p)
{
    while (p->at < p->text.len && is_space(p->text.data[p->at])) p->at++;
}

/* Everything up to the next punctuation, without spaces around it. */
static Str parse_name(PipelineParser *p)
{
    size_t begin = p->at;
    while (p->at < p->text.len && !at_char(p, ',') && !at_char(p, '(') && !at_char(p, ')') &&
           !at_char(p, '{'))
        p->at++;
    return trim((Str){p->text.data + begin, p->at - begin});
}

/* The inside of "{…}", braces nesting. */
static bool parse_braces(PipelineParser *p, Str *inside)
{
    size_t begin = ++p->at;
    int depth = 1;
    for (; p->at < p->text.len; p->at++) {
        if (at_char(p, '{')) depth++;
        if (at_char(p, '}') && --depth == 0) break;
    }
    if (p->at == p->text.len)
        return error_at(p, begin - 1, "missing closing '}' while processing pass options");
    *inside = (Str){p->text.data + begin, p->at - begin};
    p->at++;
    skip_space(p);
    return true;
}

static bool parse_elements(PipelineParser *p, Element **list);

/* "(" pipeline */
static bool parse_inner(PipelineParser *p, Element *element)
{
    size_t begin = p->at++;
    if (++p->depth > MAX_NESTING)
        return error_at(p, begin, "pipeline nested more than %d deep", MAX_NESTING);
    element->is_nested = true;
    return parse_elements(p, &element->inner);
}

/* ")"?, which ends the pipeline. False: diagnosed. */
static bool parse_close(PipelineParser *p, bool *closed)
{
    *closed = at_char(p, ')');
    if (!*closed) return true;
    if (p->depth == 0)
        return error_at(p, p->at,
                        "encountered extra closing ')' creating unbalanced parentheses "
                        "while parsing pipeline");
    p->at++;
    p->depth--;
    skip_space(p);
    return true;
}

/* A pipeline with the parenthesis that closes it. */
static bool parse_elements(PipelineParser *p, Element **list)
{
    while (true) {
        Element *element = ARENA_NEW(&p->arena, Element);
        *list = element;
        list = &element->next;
        element->name = parse_name(p);
        bool closed, ok = true;
        if (at_char(p, '{'))
            ok = parse_braces(p, &element->options);
        else if (at_char(p, '('))
            ok = parse_inner(p, element);
        if (!ok || !parse_close(p, &closed)) return false;
        if (closed) return true;
        if (p->at == p->text.len)
            return p->depth == 0 ||
                   error_at(p, p->at, "encountered unbalanced parentheses while parsing pipeline");
        if (!at_char(p, ',')) return error_at(p, p->at, "expected ',' after parsing pipeline");
        p->at++;
    }
}

static bool unknown_pass(PipelineParser *p, const PassTable *table, Str name)
{
    Suggestion near = {.wanted = name};
    StrBuf hint = {0};
    for (size_t i = 0; table && i < table->count; i++)
        suggestion_try(&near, str_from(table->passes[i]->name));
    suggestion_print(&near, &hint);
    error_at(p, (size_t)(name.data - p->text.data),
             "'%.*s' does not refer to a registered pass or pass pipeline%.*s", STR_ARG(name),
             STR_ARG(strbuf_str(&hint)));
    strbuf_free(&hint);
    return false;
}

static bool resolve(PipelineParser *p, const PassTable *table, Element *list)
{
    for (Element *element = list; element; element = element->next) {
        if (element->is_nested) {
            if (!resolve(p, table, element->inner)) return false;
            continue;
        }
        element->def = table ? pass_find(table, element->name) : NULL;
        if (!element->def) return unknown_pass(p, table, element->name);
    }
    return true;
}

static bool add_pass(PipelineParser *p, Pipeline *pipeline, const Element *element)
{
    const PassDef *def = element->def;
    bool suits = pipeline_suits(pipeline, def);
    if (!suits && def->any_function) {
        strbuf_printf(p->error,
                      "unable to schedule pass '%s' on a PassManager intended to run on '%s'!",
                      def->title, pipeline->anchor);
        return false;
    }
    if (!suits) {
        strbuf_printf(p->error,
                      "Can't add pass '%s' restricted to '%s' on a PassManager intended to run on "
                      "'%s', did you intend to nest?",
                      def->name, def->anchor, pipeline->anchor);
        return false;
    }
    Pass *pass = pass_create(pipeline, def);
    pipeline_take_pass(pipeline, pass);
    if (pass_parse_options(pass, pipeline->arena, element->options, p->error)) return true;
    strbuf_printf(p->error, "\nfailed to add `%.*s` with options `%.*s`\n", STR_ARG(element->name),
                  STR_ARG(element->options));
    return false;
}

static bool add_elements(PipelineParser *p, Pipeline *pipeline, const Element *list)
{
    for (const Element *element = list; element; element = element->next) {
        if (!element->is_nested) {
            if (!add_pass(p, pipeline, element)) return false;
            continue;
        }
        if (add_elements(p, pipeline_nest(pipeline, element->name), element->inner)) continue;
        strbuf_printf(p->error, "failed to add `%.*s` with options `` to inner pipeline\n",
                      STR_ARG(element->name));
        return false;
    }
    return true;
}

/* Names become C strings. */
static bool check_characters(Str text, StrBuf *error)
{
    if (!text.len || !memchr(text.data, '\0', text.len)) return true;
    strbuf_add_c(error, "null character in pass pipeline");
    return false;
}

/* Appends the passes of a text. False: `error` says why, as upstream words it. */
static bool pipeline_parse_into(Pipeline *pipeline, Str text, StrBuf *error)
{
    if (text.len == 0) return true;
    if (!check_characters(text, error)) return false;
    PipelineParser p = {.text = text, .error = error};
    Element *list = NULL;
    arena_init(&p.arena);
    bool ok = parse_elements(&p, &list) && resolve(&p, pipeline->table, list) &&
              add_elements(&p, pipeline, list);
    arena_free(&p.arena);
    return ok;
}

Pipeline *pipeline_parse_whole(Context *ctx, const PassTable *table, Str text, StrBuf *error)
{
    if (!check_characters(text, error)) return NULL;
    text = trim(text);
    size_t open = 0;
    while (open < text.len && text.data[open] != '(') open++;
    if (open == 0 || open == text.len || text.data[text.len - 1] != ')') {
        strbuf_add_c(error, NOT_WRAPPED);
        return NULL;
    }
    Str anchor = trim((Str){text.data, open});
    Pipeline *pipeline = pipeline_create(ctx, table, ident_get(ctx, anchor)->str.data);
    Str inside = {text.data + open + 1, text.len - open - 2};
    if (pipeline_parse_into(pipeline, inside, error)) return pipeline;
    pipeline_free(pipeline);
    return NULL;
}

static bool report(Context *ctx, bool ok, StrBuf *error)
{
    if (!ok) diag_error(ctx, loc_unknown(ctx), "%s", error->data);
    diag_flush(ctx);
    strbuf_free(error);
    return ok;
}

bool pipeline_parse(Pipeline *pipeline, Str text)
{
    StrBuf error = {0};
    bool ok = pipeline_parse_into(pipeline, text, &error);
    return report(pipeline->ctx, ok, &error);
}

Pipeline *pipeline_from_text(Context *ctx, const PassTable *table, Str text)
{
    StrBuf error = {0};
    Pipeline *pipeline = pipeline_parse_whole(ctx, table, text, &error);
    return report(ctx, pipeline != NULL, &error) ? pipeline : NULL;
}
