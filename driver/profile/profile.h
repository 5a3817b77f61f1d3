/* What numbers a network works on: per tensor the range, mean, deviation and magnitudes of its
 * weights and activations over many frames, so that widths of integers can be chosen for them.
 *
 *   interpreter ─▶ profile_watch: each op's results, and its constants ─▶ profile_print: table, JSON
 *
 * `ming check --profile` builds on it.
 * Tests: lit/driver/profile.test */
#ifndef MING_DRIVER_PROFILE_PROFILE_H
#define MING_DRIVER_PROFILE_PROFILE_H

#include "sim/interp/interp.h"

typedef struct Profile Profile;

/* Of the ops of the function's first block, which stays as it is. */
Profile *profile_create(const Op *func);
void profile_free(Profile *profile);
/* For interp_watch: each frame counts. Constants are there already. */
InterpWatch profile_watch(Profile *profile);

/* Append a line per tensor, in the order of the network, or JSON. */
void profile_print_text(const Profile *profile, int64_t frames, StrBuf *out);
void profile_print_json(const Profile *profile, int64_t frames, StrBuf *out);

#endif
