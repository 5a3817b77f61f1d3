/* <top>_emulate.cpp, for designs on several cards: which process, port and link is on which card, and
 * the top function as the host of a process of the operating system for each of them, or of what an
 * instance has of one
 * (csim/ming_emulate.h).
 * Tests: lit/driver/cards.test, test/e2e/emulate_check.py */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"
#include "ir/asm/print/print.h"
#include "passes/dfg/passes.h"
#include "sim/design/design.h"

/* What the file calls things: names that the design does not have. */
typedef struct Names {
    const char *inner;                /* the top function, as cards run it */
    const char *system, *frame;       /* the table and a card's frame */
    const char *card, *host, *frames; /* arguments and variables */
    VEC(const char *) ports;          /* likewise */
} Names;

bool emit_has_emulation(const Emitter *e)
{
    return op_attr(e->module, SYS_ATTR_CARDS) && e->has_schedule;
}

static bool is_replicated(const Emitter *e)
{
    const Attr *mode = op_attr(e->module, SYS_ATTR_MODE);
    return mode && str_eq_c(mode->u.string, "dp");
}

/* A process of the operating system: what an instance has of a card. */
typedef struct Unit {
    int64_t card, instance;
} Unit;

typedef VEC(Unit) Units;

static int64_t instance_of(const Op *func)
{
    const Attr *instance = op_attr(func, SYS_ATTR_INSTANCE);
    return instance ? attr_int_value(instance) : 0;
}

/* Whether there are processes of a tile's instance on a card. */
static bool is_there(const HlsDesign *design, int64_t card, int64_t instance)
{
    for (uint32_t p = 0; p < design->processes.len; p++) {
        const Op *func = design->processes.data[p].func;
        SysPlace place = {0};
        if (func && sys_place(func, &place) && place.card == card && instance_of(func) == instance)
            return true;
    }
    return false;
}

/* Card by card; of replicas, so many as each card has, else of a tile's instances those that are there. */
static void find_units(const Emitter *e, const HlsDesign *design, Units *units)
{
    const Attr *cards = op_attr(e->module, SYS_ATTR_CARDS),
               *instances = op_attr(e->module, SYS_ATTR_INSTANCES);
    int64_t count = instances ? attr_int_value(instances) : 1;
    for (uint32_t i = 0; i < cards->u.array.count; i++)
        for (int64_t n = 0; n < count; n++)
            if (count == 1 || is_replicated(e) || is_there(design, i, n))
                *vec_push(units) = (Unit){i, n};
}

static void choose_names(Emitter *e, Names *names)
{
    names->inner = cpp_file_name(e, emit_arena_printf(&e->arena, "%s_cards", e->top_name));
    names->system = cpp_file_name(e, "the_system");
    names->frame = cpp_file_name(e, "run_frame");
    VEC(const char *) used = {0};
    const char **others[] = {&names->card, &names->host, &names->frames};
    static const char *const stems[] = {"card", "host", "frames"};
    for (size_t i = 0; i < e->ports.len; i++) {
        const char *name = cpp_fresh_name(e, str_from(e->ports.data[i].name), used.data, used.len);
        *vec_push(&used) = name;
        *vec_push(&names->ports) = name;
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        *others[i] = cpp_fresh_name(e, str_from(stems[i]), used.data, used.len);
        *vec_push(&used) = *others[i];
    }
    vec_free(&used);
}

/* Names, cards and accelerators; the number behind a name is that of the instance. */
static void add_units(const Emitter *e, const Units *units, StrBuf *out)
{
    const Attr *cards = op_attr(e->module, SYS_ATTR_CARDS);
    const bool has_instances = op_attr(e->module, SYS_ATTR_INSTANCES) &&
                               attr_int_value(op_attr(e->module, SYS_ATTR_INSTANCES)) > 1;
    strbuf_add_c(out, "    {");
    for (size_t i = 0; i < units->len; i++) {
        const Unit *unit = &units->data[i];
        StrBuf name = {0};
        strbuf_add_str(&name,
                       attr_dict_get_c(cards->u.array.items[unit->card], SYS_CARD_NAME)->u.string);
        if (has_instances) strbuf_printf(&name, " (%lld)", (long long)unit->instance);
        strbuf_add_c(out, "\n        {");
        emit_string_literal(out, strbuf_str(&name));
        strbuf_printf(out, ", %lld, %lld},", (long long)unit->card,
                      is_replicated(e) ? (long long)i : (long long)unit->instance);
        strbuf_free(&name);
    }
    strbuf_add_c(out, "\n    },\n");
}

/* Of replicas, all of which have the process, 0. */
static int64_t unit_of(const Emitter *e, const HlsDesign *design, const Units *units,
                       uint32_t process)
{
    const HlsProcess *p = &design->processes.data[process];
    SysPlace place = {0};
    if (is_replicated(e) || !p->func || !sys_place(p->func, &place)) return 0;
    for (size_t i = 0; i < units->len; i++)
        if (units->data[i].card == place.card && units->data[i].instance == instance_of(p->func))
            return (int64_t)i;
    return 0;
}

static void add_places(const Emitter *e, const HlsDesign *design, const Units *units, StrBuf *out)
{
    PtrMap seen = {0};
    strbuf_add_c(out, "    {");
    for (uint32_t p = 0; p < design->processes.len; p++) {
        const Op *func = design->processes.data[p].func;
        if (!func || ptrmap_has(&seen, func)) continue;
        ptrmap_put(&seen, func, (void *)(uintptr_t)1);
        strbuf_printf(out, "\n        {\"%s\", %lld},", cpp_global(e, symbol_name(func)),
                      (long long)unit_of(e, design, units, p));
    }
    strbuf_add_c(out, "\n    },\n    {");
    ptrmap_free(&seen);
}

/* The process that a port belongs to: the one that is called with it. */
static uint32_t process_at(const Emitter *e, const HlsDesign *design, uint32_t port)
{
    const Value *arg = region_entry(op_region(e->top, 0))->args[port];
    FOR_EACH_USE(use, arg) {
        if (use->owner->def != EMITHLS(CALL)) continue;
        const Op *func = symbol_lookup(use->owner, op_attr(use->owner, "callee"));
        for (uint32_t p = 0; p < design->processes.len; p++)
            if (design->processes.data[p].func == func) return p;
    }
    return 0;
}

static void add_links(const Emitter *e, const HlsDesign *design, const Units *units, StrBuf *out)
{
    strbuf_add_c(out, "    {");
    size_t empty = out->len;
    for (uint32_t i = design->port_count; i < design->streams.len; i++) {
        const HlsStream *stream = &design->streams.data[i];
        const Attr *link = op_attr(stream->op, SYS_ATTR_LINK);
        if (!link) continue;
        Str protocol = sys_protocol(stream->op);
        strbuf_printf(out, "\n        {\"%s\", %lld, %lld, %lld, %lld, %s",
                      (const char *)ptrmap_get(&e->fifos, stream->op),
                      (long long)unit_of(e, design, units, stream->writer),
                      (long long)unit_of(e, design, units, stream->reader),
                      (long long)stream->words,
                      (long long)attr_int_value(attr_dict_get_c(link, SYS_ATTR_PACKET)),
                      str_eq_c(protocol, "udp") ? "false" : "true");
        PortSlot slot;
        if (str_eq_c(protocol, SYS_HOST) &&
            port_process_slot(emithls_stream_word(op_result(stream->op, 0)->type), &slot))
            strbuf_printf(out, ", %lld, %lld", (long long)slot.bits, (long long)slot.elements);
        strbuf_add_c(out, "},");
    }
    strbuf_add_c(out, out->len == empty ? "},\n" : "\n    },\n");
}

static void add_system(const Emitter *e, const HlsDesign *design, const Names *names, StrBuf *out)
{
    strbuf_printf(
        out,
        "// Units, each of which is what an accelerator has of a card: name, card, accelerator;\n"
        "// of processes and ports the unit; links with their two units, words of a frame and\n"
        "// of a packet, whether it gives credits, and if the host copies frames, bits of an\n"
        "// element in memory and elements of a word there; whether each unit has the whole\n"
        "// design.\n"
        "static const emulate::System %s{\n",
        names->system);
    Units units = {0};
    find_units(e, design, &units);
    add_units(e, &units, out);
    add_places(e, design, &units, out);
    for (uint32_t i = 0; i < e->ports.len; i++)
        strbuf_printf(out, "\n        {\"%s\", %lld},", e->ports.data[i].name,
                      (long long)unit_of(e, design, &units, process_at(e, design, i)));
    strbuf_add_c(out, "\n    },\n");
    add_links(e, design, &units, out);
    strbuf_printf(out, "    %s,\n};\n\n", is_replicated(e) ? "true" : "false");
    vec_free(&units);
}

/* Calls of `who` for all inputs or outputs: who.verb("x", TOP_host::x(), x); */
static void move_frames(const Emitter *e, StrBuf *out, const Names *names, const char *who,
                        const char *verb, bool is_input)
{
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        if (port->is_input != is_input) continue;
        strbuf_printf(out, port->is_weights ? "    %s.%s_weights(" : "    %s.%s(", who, verb);
        strbuf_printf(out, "\"%s\", %s_host::%s(), %s", port->name, e->top_name, port->name,
                      names->ports.data[i]);
        strbuf_printf(out, port->bus ? ", %s);\n" : ");\n", names->frames);
    }
}

/* What a card does for each frame: ports that are elsewhere stay empty. */
static void add_card(Emitter *e, const Names *names, StrBuf *out)
{
    strbuf_printf(out, "static void %s(emulate::Card &%s, int %s)\n{\n", names->frame, names->card,
                  names->frames);
    if (!e->has_memories) strbuf_printf(out, "    (void)%s;\n", names->frames);
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        if (port->bus)
            strbuf_printf(out, "    ming::Memory<%s> %s(%s_host::%s(), %s);\n",
                          cpp_type(e, port->bus), names->ports.data[i], e->top_name, port->name,
                          names->frames);
        else
            strbuf_printf(out, "    hls::stream<%s> %s(\"%s\");\n", cpp_type(e, port->word),
                          names->ports.data[i], port->name);
    }
    move_frames(e, out, names, names->card, "receive", true);
    strbuf_printf(out, "    %s(", names->inner);
    for (size_t i = 0; i < e->ports.len; i++)
        strbuf_printf(out, "%s%s%s", i ? ", " : "", names->ports.data[i],
                      e->ports.data[i].bus ? ".data()" : "");
    if (e->has_memories) strbuf_printf(out, ", %s", names->frames);
    strbuf_add_c(out, ");\n");
    move_frames(e, out, names, names->card, "send", false);
    strbuf_add_c(out, "}\n\n");
}

static void add_host(Emitter *e, const Names *names, StrBuf *out)
{
    strbuf_printf(out,
                  "emulate::Host &emulate::Host::the()\n{\n    return Host::the(%s, %s);\n}\n\n",
                  names->system, names->frame);
    emit_prototype(e, out, names->ports.data, names->frames);
    strbuf_printf(out,
                  "\n{\n    emulate::Host &%s = emulate::Host::the();\n"
                  "    %s.begin_frame(%s);\n",
                  names->host, names->host, e->has_memories ? names->frames : "1");
    move_frames(e, out, names, names->host, "send", true);
    move_frames(e, out, names, names->host, "receive", false);
    strbuf_add_c(out, "}\n");
}

bool emit_emulation(Emitter *e, StrBuf *out)
{
    Names names = {0};
    HlsDesign *design =
        design_create(e->module, clock_of_module(e->module, design_clock_mhz(e->module)));
    if (!design) return false;
    choose_names(e, &names);
    emit_template(e, out,
                  "// The cards of TOP as processes, for make emulate; their code is in\n"
                  "// TOP_cards.cpp, which make makes of TOP.cpp.\n"
                  "#include \"TOP_host.h\"\n\n");
    strbuf_printf(out, "#define %s %s\n#include \"%s_cards.cpp\"\n#undef %s\n\n", e->top_name,
                  names.inner, e->top_name, e->top_name);
    add_system(e, design, &names, out);
    add_card(e, &names, out);
    add_host(e, &names, out);
    vec_free(&names.ports);
    design_free(design);
    return true;
}

void emit_emulation_usage(StrBuf *out)
{
    strbuf_add_c(out, "# make emulate, with the same files [LOSS=SHARE [SEED=N]]\n"
                      "#   runs a process for each card; LOSS=0.01 loses one in a hundred packets\n"
                      "#   of links\n");
}

/* Their host is the testbench, or the host of the cards on XRT's classes in front of them. */
static void add_program(const Emitter *e, StrBuf *out)
{
    bool has_host = e->options->platform == EMIT_PLATFORM_XRT;
    emit_template(e, out, "TOP_emulate: TOP_emulate.cpp TOP_cards.cpp $(HEADERS)");
    emit_template(e, out, has_host ? " $(wildcard board/*.h) board/system.cpp" : " TOP_tb.cpp");
    strbuf_add_c(out, "\n\t$(CXX) $(CXXFLAGS) $(LDFLAGS) -Icsim -include csim/ming_emulate.h ");
    emit_template(e, out,
                  has_host ? "-I. -DMING_EMULATE TOP_emulate.cpp board/system.cpp -o $@ -pthread"
                           : "TOP_emulate.cpp TOP_tb.cpp -o $@");
}

void emit_emulation_targets(const Emitter *e, StrBuf *out)
{
    emit_template(e, out,
                  ".PHONY: emulate\n\n"
                  "emulate: export MING_LOSS := $(value LOSS)\n"
                  "emulate: export MING_SEED := $(value SEED)\n"
                  "emulate: arguments TOP_emulate\n"
                  "\t@cd \"$$MING_CALLER\" && \"$$MING_PROJECT/TOP_emulate\"");
    if (e->options->platform == EMIT_PLATFORM_XRT) {
        strbuf_add_c(out, " $(HOST_FLAGS)");
        emit_frame_arguments(e, out);
    } else {
        emit_file_arguments(e, out);
    }
    strbuf_add_c(out, "\n\n");
    add_program(e, out);
    emit_template(e, out,
                  "\n\n"
                  "TOP_cards.cpp: TOP.cpp csim/cosim.awk TOP_schedule.h\n"
                  "\tawk -v schedule=TOP_schedule.h -v space=emulate -f csim/cosim.awk TOP.cpp "
                  "> $@\n\n");
}
