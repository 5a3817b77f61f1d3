/* The sys dialect: where the processes of a design are. It has no ops. A process that is placed has
 * `sys.place = #sys.place<card = 0, die = 2>`; cards and dies are numbered from 0, in the order of
 * the system file and of the device description. A design is placed as a whole or not at all.
 * Tests: lit/dialects/sys */
#ifndef MING_DIALECTS_SYS_SYS_H
#define MING_DIALECTS_SYS_SYS_H

#include "ir/core/core.h"

extern const DialectDef sys_dialect;
/* Parameters: card and die, i64. */
extern const AttrDef sys_attr_place;

/* On dfg.process and the emithls.func that it becomes: its card and die. Written by choose-unroll
 * and apply-folding, handed on by convert-dfg-to-emithls; add-memory-ports and load-weights place
 * their processes beside those that they serve. Read by target/fifo, sim and emit. */
#define SYS_ATTR_PLACE "sys.place"
/* On the module: the dies that places count, an array of dictionaries of SYS_DIE keys, and what
 * joins them, an array of dictionaries of SYS_LINK keys. Written by choose-unroll; read by
 * target/dse, target/fifo and emit. */
#define SYS_ATTR_DIES "sys.dies"
#define SYS_ATTR_LINKS "sys.links"
#define SYS_DIE_NAME "name"         /* a string */
#define SYS_DIE_LIMIT "limit"       /* what a design may use, a dictionary of DFG_COST keys */
#define SYS_DIE_CAPACITY "capacity" /* the same of what there is */
#define SYS_DIE_MEAN "mean" /* i64, if any: percent that the mean share of BRAM, URAM, DSP may be */
#define SYS_LINK_DIES "dies"   /* i64 array: two dies by number */
#define SYS_LINK_WIRES "wires" /* i64: in each direction */

enum { SYS_MAX_CARDS = 16, SYS_MAX_DIES = 8 }; /* of a card */

typedef struct SysPlace {
    int64_t card, die;
} SysPlace;

const Attr *sys_place_attr(Context *ctx, SysPlace place);
/* False: the op has none. */
bool sys_place(const Op *op, SysPlace *out);

#endif
