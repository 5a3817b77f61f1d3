/* Printing of a whole op: first its aliases, then the op, then the aliases that may be defined
 * behind their use, and resources.
 * Tests: lit/ir/asm/print/aliases.mir, lit/ir/asm/parse/locations.mir */
#include "ir/asm/print/internal.h"
#include "ir/asm/print/print.h"

static const char *alias_of_attr(void *user, const Attr *attr)
{
    OpPrinter *p = user;
    if (attr->kind == ATTR_DENSE_RESOURCE) {
        const Ident *dialect = ident_get_c(attr->ctx, "builtin");
        const ResourceBlob *blob = context_resource(attr->ctx, dialect, attr->u.resource.key);
        if (blob) ptrmap_put(&p->resources, blob, (void *)(uintptr_t)blob);
    }
    return p->aliases ? asm_aliases_of(p->aliases, attr) : NULL;
}

static const char *alias_of_type(void *user, const Type *type)
{
    const OpPrinter *p = user;
    return p->aliases ? asm_aliases_of(p->aliases, type) : NULL;
}

/* Distinct attributes are numbered as they appear. */
static uint64_t distinct_id(void *user, const Attr *attr)
{
    OpPrinter *p = user;
    uintptr_t known = (uintptr_t)ptrmap_get(&p->distinct, attr);
    if (known) return known - 1;
    ptrmap_put(&p->distinct, attr, (void *)(p->distinct.live + 1));
    return p->distinct.live - 1;
}

static void find_aliases(OpPrinter *p, const Op *op)
{
    StrBuf dropped = {0};
    StrBuf *out = p->out;
    p->aliases = asm_aliases_create();
    p->dry = true;
    p->out = p->w.out = &dropped;
    printer_op(p, op);
    p->out = p->w.out = out;
    p->dry = false;
    asm_aliases_assign(p->aliases);
    strbuf_free(&dropped);
}

static void print_aliases(OpPrinter *p, bool deferrable)
{
    for (size_t i = 0; i < asm_aliases_count(p->aliases); i++) {
        const AsmAlias *alias = asm_aliases_at(p->aliases, i);
        if (alias->deferrable != deferrable) continue;
        strbuf_add_c(p->out, alias->text);
        strbuf_add_c(p->out, " = ");
        if (alias->type)
            write_type_unaliased(&p->w, alias->type);
        else
            write_attr_unaliased(&p->w, alias->attr);
        strbuf_add_char(p->out, '\n');
        asm_writer_pass_on(&p->w);
    }
}

/* Names are given from the outermost op, so that a nested one prints as in its surroundings;
 * in local scope from the nearest that its regions cannot look out of. */
static const Op *numbering_root(const Op *op, const PrintOptions *options)
{
    for (const Op *parent; (parent = op_parent(op)); op = parent)
        if (options->local_scope && op_has_trait(op, TRAIT_ISOLATED)) break;
    return op;
}

static void print_whole(OpPrinter *p, Op *op)
{
    find_aliases(p, op);
    print_aliases(p, false);
    printer_op(p, op);
    strbuf_add_char(p->out, '\n');
    print_aliases(p, true);
    printer_resources(p, op->ctx);
}

/* False: the sink, if there is one, failed. */
static bool print(const TextSink *sink, StrBuf *out, Op *op, const PrintOptions *options)
{
    OpPrinter p = {
        .out = out,
        .options = options,
        .names = asm_names_create(numbering_root(op, options), options),
        .default_dialect = dialect_lookup(op->ctx, STR("builtin")),
        .w =
            {
                .out = out,
                .sink = sink,
                .alias_of_attr = alias_of_attr,
                .alias_of_type = alias_of_type,
                .distinct_id = distinct_id,
                .elide_elements_above = options->elide_elements_above,
                .elide_resources_above = options->elide_resources_above,
                .pretty_locs = options->pretty_debug_info,
            },
    };
    p.w.user = &p;
    if (op_parent(op) || options->local_scope)
        printer_op(&p, op);
    else
        print_whole(&p, op);
    asm_writer_flush(&p.w);
    asm_aliases_free(p.aliases);
    asm_names_free(p.names);
    ptrmap_free(&p.distinct);
    ptrmap_free(&p.resources);
    return !p.w.sink_failed;
}

void op_print(StrBuf *out, Op *op, const PrintOptions *options)
{
    (void)print(NULL, out, op, options);
}

bool op_print_to(const TextSink *sink, Op *op, const PrintOptions *options)
{
    StrBuf piece = {0};
    bool ok = print(sink, &piece, op, options);
    strbuf_free(&piece);
    return ok;
}
