/* Kernels as projects of their own, of which the C++ is taken, and the files that join them.
 * Tests: lit/emit/kernels.test, test/e2e/system_check.py */
#include <string.h>

#include "emit/kernels/internal.h"
#include "ir/asm/print/print.h"
#include "ir/pass/pass.h"
#include "passes/dfg/passes.h"
#include "target/split/split.h"

#define FOLDER "kernels/"

const char *kernels_name(const KernelFiles *kernel)
{
    return kernel->project.top.data;
}

const char *kernels_port(const KernelFiles *kernel, uint32_t arg)
{
    return kernel->project.ports.data[arg].data;
}

KernelEnds kernels_ends(const KernelSet *set, const Value *stream)
{
    KernelEnds ends = {0};
    FOR_EACH_USE(use, stream) {
        uint32_t k = 0, port = use_index(use);
        SysUse ways = {false, false};
        while (k < set->kernels.len && set->kernels.data[k].kernel != use->owner) k++;
        if (k == set->kernels.len) continue;
        sys_add_use(region_entry(op_region(set->kernels.data[k].func, 0))->args[port], &ways);
        if (ways.writes) {
            ends.from = k;
            ends.from_port = port;
        } else {
            ends.to = k;
            ends.to_port = port;
        }
    }
    return ends;
}

static const Op *card_op(const KernelSet *set, int64_t card)
{
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0)))
        if (op->def == SYS(CARD) && card-- == 0) return op;
    return NULL;
}

Str kernels_card(const KernelSet *set, int64_t card)
{
    const Op *op = card_op(set, card);
    return op ? op_attr(op, "name")->u.string : STR("?");
}

int64_t kernels_card_count(const KernelSet *set)
{
    int64_t count = 0;
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0))) count += op->def == SYS(CARD);
    return count;
}

const Attr *kernels_die(const KernelSet *set, SysPlace place)
{
    const Attr *cards = op_attr(set->module, SYS_ATTR_CARDS);
    const Attr *card = cards && place.card < (int64_t)cards->u.array.count
                           ? cards->u.array.items[place.card]
                           : NULL;
    const Attr *dies = card ? attr_dict_get_c(card, SYS_CARD_DIES) : NULL;
    return dies && place.die < (int64_t)dies->u.array.count ? dies->u.array.items[place.die] : NULL;
}

void kernels_print_die(const KernelSet *set, SysPlace place, StrBuf *out)
{
    emit_add_die(kernels_die(set, place), place.die, out);
}

int64_t kernels_instance(const KernelFiles *kernel)
{
    FOR_EACH_OP(op, region_entry(op_region(kernel->func, 0))) {
        if (op->def != EMITHLS(CALL)) continue;
        const Attr *instance = op_attr(symbol_lookup(op, op_attr(op, "callee")), SYS_ATTR_INSTANCE);
        return instance ? attr_int_value(instance) : 0;
    }
    return 0;
}

bool kernels_is_copy(const Op *op)
{
    return op && op->def == SYS(LINK) &&
           str_eq_c(op_attr(op, SYS_ATTR_PROTOCOL)->u.string, SYS_HOST);
}

uint32_t kernels_copy_number(const KernelSet *set, const Op *copy)
{
    uint32_t number = 0;
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0))) {
        if (op == copy) break;
        number += kernels_is_copy(op);
    }
    return number;
}

const KernelFiles *kernels_at_copy(const KernelSet *set, const Op *copy)
{
    for (size_t i = 0; i < set->kernels.len; i++)
        if (set->kernels.data[i].copy == copy) return &set->kernels.data[i];
    return NULL;
}

bool kernels_has_copies(const KernelSet *set)
{
    FOR_EACH_OP(op, region_entry(op_region(set->system, 0)))
        if (kernels_is_copy(op)) return true;
    return false;
}

int64_t kernels_copy_bytes(const KernelFiles *kernel)
{
    const Type *bus = emithls_array_elem(kernel->copy_memory);
    return emithls_array_dim(kernel->copy_memory, 0) * emithls_lanes(bus) *
           type_width(emithls_scalar(bus)) / 8;
}

bool kernels_has_memory_ports(const KernelSet *set)
{
    const Block *body = region_entry(op_region(set->system, 0));
    for (uint32_t i = 0; i < body->arg_count; i++)
        if (type_is_a(body->args[i]->type, &emithls_type_array)) return true;
    return false;
}

bool kernels_is_output(const Value *port)
{
    SysUse ways = {false, false};
    FOR_EACH_USE(use, port) {
        const Op *func = symbol_lookup(use->owner, op_attr(use->owner, "callee"));
        sys_add_use(region_entry(op_region(func, 0))->args[use_index(use)], &ways);
    }
    return ways.writes;
}

/* Whether a symbol is called, or its table used, by what is kept. */
static void keep_used(Op *module, PtrMap *kept)
{
    bool grows = true;
    while (grows) {
        grows = false;
        FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
            OpVec inner = {0};
            if (!symbol_name(op) || !ptrmap_has(kept, symbol_name(op))) continue;
            op_collect(op, &inner);
            for (size_t i = 0; i < inner.len; i++) {
                const Attr *ref = op_attr(inner.data[i], "callee");
                if (!ref) ref = op_attr(inner.data[i], EMITHLS_ATTR_TABLE);
                if (!ref || ref->kind != ATTR_SYMBOL_REF) continue;
                if (ptrmap_has(kept, ref->u.symbol.names[0])) continue;
                ptrmap_put(kept, ref->u.symbol.names[0], module);
                grows = true;
            }
            vec_free(&inner);
        }
    }
}

/* A module of one kernel, which is its top function. */
static Op *kernel_module(const KernelSet *set, const Op *func)
{
    Op *module = op_clone(set->module, NULL);
    PtrMap kept = {0};
    ptrmap_put(&kept, symbol_name(func), module);
    FOR_EACH_OP_SAFE(op, region_entry(op_region(module, 0)))
        if (op->def == SYS(SYSTEM)) op_erase(op);
    op_set_attr(module, SYS_ATTR_INSTANCES, NULL);
    keep_used(module, &kept);
    FOR_EACH_OP_SAFE(op, region_entry(op_region(module, 0))) {
        if (symbol_name(op) == symbol_name(func))
            op_set_attr(op, EMITHLS_ATTR_TOP, attr_unit(op->ctx));
        else if (symbol_name(op) && !ptrmap_has(&kept, symbol_name(op)))
            op_erase(op);
    }
    ptrmap_free(&kept);
    return module;
}

/* Puts memory in place of the stream that the host copies. */
static bool copy_frames(KernelFiles *k, uint32_t argument, Op *module)
{
    Pipeline *pipeline = pipeline_create(module->ctx, NULL, "builtin.module");
    bool ok = pipeline_add(pipeline, &pass_copy_frames, NULL) &&
              pipeline_add(pipeline, &pass_add_memory_ports, "copies=true") &&
              pipeline_add(pipeline, &pass_schedule_hls, NULL) &&
              pipeline_run(pipeline, module, &(RunOptions){.verify_each = false});
    pipeline_free(pipeline);
    if (!ok) return false;
    k->copy_memory = region_entry(op_region(emithls_top(module), 0))->args[argument]->type;
    return true;
}

static bool print_kernel(KernelFiles *k, Op *module, const EmitOptions *options)
{
    for (uint32_t i = 0; i < k->kernel->operand_count; i++)
        if (op_operand(k->kernel, i) == (k->copy ? op_result(k->copy, 0) : NULL) &&
            !copy_frames(k, i, module))
            return false;
    return emit_hls_files(module, options, &k->project);
}

static bool add_kernel(KernelSet *set, const Op *kernel)
{
    KernelFiles *k = vec_push(&set->kernels);
    EmitOptions options = *set->options;
    *k = (KernelFiles){.kernel = kernel,
                       .func = symbol_lookup(kernel, op_attr(kernel, "callee")),
                       .place = sys_place_of(op_attr(kernel, "place"))};
    for (uint32_t i = 0; i < kernel->operand_count; i++) {
        const Value *operand = op_operand(kernel, i);
        const Op *copy = operand->is_arg ? NULL : value_def(operand);
        if (kernels_is_copy(copy)) k->copy = copy;
        k->has_memory |= type_is_a(operand->type, &emithls_type_array) || kernels_is_copy(copy);
    }
    options.csim_dir = options.board_dir = options.rtl_dir = NULL;
    options.platform = EMIT_PLATFORM_NONE;
    options.rtl = NULL;
    Op *module = kernel_module(set, k->func);
    DiagHold messages; /* what warns of a process has warned where the whole design was printed */
    diag_hold_begin(&messages, module->ctx);
    bool ok = print_kernel(k, module, &options);
    diag_hold_end(&messages);
    if (!ok) diag_hold_report(&messages);
    diag_hold_free(&messages);
    op_erase(module);
    return ok;
}

static StrBuf *add_file(EmittedProject *project, const char *folder, const char *stem,
                        const char *end)
{
    EmittedFile *file = vec_push(&project->files);
    *file = (EmittedFile){0};
    strbuf_printf(&file->name, "%s%s%s", folder, stem, end);
    return &file->text;
}

/* header: of that kernel. */
static void add_config(const KernelSet *set, const char *name, const char *header, bool has_params,
                       EmittedProject *project)
{
    StrBuf others = {0};
    strbuf_printf(&others, "syn.file=%s.h\n", header);
    if (has_params) strbuf_printf(&others, "syn.file=%s_params.h\n", header);
    kernels_print_config(set, name, others.data, add_file(project, FOLDER, name, ".cfg"));
    strbuf_free(&others);
}

/* The C++ of a kernel. */
static void add_sources(const KernelSet *set, const KernelFiles *k, EmittedProject *project)
{
    static const char *const ends[] = {".cpp", ".h", "_params.h"};
    for (size_t i = 0; i < k->project.files.len; i++)
        for (size_t e = 0; e < COUNT_OF(ends); e++) {
            const EmittedFile *file = &k->project.files.data[i];
            StrBuf name = {0};
            strbuf_printf(&name, "%s%s", kernels_name(k), ends[e]);
            if (strcmp(name.data, file->name.data) == 0)
                strbuf_add_str(add_file(project, FOLDER, kernels_name(k), ends[e]),
                               strbuf_str(&file->text));
            strbuf_free(&name);
        }
    add_config(set, kernels_name(k), kernels_name(k), true, project);
}

static void add_loaders(const KernelSet *set, EmittedProject *project)
{
    for (size_t i = 0; i < set->weights.len; i++) {
        const KernelWeights *w = &set->weights.data[i];
        kernels_print_loader(set, w, add_file(project, FOLDER, w->name.data, ".cpp"));
        add_config(set, w->name.data, kernels_name(&set->kernels.data[w->kernel]), false, project);
    }
}

/* Adapters, their header, and what simulates them. False: diagnosed. */
static bool add_adapters(const KernelSet *set, EmittedProject *project)
{
    StrBuf path = {0};
    const char *reason = NULL;
    if (set->links.len == 0) return true;
    for (size_t i = 0; i < set->adapters.len; i++) {
        const KernelAdapter *adapter = &set->adapters.data[i];
        kernels_print_adapter(set, adapter, add_file(project, FOLDER, adapter->name.data, ".cpp"));
        kernels_print_config(set, adapter->name.data, "syn.file=" KERNELS_ADAPTER_HEADER "\n",
                             add_file(project, FOLDER, adapter->name.data, ".cfg"));
    }
    kernels_print_system(set, true, add_file(project, FOLDER, project->top.data, "_network.cpp"));
    if (!set->options->csim_dir) return true;
    strbuf_printf(&path, "%s/%s", set->options->csim_dir, KERNELS_ADAPTER_HEADER);
    bool ok =
        file_read(add_file(project, FOLDER, KERNELS_ADAPTER_HEADER, ""), path.data, &reason) ||
        op_emit_error(set->system, "cannot read '%s': %s", path.data, reason);
    strbuf_free(&path);
    return ok;
}

static void extend_makefile(EmittedProject *project)
{
    for (size_t i = 0; i < project->files.len; i++)
        if (strcmp(project->files.data[i].name.data, "Makefile") == 0)
            strbuf_add_c(&project->files.data[i].text, "\ninclude system.mk\n");
}

static bool add_files(const KernelSet *set, EmittedProject *project)
{
    const char *top = project->top.data;
    extend_makefile(project);
    EmittedFile report = project->files.data[--project->files.len]; /* which stays the last */
    for (size_t i = 0; i < set->kernels.len; i++) add_sources(set, &set->kernels.data[i], project);
    add_loaders(set, project);
    kernels_print_system(set, false, add_file(project, FOLDER, top, "_system.cpp"));
    bool ok = add_adapters(set, project);
    op_print(add_file(project, FOLDER, top, ".mir"), set->module, &PRINT_DEFAULT);
    for (int64_t card = 0; card < kernels_card_count(set); card++) {
        char folder[32];
        snprintf(folder, sizeof folder, "card%lld/", (long long)card);
        kernels_print_link(set, card, add_file(project, folder, "link", ".cfg"));
    }
    kernels_print_make(set, add_file(project, "", "system", ".mk"));
    kernels_print_json(set, add_file(project, "", "system", ".json"));
    if (set->options->platform == EMIT_PLATFORM_XRT)
        kernels_print_design(set, add_file(project, "board/", "design", ".h"));
    *vec_push(&project->files) = report;
    return ok;
}

bool kernels_emit(Op *system, const EmitOptions *options, EmittedProject *project)
{
    const Attr *mode = op_attr(system, SYS_ATTR_MODE);
    const Attr *instances = op_attr(system, SYS_ATTR_INSTANCES);
    KernelSet set = {.module = system,
                     .system = sys_system(system),
                     .options = options,
                     .whole = project,
                     .tile = sys_tile_size(system),
                     .is_dp = mode && str_eq_c(mode->u.string, "dp")};
    set.instances = set.is_dp && instances ? attr_int_value(instances) : 1;
    bool ok = set.system || op_emit_error(system, "there is no sys.system to emit");
    for (const Op *op = ok ? region_entry(op_region(set.system, 0))->first : NULL; op && ok;
         op = op->next)
        if (op->def == SYS(KERNEL)) ok = add_kernel(&set, op);
    HlsDesign *design =
        ok ? design_create(system, clock_of_module(system, design_clock_mhz(system))) : NULL;
    set.design = design;
    ok = design;
    if (ok) kernels_find_links(&set);
    if (ok) kernels_find_weights(&set);
    ok = ok && add_files(&set, project);
    kernels_free_links(&set);
    kernels_free_weights(&set);
    design_free(design);
    for (size_t i = 0; i < set.kernels.len; i++) emitted_project_free(&set.kernels.data[i].project);
    vec_free(&set.kernels);
    return ok;
}
