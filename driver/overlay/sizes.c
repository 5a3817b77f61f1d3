/* How good an engine is: the model's cycles of each network, beside what the device's roofline allows. */
#include "driver/overlay/internal.h"
#include "ir/asm/print/print.h"

enum { ROOFLINE_WEIGHT_BYTES = 1 };

/* Whatever the engine: a product for each DSP slice in a cycle, each weight once as a byte. */
static double roofline(const OverlayRequest *request, const ProgramMemory *memory,
                       const ProgramEstimate *estimate)
{
    int64_t dsp = request->target->budget.dsp;
    double products = (double)estimate->products / (double)(dsp > 0 ? dsp : 1);
    double bytes = (double)estimate->weights * ROOFLINE_WEIGHT_BYTES;
    double loads = bytes * 1000 / (double)memory->rate;
    double most = products > loads ? products : loads;
    return most > 1 ? most : 1;
}

static double objective_of(const OverlayRequest *request, const OverlayFigure *figures,
                           const double cycles[])
{
    double value = 0;
    for (size_t i = 0; i < request->model_count; i++) {
        double part = request->models[i].weight * cycles[i];
        if (request->objective != OVERLAY_TIME) part /= figures[i].roofline;
        bool is_greatest = request->objective == OVERLAY_WORST;
        value = !is_greatest ? value + part : part > value ? part : value;
    }
    return value;
}

double overlay_search_objective(const OverlayRequest *request, const OverlayFigure *figures)
{
    double cycles[OVERLAY_SEARCH_MOST_MODELS];
    for (size_t i = 0; i < request->model_count; i++)
        cycles[i] = (double)figures[i].estimate.cycles;
    return objective_of(request, figures, cycles);
}

bool overlay_search_value(Search *search, const SaOverlay *size, OverlayFigure *figures,
                          double *value)
{
    const OverlayRequest *request = search->request;
    const Attr *attr = sa_overlay_attr(request->ctx, size, loc_unknown(request->ctx));
    DiagHold hold;
    bool ok = attr != NULL;
    search->tried++;
    diag_hold_begin(&hold, request->ctx);
    for (size_t i = 0; ok && i < request->model_count; i++) {
        op_set_attr(search->networks.networks[i], SA_ATTR_OVERLAY, attr);
        ok = to_program_estimate(search->networks.networks[i], &search->memory,
                                 &figures[i].estimate);
        figures[i].roofline = roofline(request, &search->memory, &figures[i].estimate);
    }
    diag_hold_drop(&hold);
    if (ok) *value = overlay_search_objective(request, figures);
    return ok;
}

double overlay_search_bound(const Search *search, const SaOverlay *size,
                            const OverlayFigure *figures)
{
    double cycles[OVERLAY_SEARCH_MOST_MODELS];
    for (size_t i = 0; i < search->request->model_count; i++)
        cycles[i] = (double)figures[i].estimate.products / ((double)size->rows * size->cols);
    return objective_of(search->request, figures, cycles);
}
