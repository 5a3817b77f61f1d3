/* Between the sources of driver/overlay. */
#ifndef MING_DRIVER_OVERLAY_INTERNAL_H
#define MING_DRIVER_OVERLAY_INTERNAL_H

#include "driver/overlay/overlay.h"

/* The models as networks for one array. */
typedef struct SearchNetworks {
    Op *modules[OVERLAY_SEARCH_MOST_MODELS], *networks[OVERLAY_SEARCH_MOST_MODELS];
} SearchNetworks;

typedef struct Search {
    const OverlayRequest *request;
    ProgramMemory memory;
    SearchNetworks networks;
    bool has_best;
    OverlayFound *best;
    int64_t tried;
} Search;

/* networks.c: the models for an overlay of such an array; what is wrong is not told unless `tells`. */
bool overlay_search_convert(const OverlayRequest *request, const SaOverlay *size, bool tells,
                            SearchNetworks *out) MUST_CHECK;
void overlay_search_free_networks(const OverlayRequest *request, SearchNetworks *networks);
/* The type of elements in a pipeline and on the command line, "ui2". */
const char *overlay_search_act_name(const SaOverlay *size);
const char *overlay_search_weight_name(const SaOverlay *size);

/* dies.c: resources of an engine; whether dies hold the engine, and how. */
Cost overlay_search_cost(const OverlayRequest *request, const SaOverlay *size);
bool overlay_search_place(const OverlayRequest *request, const SaOverlay *size, OverlayPlace *out)
    MUST_CHECK;
/* Which kinds of resources are too few; none: dies or wires are. */
void overlay_search_lacks(const OverlayRequest *request, const SaOverlay *size,
                          bool lacks[COST_KINDS]);

/* sizes.c: the objective with networks that are converted; false: some network does not run on it. */
bool overlay_search_value(Search *search, const SaOverlay *size, OverlayFigure *figures,
                          double *value) MUST_CHECK;
/* The objective of figures as they stand. */
double overlay_search_objective(const OverlayRequest *request, const OverlayFigure *figures);
/* What no engine with that array can do better than. */
double overlay_search_bound(const Search *search, const SaOverlay *size,
                            const OverlayFigure *figures);

#endif
