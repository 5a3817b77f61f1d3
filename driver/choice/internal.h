/* The choice of a design: the stages from choose-unroll on, run for one set of options after another
 * (designs.c); for cards and tiles of them, for one device after another (tiles.c). */
#ifndef MING_DRIVER_CHOICE_INTERNAL_H
#define MING_DRIVER_CHOICE_INTERNAL_H

#include "driver/internal.h"
#include "sim/interp/interp.h"

/* The options that all runs share. */
typedef struct Compile {
    const CompileOptions *options;
    const DeviceTarget *target;
    DeviceTarget *part; /* NULL, or a target of less, owned */
    VerifySemantics *semantics;
    DseNeed *need;   /* of the last design that the budget does not hold */
    double deadline; /* of dse_seconds(): no search after it that is not needed; 0: none */
} Compile;

StageOptions choice_stages(const Compile *compile, const SearchOptions *search);
/* A number of a dictionary at the top function, 0 without. */
int64_t choice_top_number(const Op *module, const char *attr, const char *name);
/* Whether all searches together have had their time. */
bool choice_is_late(const Compile *compile);

/* The best design of the module, as a new one, and the options it was found with. NULL: diagnosed.
 * choice_spread: that of several cards together, if need be of less than all they have.
 * choice_tile: that of which several lie on as many cards as give the most frames for a card. */
Op *choice_design(const Compile *compile, const Op *module, SearchOptions *chosen);
Op *choice_spread(Compile *compile, const Op *module, SearchOptions *chosen);

/* So many cards for several designs, on each of them or on all together, and the options of one. */
typedef struct Tiling {
    CompileOptions options;
    DriverCards cards;
    DeviceTarget target, taken; /* of one design; of the design that is taken */
} Tiling;

/* The tiling is what the compilation's options point to from then on. */
Op *choice_tile(Compile *compile, Tiling *tiling, const Op *module, SearchOptions *chosen);

#endif
