/* The options of `ming compile`: rows, checks, and the project that they ask for.
 * Tests: lit/driver/ming-compile.mir, lit/tools/command-line.mir */
#include <string.h>

#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "emit/kernels/kernels.h"
#include "options/internal.h"

void compile_flags_init(CompileFlags *options)
{
    *options =
        (CompileFlags){.device = DEVICE_OPTIONS_DEFAULTS,
                       .cards = {.cards = LIMIT_NOT_GIVEN, .min_utilization = LIMIT_NOT_GIVEN},
                       .platform = "none",
                       .interface = "axis",
                       .weights = "rom",
                       .emit = "hls",
                       .primitives = "xilinx",
                       .control = "chain",
                       .style = "stalled",
                       .max_text = EMIT_MAX_TEXT,
                       .compile.images = 1,
                       .compile.search.fps = LIMIT_NOT_GIVEN};
    options->device.device = NULL; /* until they settle */
}

void compile_flags_free(CompileFlags *options)
{
    driver_model_options_free(&options->model);
    driver_quantize_options_free(&options->quantize);
    vec_free(&options->anchors);
    strbuf_free(&options->anchor_list);
}

static void add_cards(Flags *flags, CardOptions *cards)
{
    FLAGS_ADD(
        flags,
        {"cards", FLAG_INT, &cards->cards, "n",
         "Make the design for so many cards of the device, in a chain of Ethernet links", NULL},
        {"system", FLAG_TEXT, &cards->system, "file.xml",
         "Make it for the cards and links of a file", NULL},
        {"mode", FLAG_CHOICE, &cards->mode, "auto|dp|swmp|hwmp|tmp",
         "How cards share it: each has the whole (dp), or a part, so that frames go from the "
         "first card to the last one, copied by the host (swmp) or over Ethernet links (hwmp, "
         "default), or come back to the first over such links (tmp); or the best of these (auto)",
         NULL},
        {"instances", FLAG_TEXT, &cards->instances, "n|auto",
         "Designs on all cards together, of which some lie on several; with --mode=dp whole ones "
         "on each card; default 1; or those that give the most frames (auto)",
         NULL},
        {"min-utilization", FLAG_INT, &cards->min_utilization, "percent",
         "As many designs, and on as many of the cards, as use that part of what they may of some "
         "resource, or of fewer those that give the most frames for a die; with --mode=dp on each "
         "card",
         NULL});
}

void compile_flags_add(Flags *flags, CompileFlags *options)
{
    CompileOptions *compile = &options->compile;
    flags_add_device(flags, &options->device);
    flags_add_search(flags, &compile->search);
    FLAGS_ADD(
        flags,
        {"top", FLAG_TEXT, &compile->top, "name", "Name of the top function, default the model's",
         NULL},
        {"platform", FLAG_CHOICE, &options->platform, "none|pynq|xrt",
         "What the project has beyond the accelerator: nothing (default), scripts for a bitstream "
         "and a driver in Python for boards that run PYNQ, or a kernel and hosts in C++ and Python "
         "for cards with XRT",
         NULL},
        {"interface", FLAG_CHOICE, &options->interface, "axis|m_axi|dma",
         "Ports of the accelerator: streams (default), memories, or streams that a DMA takes, of "
         "padded words and with TLAST",
         NULL},
        {"emit", FLAG_CHOICE, &options->emit, "hls|hls,verilog",
         "C++ for HLS tools (default), or Verilog besides", NULL},
        {"rtl-primitives", FLAG_CHOICE, &options->primitives, "xilinx|generic",
         "Whether Verilog instantiates the vendor's DSP slices and shift registers (default), or "
         "has expressions, which other tools take, too",
         NULL},
        {"weights", FLAG_TEXT, &options->weights, "rom|load|load:BITS|stream",
         "Weights in ROMs (default), or in memories that are loaded at start-up, through a port of "
         "64 bits or of BITS, a power of two from 8 to 512, or, where that is better, in memory "
         "outside, from which they are read while they are used",
         NULL},
        {"weights-interface", FLAG_CHOICE, &options->weights_interface, "axis|m_axi|axilite",
         "The port of --weights=load: a stream (default), a memory outside that is read at "
         "start-up, or a memory inside that is written through AXI4-Lite; --weights=stream has "
         "m_axi",
         NULL},
        {"batch", FLAG_INT, &compile->images, "n",
         "With --weights=stream: images that a frame has, for all of which dense layers read each "
         "weight once; default 1",
         NULL},
        {"control", FLAG_CHOICE, &options->control, "chain|hs|none",
         "How frames are started: by ap_start, with ap_continue (default) or without it, or not at "
         "all: processes run as soon as they have words, and rewind unless --rewind=off",
         NULL},
        {"rewind", FLAG_CHOICE, &options->rewind, "on|off",
         "Let processes begin with the next frame before they have run empty: frames follow each "
         "other without a gap, but the end of one leaves with the beginning of the next",
         NULL},
        {"pipeline-style", FLAG_CHOICE, &options->style, "stalled|flushing",
         "Whether pipelines stall as a whole (default), or iterations go on when there is nothing "
         "to read for those behind them; not with --rewind=on",
         NULL},
        {"head", FLAG_TEXT, &compile->head, "integers|argmax|topk=K",
         "What the accelerator gives: sums in front of scalings and softmaxes, or indices of the "
         "greatest elements, default the network's results",
         NULL},
        {"residual", FLAG_TEXT, &compile->residual, "all|none|add,reuse,merge,fanout",
         "Residual blocks: whether kernels add skips to their results, windows also give the "
         "tensor itself and windows that lie in their own, and processes write to several "
         "readers, default all",
         NULL},
        {"fifo-slack", FLAG_TEXT, &compile->fifo_slack, "exact|N%|default",
         "How much deeper than predicted pipelines may be without losing the interval: not at "
         "all, by N % and 8 cycles, by 50 % and 8 cycles",
         NULL},
        {"folding", FLAG_TEXT, &compile->folding, "file",
         "Choices that are given, as folding.json of a compiled project has them", NULL},
        {"pooled", FLAG_SWITCH, &options->is_pooled, NULL,
         "Take the dies of a device as one pool of resources, and place nothing", NULL},
        {"anchor", FLAG_TEXTS, &options->anchors, "layer:die",
         "The die that a layer, or a process, is on; may be repeated", NULL},
        {"colocate", FLAG_TEXT, &compile->colocated, "layer,layer",
         "Layers that are on one die; lists are separated by semicolons", NULL});
    add_cards(flags, &options->cards);
    flags_add_model(flags, &options->model);
    flags_add_quantize(flags, &options->quantize);
}

void compile_flags_add_last(Flags *flags, CompileFlags *options)
{
    FLAGS_ADD(flags,
              {"max-text", FLAG_INT, &options->max_text, "n",
               "Bytes that the project may have, default 2^30; 0: no limit", NULL},
              {"verify-semantics", FLAG_OPTIONAL_INT, &options->compile.verify_semantics, "n",
               "Run the network on n random inputs (default 1) before and after each pass and "
               "compare",
               "1"});
}

enum { MOST_LITE_BITS = 64 };

/* "rom", "load" or "load:BITS". False: it is none of them. */
static bool parse_weights(const char *text, CompileOptions *out)
{
    static const char *const widths[] = {"8", "16", "32", "64", "128", "256", "512"};
    if (strcmp(text, "rom") == 0) return true;
    out->streams_weights = strcmp(text, "stream") == 0;
    if (out->streams_weights) return true;
    out->loads_weights = strncmp(text, "load", 4) == 0;
    if (strcmp(text, "load") == 0) return true;
    for (size_t i = 0; i < COUNT_OF(widths); i++)
        if (out->loads_weights && text[4] == ':' && strcmp(text + 5, widths[i]) == 0)
            out->weights_width = (int64_t)8 << i;
    return out->weights_width != 0;
}

static bool has_verilog(const CompileFlags *options)
{
    return strcmp(options->emit, "hls") != 0;
}

static EmitPlatform platform(const CompileFlags *options)
{
    if (strcmp(options->platform, "pynq") == 0) return EMIT_PLATFORM_PYNQ;
    return strcmp(options->platform, "xrt") == 0 ? EMIT_PLATFORM_XRT : EMIT_PLATFORM_NONE;
}

static bool has_platform(const CompileFlags *options)
{
    return platform(options) != EMIT_PLATFORM_NONE;
}

/* Sets what follows from the words that were given. */
static void settle(CompileFlags *options)
{
    CompileOptions *compile = &options->compile;
    bool is_free = strcmp(options->control, "none") == 0;
    bool flushes = strcmp(options->style, "flushing") == 0;
    if (!options->rewind) options->rewind = is_free && !flushes ? "on" : "off";
    if (has_platform(options) && strcmp(options->interface, "axis") == 0)
        options->interface = platform(options) == EMIT_PLATFORM_XRT ? "m_axi" : "dma";
    compile->has_memory_ports = strcmp(options->interface, "m_axi") == 0;
    compile->has_dma_ports = strcmp(options->interface, "dma") == 0;
    compile->shares_port = platform(options) == EMIT_PLATFORM_PYNQ;
    compile->rewinds = strcmp(options->rewind, "on") == 0;
    compile->flushes = flushes;
    compile->honors_dies = !options->is_pooled;
    if (driver_wants_cards(&options->cards) &&
        (!options->cards.mode || strcmp(options->cards.mode, "dp") != 0) &&
        !driver_chooses_mode(&options->cards))
        compile->honors_dies = false; /* place-cards chooses them */
    for (size_t i = 0; i < options->anchors.len; i++)
        strbuf_printf(&options->anchor_list, "%s%s", i ? ";" : "", options->anchors.data[i]);
    compile->anchors = options->anchor_list.data;
    if (strcmp(options->control, "chain") != 0) compile->control = options->control;
    options->knows_weights = parse_weights(options->weights, compile);
    if (options->weights_interface && strcmp(options->weights_interface, "axis") != 0)
        compile->weights_interface = options->weights_interface;
}

static bool check_platform(const CompileFlags *options, StrBuf *why)
{
    EmitPlatform is = platform(options);
    if (is == EMIT_PLATFORM_XRT && options->compile.has_dma_ports)
        return flags_wrong(why, "--platform=xrt moves frames through the card's memory, not by "
                                "--interface=dma");
    if (is != EMIT_PLATFORM_PYNQ) return true;
    if (options->compile.has_memory_ports)
        return flags_wrong(why, "--platform=pynq moves frames by DMAs, not by --interface=m_axi");
    return !options->compile.rewinds ||
           flags_wrong(why, "--platform=pynq waits for each result, and what rewinds gives the "
                            "last words of a frame with the next one; --rewind=off is needed");
}

static bool check_cards(const CompileFlags *options, StrBuf *why)
{
    const CardOptions *cards = &options->cards;
    const CompileOptions *compile = &options->compile;
    bool has_count = cards->cards != LIMIT_NOT_GIVEN;
    bool has_instances = cards->instances != NULL;
    int64_t instances;
    bool is_sized = cards->min_utilization != LIMIT_NOT_GIVEN;
    bool is_dp = cards->mode && strcmp(cards->mode, "dp") == 0;
    if (has_count && (cards->cards < 1 || cards->cards > SYSTEM_MAX_CARDS))
        return flags_wrong(why, "--cards takes a number from 1 to %d", SYSTEM_MAX_CARDS);
    if (cards->system && has_count)
        return flags_wrong(why, "--system names all cards, it goes with no --cards");
    if (cards->system && options->device.device)
        return flags_wrong(why, "--system names the devices of all cards, it goes with no "
                                "--device");
    if ((cards->mode || has_instances || is_sized) && !driver_wants_cards(cards))
        return flags_wrong(why, "--%s is about the cards of --cards or --system",
                           cards->mode     ? "mode"
                           : has_instances ? "instances"
                                           : "min-utilization");
    if (!driver_read_instances(cards->instances, &instances))
        return flags_wrong(why, "--instances takes a number from 1 to 64, or auto");
    if (is_sized && (instances != 0 && has_instances))
        return flags_wrong(why, "--min-utilization chooses a number of designs, so it goes with no "
                                "--instances=N");
    if (is_sized && (cards->min_utilization < 1 || cards->min_utilization > 100))
        return flags_wrong(why, "--min-utilization takes a percentage from 1 to 100");
    if (!driver_wants_cards(cards)) return true;
    if (platform(options) == EMIT_PLATFORM_PYNQ)
        return flags_wrong(why, "--platform=pynq is for one board, so it goes with no --cards and "
                                "--system");
    if (!is_dp && !driver_chooses_mode(cards) && options->is_pooled)
        return flags_wrong(why, "--pooled is about a design on one card, so it goes with "
                                "--mode=dp and auto only");
    if (!is_dp && (compile->anchors || compile->colocated))
        return flags_wrong(why,
                           "--anchor and --colocate are about the dies of one card, so they go "
                           "with --mode=dp only");
    if (driver_chooses_mode(cards) && compile->search.dump_lp)
        return flags_wrong(why, "--dump-lp is about one search, so it goes with no --mode=auto");
    if (compile->has_dma_ports || has_verilog(options))
        return flags_wrong(why, "--%s has no form as kernels on cards",
                           compile->has_dma_ports ? "interface=dma" : "emit=hls,verilog");
    return true;
}

/* What weights that are read from memory go with. */
static bool check_streaming(const CompileFlags *options, StrBuf *why)
{
    const char *kind = options->weights_interface;
    if (kind && strcmp(kind, "m_axi") != 0)
        return flags_wrong(why,
                           "--weights-interface=%s: --weights=stream reads weights from memory "
                           "outside, through m_axi",
                           kind);
    if (driver_wants_cards(&options->cards))
        return flags_wrong(why, "--weights=stream is for one card, so it goes with no --cards and "
                                "--system");
    if (has_verilog(options))
        return flags_wrong(why,
                           "--weights=stream reads memories, which --emit=hls,verilog has not");
    if (strcmp(options->rewind, "on") == 0)
        return flags_wrong(why, "--weights=stream reads weights frame by frame, so it goes with no "
                                "--rewind=on");
    return strcmp(options->control, "none") != 0 ||
           flags_wrong(why, "--weights=stream: registers tell where weights are, so it goes with "
                            "no --control=none");
}

/* What weights that are loaded from memory go with. */
static bool check_loading(const CompileFlags *options, StrBuf *why)
{
    const char *kind = options->weights_interface;
    const bool is_lite = strcmp(kind, "axilite") == 0;
    if (driver_wants_cards(&options->cards))
        return flags_wrong(why,
                           "--weights-interface=%s: kernels on several cards are sent their "
                           "weights by streams",
                           kind);
    if (has_verilog(options))
        return flags_wrong(why,
                           "--weights-interface=%s is a memory, which --emit=hls,verilog has "
                           "not",
                           kind);
    if (is_lite && platform(options) == EMIT_PLATFORM_XRT)
        return flags_wrong(why, "--weights-interface=axilite: hosts of --platform=xrt write no "
                                "memories inside; m_axi is for them");
    if (is_lite && options->compile.weights_width > MOST_LITE_BITS)
        return flags_wrong(why, "--weights-interface=axilite takes words of up to %d bits",
                           MOST_LITE_BITS);
    return strcmp(options->control, "chain") == 0 ||
           flags_wrong(why,
                       "--control=%s: registers start an accelerator with a memory of weights "
                       "(--weights-interface=%s)",
                       options->control, kind);
}

static bool check_batch(const CompileFlags *options, StrBuf *why)
{
    const CompileOptions *compile = &options->compile;
    if (compile->images < 1 || compile->images > DFG_MOST_IMAGES)
        return flags_wrong(why, "--batch takes 1 to %d images", DFG_MOST_IMAGES);
    return compile->images == 1 || compile->streams_weights ||
           flags_wrong(why, "--batch is about weights that are read from memory, so it goes with "
                            "--weights=stream");
}

static bool check_weights(const CompileFlags *options, StrBuf *why)
{
    const CompileOptions *compile = &options->compile;
    if (!options->knows_weights)
        return flags_wrong(
            why,
            "--weights takes rom, stream, load, or load:BITS with 8, 16, 32, 64, 128, 256 or 512");
    if (options->weights_interface && !compile->loads_weights && !compile->streams_weights)
        return flags_wrong(why, "--weights-interface is about the ports of --weights=load and "
                                "--weights=stream");
    if (compile->streams_weights) return check_streaming(options, why);
    return !compile->weights_interface || check_loading(options, why);
}

static bool check(const CompileFlags *options, StrBuf *why)
{
    const CompileOptions *compile = &options->compile;
    if (!flags_check_device(&options->device, why) ||
        !flags_check_search(&options->compile.search, why))
        return false;
    if (!check_cards(options, why)) return false;
    if (options->max_text < 0) return flags_wrong(why, "--max-text takes a number of bytes, or 0");
    if (options->compile.verify_semantics < 0)
        return flags_wrong(why, "--verify-semantics takes a positive number");
    if (options->compile.head && !driver_head_is_valid(options->compile.head))
        return flags_wrong(why, "--head takes integers, argmax or topk=K with K above 0");
    if (options->compile.head && options->compile.verify_semantics > 0)
        return flags_wrong(why, "--verify-semantics compares results, which --head replaces");
    if (options->compile.fifo_slack && !driver_fifo_slack_is_valid(options->compile.fifo_slack))
        return flags_wrong(why, "--fifo-slack takes exact, default or a share as 50%%, at "
                                "most 1000%%");
    if (options->compile.residual && !driver_residual_is_valid(options->compile.residual))
        return flags_wrong(why,
                           "--residual takes all, none, or a list of add, reuse, merge and fanout");
    if (!check_weights(options, why) || !check_batch(options, why)) return false;
    if (strcmp(options->control, "chain") != 0 && strcmp(options->interface, "m_axi") == 0)
        return flags_wrong(why,
                           "--control=%s: registers start an accelerator with memories "
                           "(--interface=m_axi)",
                           options->control);
    if (strcmp(options->rewind, "on") == 0 && strcmp(options->style, "flushing") == 0)
        return flags_wrong(why, "--pipeline-style=flushing: a pipeline that rewinds stalls; "
                                "--rewind=on is given");
    if (!check_platform(options, why)) return false;
    if (options->compile.folding && strpbrk(options->compile.folding, "\"'{}"))
        return flags_wrong(why, "--folding: the path must have no quotes and braces");
    if (options->is_pooled && (compile->anchors || compile->colocated))
        return flags_wrong(why, "--pooled looks at no dies, so it goes with no --anchor and "
                                "--colocate");
    if (compile->anchors && strpbrk(compile->anchors, "\"'{}"))
        return flags_wrong(why, "--anchor: names must have no quotes and braces; processes have "
                                "names without");
    if (compile->colocated && strpbrk(compile->colocated, "\"'{}"))
        return flags_wrong(why, "--colocate: names must have no quotes and braces; processes have "
                                "names without");
    if (options->compile.top && !emit_top_name_is_valid(str_from(options->compile.top)))
        return flags_wrong(why, "--top: '%s' cannot be the name of a C++ function",
                           options->compile.top);
    return true;
}

bool compile_flags_settle(CompileFlags *options, StrBuf *why)
{
    settle(options);
    bool ok = check(options, why);
    if (options->compile.search.fps == LIMIT_NOT_GIVEN) options->compile.search.fps = 0;
    if (!options->device.device) options->device.device = DEFAULT_DEVICE;
    return ok;
}

/* The design as kernels on its cards. */
static bool emit_kernels(const Op *design, const EmitOptions *options, EmittedProject *project)
{
    Op *system = op_clone(design, NULL);
    bool ok = driver_run_passes(system, STR("builtin.module(split-region)")) &&
              kernels_emit(system, options, project);
    op_erase(system);
    return ok;
}

bool compile_flags_emit(const CompileFlags *options, const char *folder, Op *design,
                        EmittedProject *project, StrBuf *why)
{
    StrBuf csim_dir = {0}, rtl_dir = {0}, board_dir = {0};
    bool has_rtl = has_verilog(options);
    bool ok = driver_resource_dir("csim", &csim_dir) &&
              (!has_rtl || driver_resource_dir("rtl", &rtl_dir));
    ok = ok && (!has_platform(options) || driver_resource_dir("board", &board_dir));
    Op *rtl = ok && has_rtl ? driver_lower_to_rtl(design, options->primitives) : NULL;
    const EmitOptions emit = {.output_dir = folder,
                              .csim_dir = csim_dir.data,
                              .rtl_dir = rtl_dir.data,
                              .platform = platform(options),
                              .board_dir = board_dir.data,
                              .rtl = rtl,
                              .max_text = options->max_text};
    ok = ok && (rtl || !has_rtl) && emit_hls_files(design, &emit, project) &&
         (!op_attr(design, SYS_ATTR_CARDS) || emit_kernels(design, &emit, project)) &&
         (!folder || emit_write_project(folder, &project->files, why));
    if (rtl) op_erase(rtl);
    strbuf_free(&csim_dir);
    strbuf_free(&rtl_dir);
    strbuf_free(&board_dir);
    return ok;
}

bool compile_flags_check_target(const CompileFlags *options, const DeviceTarget *target,
                                StrBuf *why)
{
    const Device *device = &target->device;
    bool has_ps = emit_part_has_ps(device->part);
    if (options->compile.streams_weights && driver_stream_bits(device) == 0)
        return flags_wrong(why,
                           "--weights=stream: the description of %.*s tells of no memory (<bank>) "
                           "with ports of 64 bits or more",
                           STR_ARG(device->name));
    if (platform(options) == EMIT_PLATFORM_XRT)
        return (!has_ps && device->bank_count > 0) ||
               flags_wrong(why,
                           "--platform=xrt: %.*s (%.*s) is no card with memory banks that XRT "
                           "knows",
                           STR_ARG(device->name), STR_ARG(device->part));
    return platform(options) != EMIT_PLATFORM_PYNQ || has_ps ||
           flags_wrong(why,
                       "--platform=pynq: %.*s (%.*s) has no processing system; PYNQ runs on boards "
                       "with a Zynq-7000 or a Zynq UltraScale+",
                       STR_ARG(device->name), STR_ARG(device->part));
}

bool compile_flags_find_files(const CompileFlags *options, StrBuf *why)
{
    static const char *const kinds[][2] = {
        {"csim", "simulation headers"}, {"rtl", "Verilog modules"}, {"board", "files for boards"}};
    const bool is_needed[] = {true, has_verilog(options), has_platform(options)};
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT_OF(kinds); i++) {
        if (!is_needed[i]) continue;
        StrBuf dir = {0};
        ok = driver_resource_dir(kinds[i][0], &dir) ||
             flags_wrong(why, "the %s are not installed: none of %s is there", kinds[i][1],
                         dir.data);
        strbuf_free(&dir);
    }
    return ok;
}
