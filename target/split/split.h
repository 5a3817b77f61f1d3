/* Kernels on several dies and cards: passes on a placed emithls design.
 *
 *   place-cards    which card, and there which die, each process is on
 *   connect-cards  links in place of streams between cards, with the processes at their ends
 *   bound-links    room at the end of links without back-pressure
 *   check-dies     what dies take beyond what a design may use of them
 *   chain-kernels  the kernel that each process will be in, where weights are loaded
 *   split-region   a function per kernel, and the sys.system that joins them
 *   copy-frames    a kernel at memory in place of the end of a link that the host is
 *
 * FIFOs are sized behind connect-cards, for the design as a whole. docs/partition.md.
 * Tests: lit/target/split, test/e2e/system_check.py */
#ifndef MING_TARGET_SPLIT_SPLIT_H
#define MING_TARGET_SPLIT_SPLIT_H

#include "ir/pass/pass.h"

extern const PassDef pass_bound_links;
extern const PassDef pass_chain_kernels;
extern const PassDef pass_check_dies;
extern const PassDef pass_connect_cards;
extern const PassDef pass_copy_frames;
extern const PassDef pass_place_cards;
extern const PassDef pass_split_region;

/* Words at the adapters of a link with credits: that its receiver holds; that its sender keeps until
 * they have come, a power of two; of which the receiver tells at once that they were taken. The
 * link's own depth counts words one by one, adapters whole packets and such groups. */
int64_t split_adapter_room(int64_t depth, int64_t packet);
int64_t split_adapter_kept(int64_t depth, int64_t packet);
int64_t split_adapter_chunk(int64_t packet);

#endif
