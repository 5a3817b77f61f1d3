/* Reference pages of dialects and passes.
 * Tests: lit/tools/dialect-docs.mir */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "ir/support/support.h"
#include "tools/internal.h"

/* Text inside a table cell: '|' would end it. */
static void add_cell(StrBuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|') strbuf_add_char(out, '\\');
        strbuf_add_char(out, *text);
    }
}

static void print_args(StrBuf *out, const char *title, const ArgDef *args)
{
    static const char *const arities[] = {
        [ARITY_ONE] = "", [ARITY_OPTIONAL] = "optional ", [ARITY_VARIADIC] = "variadic of "};
    if (!args || !args->name) return;
    strbuf_printf(out, "\n| %s | Description |\n| :-- | :-- |\n", title);
    for (; args->name; args++) {
        strbuf_printf(out, "| `%s` | %s", args->name, arities[args->arity]);
        add_cell(out, args->type->what);
        strbuf_add_c(out, " |\n");
    }
}

static void print_attrs(StrBuf *out, const AttrArgDef *attrs)
{
    if (!attrs || !attrs->name) return;
    strbuf_add_c(out, "\n| Attribute | Description |\n| :-- | :-- |\n");
    for (; attrs->name; attrs++) {
        strbuf_printf(out, "| `%s` | %s", attrs->name, attrs->optional ? "optional " : "");
        add_cell(out, attrs->attr->what);
        if (attrs->default_text) {
            strbuf_add_c(out, "; default `");
            add_cell(out, attrs->default_text);
            strbuf_add_char(out, '`');
        }
        strbuf_add_c(out, " |\n");
    }
}

static void print_traits(StrBuf *out, uint32_t traits)
{
    static const struct {
        uint32_t bit;
        const char *name;
    } names[] = {
        {TRAIT_PURE, "pure"},
        {TRAIT_COMMUTATIVE, "commutative"},
        {TRAIT_IDEMPOTENT, "idempotent"},
        {TRAIT_INVOLUTION, "involution"},
        {TRAIT_CONSTANT_LIKE, "constant-like"},
        {TRAIT_ELEMENTWISE, "elementwise"},
        {TRAIT_TERMINATOR, "terminator"},
        {TRAIT_ISOLATED, "isolated from above"},
        {TRAIT_SYMBOL, "symbol"},
        {TRAIT_SYMBOL_TABLE, "symbol table"},
        {TRAIT_SINGLE_BLOCK, "single block"},
        {TRAIT_READS, "reads"},
        {TRAIT_WRITES, "writes"},
        {TRAIT_ALLOCATES, "allocates"},
        {TRAIT_SAME_OPERANDS_AND_RESULT_TYPE, "same operand and result types"},
        {TRAIT_SAME_TYPE_OPERANDS, "same operand types"},
        {TRAIT_SAME_OPERANDS_AND_RESULT_SHAPE, "same operand and result shapes"},
    };
    bool any = false;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!(traits & names[i].bit)) continue;
        strbuf_printf(out, "%s%s", any ? ", " : "\nTraits: ", names[i].name);
        any = true;
    }
    if (any) strbuf_add_c(out, ".\n");
}

static void print_op(StrBuf *out, const DialectDef *dialect, const OpDef *def)
{
    strbuf_printf(out, "\n## `%s.%s`\n", dialect->name, def->name);
    if (def->summary) strbuf_printf(out, "\n%s\n", def->summary);
    if (def->description) strbuf_printf(out, "\n%s\n", def->description);
    if (def->format) {
        strbuf_printf(out, "\nSyntax:\n\n```\noperation ::= `%s.%s` %s\n```\n", dialect->name,
                      def->name, def->format);
    }
    print_traits(out, def->traits);
    if (def->parent) strbuf_printf(out, "\nParent: `%s`.\n", def->parent);
    print_args(out, "Operand", def->operands);
    print_attrs(out, def->attrs);
    print_args(out, "Result", def->results);
}

/* The page of one dialect. */
static void dialect_docs_print(StrBuf *out, const DialectDef *dialect)
{
    strbuf_printf(out, "# Dialect `%s`\n", dialect->name);
    if (dialect->summary) strbuf_printf(out, "\n%s\n", dialect->summary);
    if (dialect->description) strbuf_printf(out, "\n%s\n", dialect->description);
    for (size_t i = 0; i < dialect->op_count; i++) print_op(out, dialect, &dialect->ops[i]);
    for (const TypeDef *const *type = dialect->types; type && *type; type++)
        strbuf_printf(out, "\n## Type `!%s.%s`\n\n%s\n", dialect->name, (*type)->name,
                      (*type)->summary ? (*type)->summary : "");
    for (const AttrDef *const *attr = dialect->attrs; attr && *attr; attr++)
        strbuf_printf(out, "\n## Attribute `#%s.%s`\n\n%s\n", dialect->name, (*attr)->name,
                      (*attr)->summary ? (*attr)->summary : "");
}

static void print_options(StrBuf *out, const OptionDef *options)
{
    if (!options || !options->name) return;
    strbuf_add_c(out, "\n| Option | Default | Description |\n| :-- | :-- | :-- |\n");
    for (; options->name; options++) {
        strbuf_printf(out, "| `%s` | ", options->name);
        if (options->fallback) strbuf_printf(out, "`%s`", options->fallback);
        strbuf_add_c(out, " | ");
        add_cell(out, options->help ? options->help : "");
        strbuf_add_c(out, " |\n");
    }
}

/* The page of all passes. */
static void dialect_docs_print_passes(StrBuf *out, const PassTable *table)
{
    strbuf_add_c(out, "# Passes\n");
    for (size_t i = 0; i < table->count; i++) {
        const PassDef *pass = table->passes[i];
        strbuf_printf(out, "\n## `%s`\n\n%s.\n", pass->name, pass->summary);
        if (pass->description) strbuf_printf(out, "\n%s\n", pass->description);
        strbuf_printf(out, "\nRuns on %s%s%s.\n", pass->anchor ? "`" : "any op",
                      pass->anchor ? pass->anchor : "", pass->anchor ? "`" : "");
        print_options(out, pass->options);
    }
}

/* Writes one page of the folder. */
static bool write_page(const char *dir, const char *name, const StrBuf *page, StrBuf *path,
                       const char **reason)
{
    strbuf_clear(path);
    strbuf_printf(path, "%s/%s.md", dir, name);
    return file_write(path->data, strbuf_str(page), reason);
}

bool dialect_docs_write(Context *ctx, const PassTable *passes, const char *dir, StrBuf *path,
                        const char **reason)
{
    strbuf_clear(path);
    strbuf_add_c(path, dir);
    if (mkdir(dir, 0777) != 0 && errno != EEXIST) {
        *reason = strerror(errno);
        return false;
    }
    bool ok = true;
    for (size_t i = 0; ok && i < dialect_count(ctx); i++) {
        const DialectDef *dialect = dialect_at(ctx, i);
        StrBuf page = {0};
        dialect_docs_print(&page, dialect);
        ok = write_page(dir, dialect->name, &page, path, reason);
        strbuf_free(&page);
    }
    StrBuf page = {0};
    dialect_docs_print_passes(&page, passes);
    ok = ok && write_page(dir, "passes", &page, path, reason);
    strbuf_free(&page);
    return ok;
}
