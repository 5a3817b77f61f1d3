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

enum { SYS_MAX_CARDS = 16, SYS_MAX_DIES = 8 }; /* of a card */

typedef struct SysPlace {
    int64_t card, die;
} SysPlace;

const Attr *sys_place_attr(Context *ctx, SysPlace place);
/* False: the op has none. */
bool sys_place(const Op *op, SysPlace *out);

#endif
