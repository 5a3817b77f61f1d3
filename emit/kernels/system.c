/* The kernels of a system in one function, for simulation in C++: that of the whole design, which
 * calls them in the order of the data. Streams between them have no limit there.
 * Tests: test/e2e/system_check.py */
#include "emit/kernels/internal.h"
#include "ir/asm/print/print.h"

/* What a kernel's argument is called here. */
typedef struct Names {
    PtrMap numbers; /* streams of the system -> number + 1 */
    const KernelSet *set;
    bool has_network; /* at the ends of links there are adapters */
} Names;

static bool is_link(const Value *value)
{
    return !value->is_arg && value_def(value)->def == SYS(LINK) &&
           !kernels_is_copy(value_def(value));
}

static void print_argument(const Names *names, const KernelFiles *k, uint32_t arg, StrBuf *out)
{
    const Value *value = op_operand(k->kernel, arg);
    const KernelWeights *weights = kernels_weights_at(names->set, value);
    if (weights)
        strbuf_printf(out, "sent%zu", (size_t)(weights - names->set->weights.data));
    else if (names->has_network && is_link(value))
        strbuf_printf(out, "network::joint%zu",
                      kernels_joint_at(names->set, kernels_name(k), kernels_port(k, arg)));
    else if (value->is_arg)
        strbuf_add_c(out, names->set->whole->ports.data[value->index].data);
    else
        strbuf_printf(out, kernels_is_copy(value_def(value)) ? "copy%zu.data()" : "stream%zu",
                      (size_t)(uintptr_t)ptrmap_get(&names->numbers, value) - 1);
}

static void print_call(const Names *names, const KernelFiles *k, bool frame_by_frame, StrBuf *out)
{
    bool loops = frame_by_frame && !k->has_memory;
    if (loops) strbuf_add_c(out, "    for (int frame = 0; frame < frames; ++frame)\n    ");
    strbuf_printf(out, "    %s(", kernels_name(k));
    for (uint32_t i = 0; i < k->kernel->operand_count; i++) {
        if (i) strbuf_add_c(out, ", ");
        print_argument(names, k, i, out);
    }
    strbuf_add_c(out, !k->has_memory ? ");\n" : frame_by_frame ? ", frames);\n" : ", 1);\n");
}

static bool writes_link(const KernelSet *set, size_t kernel)
{
    for (size_t i = 0; i < set->links.len; i++)
        if (set->links.data[i].ends.from == kernel) return true;
    return false;
}

/* "const T *x" or "hls::stream<T> &x" */
static void print_parameter(const KernelSet *set, const Value *arg, StrBuf *out)
{
    bool is_memory = type_is_a(arg->type, &emithls_type_array);
    if (is_memory && !kernels_is_output(arg)) strbuf_add_c(out, "const ");
    emit_print_type(is_memory ? emithls_array_elem(arg->type) : arg->type, out);
    strbuf_printf(out, " %s%s", is_memory ? "*" : "&", set->whole->ports.data[arg->index].data);
}

/* Memory in place of that of two cards. */
static void print_copy(const KernelSet *set, const Op *copy, size_t number, StrBuf *out)
{
    const Type *memory = kernels_at_copy(set, copy)->copy_memory;
    strbuf_add_c(out, "    std::vector<");
    emit_print_type(emithls_array_elem(memory), out);
    strbuf_printf(out, "> copy%zu(", number);
    if (kernels_has_memory_ports(set)) strbuf_add_c(out, "static_cast<std::size_t>(frames) * ");
    strbuf_printf(out, "%lld);\n", (long long)emithls_array_dim(memory, 0));
}

void kernels_print_system(const KernelSet *set, bool has_network, StrBuf *out)
{
    const Block *body = region_entry(op_region(set->system, 0));
    Names names = {.set = set, .has_network = has_network};
    size_t count = 0;
    strbuf_printf(out, "// The kernels of %s one after the other, for make %s-csim.\n",
                  set->whole->top.data, has_network ? "network" : "system");
    strbuf_printf(out, "#include \"../%s.h\"\n", set->whole->top.data);
    for (size_t i = 0; i < set->kernels.len; i++)
        strbuf_printf(out, "#include \"%s.h\"\n", kernels_name(&set->kernels.data[i]));
    if (has_network) kernels_print_network(set, out);
    if (kernels_has_copies(set) || set->weights.len > 0)
        strbuf_add_c(out, "\n#include <cstddef>\n#include <vector>\n");
    for (size_t i = 0; i < set->weights.len; i++) {
        strbuf_add_char(out, '\n');
        kernels_print_loader_prototype(set, &set->weights.data[i], out);
        strbuf_add_c(out, ";\n");
    }
    strbuf_printf(out, "\nvoid %s(", set->whole->top.data);
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (i) strbuf_add_c(out, ", ");
        print_parameter(set, body->args[i], out);
    }
    strbuf_add_c(out, kernels_has_memory_ports(set) ? ", int frames)\n{\n" : ")\n{\n");
    FOR_EACH_OP(op, body) {
        if (op->def != EMITHLS(STREAM) && (has_network || op->def != SYS(LINK))) continue;
        ptrmap_put(&names.numbers, op_result(op, 0), (void *)(uintptr_t)(count + 1));
        if (kernels_is_copy(op)) {
            print_copy(set, op, count++, out);
            continue;
        }
        strbuf_add_c(out, "    ");
        emit_print_type(op_result(op, 0)->type, out);
        strbuf_printf(out, " stream%zu(\"stream%zu\");\n", count, count);
        count++;
    }
    kernels_print_loading(set, out);
    for (size_t i = 0; i < set->kernels.len; i++) {
        print_call(&names, &set->kernels.data[i], kernels_has_memory_ports(set), out);
        if (has_network && writes_link(set, i)) strbuf_add_c(out, "    network::carry();\n");
    }
    strbuf_add_c(out, "}\n");
    ptrmap_free(&names.numbers);
}
