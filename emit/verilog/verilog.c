/* The files of a design: a module each, and the contents of memories.
 * Tests: lit/emit/verilog */
#include "emit/verilog/internal.h"

typedef struct Printer {
    VerilogNames names; /* of modules */
    PtrMap symbols;     /* symbol Ident* -> name */
    PtrMap contents;    /* Ident* of a file -> Attr* */
    const VerilogFiles *files;
} Printer;

/* Modules that are defined elsewhere keep their names; several symbols may have one. */
static bool name_module(Printer *p, Op *op)
{
    if (!hw_is_module(op)) return op_error(op, "has no Verilog form: only modules of hw have one");
    Str name = hw_verilog_name(op);
    const char *given = NULL;
    if (op->def == HW(MODULE_EXTERN)) {
        const Ident *ident = ident_get(op->ctx, name);
        verilog_take_name(&p->names, ident);
        given = ident->str.data;
    } else {
        given = verilog_fresh_name(&p->names, name);
    }
    ptrmap_put(&p->symbols, symbol_name(op), (void *)(uintptr_t)given);
    return true;
}

static bool name_modules(Printer *p, Block *body)
{
    FOR_EACH_OP(op, body)
        if (op->def == HW(MODULE_EXTERN) && !name_module(p, op)) return false;
    FOR_EACH_OP(op, body)
        if (op->def != HW(MODULE_EXTERN) && !name_module(p, op)) return false;
    return true;
}

static bool print_contents(Printer *p, Op *firmem)
{
    const Attr *contents = op_attr(firmem, SEQ_ATTR_CONTENTS);
    if (!contents) return true;
    const Ident *file = ident_get(firmem->ctx, verilog_init_file(firmem));
    const Attr *earlier = ptrmap_get(&p->contents, file);
    if (earlier)
        return earlier == contents ||
               op_error(firmem, "shares the file '%s' with other contents", file->str.data);
    ptrmap_put(&p->contents, file, (void *)(uintptr_t)contents);
    return verilog_print_contents(p->files, file->str.data, firmem);
}

static bool print_module(Printer *p, Op *op)
{
    StrBuf name = {0};
    strbuf_printf(&name, "%s.v", (const char *)ptrmap_get(&p->symbols, symbol_name(op)));
    bool ok = verilog_print_module(op, &p->symbols, p->files, name.data);
    strbuf_free(&name);
    if (!ok) return false;
    FOR_EACH_OP(inner, region_entry(op_region(op, 0)))
        if (inner->def == SEQ(FIRMEM) && !print_contents(p, inner)) return false;
    return true;
}

bool verilog_print(Op *module, const VerilogFiles *files)
{
    Block *body = region_entry(op_region(module, 0));
    Printer p = {.names.ctx = module->ctx, .files = files};
    bool ok = name_modules(&p, body);
    for (Op *op = body->first; ok && op; op = op->next)
        ok = op->def == HW(MODULE_EXTERN) || print_module(&p, op);
    ptrmap_free(&p.names.taken);
    ptrmap_free(&p.symbols);
    ptrmap_free(&p.contents);
    return ok;
}
