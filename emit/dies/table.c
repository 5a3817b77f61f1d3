/* What a placed design takes of its dies, as text.
 * Tests: lit/emit/dies.test */
#include "emit/dies/dies.h"
#include "target/dse/dse.h"

static void add_share(TextTable *table, int64_t use, int64_t capacity)
{
    StrBuf *cell = text_table_cell(table);
    strbuf_printf(cell, "%lld", (long long)use);
    if (capacity > 0) strbuf_printf(cell, " (%lld %%)", (long long)(use * 100 / capacity));
}

static void print_dies(const DsePlaced *d, StrBuf *out)
{
    static const char *const titles[] = {"die", "processes", "LUT", "FF", "BRAM18", "URAM", "DSP"};
    TextTable table = {.columns = COUNT_OF(titles), .first_number = 1};
    for (size_t i = 0; i < COUNT_OF(titles); i++) text_table_add(&table, titles[i]);
    for (uint32_t i = 0; i < d->platform.die_count; i++) {
        const PartitionDie *die = &d->platform.dies[i];
        int64_t processes = 0;
        for (size_t f = 0; f < d->functions.len; f++) processes += d->placement.dies.data[f] == i;
        strbuf_printf(text_table_cell(&table), "%.*s", STR_ARG(die->name));
        text_table_add_int(&table, processes);
        for (int k = 0; k < PARTITION_KINDS; k++)
            add_share(&table, d->use.dies[i][k], die->capacity[k]);
    }
    text_table_print(&table, out);
    text_table_free(&table);
}

/* Streams that join different dies. */
static int64_t count_crossings(const DsePlaced *d)
{
    int64_t count = 0;
    for (size_t i = 0; i < d->model.edges.len; i++)
        count += d->placement.dies.data[d->model.edges.data[i].from] !=
                 d->placement.dies.data[d->model.edges.data[i].to];
    return count;
}

static void print_crossings(const DsePlaced *d, StrBuf *out)
{
    int64_t count = count_crossings(d);
    const char *before = ": ";
    strbuf_printf(out, "%lld stream%s between dies", (long long)count, count == 1 ? "" : "s");
    for (size_t i = 0; i < 2 * d->platform.links.len; i++) {
        const PartitionLink *link = &d->platform.links.data[i / 2];
        if (d->use.links.data[i] == 0) continue;
        strbuf_printf(out, "%s%.*s to %.*s %lld of %lld wires", before,
                      STR_ARG(d->platform.dies[link->dies[i % 2]].name),
                      STR_ARG(d->platform.dies[link->dies[1 - i % 2]].name),
                      (long long)d->use.links.data[i], (long long)link->capacity);
        before = ", ";
    }
    strbuf_add_char(out, '\n');
}

void dies_print_table(const Op *design, StrBuf *out)
{
    DsePlaced *placed = dse_placed(design);
    if (!placed) return;
    strbuf_add_char(out, '\n');
    print_dies(placed, out);
    print_crossings(placed, out);
    dse_placed_free(placed);
}
