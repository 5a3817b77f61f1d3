/* Between dse_space.c (the graph), dse_compute.c, dse_window.c, dse_move.c and dse_converter.c
 * (configurations of one process), dse_style.c (memories and multipliers).
 * Tests: lit/target/dse/choose-unroll.mir */
#ifndef MING_TARGET_DSE_INTERNAL_H
#define MING_TARGET_DSE_INTERNAL_H

#include "target/dse/dse.h"

/* What synthesis still handles well in one process, and pixels per word that the search tries. Both
 * numbers of elements are multiplied by dse_scale. */
enum { MAX_PARALLEL_ELEMENTS = 1024, MAX_PIXELS = 4, MAX_WORD_BITS = 4096 };

/* 1 up to 2,520 DSPs to spend, 2 up to twice as many, then 4. */
int64_t dse_scale(const CostTarget *target);

/* Number of an end's word among the space's words. Sending and receiving ends of the same frame and
 * word have the same number. */
int64_t dse_word(DseSpace *space, const Type *end);
/* Adds the configuration with these port types, whose interval is its cycles. unroll and style may
 * be NULL. */
void dse_add_config(DseSpace *space, DseNode *node, const Cost *cost, const Type *const *ends,
                    const int64_t *unroll, const Style *style);
/* The number'th of STYLE_COUNT styles; false if it differs from the plain one in more than what is
 * to be tried. */
enum { STYLE_COUNT = 8 };
bool dse_style(const Style *choices, uint32_t number, Style *out);

/* Bits of a word. */
int64_t dse_word_bits(const Type *end);
/* Whether the words of a node's ports are narrow enough, or are what the port has anyway, and at
 * the accelerator's ports runs of the frame's row-major order, which the user has to send. */
bool dse_words_fit(const DseNode *node, const Type *const *ends);

/* Add the configurations of one process. False: diagnosed. */
bool dse_compute_configs(DseSpace *space, DseNode *node) MUST_CHECK;
bool dse_window_configs(DseSpace *space, DseNode *node, const Op *instantiate) MUST_CHECK;
bool dse_move_configs(DseSpace *space, DseNode *node) MUST_CHECK;
/* Of node `number`, once the edges and the other processes' configurations are known. */
bool dse_fork_configs(DseSpace *space, uint32_t number, const Op *instantiate) MUST_CHECK;

/* Puts a node on every channel, whose configurations are the conversions between words of its ends;
 * no conversion costs nothing. */
void dse_add_converters(DseSpace *space);
/* Builds the chosen converters into the graph. */
void dse_apply_converters(Op *module, const DseSpace *space);

void dse_set_converter_report(Op *process, const Type *from, const Type *to,
                              const CostTarget *target);
/* The attributes of style that a process came with. False: diagnosed. */
bool dse_check_given_style(const Op *process, const CostTarget *target) MUST_CHECK;
/* Writes what the style decides on the ops of a process whose words and factors are set. */
void dse_apply_style(Op *process, ProcessKind kind, const Style *style);

/* Whether a process was given the words of its ports beforehand (dfg.words), and the type that a
 * port then has. NULL: diagnosed. */
bool dse_has_given_words(const Op *process);
const Type *dse_given_end(const Op *process, uint32_t port);
/* Whether a process has a configuration with what it was given. False: diagnosed. */
bool dse_check_process(const Op *instantiate, const CostTarget *target, Arena *arena) MUST_CHECK;
/* Drops the configurations with other words. False: diagnosed (none is left). */
bool dse_keep_given_words(DseSpace *space, DseNode *node) MUST_CHECK;

/* Whether the kernel was given its factors beforehand (dfg.unroll). */
bool dse_is_pinned(const ComputeSchedule *base);
/* Those factors, KERNEL_MAX_LOOPS entries, and the types that the ports need. False: diagnosed. */
bool dse_pinned_ends(const ComputeSchedule *base, int64_t *unroll, const Type **ends) MUST_CHECK;
/* The type that a process's port must have; *end stays as it is where nothing says so. False:
 * diagnosed. */
bool dse_pinned_end(const Op *process, uint32_t port, const Type **end) MUST_CHECK;

#endif
