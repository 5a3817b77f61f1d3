/* What a network loses on the overlay it is for, as remarks: one of each kind, since layers are alike.
 * Tests: lit/lowering/linalg_to_sa/remarks.mir */
#include "ir/asm/print/print.h"
#include "lowering/linalg_to_sa/internal.h"

static int64_t filled(int64_t channels, int64_t lanes)
{
    return ceil_div(channels, lanes) * lanes;
}

/* Products that the array makes for all channels of a result, of which layer->products are asked for. */
static uint64_t slots_of(const Lowering *lw, const Layer *layer)
{
    const SaOverlay *size = &lw->size;
    int64_t lanes = size->rows > size->cols ? size->rows : size->cols;
    int64_t groups = layer->groups;
    int64_t in = layer->is_depthwise ? size->cols : filled(layer->input->extents.c / groups, lanes);
    int64_t out = groups * filled(layer->extents.c / groups, lanes);
    return (uint64_t)(layer->kernel[0] * layer->kernel[1] * in * out);
}

/* Groups that leave more than 15 of 16 products unused. */
static void remark_groups(const Lowering *lw)
{
    enum { LEAST = 16 };
    const Layer *first = NULL;
    size_t count = 0;
    for (size_t i = 0; i < lw->layers.len; i++) {
        const Layer *layer = lw->layers.data[i];
        if (!layer->has_groups || layer->products * LEAST >= slots_of(lw, layer)) continue;
        if (!first) first = layer;
        count++;
    }
    if (!first) return;
    double use = 100 * (double)first->products / (double)slots_of(lw, first);
    StrBuf others = {0};
    if (count > 1)
        strbuf_printf(&others, "; %zu other layer%s as well", count - 1,
                      count > 2 ? "s do" : " does");
    op_remark(first->op, "uses %.3g %% of the array's products, since its channels are in groups%s",
              use, others.data ? others.data : "");
    strbuf_free(&others);
}

/* Weights of which some need no more than half of the bits of others. */
static void remark_widths(const Lowering *lw)
{
    const uint32_t bits = lw->size.weight_bits;
    uint32_t least = UINT32_MAX, most = 0;
    uint64_t used = 0, all = 0;
    for (size_t i = 0; i < lw->layers.len; i++) {
        const Layer *layer = lw->layers.data[i];
        if (layer->products == 0) continue;
        if (layer->weight_bits < least) least = layer->weight_bits;
        if (layer->weight_bits > most) most = layer->weight_bits;
        used += layer->products * layer->weight_bits;
        all += layer->products * bits;
    }
    if (all == 0 || 2 * least > most) return;
    op_remark(
        lw->func,
        "has layers with weights of %u to %u bits, which all take the overlay's %u: %.0f %% of "
        "the bits of weights fill up",
        least, most, bits, 100 * (1 - (double)used / (double)all));
}

void to_sa_remark(const Lowering *lw)
{
    remark_groups(lw);
    remark_widths(lw);
}
