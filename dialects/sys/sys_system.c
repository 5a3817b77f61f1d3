/* Ops of the sys dialect, and what makes a system whole: every stream has one kernel that writes it
 * and one that reads it, and only links join cards.
 * Tests: lit/dialects/sys/system.mir, system-invalid.mir */
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"
#include "ir/verify/verify.h"

static bool is_place(const Attr *attr)
{
    return attr && attr_is_a(attr, &sys_attr_place);
}

static bool is_stream(const Type *type)
{
    return type_is_a(type, &emithls_type_stream);
}

static bool is_port(const Type *type)
{
    return is_stream(type) || type_is_a(type, &emithls_type_array);
}

static const AttrConstraint ATTR_IS_PLACE = {
    .test = is_place, .what = "a #sys.place", .param = &sys_attr_place};
static const TypeConstraint IS_STREAM = {is_stream, "stream", .parses = is_stream};
static const TypeConstraint IS_PORT = {is_port, "stream or array", .parses = is_port};

void sys_add_use(const Value *port, SysUse *out)
{
    FOR_EACH_USE(use, port) {
        const Op *op = use->owner;
        out->reads |= op->def == EMITHLS(READ) || op->def == EMITHLS(LOAD);
        out->writes |= op->def == EMITHLS(WRITE) || op->def == EMITHLS(STORE);
        if (op->def != EMITHLS(CALL)) continue;
        const Op *callee = symbol_lookup(op, op_attr(op, "callee"));
        const Block *body = callee ? region_entry(op_region(callee, 0)) : NULL;
        uint32_t index = use_index(use);
        if (body && index < body->arg_count) sys_add_use(body->args[index], out);
    }
}

const Op *sys_system(const Op *module)
{
    FOR_EACH_OP(op, region_entry(op_region(module, 0)))
        if (op->def == SYS(SYSTEM)) return op;
    return NULL;
}

const Op *sys_top(const Op *module)
{
    const Op *system = sys_system(module);
    return system ? system : emithls_top(module);
}

bool sys_is_protocol(Str name)
{
    return str_eq_c(name, "credit") || str_eq_c(name, "udp") || str_eq_c(name, SYS_HOST);
}

Str sys_protocol(const Op *stream)
{
    const Attr *protocol = stream->def == SYS(LINK)
                               ? op_attr(stream, SYS_ATTR_PROTOCOL)
                               : attr_dict_get_c(op_attr(stream, SYS_ATTR_LINK), SYS_ATTR_PROTOCOL);
    return protocol ? protocol->u.string : STR("");
}

static bool verify_link(Op *op)
{
    Str protocol = op_attr(op, "protocol")->u.string;
    int64_t latency = attr_int_value(op_attr(op, EMITHLS_ATTR_LATENCY));
    int64_t depth = attr_int_value(op_attr(op, DFG_ATTR_DEPTH));
    int64_t packet = attr_int_value(op_attr(op, SYS_ATTR_PACKET));
    if (i64_min(depth, packet) < 1 || i64_max(depth, packet) > INT32_MAX)
        return op_error(op, "needs a depth and packets of 1 to %d words", INT32_MAX);
    if (latency < 1 || latency > EMITHLS_MAX_LATENCY)
        return op_error(op, "latency must be from 1 to %d", EMITHLS_MAX_LATENCY);
    if (!sys_has_ways(op_attr(op, SYS_ATTR_PORTS), op_attr(op, SYS_ATTR_PACE)))
        return op_error(op, "needs two ports from 0 to %d and a pace of at least 1 cycle, or none",
                        SYS_MAX_PORTS - 1);
    return sys_is_protocol(protocol) ||
           op_error(op, "protocol must be 'credit', 'udp' or '" SYS_HOST "', but got '%.*s'",
                    STR_ARG(protocol));
}

static bool belongs(const Op *op)
{
    return op->def == SYS(CARD) || op->def == SYS(KERNEL) || op->def == SYS(LINK) ||
           op->def == EMITHLS(STREAM);
}

/* The kernels at a stream: a stream of the body is between two. */
static bool verify_stream(Op *op)
{
    const Value *stream = op_result(op, 0);
    int64_t cards[2] = {0};
    uint32_t count = 0;
    FOR_EACH_USE(use, stream) {
        if (use->owner->def != SYS(KERNEL) || !is_place(op_attr(use->owner, "place"))) return true;
        if (count < 2) cards[count] = sys_place_of(op_attr(use->owner, "place")).card;
        count++;
    }
    if (count != 2) return op_error(op, "joins %u kernels, but a stream is between two", count);
    if (op->def == EMITHLS(STREAM) && cards[0] != cards[1])
        return op_error(op, "joins cards %lld and %lld, which takes a sys.link",
                        (long long)i64_min(cards[0], cards[1]),
                        (long long)i64_max(cards[0], cards[1]));
    return op->def != SYS(LINK) || cards[0] != cards[1] ||
           op_error(op, "joins kernels of one card, which takes an emithls.stream");
}

static bool verify_system(Op *op)
{
    const Type *type = op_attr(op, "function_type")->u.type_value;
    const Attr *names = op_attr(op, EMITHLS_ATTR_ARG_NAMES), *ports = op_attr(op, "port_attrs");
    const Block *body = region_entry(op_region(op, 0));
    int64_t cards = 0;
    if (!body || body->arg_count != type->u.function.input_count ||
        names->u.array.count != body->arg_count)
        return op_error(op, "needs one argument and one name per input of its type");
    if (ports && ports->u.array.count != body->arg_count)
        return op_error(op, "needs one port attribute dictionary per argument");
    for (uint32_t i = 0; i < body->arg_count; i++) {
        if (body->args[i]->type != type->u.function.types[i] || !is_port(body->args[i]->type))
            return op_error(op, "argument %u must be the stream or array that its type says", i);
        if (names->u.array.items[i]->kind != ATTR_STRING)
            return op_error(op, "arg_names must be strings");
        if (value_use_count(body->args[i]) > 1)
            return op_error(op, "argument %u is a port of several kernels", i);
    }
    FOR_EACH_OP(inner, body) cards += inner->def == SYS(CARD);
    if (cards < 1 || cards > SYS_MAX_CARDS)
        return op_error(op, "has %lld cards, but must have 1 to %d", (long long)cards,
                        SYS_MAX_CARDS);
    FOR_EACH_OP(inner, body) {
        if (!belongs(inner)) return op_error(inner, "does not belong into a sys.system");
        const bool is_kernel = inner->def == SYS(KERNEL);
        const Attr *place = is_kernel ? op_attr(inner, "place") : NULL;
        if (is_place(place) && sys_place_of(place).card >= cards)
            return op_error(inner, "is on card %lld, but the system has %lld",
                            (long long)sys_place_of(place).card, (long long)cards);
        if (inner->result_count == 1 && !verify_stream(inner)) return false;
    }
    return !ports || verify_arg_dicts(op, ports);
}

static const char *name_argument(const Op *op, const Value *arg, StrBuf *scratch)
{
    const Attr *names = op_attr(op, EMITHLS_ATTR_ARG_NAMES);
    (void)scratch;
    return names && arg->index < names->u.array.count
               ? names->u.array.items[arg->index]->u.string.data
               : NULL;
}

static const char *name_link(const Op *op, uint32_t index, StrBuf *scratch)
{
    const Attr *name = op_attr(op, "name");
    (void)index, (void)scratch;
    return name && name->kind == ATTR_STRING ? name->u.string.data : NULL;
}

#define OP(ID, NAME, ...)                                                                          \
    [SYS_##ID] = {.id = #ID, .name = NAME, .dialect = &sys_dialect, __VA_ARGS__},
const OpDef sys_ops[] = {
#include "dialects/sys/sys_ops.def"
};
#undef OP
