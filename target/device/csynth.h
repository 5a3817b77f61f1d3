/* Synthesis reports of Vitis HLS (csynth.xml): what the vendor's tool estimates for each function.
 * Tests: test/unit/csynth_test.c, lit/tools/ming-report.test */
#ifndef MING_TARGET_CSYNTH_H
#define MING_TARGET_CSYNTH_H

#include "ir/attr/context.h"

/* Figures of a function, or of the whole design; -1 where the report has none. Latency and interval
 * are worst cases in cycles. */
typedef struct SynthFigures {
    int64_t latency, interval, dsp, bram18, uram, lut, ff;
} SynthFigures;

typedef struct SynthModule {
    Str name;
    SynthFigures figures;
} SynthModule;

/* Texts live in the context. */
typedef struct SynthReport {
    Str version, part, top;
    Str target_ns, estimated_ns; /* clock periods as they stand in the report */
    SynthFigures total;
    VEC(SynthModule) modules; /* in the report's order */
} SynthReport;

/* False: diagnosed, naming the file. The report must be freed either way. */
bool csynth_read(Context *ctx, const char *path, SynthReport *out) MUST_CHECK;
/* Module of that name, or NULL. */
const SynthModule *csynth_module(const SynthReport *report, Str name);
void csynth_free(SynthReport *report);

#endif
