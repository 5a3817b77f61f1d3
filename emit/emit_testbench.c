/* <top>_tb.cpp and <top>_lib.cpp: connect the ports to csim/ming_tb.h, which does the rest, for a
 * program that reads and writes files and for a shared library.
 * Tests: lit/emit/testbench.mir, test/e2e */
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "emit/internal.h"

typedef VEC(const char *) Names;

/* In the order of the files: inputs, outputs, weights. */
typedef enum TestbenchGroup {
    GROUP_INPUT,
    GROUP_OUTPUT,
    GROUP_WEIGHTS,
    GROUP_COUNT
} TestbenchGroup;

static TestbenchGroup group_of(const EmitPort *port)
{
    return port->is_weights ? GROUP_WEIGHTS : port->is_input ? GROUP_INPUT : GROUP_OUTPUT;
}

/* Ports of other instances than the first one of a tile share its files. */
static bool has_file(const EmitPort *port, TestbenchGroup group)
{
    return group_of(port) == group && port->instance == 0;
}

/* ming::Input<T>, or ming::InputMemory<T> where the port is a memory. */
static void declare_channels(Emitter *e, StrBuf *out, const Names *names, TestbenchGroup group)
{
    static const char *const kinds[] = {"Input", "Output", "Weights"};
    for (size_t i = 0; i < e->ports.len; i++) {
        const EmitPort *port = &e->ports.data[i];
        if (group_of(port) != group) continue;
        strbuf_printf(out, "    ming::%s%s<%s> %s(tb, %s_host::%s()", kinds[group],
                      port->bus ? "Memory" : "",
                      port->beat ? port->beat : cpp_type(e, port->bus ? port->bus : port->word),
                      names->data[i], e->top_name, port->name);
        if (port->bus && !port->is_weights) strbuf_add_c(out, ", MAX_FRAMES");
        if (port->instance > 0)
            strbuf_printf(out, ", %s, %lld", names->data[port->first], (long long)port->instance);
        strbuf_add_c(out, ");\n");
    }
}

static void move_frames(const Emitter *e, StrBuf *out, const Names *names, TestbenchGroup group)
{
    for (size_t i = 0; i < e->ports.len; i++)
        if (group_of(&e->ports.data[i]) == group)
            strbuf_printf(out, "        %s.%s();\n", names->data[i],
                          group == GROUP_OUTPUT ? "read" : "write");
}

static void add_call(Emitter *e, StrBuf *out, const Names *names)
{
    strbuf_printf(out, "        %s(", e->top_name);
    for (size_t i = 0; i < names->len; i++)
        strbuf_printf(out, "%s%s.%s", i ? ", " : "", names->data[i],
                      e->ports.data[i].bus ? "data()" : "stream");
    strbuf_add_c(out, e->has_memories ? ", tb.batch());\n" : ");\n");
}

static void add_run(Emitter *e, StrBuf *out, const Names *names)
{
    strbuf_add_c(out, "static void run(ming::Testbench &tb)\n{\n");
    if (sys_tile_size(e->module) > 1)
        strbuf_printf(out, "    tb.set_instances(%lld);\n", (long long)sys_tile_size(e->module));
    for (TestbenchGroup group = 0; group < GROUP_COUNT; group++)
        declare_channels(e, out, names, group);
    strbuf_printf(out, "\n    while (tb.%s) {\n",
                  e->has_memories ? "next_frames(MAX_FRAMES)" : "next_frame()");
    move_frames(e, out, names, GROUP_WEIGHTS);
    move_frames(e, out, names, GROUP_INPUT);
    add_call(e, out, names);
    move_frames(e, out, names, GROUP_OUTPUT);
    strbuf_add_c(out, "    }\n    tb.save();\n}\n\n");
}

static void add_main(const Emitter *e, StrBuf *out, const Names *names)
{
    size_t files = 0;
    strbuf_add_c(out, "int main(int argc, char **argv)\n{\n"
                      "    return ming::run_testbench(argc, argv, \"");
    for (TestbenchGroup group = 0; group < GROUP_COUNT; group++)
        for (size_t i = 0; i < names->len; i++)
            if (has_file(&e->ports.data[i], group)) {
                strbuf_printf(out, "%s.npy ", names->data[i]);
                files++;
            }
    out->data[--out->len] = '\0';
    strbuf_printf(out, "\", %zu, run);\n}\n", files);
}

/* Names that are not file-scope names and not `tb`. */
static void choose_names(Emitter *e, Names *names)
{
    Names used = {0};
    *vec_push(&used) = "tb";
    for (size_t i = 0; i < e->ports.len; i++) {
        const char *name = cpp_fresh_name(e, str_from(e->ports.data[i].name), used.data, used.len);
        *vec_push(&used) = name;
        *vec_push(names) = name;
    }
    vec_free(&used);
}

static void add_body(Emitter *e, StrBuf *out, const char *last_header, const Names *names)
{
    strbuf_printf(out, "#include \"%s.h\"\n#include \"%s_host.h\"\n\n#include \"csim/%s\"\n\n",
                  e->top_name, e->top_name, last_header);
    if (e->has_memories)
        strbuf_add_c(out, "// Of one call: co-simulation copies memories of this many frames.\n"
                          "static const int MAX_FRAMES = 4;\n\n");
    add_run(e, out, names);
}

void emit_testbench(Emitter *e, StrBuf *out)
{
    Names names = {0};
    choose_names(e, &names);
    strbuf_printf(out, "// Testbench of %s: arrays in .npy files, %s.\n", e->top_name,
                  e->has_memories ? "some frames per call" : "one call per frame");
    add_body(e, out, "ming_tb.h", &names);
    add_main(e, out, &names);
    vec_free(&names);
}

void emit_library(Emitter *e, StrBuf *out)
{
    static const char *const kinds[] = {"INPUT", "OUTPUT", "WEIGHTS"};
    Names names = {0};
    choose_names(e, &names);
    strbuf_printf(
        out, "// %s as a shared library: make libcsim.so; csim/ming_libcsim.h is its interface.\n",
        e->top_name);
    add_body(e, out, "ming_library.h", &names);
    strbuf_printf(out, "MING_LIBRARY(\"%s\", run", e->top_name);
    for (TestbenchGroup group = 0; group < GROUP_COUNT; group++)
        for (size_t i = 0; i < e->ports.len; i++)
            if (has_file(&e->ports.data[i], group))
                strbuf_printf(out, ",\n             {MING_CSIM_%s, %s_host::%s()}", kinds[group],
                              e->top_name, e->ports.data[i].name);
    strbuf_add_c(out, ")\n");
    vec_free(&names);
}
