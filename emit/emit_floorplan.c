/* floorplan.tcl and link.cfg of a design that is placed on dies (sys.place): where Vivado puts the
 * cells of each process and FIFO, and how Vitis links a card with the kernel. A FIFO stands on the
 * die of its writer. Names are those of the C++, which are identifiers, and die names plain words;
 * nothing else of a model gets here.
 * Tests: lit/emit/floorplan.mir, test/e2e/floorplan_check.py */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"

/* The cells of one die. */
typedef struct DieCells {
    int64_t die;
    StrBuf cells;
} DieCells;

typedef struct Floorplan {
    const Emitter *e;
    DieCells dies[SYS_MAX_DIES];
    uint32_t count;
} Floorplan;

static StrBuf *cells_of(Floorplan *plan, int64_t die)
{
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->dies[i].die == die) return &plan->dies[i].cells;
    plan->dies[plan->count] = (DieCells){.die = die};
    return &plan->dies[plan->count++].cells;
}

static const Op *callee_of(const Op *call)
{
    return symbol_lookup(call, op_attr(call, "callee"));
}

/* The number of calls of a process in front of one. */
static uint32_t calls_before(const Op *call)
{
    uint32_t count = 0;
    for (const Op *op = call->prev; op; op = op->prev)
        count += op->def == EMITHLS(CALL) && callee_of(op) == callee_of(call);
    return count;
}

/* The instance of a call, as Vitis HLS names it: f_U0, and f_1_U0 of the second call of f. */
static void add_process(Floorplan *plan, const Op *call)
{
    const Op *process = callee_of(call);
    SysPlace place;
    if (!sys_place(process, &place)) return;
    StrBuf *cells = cells_of(plan, place.die);
    uint32_t before = calls_before(call);
    strbuf_printf(cells, "    %s", cpp_global(plan->e, symbol_name(process)));
    if (before > 0) strbuf_printf(cells, "_%u", before);
    strbuf_add_c(cells, "_U0\n");
}

static void add_stream(Floorplan *plan, const Op *stream)
{
    const Op *writer = emit_writer_of(plan->e, op_result(stream, 0));
    SysPlace place;
    if (!writer || !sys_place(writer, &place)) return;
    strbuf_printf(cells_of(plan, place.die), "    %s_U\n",
                  (const char *)ptrmap_get(&plan->e->fifos, stream));
}

static void find_cells(Floorplan *plan)
{
    FOR_EACH_OP(op, region_entry(op_region(plan->e->top, 0))) {
        if (op->def == EMITHLS(CALL)) add_process(plan, op);
        if (op->def == EMITHLS(STREAM)) add_stream(plan, op);
    }
}

static void free_cells(Floorplan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) strbuf_free(&plan->dies[i].cells);
}

bool emit_is_placed(const Emitter *e)
{
    SysPlace place;
    if (op_attr(e->module, SYS_ATTR_CARDS)) return false; /* emit/kernels has it by card */
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0)))
        if (op->def == EMITHLS(CALL) && sys_place(callee_of(op), &place)) return true;
    return false;
}

void emit_add_die(const Attr *die, int64_t number, StrBuf *out)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const Attr *name = die ? attr_dict_get_c(die, SYS_DIE_NAME) : NULL;
    if (name && name->u.string.len > 0 && strspn(name->u.string.data, plain) == name->u.string.len)
        strbuf_add_str(out, name->u.string);
    else
        strbuf_printf(out, "SLR%lld", (long long)number);
}

static void add_die_name(const Emitter *e, StrBuf *out, int64_t die)
{
    const Attr *dies = op_attr(e->module, SYS_ATTR_DIES);
    bool is_known = dies && die < (int64_t)dies->u.array.count;
    emit_add_die(is_known ? dies->u.array.items[die] : NULL, die, out);
}

static const char procedures[] =
    "# Places the processes of TOP, and the FIFOs that they write, on the dies of the card. "
    "Vivado\n"
    "# sources it behind opt_design: link.cfg says so for v++, and without v++\n"
    "#     set_property STEPS.OPT_DESIGN.TCL.POST floorplan.tcl [get_runs impl_1]\n"
    "# does. Cells are named as Vitis HLS names them; MING_KERNEL in the environment is the name "
    "of\n"
    "# the kernel's cell where it is not TOP_1.\n"
    "\n"
    "proc ming_pblock {die} {\n"
    "    set name pblock_dynamic_$die\n"
    "    set found [get_pblocks -quiet $name]\n"
    "    if {[llength $found] == 0} {\n"
    "        set found [create_pblock $name]\n"
    "        resize_pblock $found -add $die\n"
    "    }\n"
    "    return $found\n"
    "}\n"
    "\n"
    "proc ming_place {kernel die names} {\n"
    "    set cells {}\n"
    "    foreach name $names {\n"
    "        set found [get_cells -quiet -hierarchical $name -filter \"NAME =~ *$kernel/*\"]\n"
    "        if {[llength $found] == 0} { error \"there is no cell $name in $kernel\" }\n"
    "        lappend cells {*}$found\n"
    "    }\n"
    "    add_cells_to_pblock [ming_pblock $die] $cells -clear_locs\n"
    "}\n"
    "\n"
    "set ming_kernel TOP_1\n"
    "if {[info exists ::env(MING_KERNEL)]} { set ming_kernel $::env(MING_KERNEL) }\n";

void emit_floorplan(Emitter *e, StrBuf *out)
{
    Floorplan plan = {.e = e};
    find_cells(&plan);
    emit_template(e, out, procedures);
    for (uint32_t i = 0; i < plan.count; i++) {
        strbuf_add_c(out, "\nming_place $ming_kernel ");
        add_die_name(e, out, plan.dies[i].die);
        strbuf_printf(out, " {\n%s}\n", plan.dies[i].cells.data ? plan.dies[i].cells.data : "");
    }
    free_cells(&plan);
}

const char emit_vivado_section[] =
    "\n[vivado]\n"
    "prop=run.impl_1.STEPS.OPT_DESIGN.ARGS.DIRECTIVE=ExploreWithRemap\n"
    "prop=run.impl_1.STEPS.PLACE_DESIGN.ARGS.DIRECTIVE=Explore\n"
    "prop=run.impl_1.STEPS.PHYS_OPT_DESIGN.IS_ENABLED=true\n"
    "prop=run.impl_1.STEPS.PHYS_OPT_DESIGN.ARGS.DIRECTIVE=Explore\n"
    "prop=run.impl_1.STEPS.ROUTE_DESIGN.ARGS.DIRECTIVE=Explore\n";

bool emit_only_die(const Emitter *e, StrBuf *out)
{
    Floorplan plan = {.e = e};
    find_cells(&plan);
    if (plan.count == 1) add_die_name(e, out, plan.dies[0].die);
    free_cells(&plan);
    return plan.count == 1;
}

/* The die of the process that serves a memory, or -1. */
static int64_t die_of_memory(const Value *memory)
{
    FOR_EACH_USE(use, memory) {
        SysPlace place;
        if (use->owner->def == EMITHLS(CALL) && sys_place(callee_of(use->owner), &place))
            return place.die;
    }
    return -1;
}

/* Which bank a memory port reads or writes: one of its process's die. */
static void add_bank(Emitter *e, StrBuf *out, const Op *interface)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_[:]";
    const Attr *dies = op_attr(e->module, SYS_ATTR_DIES), *bank = NULL;
    int64_t die = die_of_memory(op_operand(interface, 0));
    if (dies && die >= 0 && die < (int64_t)dies->u.array.count)
        bank = attr_dict_get_c(dies->u.array.items[die], SYS_DIE_BANK);
    if (!bank || strspn(bank->u.string.data, plain) != bank->u.string.len) return;
    emit_template(e, out, "sp=TOP_1.m_axi_gmem_");
    identifier_append(out, op_attr(interface, EMITHLS_ATTR_BUNDLE)->u.string);
    strbuf_printf(out, ":%.*s\n", STR_ARG(bank->u.string));
}

void emit_banks(Emitter *e, StrBuf *out)
{
    FOR_EACH_OP(op, region_entry(op_region(e->top, 0)))
        if (op->def == EMITHLS(INTERFACE) && op_attr(op, EMITHLS_ATTR_BUNDLE)) add_bank(e, out, op);
}

void emit_link(Emitter *e, StrBuf *out)
{
    Floorplan plan = {.e = e};
    find_cells(&plan);
    emit_template(
        e, out,
        "# v++ --link --config link.cfg TOP.xo, beside floorplan.tcl. A kernel that is on\n"
        "# several dies has no slr: floorplan.tcl places its processes.\n"
        "[connectivity]\n"
        "nk=TOP:1:TOP_1\n");
    if (plan.count == 1) {
        emit_template(e, out, "slr=TOP_1:");
        add_die_name(e, out, plan.dies[0].die);
        strbuf_add_char(out, '\n');
    }
    emit_banks(e, out);
    strbuf_add_c(out, emit_vivado_section);
    strbuf_add_c(out, "prop=run.impl_1.STEPS.OPT_DESIGN.TCL.POST=floorplan.tcl\n");
    free_cells(&plan);
}
