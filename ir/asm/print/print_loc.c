/* Spelling of locations (file, name, fused, call site) and of their pretty form for
 * --mlir-pretty-debuginfo.
 * Tests: test/unit/ir/attr/attr_test.c, lit/ir/asm/parse/locations.mir */
#include "ir/asm/print/internal.h"

static void write_nested(AsmWriter *w, const Attr *loc, bool pretty)
{
    write_loc_body(w, loc, pretty, false);
}

static void write_file_loc(AsmWriter *w, const Attr *loc, bool pretty)
{
    if (pretty)
        strbuf_add_str(w->out, loc->u.loc_file.file->str);
    else
        write_string_escaped(w->out, loc->u.loc_file.file->str);
    strbuf_add_char(w->out, ':');
    strbuf_add_uint(w->out, loc->u.loc_file.line);
    strbuf_add_char(w->out, ':');
    strbuf_add_uint(w->out, loc->u.loc_file.col);
}

static void write_name_loc(AsmWriter *w, const Attr *loc, bool pretty)
{
    write_string_escaped(w->out, loc->u.loc_name.name->str);
    if (loc->u.loc_name.child->kind == ATTR_LOC_UNKNOWN) return;
    strbuf_add_char(w->out, '(');
    write_nested(w, loc->u.loc_name.child, pretty);
    strbuf_add_char(w->out, ')');
}

static void write_callsite(AsmWriter *w, const Attr *loc, bool pretty)
{
    const Attr *callee = loc->u.loc_callsite.callee, *caller = loc->u.loc_callsite.caller;
    bool one_line = callee->kind == ATTR_LOC_NAME && caller->kind == ATTR_LOC_FILE;
    if (!pretty) strbuf_add_c(w->out, "callsite(");
    write_nested(w, callee, pretty);
    if (pretty && !one_line) strbuf_add_char(w->out, '\n');
    strbuf_add_c(w->out, " at ");
    write_nested(w, caller, pretty);
    if (!pretty) strbuf_add_char(w->out, ')');
}

static void write_fused(AsmWriter *w, const Attr *loc, bool pretty)
{
    if (!pretty) strbuf_add_c(w->out, "fused");
    if (loc->u.loc_fused.metadata) {
        strbuf_add_char(w->out, '<');
        write_attr(w, loc->u.loc_fused.metadata);
        strbuf_add_char(w->out, '>');
    }
    strbuf_add_char(w->out, '[');
    for (uint32_t i = 0; i < loc->u.loc_fused.count; i++) {
        if (i) strbuf_add_c(w->out, ", ");
        write_nested(w, loc->u.loc_fused.locs[i], pretty);
    }
    strbuf_add_char(w->out, ']');
}

void write_loc_body(AsmWriter *w, const Attr *loc, bool pretty, bool is_top)
{
    const char *alias = !is_top && w->alias_of_attr ? w->alias_of_attr(w->user, loc) : NULL;
    if (alias) {
        strbuf_add_c(w->out, alias);
        return;
    }
    switch (loc->kind) {
    case ATTR_LOC_FILE: write_file_loc(w, loc, pretty); return;
    case ATTR_LOC_NAME: write_name_loc(w, loc, pretty); return;
    case ATTR_LOC_FUSED: write_fused(w, loc, pretty); return;
    case ATTR_LOC_CALLSITE: write_callsite(w, loc, pretty); return;
    default: strbuf_add_c(w->out, pretty ? "[unknown]" : "unknown"); return;
    }
}

void write_loc(AsmWriter *w, const Attr *loc, bool pretty)
{
    if (pretty) {
        write_loc_body(w, loc, true, true);
        return;
    }
    strbuf_add_c(w->out, "loc(");
    write_loc_body(w, loc, false, false);
    strbuf_add_char(w->out, ')');
}

void loc_print(StrBuf *out, const Attr *loc, bool pretty)
{
    AsmWriter w = asm_writer(out);
    write_loc(&w, loc, pretty);
}
