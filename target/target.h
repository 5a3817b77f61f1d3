/* Passes that depend on the device: unrolling, storage, FIFO depths. */
#ifndef MING_TARGET_TARGET_H
#define MING_TARGET_TARGET_H

#include "ir/pass/pass.h"

extern const PassDef pass_apply_folding;
extern const PassDef pass_choose_unroll;
extern const PassDef pass_fit_fifos;
extern const PassDef pass_pin_fifos;
extern const PassDef pass_size_fifos;

#endif
