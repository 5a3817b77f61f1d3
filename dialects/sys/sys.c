/* The attribute #sys.place<card = 0, die = 2>, and what may have it.
 * Tests: lit/dialects/sys */
#include <stdlib.h>

#include "dialects/builtin/builtin.h"
#include "dialects/dfg/dfg.h"
#include "dialects/emithls/emithls.h"
#include "dialects/sys/sys.h"
#include "ir/asm/parse/parse.h"
#include "ir/asm/print/print.h"
#include "ir/attr/attr.h"

/* name '=' integer, from 0 to below `count` */
static bool parse_number(OpParser *p, const char *name, int64_t count, int64_t *out)
{
    if (!parser_expect(p, name) || !parser_expect(p, "=")) return false;
    SrcPos at = parser_pos(p);
    if (!parser_int(p, out)) return false;
    return (*out >= 0 && *out < count) ||
           parser_error_at(p, at, "%s must be from 0 to %lld, but got %lld", name,
                           (long long)count - 1, (long long)*out);
}

/* place ::= '<' 'card' '=' integer ',' 'die' '=' integer '>' */
static const Attr *parse_place(OpParser *p, const Type *type)
{
    SysPlace place;
    (void)type;
    if (!parser_expect(p, "<") || !parse_number(p, "card", SYS_MAX_CARDS, &place.card) ||
        !parser_expect(p, ",") || !parse_number(p, "die", SYS_MAX_DIES, &place.die) ||
        !parser_expect(p, ">"))
        return NULL;
    return sys_place_attr(parser_ctx(p), place);
}

static void print_place(StrBuf *out, const Attr *attr)
{
    const Attr *const *params = attr->u.dialect.params;
    strbuf_printf(out, "<card = %lld, die = %lld>", (long long)attr_int_value(params[0]),
                  (long long)attr_int_value(params[1]));
}

const AttrDef sys_attr_place = {.name = "place",
                                .dialect = &sys_dialect,
                                .summary = "A die of a card, both by number.",
                                .parse = parse_place,
                                .print = print_place};

const Attr *sys_place_attr(Context *ctx, SysPlace place)
{
    const Attr *params[] = {attr_i64(ctx, place.card), attr_i64(ctx, place.die)};
    return attr_dialect(ctx, &sys_attr_place, params, COUNT_OF(params));
}

SysPlace sys_place_of(const Attr *place)
{
    return (SysPlace){attr_int_value(place->u.dialect.params[0]),
                      attr_int_value(place->u.dialect.params[1])};
}

bool sys_place(const Op *op, SysPlace *out)
{
    const Attr *attr = op_attr(op, SYS_ATTR_PLACE);
    if (attr) *out = sys_place_of(attr);
    return attr != NULL;
}

static bool has_kind(const Attr *dict, const char *name, AttrKind kind)
{
    const Attr *item = attr_dict_get_c(dict, name);
    return item && item->kind == kind;
}

static bool is_die(const Attr *attr)
{
    return attr->kind == ATTR_DICT && has_kind(attr, SYS_DIE_NAME, ATTR_STRING) &&
           has_kind(attr, SYS_DIE_LIMIT, ATTR_DICT) &&
           has_kind(attr, SYS_DIE_CAPACITY, ATTR_DICT) &&
           (!attr_dict_get_c(attr, SYS_DIE_BANK) || has_kind(attr, SYS_DIE_BANK, ATTR_STRING));
}

static bool is_link(const Attr *attr)
{
    const Attr *dies = attr->kind == ATTR_DICT ? attr_dict_get_c(attr, SYS_LINK_DIES) : NULL;
    return dies && attr_is_int_array(dies) && dies->u.dense_array.count == 2 &&
           has_kind(attr, SYS_LINK_WIRES, ATTR_INTEGER);
}

/* Absent, or as SYS_ATTR_DIES. */
static bool are_dies(const Attr *dies)
{
    bool ok = !dies || (dies->kind == ATTR_ARRAY && dies->u.array.count <= SYS_MAX_DIES);
    for (size_t i = 0; dies && ok && i < dies->u.array.count; i++)
        ok = is_die(dies->u.array.items[i]);
    return ok;
}

/* [{name = "c0", device = "u280"}] */
static bool verify_cards(Op *op, const Attr *cards)
{
    bool ok = cards->kind == ATTR_ARRAY && cards->u.array.count > 0 &&
              cards->u.array.count <= SYS_MAX_CARDS;
    for (size_t i = 0; ok && i < cards->u.array.count; i++) {
        const Attr *card = cards->u.array.items[i];
        ok = card->kind == ATTR_DICT && has_kind(card, SYS_CARD_NAME, ATTR_STRING) &&
             has_kind(card, SYS_CARD_DEVICE, ATTR_STRING) &&
             are_dies(attr_dict_get_c(card, SYS_CARD_DIES));
    }
    return ok || op_error(op,
                          SYS_ATTR_CARDS " must be an array of 1 to %d dictionaries, each with "
                                         "the strings 'name' and 'device'",
                          SYS_MAX_CARDS);
}

/* A list of dies or links on the module. */
static bool verify_list(Op *op, const NamedAttr *attr)
{
    bool is_of_dies = str_eq_c(attr->name->str, SYS_ATTR_DIES);
    bool ok = attr->value->kind == ATTR_ARRAY &&
              (!is_of_dies || attr->value->u.array.count <= SYS_MAX_DIES);
    for (size_t i = 0; ok && i < attr->value->u.array.count; i++)
        ok = (is_of_dies ? is_die : is_link)(attr->value->u.array.items[i]);
    if (!ok && is_of_dies)
        return op_error(op,
                        SYS_ATTR_DIES " must be an array of at most %d dictionaries, each with "
                                      "'name', 'limit' and 'capacity'",
                        SYS_MAX_DIES);
    if (!ok)
        return op_error(op, SYS_ATTR_LINKS " must be an array of dictionaries, each with two "
                                           "'dies' and 'wires'");
    return op->def == BUILTIN(MODULE) ||
           op_error(op, "is no module, so it cannot have %.*s", STR_ARG(attr->name->str));
}

int64_t sys_tile_size(const Op *module)
{
    const Attr *mode = op_attr(module, SYS_ATTR_MODE),
               *instances = op_attr(module, SYS_ATTR_INSTANCES);
    bool is_dp = mode && str_eq_c(mode->u.string, "dp");
    return instances && !is_dp ? attr_int_value(instances) : 1;
}

bool sys_port_instance(const Attr *attrs, int64_t *instance, int64_t *port)
{
    const Attr *numbers = attrs ? attr_dict_get_c(attrs, SYS_ATTR_INSTANCE) : NULL;
    if (!numbers || !attr_is_int_array(numbers) || numbers->u.dense_array.count != 2) return false;
    *instance = dense_array_i64(numbers, 0);
    *port = dense_array_i64(numbers, 1);
    return true;
}

bool sys_has_ways(const Attr *ports, const Attr *pace)
{
    bool ok = !pace || (ATTR_IS_I64.test(pace) && attr_int_value(pace) >= 1);
    if (!ok || !ports) return ok;
    if (!attr_is_int_array(ports) || ports->u.dense_array.count != 2) return false;
    for (size_t i = 0; i < 2; i++)
        ok &= dense_array_i64(ports, i) >= 0 && dense_array_i64(ports, i) < SYS_MAX_PORTS;
    return ok;
}

/* Notes which instances have a port that is as port `first` of the first one. False: this one is none. */
static bool note_port(const Op *top, uint32_t number, int64_t instances, uint64_t *has)
{
    const Attr *ports = op_attr(top, DFG_ATTR_PORT_ATTRS);
    const Block *body = region_entry(op_region(top, 0));
    const Attr *port = ports->u.array.items[number];
    int64_t instance, first, ignored;
    if (!sys_port_instance(port, &instance, &first)) return true;
    if (instance < 1 || instance >= instances || first < 0 ||
        first >= (int64_t)ports->u.array.count ||
        sys_port_instance(ports->u.array.items[first], &ignored, &ignored) ||
        body->args[number]->type != body->args[first]->type ||
        attr_dict_get_c(port, EMITHLS_ATTR_FRAME) !=
            attr_dict_get_c(ports->u.array.items[first], EMITHLS_ATTR_FRAME) ||
        (has[first] >> instance & 1))
        return false;
    has[first] |= UINT64_C(1) << instance;
    return true;
}

/* Each port of data of the first instance is there in all others. */
static bool verify_ports(const Op *top, int64_t instances)
{
    const Attr *ports = op_attr(top, DFG_ATTR_PORT_ATTRS);
    const Block *body = region_entry(op_region(top, 0));
    const uint32_t count = body ? body->arg_count : 0;
    const uint64_t others = (UINT64_MAX >> (SYS_MAX_INSTANCES - instances)) & ~UINT64_C(1);
    if (!ports || ports->kind != ATTR_ARRAY || ports->u.array.count != count) return true;
    for (uint32_t i = 0; i < count; i++)
        if (ports->u.array.items[i]->kind != ATTR_DICT) return true; /* not ours to say */
    uint64_t *has = xcalloc(count + 1, sizeof *has);
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++)
        ok = note_port(top, i, instances, has) ||
             op_error(top, "port #%u is of no instance, or as no port of the first one", i);
    for (uint32_t i = 0; ok && i < count; i++) {
        const Attr *port = ports->u.array.items[i];
        int64_t ignored;
        if (attr_dict_get_c(port, EMITHLS_ATTR_WEIGHTS) ||
            sys_port_instance(port, &ignored, &ignored))
            continue;
        ok = has[i] == others || op_error(top, "port #%u is not there in all instances", i);
    }
    free(has);
    return ok;
}

/* Of a tile, that processes and ports belong to its instances. */
static bool verify_tile(const Op *module, const Attr *instances)
{
    const Attr *mode = op_attr(module, SYS_ATTR_MODE);
    const int64_t count = attr_int_value(instances);
    if (count == 1 || (mode && mode->kind == ATTR_STRING && str_eq_c(mode->u.string, "dp")))
        return true;
    FOR_EACH_OP(op, region_entry(op_region(module, 0))) {
        const Attr *own = op_attr(op, SYS_ATTR_INSTANCE);
        if (own && ATTR_IS_I64.test(own) && attr_int_value(own) >= count)
            return op_error(op, "has " SYS_ATTR_INSTANCE " %lld, but there are %lld instances",
                            (long long)attr_int_value(own), (long long)count);
    }
    const Op *top = emithls_top(module);
    return !top || verify_ports(top, count);
}

static bool verify_instances(const Op *op, const Attr *value)
{
    if (!ATTR_IS_I64.test(value) || attr_int_value(value) < 1 ||
        attr_int_value(value) > SYS_MAX_INSTANCES)
        return op_error(op, SYS_ATTR_INSTANCES " must be an i64 from 1 to %d", SYS_MAX_INSTANCES);
    return op->def != BUILTIN(MODULE) || verify_tile(op, value);
}

/* { packet = 16 : i64, protocol = "credit" } */
static bool verify_link_attr(Op *op, const Attr *link)
{
    const Attr *packet = link->kind == ATTR_DICT ? attr_dict_get_c(link, SYS_ATTR_PACKET) : NULL;
    if (!packet || !ATTR_IS_I64.test(packet) || !has_kind(link, SYS_ATTR_PROTOCOL, ATTR_STRING) ||
        op->def != EMITHLS(STREAM) ||
        !sys_has_ways(attr_dict_get_c(link, SYS_ATTR_PORTS), attr_dict_get_c(link, SYS_ATTR_PACE)))
        return op_error(op,
                        SYS_ATTR_LINK " must be a dictionary with 'packet' and 'protocol' on an "
                                      "emithls.stream");
    Str protocol = attr_dict_get_c(link, SYS_ATTR_PROTOCOL)->u.string;
    if (!sys_is_protocol(protocol) && !str_eq_c(protocol, "either"))
        return op_error(op,
                        "protocol of " SYS_ATTR_LINK " must be 'credit', 'udp', '" SYS_HOST
                        "' or 'either', but got '%.*s'",
                        STR_ARG(protocol));
    const int64_t words = attr_int_value(packet);
    return (words >= 1 && words <= INT32_MAX) ||
           op_error(op, "packets of " SYS_ATTR_LINK " must have 1 to %d words, but got %lld",
                    INT32_MAX, (long long)words);
}

static bool verify_attr(Op *op, const NamedAttr *attr)
{
    Str name = attr->name->str;
    if (str_eq_c(name, SYS_ATTR_CARDS)) return verify_cards(op, attr->value);
    if (str_eq_c(name, SYS_ATTR_MODE))
        return attr->value->kind == ATTR_STRING || op_error(op, SYS_ATTR_MODE " must be a string");
    if (str_eq_c(name, SYS_ATTR_INSTANCES)) return verify_instances(op, attr->value);
    if (str_eq_c(name, SYS_ATTR_INSTANCE))
        return (ATTR_IS_I64.test(attr->value) && attr_int_value(attr->value) >= 1 &&
                op->def == EMITHLS(FUNC)) ||
               op_error(op, SYS_ATTR_INSTANCE " must be a positive i64 on an emithls.func");
    if (str_eq_c(name, SYS_ATTR_LINK)) return verify_link_attr(op, attr->value);
    if (str_eq_c(name, SYS_ATTR_KERNEL))
        return (attr->value->kind == ATTR_STRING && op->def == EMITHLS(FUNC)) ||
               op_error(op, SYS_ATTR_KERNEL " must be a string on an emithls.func");
    if (str_eq_c(name, SYS_ATTR_CHAIN))
        return (ATTR_IS_I64.test(attr->value) && attr_int_value(attr->value) >= 0 &&
                op->def == EMITHLS(FUNC)) ||
               op_error(op, SYS_ATTR_CHAIN " must be a natural number on an emithls.func");
    if (str_eq_c(name, SYS_ATTR_IN_MEMORY))
        return (attr->value->kind == ATTR_UNIT && op->def == EMITHLS(STREAM)) ||
               op_error(op, SYS_ATTR_IN_MEMORY " must be a unit on an emithls.stream");
    if (str_eq_c(name, SYS_ATTR_DIES) || str_eq_c(name, SYS_ATTR_LINKS))
        return verify_list(op, attr);
    if (!str_eq_c(name, SYS_ATTR_PLACE))
        return op_error(op,
                        "has '%.*s'; attributes of sys are " SYS_ATTR_CARDS ", " SYS_ATTR_CHAIN
                        ", " SYS_ATTR_DIES ", " SYS_ATTR_IN_MEMORY ", " SYS_ATTR_INSTANCE
                        ", " SYS_ATTR_INSTANCES ", " SYS_ATTR_KERNEL ", " SYS_ATTR_LINK
                        ", " SYS_ATTR_MODE ", " SYS_ATTR_LINKS " and " SYS_ATTR_PLACE,
                        STR_ARG(name));
    if (!attr_is_a(attr->value, &sys_attr_place))
        return op_error(op, SYS_ATTR_PLACE " must be a #sys.place");
    return op->def == DFG(PROCESS) || op->def == EMITHLS(FUNC) ||
           op_error(op, "is no process, so it cannot have a " SYS_ATTR_PLACE);
}

static const AttrDef *const sys_attrs[] = {&sys_attr_place, NULL};

const DialectDef sys_dialect = {
    .name = "sys",
    .summary = "Where the processes of a design are: cards and their dies, and kernels on them.",
    .ops = sys_ops,
    .op_count = SYS_OP_COUNT,
    .attrs = sys_attrs,
    .verify_op_attr = verify_attr,
};
