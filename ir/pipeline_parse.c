/* The text form of pipelines:
 *   pipeline = [ element ("," element)* ]
 *   element  = anchor "(" pipeline ")" | pass [ "{" options "}" ]
 * Errors point into the text.
 * Tests: test/unit/pass_test.c, lit/tools/pipeline.mir */
#include "ir/diag.h"
#include "ir/pass_impl.h"

#define BUFFER_NAME "MLIR Textual PassPipeline Parser"
enum { MAX_NESTING = 100 };

typedef struct PipelineParser {
    Context *ctx;
    const PassTable *table;
    Str text;
    size_t at;
    int depth;
} PipelineParser;

static const Attr *loc_at(const PipelineParser *p, size_t at)
{
    return loc_file(p->ctx, ident_get_c(p->ctx, BUFFER_NAME), 1, (uint32_t)at + 1);
}

static bool at_char(const PipelineParser *p, char c)
{
    return p->at < p->text.len && p->text.data[p->at] == c;
}

/* Everything up to the next punctuation, without spaces around it. */
static Str parse_name(PipelineParser *p, size_t *begin)
{
    while (p->at < p->text.len && is_space(p->text.data[p->at])) p->at++;
    *begin = p->at;
    while (p->at < p->text.len && !at_char(p, ',') && !at_char(p, '(') && !at_char(p, ')') &&
           !at_char(p, '{'))
        p->at++;
    Str name = {p->text.data + *begin, p->at - *begin};
    while (name.len && is_space(name.data[name.len - 1])) name.len--;
    return name;
}

/* The inside of "{…}", braces nesting. */
static bool parse_braces(PipelineParser *p, size_t pass_begin, Str *inside)
{
    size_t begin = ++p->at;
    int depth = 1;
    for (; p->at < p->text.len; p->at++) {
        if (at_char(p, '{')) depth++;
        if (at_char(p, '}') && --depth == 0) break;
    }
    if (p->at == p->text.len)
        return emit_error(p->ctx, loc_at(p, pass_begin),
                          "missing closing '}' while processing pass options");
    *inside = (Str){p->text.data + begin, p->at - begin};
    p->at++;
    while (p->at < p->text.len && is_space(p->text.data[p->at])) p->at++;
    if (p->at == p->text.len || at_char(p, ',') || at_char(p, ')')) return true;
    return emit_error(p->ctx, loc_at(p, p->at), "expected ',' after parsing pipeline");
}

/* pass [ "{" options "}" ] */
static bool parse_pass(PipelineParser *p, Pipeline *pipeline, Str name, size_t begin)
{
    const Attr *loc = loc_at(p, begin);
    const PassDef *def = pass_find(p->table, name);
    if (!def)
        return emit_error(p->ctx, loc,
                          "'%.*s' does not refer to a registered pass or pass pipeline",
                          STR_ARG(name));
    Str options = {0};
    if (at_char(p, '{') && !parse_braces(p, begin, &options)) return false;
    if (def->anchor && pipeline->anchor && !str_eq_c(str_from(def->anchor), pipeline->anchor))
        return emit_error(p->ctx, loc,
                          "Can't add pass '%s' restricted to '%s' on a PassManager intended to run "
                          "on '%s', did you intend to nest?",
                          def->name, def->anchor, pipeline->anchor);
    Pass *pass = pipeline_add_pass(pipeline, def);
    if (pass_parse_options(pass, pipeline->arena, options, loc)) return true;
    return emit_note(p->ctx, loc, "failed to add `%s` with options `%.*s`", def->name,
                     STR_ARG(options));
}

static bool parse_elements(PipelineParser *p, Pipeline *pipeline);

/* "(" pipeline ")" */
static bool parse_nested(PipelineParser *p, Pipeline *pipeline, size_t begin)
{
    if (++p->depth > MAX_NESTING)
        return emit_error(p->ctx, loc_at(p, begin), "pipeline nested more than %d deep",
                          MAX_NESTING);
    p->at++;
    if (!at_char(p, ')') && !parse_elements(p, pipeline)) return false;
    if (!at_char(p, ')'))
        return emit_error(p->ctx, loc_at(p, begin),
                          "expected pass pipeline to be wrapped with the anchor operation type, "
                          "e.g. 'builtin.module(...)'");
    p->at++;
    p->depth--;
    while (p->at < p->text.len && is_space(p->text.data[p->at])) p->at++;
    return true;
}

static bool parse_elements(PipelineParser *p, Pipeline *pipeline)
{
    while (true) {
        size_t begin;
        Str name = parse_name(p, &begin);
        bool ok = at_char(p, '(') ? parse_nested(p, pipeline_nest(pipeline, name), begin)
                                  : parse_pass(p, pipeline, name, begin);
        if (!ok) return false;
        if (p->at == p->text.len || at_char(p, ')')) return true;
        if (!at_char(p, ','))
            return emit_error(p->ctx, loc_at(p, p->at), "expected ',' after parsing pipeline");
        p->at++;
    }
}

static bool parse_to_end(PipelineParser *p, Pipeline *pipeline)
{
    if (p->text.len == 0) return true;
    if (!parse_elements(p, pipeline)) return false;
    if (p->at == p->text.len) return true;
    return emit_error(p->ctx, loc_at(p, p->at),
                      "encountered extra closing ')' creating unbalanced parentheses while parsing "
                      "pipeline");
}

/* Registers the text so that diagnostics can show it. */
static bool with_source(PipelineParser *p, Pipeline *pipeline,
                        bool (*parse)(PipelineParser *, Pipeline *))
{
    context_add_source(p->ctx, STR(BUFFER_NAME), p->text);
    bool ok = parse(p, pipeline);
    diag_flush(p->ctx);
    context_remove_source(p->ctx, STR(BUFFER_NAME));
    return ok;
}

/* Whether the text is "name(…)" with nothing after the closing parenthesis. */
static bool is_wrapped(Str text, Str *name)
{
    size_t open = 0, depth = 0;
    while (open < text.len && text.data[open] != '(') open++;
    *name = (Str){text.data, open};
    for (size_t i = open; i < text.len; i++) {
        depth += text.data[i] == '(';
        if (text.data[i] == ')' && --depth == 0) return i + 1 == text.len;
    }
    return false;
}

static Str trim(Str text)
{
    while (text.len && is_space(text.data[0])) text = (Str){text.data + 1, text.len - 1};
    while (text.len && is_space(text.data[text.len - 1])) text.len--;
    return text;
}

static bool parse_wrapped(PipelineParser *p, Pipeline *pipeline)
{
    size_t begin;
    (void)parse_name(p, &begin);
    return parse_nested(p, pipeline, begin);
}

bool pipeline_parse(Pipeline *pipeline, const PassTable *table, Str text)
{
    PipelineParser p = {.ctx = pipeline->ctx, .table = table, .text = trim(text)};
    Str anchor;
    bool wrapped = is_wrapped(p.text, &anchor);
    bool same = wrapped && (pipeline->anchor ? str_eq_c(anchor, pipeline->anchor)
                                             : str_eq_c(anchor, "any"));
    return with_source(&p, pipeline, same ? parse_wrapped : parse_to_end);
}

Pipeline *pipeline_from_text(Context *ctx, const PassTable *table, Str text)
{
    PipelineParser p = {.ctx = ctx, .table = table, .text = trim(text)};
    Str anchor;
    if (!is_wrapped(p.text, &anchor) || anchor.len == 0) {
        (void)emit_error(ctx, loc_unknown(ctx),
                         "expected pass pipeline to be wrapped with the anchor operation type, "
                         "e.g. 'builtin.module(...)'");
        diag_flush(ctx);
        return NULL;
    }
    Pipeline *pipeline = pipeline_create(ctx, ident_get(ctx, anchor)->str.data);
    if (with_source(&p, pipeline, parse_wrapped)) return pipeline;
    pipeline_free(pipeline);
    return NULL;
}
