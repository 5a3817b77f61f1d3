/* Pragmas that are ops of emithls.
 * Tests: lit/emit/functions.mir */
#include "emit/emit_function.h"

#include "dialects/emithls/emithls.h"
#include "analysis/layer_name.h"

bool print_array_pragma(Function *f, Op *op)
{
    print_pragma(f, "%s variable=%s type=complete dim=%lld", op->def->name,
           name_of(f, op_operand(op, 0)), (long long)attr_int_value(op_attr(op, "dim")));
    return true;
}

bool print_bind_storage(Function *f, Op *op)
{
    Str type = op_attr(op, "type")->u.string, impl = op_attr(op, "impl")->u.string;
    if (str_eq_c(impl, "auto"))
        print_pragma(f, "bind_storage variable=%s type=%.*s", name_of(f, op_operand(op, 0)),
               STR_ARG(type));
    else
        print_pragma(f, "bind_storage variable=%s type=%.*s impl=%.*s", name_of(f, op_operand(op, 0)),
               STR_ARG(type), STR_ARG(impl));
    return true;
}

bool print_dependence(Function *f, Op *op)
{
    print_pragma(f, "dependence variable=%s type=inter direction=RAW distance=%lld dependent=true",
           name_of(f, op_operand(op, 0)), (long long)attr_int_value(op_attr(op, "distance")));
    return true;
}

bool print_interface(Function *f, Op *op)
{
    Str mode = op_attr(op, "mode")->u.string;
    const char *port = name_of(f, op_operand(op, 0));
    if (str_eq_c(mode, "axis")) {
        print_pragma(f, "interface mode=axis port=%s", port);
        return true;
    }
    StrBuf bundle = {0};
    append_identifier(&bundle, op_attr(op, "bundle")->u.string);
    print_pragma(f, "interface mode=m_axi port=%s bundle=gmem_%s offset=slave depth=%lld", port,
                 bundle.data, (long long)attr_int_value(op_attr(op, "depth")));
    print_pragma(f, "interface mode=s_axilite port=%s", port);
    strbuf_free(&bundle);
    return true;
}

/* With memories, all that follows is in a loop over frames: dataflow in a loop, whose iterations overlap
 * as the calls of a dataflow function do. */
bool print_dataflow(Function *f, Op *op)
{
    (void)op;
    if (!f->frames) {
        print_pragma(f, "interface mode=ap_ctrl_chain port=return");
        print_pragma(f, "dataflow");
        return true;
    }
    print_pragma(f, "interface mode=s_axilite port=%s", f->frames);
    print_pragma(f, "interface mode=s_axilite port=return");
    print_label(f, fresh_label(f, STR("each_frame")));
    print_line(f, "for (int %s = 0; %s < %s; ++%s) {", f->frame, f->frame, f->frames, f->frame);
    f->depth++;
    print_pragma(f, "dataflow");
    return true;
}
