/* The simulation of a compiled design as users ask for it: until its state repeats, for so many
 * frames, or for the frames of arrays, whose values then run through it.
 *
 *   simulation_begin ─▶ open_data, and the files or arrays of the ports ─▶ run ─▶ figures, outputs
 *
 * `ming sim` builds on it.
 * Tests: lit/tools/ming-sim.mir, lit/tools/ming-sim-invalid.mir, test/e2e/sizing_check.py */
#ifndef MING_DRIVER_SIMULATE_SIMULATE_H
#define MING_DRIVER_SIMULATE_SIMULATE_H

#include "driver/driver.h"
#include "sim/hls/hls.h"

enum { SIMULATION_MAX_EVENTS = 1 << 30 };

typedef struct SimulationSettings {
    int64_t frames; /* without data, of each instance; LIMIT_NOT_GIVEN: until the state repeats */
    int64_t clock;  /* MHz; 0: the design's */
    int64_t seed;   /* of pauses at the ports; < 0: they are regular */
    int64_t max_events;                   /* reads and writes; 0: no limit */
    const char *input_rate, *output_rate; /* words per cycle; NULL: 1 */
    const char *perturb;                  /* as design_parse_perturbation has it; NULL: not */
    const char *style;                    /* "stalled" or "flushing"; NULL: as it was compiled */
} SimulationSettings;

#define SIMULATION_DEFAULTS                                                                        \
    {                                                                                              \
        .frames = LIMIT_NOT_GIVEN, .seed = -1, .max_events = SIMULATION_MAX_EVENTS                 \
    }

/* The caller sets the first two members and zeroes the others. */
typedef struct Simulation {
    const SimulationSettings *settings;
    DriverErrors errors;
    HlsDesign *design;
    HlsValues *values;     /* NULL: timing only */
    HlsSim *sim;           /* after simulation_run */
    int64_t clock;         /* MHz */
    HlsSimOptions options; /* hooks may be added before simulation_run */
    bool has_data;
    PortFiles inputs, outputs;
    /* Told of each frame whose values are simulated, with the arrays of the arguments, those of a tile once
     * for a frame of each instance. False: reported, ends the simulation. NULL: nobody is. */
    bool (*seen)(void *user, int64_t turn, Array *const *arrays);
    void *user;
    uint32_t *input_args, *output_args; /* arguments of the top function */
    /* Of a tile: frames go to its instances by turns, and those arguments are the first one's. */
    int64_t instances;
} Simulation;

/* The only .mir file of a folder, or the path itself if it is none. False: reported. */
bool simulation_design_path(const char *given, DriverErrors errors, StrBuf *path) MUST_CHECK;

/* Each is false if it reported or diagnosed something; simulation_free is right then, too. */

/* The module must stay as it is until simulation_free. */
bool simulation_begin(Simulation *s, const Op *module) MUST_CHECK;
/* Makes the ports. The caller then gives s->inputs their arrays and frames. has_values: they are
 * computed, else the arrays only say how many frames there are. */
bool simulation_open_data(Simulation *s, bool has_values) MUST_CHECK;
bool simulation_run(Simulation *s) MUST_CHECK;
void simulation_free(Simulation *s);

#endif
