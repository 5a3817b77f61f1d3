/* The files of a design: a module each, and the contents of memories.
 * Tests: lit/emit/verilog */
#include "emit/verilog/internal.h"

typedef struct Printer {
    VerilogNames names; /* of modules */
    PtrMap symbols;     /* symbol Ident* -> VerilogInterface* */
    Arena arena;        /* of these */
    PtrMap contents;    /* Ident* of a file -> Attr* */
    const VerilogFiles *files;
} Printer;

/* What is defined elsewhere keeps its name. */
static bool is_identifier(Op *op, const char *what, Str name)
{
    VerilogNames none = {.ctx = op->ctx};
    bool ok = str_eq(str_from(verilog_fresh_name(&none, name)), name);
    ptrmap_free(&none.taken);
    return ok ||
           op_error(op, "has no Verilog form: %s '%.*s' is no identifier", what, STR_ARG(name));
}

static bool name_ports(Printer *p, Op *op, VerilogInterface *out)
{
    VerilogNames names = {.ctx = op->ctx};
    uint32_t count = hw_port_count(op), inputs = 0, outputs = 0;
    bool ok = true;
    out->inputs = ARENA_ARRAY(&p->arena, const char *, count);
    out->outputs = ARENA_ARRAY(&p->arena, const char *, count);
    for (uint32_t i = 0; ok && i < count; i++) {
        HwPort port = hw_port(op, i);
        const char **name = port.is_output ? &out->outputs[outputs++] : &out->inputs[inputs++];
        *name = verilog_fresh_name(&names, port.name);
        ok = op->def != HW(MODULE_EXTERN) || is_identifier(op, "port", port.name);
    }
    ptrmap_free(&names.taken);
    return ok;
}

/* Several symbols may have the name of a module that is defined elsewhere. */
static bool name_module(Printer *p, Op *op)
{
    if (!hw_is_module(op)) return op_error(op, "has no Verilog form: only modules of hw have one");
    Str name = hw_verilog_name(op);
    VerilogInterface *made = ARENA_NEW(&p->arena, VerilogInterface);
    if (op->def == HW(MODULE_EXTERN)) {
        const Ident *ident = ident_get(op->ctx, name);
        if (!is_identifier(op, "module", name)) return false;
        verilog_take_name(&p->names, ident);
        made->module = ident->str.data;
    } else {
        do made->module = verilog_fresh_name(&p->names, name);
        while (p->files->is_taken(p->files->user, str_from(made->module)));
    }
    ptrmap_put(&p->symbols, symbol_name(op), made);
    return name_ports(p, op, made);
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
    const VerilogInterface *interface = ptrmap_get(&p->symbols, symbol_name(op));
    strbuf_printf(&name, "%s.v", interface->module);
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
    arena_init(&p.arena);
    bool ok = name_modules(&p, body);
    for (Op *op = body->first; ok && op; op = op->next)
        ok = op->def == HW(MODULE_EXTERN) || print_module(&p, op);
    ptrmap_free(&p.names.taken);
    ptrmap_free(&p.symbols);
    ptrmap_free(&p.contents);
    arena_free(&p.arena);
    return ok;
}
