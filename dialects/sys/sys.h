/* The sys dialect: where the processes of a design are, and designs as kernels on cards. A process
 * that is placed has `sys.place = #sys.place<card = 0, die = 2>`; cards and dies are numbered from
 * 0, in the order of the system file and of the device description. A design is placed as a whole
 * or not at all. A sys.system takes the place of the top function once split-region has made
 * kernels of the processes. SYS(ID) is the row of an op, which serves as its identity.
 * Tests: lit/dialects/sys */
#ifndef MING_DIALECTS_SYS_SYS_H
#define MING_DIALECTS_SYS_SYS_H

#include "ir/core/core.h"

#define OP(ID, ...) SYS_##ID,
enum {
#include "dialects/sys/sys_ops.def"
    SYS_OP_COUNT
};
#undef OP

extern const OpDef sys_ops[];
extern const DialectDef sys_dialect;
#define SYS(ID) (&sys_ops[SYS_##ID])
/* Parameters: card and die, i64. */
extern const AttrDef sys_attr_place;

/* On dfg.process and the emithls.func that it becomes: its card and die. Written by choose-unroll
 * and apply-folding, handed on by convert-dfg-to-emithls; add-memory-ports and load-weights place
 * their processes beside those that they serve. Read by target/fifo, sim and emit. */
#define SYS_ATTR_PLACE "sys.place"
/* On such a function: the kernel that it belongs to, whatever else is on the die, a string.
 * Written by connect-cards; read by split-region. */
#define SYS_ATTR_KERNEL "sys.kernel"
/* Likewise: the number of the kernel that split-region will make of it, whose loaded weights come through
 * a port of its own, an i64. Written by chain-kernels; read by load-weights. */
#define SYS_ATTR_CHAIN "sys.chain"
/* On an emithls.stream of a design that is not split: it is a link between cards, a dictionary of
 * SYS_LINK_PACKET and SYS_LINK_PROTOCOL. Written by connect-cards; read by cross-dies, target/fifo
 * and split-region. */
#define SYS_ATTR_LINK "sys.link"
/* Of a sys.link op, and keys of the dictionary: words of a packet, an i64, and "credit", "udp" or
 * SYS_HOST: the host copies packets, which are frames, from the memory of a card to that of another. */
#define SYS_ATTR_PACKET "packet"
#define SYS_ATTR_PROTOCOL "protocol"
#define SYS_HOST "host"
/* Likewise, if known: the Ethernet ports of the writer's and the reader's card, an i64 array; and the
 * cycles that the link takes for a packet, an i64. */
#define SYS_ATTR_PORTS "ports"
#define SYS_ATTR_PACE "pace"
/* On an emithls.stream: its words are in the memory of a card, so it takes none of the chip. Written by
 * connect-cards; read by target/fifo. */
#define SYS_ATTR_IN_MEMORY "sys.in_memory"
/* On the module: the dies that places count, an array of dictionaries of SYS_DIE keys, and what
 * joins them, an array of dictionaries of SYS_LINK keys. Written by choose-unroll; read by
 * target/dse, target/fifo and emit. */
#define SYS_ATTR_DIES "sys.dies"
#define SYS_ATTR_LINKS "sys.links"
/* On the module: the cards that places count, an array of dictionaries of SYS_CARD keys; how
 * they share the design, "dp", "swmp", "hwmp" or "tmp"; and how many designs there are, an i64, with "dp"
 * on each card, else on all of them together: a tile.
 * Written by place-cards; read by split-region and emit. */
#define SYS_ATTR_CARDS "sys.cards"
#define SYS_ATTR_MODE "sys.mode"
#define SYS_ATTR_INSTANCES "sys.instances"
/* Of a tile, whose instances are one design: on an emithls.func that belongs to another instance than the
 * first one its number, an i64; and on such a port, in port_attrs, an i64 array of that number and of
 * the port that it is of the first instance. Written by place-cards; read by emit and driver. */
#define SYS_ATTR_INSTANCE "sys.instance"
#define SYS_CARD_NAME "name" /* strings */
#define SYS_CARD_DEVICE "device"
#define SYS_CARD_DIES "dies"        /* as SYS_ATTR_DIES; if any */
#define SYS_DIE_NAME "name"         /* a string */
#define SYS_DIE_LIMIT "limit"       /* what a design may use, a dictionary of DFG_COST keys */
#define SYS_DIE_CAPACITY "capacity" /* the same of what there is */
#define SYS_DIE_BANK "bank" /* a string, if any: memory banks there for ports, "HBM[0:31]" */
#define SYS_DIE_MEAN "mean" /* i64, if any: percent that the mean share of BRAM, URAM, DSP may be */
#define SYS_LINK_DIES "dies"   /* i64 array: two dies by number */
#define SYS_LINK_WIRES "wires" /* i64: in each direction */

/* dies, ports: of a card */
enum { SYS_MAX_CARDS = 16, SYS_MAX_DIES = 8, SYS_MAX_PORTS = 8, SYS_MAX_INSTANCES = 64 };

typedef struct SysPlace {
    int64_t card, die;
} SysPlace;

/* Instances of which the design of a module consists, which is a tile if there are several; 1 with "dp". */
int64_t sys_tile_size(const Op *module);
/* Whether a port, of which these are port_attrs, belongs to another instance than the first one; then which
 * instance and port of the first one it is. */
bool sys_port_instance(const Attr *attrs, int64_t *instance, int64_t *port);

const Attr *sys_place_attr(Context *ctx, SysPlace place);
SysPlace sys_place_of(const Attr *place); /* of a #sys.place */
/* Whether these are SYS_ATTR_PORTS and SYS_ATTR_PACE of a link; either may be NULL. */
bool sys_has_ways(const Attr *ports, const Attr *pace);
/* Whether a sys.link can have the protocol: "credit", "udp" or SYS_HOST. */
bool sys_is_protocol(Str name);
/* The protocol of a link, which is a sys.link or a stream with SYS_ATTR_LINK; "": it is none. */
Str sys_protocol(const Op *stream);
/* False: the op has none. */
bool sys_place(const Op *op, SysPlace *out);

/* The sys.system of a module, or NULL; and what stands for the whole design: it, else the top
 * function, or NULL. */
const Op *sys_system(const Op *module);
const Op *sys_top(const Op *module);

/* Whether words are taken from a stream or memory or given to it, by ops that use it and in the
 * functions that are called with it. */
typedef struct SysUse {
    bool reads, writes;
} SysUse;
void sys_add_use(const Value *port, SysUse *out); /* adds to *out */

#endif
