/* The C interface of libcsim.so: the accelerator's C simulation on packed
 * frames, which are the bytes that the accelerator takes and gives (ming_port.h).
 * Ports stand in the order inputs, outputs, weights. Functions give 0, or -1 and
 * a message. Calls of one library are made one after the other, whatever thread
 * they come from; the library keeps the weights that its first run loads. In a
 * program of its own it is loaded by dlopen, since all libraries have the same
 * names. Tested by test/e2e/library_check.py. */
#ifndef MING_LIBCSIM_H
#define MING_LIBCSIM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header. Fields and functions are only added behind those that are here, and add one. */
#define MING_CSIM_VERSION 1

enum { MING_CSIM_INPUT, MING_CSIM_OUTPUT, MING_CSIM_WEIGHTS };

typedef struct ming_csim_port {
    const char *name;         /* of the model's tensor, UTF-8 */
    int kind;                 /* MING_CSIM_… */
    int element_bits;         /* of an element of the model's */
    size_t stride_bits;       /* from one element of a word to the next */
    size_t word_elements;
    size_t word_bits;         /* from one word to the next */
    size_t words;             /* of a frame; of all weights */
    size_t frame_bytes;       /* words * word_bits / 8 */
} ming_csim_port;

int ming_csim_version(void);
/* The top function's name. */
const char *ming_csim_top(void);
size_t ming_csim_port_count(void);
/* -1: there is no such port. */
int ming_csim_get_port(size_t index, ming_csim_port *out);
/* Runs frames, at least one. buffers: one for each port, with `frames` frames one after the other;
 * that of weights has them once, and may be NULL after the first run. message: what is wrong, cut to
 * `size` bytes with the end; may be NULL. After a run that failed no other succeeds. */
int ming_csim_run(size_t frames, void *const *buffers, char *message, size_t size);

#ifdef __cplusplus
}
#endif

#endif
