/* The sizes of one engine for several networks on a device. Arrays (rows, columns, types of elements) are
 * tried one by one, as far as a bound does not exclude them; for each of them the buffers are made as
 * small as the model's cycles allow, then as small as the device needs. Cycles are those of the model
 * (to_program_estimate), resources those of the cost model (overlay_hls_cost): predictions.
 *
 *   networks.c  models as networks of an array     sizes.c   what an engine takes, how good it is
 *   dies.c      an engine on the dies              search.c  which arrays and buffers are tried
 *
 * docs/overlay.md. Tests: test/e2e/overlay_model_check.py, lit/tools/ming-overlay-search.test */
#ifndef MING_DRIVER_OVERLAY_OVERLAY_H
#define MING_DRIVER_OVERLAY_OVERLAY_H

#include "dialects/sa/sa.h"
#include "driver/driver.h"
#include "lowering/network_to_program/network_to_program.h"
#include "target/cost/cost.h"

enum { OVERLAY_SEARCH_MOST_MODELS = 16 };

typedef enum OverlayObjective {
    OVERLAY_WORST, /* the greatest of all times, each beside what the device's roofline allows */
    OVERLAY_SUM,   /* their sum, each beside that */
    OVERLAY_TIME   /* the sum of the times */
} OverlayObjective;

/* A network that the engine is for. */
typedef struct OverlayModel {
    const char *name;
    Op *module; /* behind driver_run_overlay_front; the caller's */
    double weight;
} OverlayModel;

typedef struct OverlayRequest {
    Context *ctx;
    const OverlayModel *models;
    size_t model_count;
    const DeviceTarget *target;
    OverlayObjective objective;
    bool is_for_each_die; /* an engine on each die, else one over as many as it needs */
    int64_t rate; /* bytes of a bank in 1,000 cycles; LIMIT_NOT_GIVEN: of the device's banks */
    int64_t pins[SA_OVERLAY_PARAMS]; /* LIMIT_NOT_GIVEN: free */
    const char *act, *weight;        /* NULL: free */
} OverlayRequest;

/* What an engine takes of the dies. */
typedef struct OverlayPlace {
    int64_t engines;               /* 1, or as many as dies that hold one */
    uint32_t die;                  /* with the buffers and ports */
    int64_t rows[DEVICE_MAX_DIES]; /* of the array, on each die */
    int64_t wires;                 /* at the border that has most */
    int64_t registers;             /* that a run goes through at borders */
} OverlayPlace;

/* Of a model on an engine. */
typedef struct OverlayFigure {
    ProgramEstimate estimate;
    double roofline; /* cycles that the device cannot go below: products by DSPs, bytes by a bank */
} OverlayFigure;

typedef struct OverlayFound {
    SaOverlay size;
    Cost cost;
    OverlayPlace place;
    double value; /* of the objective */
    OverlayFigure figures[OVERLAY_SEARCH_MOST_MODELS];
    ProgramMemory memory;
    int64_t arrays, tried,
        excluded; /* arrays that there are; engines estimated; arrays that are no better */
} OverlayFound;

/* False: diagnosed, or *why says that no engine fits. */
bool overlay_search_run(const OverlayRequest *request, OverlayFound *out, StrBuf *why) MUST_CHECK;
/* A table of the networks, a line for the engine, and the options that make it. */
void overlay_search_print(const OverlayRequest *request, const OverlayFound *found, StrBuf *out);
/* The types of elements, "i8" or "ui2". */
void overlay_search_set_types(SaOverlay *size, const char *act, const char *weight);
/* The passes from linalg to layers of such an engine, and `rest`, ",pass..." or "". */
void overlay_search_pipeline(const SaOverlay *size, const char *rest, StrBuf *out);
/* "rows=8,cols=16,act=i8,...": with commas as --overlay= takes it, with blanks as a pass does. */
void overlay_search_print_sizes(const SaOverlay *size, char separator, StrBuf *out);

#endif
