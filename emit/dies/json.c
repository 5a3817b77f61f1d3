/* What a placed design takes of its dies and of the wires between them, in report.json.
 * Tests: lit/emit/dies.test, test/e2e/dies_check.py */
#include "emit/dies/dies.h"
#include "target/dse/dse.h"

static void add_amounts(JsonWriter *w, const char *name, const int64_t *amounts)
{
    json_member_object(w, name);
    for (PartitionKind k = 0; k < PARTITION_KINDS; k++)
        json_member_int(w, partition_kind_name(k), amounts[k]);
    json_end_object(w);
}

static void add_dies(const DsePlaced *d, JsonWriter *w)
{
    json_member_array(w, "dies");
    for (uint32_t i = 0; i < d->platform.die_count; i++) {
        const PartitionDie *die = &d->platform.dies[i];
        json_begin_row(w);
        json_member_string(w, "name", die->name);
        json_member_int(w, "card", die->card);
        json_member_int(w, "die", i);
        json_write_line(w, 5);
        add_amounts(w, "use", d->use.dies[i]);
        json_write_line(w, 5);
        add_amounts(w, "limit", die->limit);
        json_write_line(w, 5);
        add_amounts(w, "capacity", die->capacity);
        json_end_object(w);
    }
    json_end_rows(w);
}

static void add_links(const DsePlaced *d, JsonWriter *w)
{
    json_member_array(w, "die_links");
    for (size_t i = 0; i < 2 * d->platform.links.len; i++) {
        const PartitionLink *link = &d->platform.links.data[i / 2];
        json_begin_row(w);
        json_member_int(w, "from", link->dies[i % 2]);
        json_member_int(w, "to", link->dies[1 - i % 2]);
        json_member_int(w, "wires", d->use.links.data[i]);
        json_member_int(w, "capacity", link->capacity);
        json_end_object(w);
    }
    json_end_rows(w);
}

static void add_crossings(const PtrMap *fifos, const DsePlaced *d, JsonWriter *w)
{
    json_member_array(w, "crossings");
    for (size_t i = 0; i < d->streams.len; i++) {
        const PartitionEdge *edge = &d->model.edges.data[i];
        uint32_t from = d->placement.dies.data[edge->from], to = d->placement.dies.data[edge->to];
        if (from == to) continue;
        json_begin_row(w);
        json_member_string(w, "fifo", str_from(ptrmap_get(fifos, d->streams.data[i])));
        json_member_int(w, "from", from);
        json_member_int(w, "to", to);
        json_member_int(w, "wires", edge->wires);
        json_end_object(w);
    }
    json_end_rows(w);
}

void dies_print_json(const Op *design, const PtrMap *fifos, JsonWriter *w)
{
    DsePlaced *placed = dse_placed(design);
    if (!placed) return;
    add_dies(placed, w);
    add_links(placed, w);
    add_crossings(fifos, placed, w);
    dse_placed_free(placed);
}
