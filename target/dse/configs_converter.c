/* Width converters in the design space. Every channel gets a node that joins or splits words where
 * those of its two ends differ, so that the processes at the ends can choose their words freely.
 * Tests: lit/target/dse/converters.mir */
#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/core/core.h"
#include "schedule/schedule.h"
#include "target/cost/cost.h"
#include "target/dse/internal.h"

/* Numbers of the words that a node has at a port, each once, in order of configurations. */
typedef VEC(int64_t) WordList;

static void list_words(const DseSpace *space, uint32_t number, uint32_t port, WordList *out)
{
    const DseNode *node = &space->nodes.data[number];
    bool *seen = xcalloc(space->words.len, sizeof(bool));
    for (size_t c = 0; c < node->configs.len; c++) {
        int64_t word = node->configs.data[c].word[port];
        if (!seen[word]) *vec_push(out) = word;
        seen[word] = true;
    }
    free_ptr((void **)&seen);
}

/* Where there are two converters, the interval of the slower one. */
static int64_t words_gathered(const Type *from, const Type *middle, const Type *to)
{
    int64_t most = dfg_word_elems(to);
    if (middle) most = i64_max(most, dfg_word_elems(middle));
    return most / dfg_word_elems(from);
}

static int64_t conversion_interval(const Type *from, const Type *middle, const Type *to,
                                   const CostTarget *target)
{
    Cost first = {.cycles = 0}, second;
    cost_conversion(middle ? middle : from, NULL, to, target, &second);
    if (middle) cost_conversion(from, NULL, middle, target, &first);
    return first.cycles > second.cycles ? first.cycles : second.cycles;
}

/* A shift register, unless bursts are longer or the design may lack LUTs; what else FIFOs hold is
 * known once they are sized. */
void dse_add_fifo(const Type *word, int64_t burst, const CostTarget *target, Cost *sum)
{
    int64_t bits = dse_word_bits(word), words = i64_max(burst, FIFO_MOST_SRL);
    FifoKind kind = burst <= FIFO_MOST_SRL               ? FIFO_SRL
                    : burst * bits <= MEMORY_MOST_LUTRAM ? FIFO_LUTRAM
                                                         : FIFO_BRAM;
    Cost srl = {.lut = 0}, lutram = {.lut = 0};
    memory_fifo_cost(FIFO_SRL, bits, words, STRUCTURE_HLS, &srl);
    memory_fifo_cost(FIFO_LUTRAM, bits, words, STRUCTURE_HLS, &lutram);
    if (kind == FIFO_SRL && target->has_lutram_fifos && lutram.lut < srl.lut) kind = FIFO_LUTRAM;
    memory_fifo_cost(kind, bits, words, STRUCTURE_HLS, sum);
}

/* A conversion, and the FIFOs in front of and behind each of its converters. */
static void add_conversion(DseSpace *space, DseNode *node, int64_t from, int64_t to)
{
    const Type *middle = NULL, *a = space->words.data[from], *b = space->words.data[to];
    Config config = {.middle = -1, .word = ARENA_ARRAY(space->arena, int64_t, 2)};
    config.word[0] = from;
    config.word[1] = to;
    if (from != to) {
        WordConversion conversion = sched_conversion(a, b, MAX_WORD_BITS, &middle);
        if (conversion == CONVERSION_NONE) return;
        if (conversion == CONVERSION_BY_WAY_OF) config.middle = dse_word(space, middle);
        cost_conversion(a, middle, b, &space->target, &config.cost);
        dse_add_fifo(b, 1, &space->target, &config.cost);
        config.interval = conversion_interval(a, middle, b, &space->target);
        config.pace.gathered = words_gathered(a, middle, b);
    }
    if (config.middle >= 0) dse_add_fifo(middle, 1, &space->target, &config.cost);
    dse_add_fifo(a, 1, &space->target, &config.cost);
    *vec_push(&node->configs) = config;
}

/* Where some factors or words are given, no converter may join any words of the two ends. */
static bool report_no_conversion(const DseSpace *space, const DseEdge *edge, int64_t from,
                                 int64_t to)
{
    const Op *sender = space->nodes.data[edge->from].process,
             *reader = space->nodes.data[edge->to].process;
    return op_error(reader,
                    "takes no words that a converter can make of those of '%.*s': '%.*s' takes %s, "
                    "but it is sent %s",
                    STR_ARG(symbol_name(sender)->str), STR_ARG(symbol_name(reader)->str),
                    type_str(reader->ctx, space->words.data[to]),
                    type_str(reader->ctx, space->words.data[from]));
}

/* False: diagnosed. */
static bool add_converter(DseSpace *space, size_t edge_number)
{
    DseEdge edge = space->edges.data[edge_number];
    DseNode node = {.channel = edge.channel, .kind = PROCESS_CONVERTER, .port_count = 2};
    WordList from = {0}, to = {0};
    list_words(space, edge.from, edge.from_port, &from);
    list_words(space, edge.to, edge.to_port, &to);
    for (size_t i = 0; i < from.len; i++)
        for (size_t j = 0; j < to.len; j++) add_conversion(space, &node, from.data[i], to.data[j]);
    const bool ok =
        node.configs.len > 0 || report_no_conversion(space, &edge, from.data[0], to.data[0]);
    uint32_t number = (uint32_t)space->nodes.len;
    *vec_push(&space->nodes) = node;
    space->edges.data[edge_number] = (DseEdge){edge.from, edge.from_port, number, 0, edge.channel};
    *vec_push(&space->edges) = (DseEdge){number, 1, edge.to, edge.to_port, NULL};
    vec_free(&from);
    vec_free(&to);
    return ok;
}

bool dse_add_converters(DseSpace *space)
{
    size_t channels = space->edges.len;
    bool ok = true;
    for (size_t e = 0; ok && e < channels; e++) ok = add_converter(space, e);
    return ok;
}

static const Type *end_of(const Type *word, const TypeDef *def)
{
    return type_dialect(word->ctx, def, word->u.dialect.params, word->u.dialect.param_count);
}

/* reader: the process behind the converter, which gives it its name. */
static Op *build_process(SymbolTable *symbols, Op *reader, const Type *from, const Type *to,
                         const CostTarget *target)
{
    Context *ctx = reader->ctx;
    const Type *ports[2] = {end_of(from, &dfg_type_output), end_of(to, &dfg_type_input)};
    const Type *frame = dfg_payload(from);
    Str source = layer_name_source(reader);
    StrBuf name = {0};
    strbuf_printf(&name, "%.*s_words", STR_ARG(symbol_name(reader)->str));
    Op *process =
        dfg_create_graph(ctx, DFG(PROCESS), strbuf_str(&name), reader->loc, ports, 1, 1, NULL);
    strbuf_free(&name);
    if (source.len) op_set_attr(process, DFG_ATTR_NAME, attr_string(ctx, source));
    op_insert_before(process, reader);
    symtab_insert(symbols, process);
    Builder b = builder_at_end(region_entry(op_region(process, 0)), reader->loc);
    Value *port = dfg_port(process, 0);
    Value *push[2] = {op_result(build(&b, DFG(PULL), &port, 1, &frame, 1, NULL, 0), 0),
                      dfg_port(process, 1)};
    build(&b, DFG(PUSH), push, 2, NULL, 0, NULL, 0);
    dse_set_converter_report(process, from, to, target);
    return process;
}

/* The place of the process at a channel's end, or NULL. */
static const Attr *end_place(SymbolTable *symbols, const Op *channel, uint32_t end)
{
    const Use *use = op_result(channel, end)->uses;
    const Attr *callee = use ? op_attr(use->owner, "callee") : NULL;
    const Op *process = callee ? symtab_get(symbols, callee->u.symbol.names[0]) : NULL;
    return process ? op_attr(process, SYS_ATTR_PLACE) : NULL;
}

/* channel -> reader becomes channel -> converter -> new channel -> reader. */
static void insert_converter(SymbolTable *symbols, Op *channel, const Type *from, const Type *to,
                             const Attr *place, const CostTarget *target)
{
    Use *use = op_result(channel, 1)->uses;
    Op *reader = use->owner;
    uint32_t operand = use_index(use);
    Op *process = symtab_get(symbols, op_attr(reader, "callee")->u.symbol.names[0]);
    Op *converter = build_process(symbols, process, from, to, target);
    op_set_attr(converter, SYS_ATTR_PLACE, place);
    const Type *ends[2] = {end_of(to, &dfg_type_input), end_of(to, &dfg_type_output)};
    Builder b = builder_before(reader);
    Op *next = build(&b, DFG(CHANNEL), NULL, 0, ends, 2, NULL, 0);
    op_set_operand(reader, operand, op_result(next, 1));
    Value *connects[2] = {op_result(channel, 1), op_result(next, 0)};
    dse_instantiate(&b, converter, connects);
}

void dse_apply_converters(SymbolTable *symbols, const DseSpace *space, const uint32_t *chosen)
{
    for (size_t n = 0; n < space->nodes.len; n++) {
        const DseNode *node = &space->nodes.data[n];
        if (node->process) continue;
        const Config *config = &node->configs.data[chosen[n]];
        const Type *from = space->words.data[config->word[0]];
        const Type *to = space->words.data[config->word[1]];
        const Type *middle = config->middle < 0 ? NULL : space->words.data[config->middle];
        const Attr *place =
            end_place(symbols, node->channel, dse_converts_at_writer(from, to) ? 0 : 1);
        if (middle) /* the second one first: it stands at the channel's end */
            insert_converter(symbols, node->channel, middle, to, place, &space->target);
        if (from != to)
            insert_converter(symbols, node->channel, from, middle ? middle : to, place,
                             &space->target);
    }
}
