/* Places of a graph's nodes, in rows from the top down, after Sugiyama, Tagawa and Toda: ranks by the
 * longest path, rows ordered by barycentres, nodes moved towards their neighbours. A line over
 * several rows goes through a place of its own in each, so that nodes give way to it. Where lines
 * form a circle, one of them goes up.
 * Tests: test/unit/report/layout_test.c */
#include <stdlib.h>

#include "report/internal.h"

enum {
    COLUMN_GAP = 28,
    ROW_GAP = 40,
    LINE_WIDTH = 26,
    MARGIN = 12,
    SWEEPS = 12,
    MOST_PLACES = 20000
};

/* A node, or a line's place in a row. */
typedef struct Place {
    uint32_t rank;
    double width, x, key;
} Place;

/* A piece of a line between places of neighbouring rows, or of any where there are too many. */
typedef struct Piece {
    uint32_t above, below, edge;
} Piece;

typedef struct Rows {
    Layout *layout;
    VEC(Place) places; /* the nodes first */
    VEC(Piece) pieces; /* those of an edge in a row, from above */
    uint32_t rank_count;
    uint32_t *order;  /* places, row by row */
    uint32_t *begins; /* of each row in it, and behind the last */
} Rows;

/* Removes node after node to which no line leads from those that are left; if there is none, lines
 * form circles, and the first node is taken. Lines that go up do not count for ranks. */
static void find_ranks(Rows *rows)
{
    const Layout *l = rows->layout;
    uint32_t *waits = xcalloc(l->node_count, sizeof *waits);
    bool *is_done = xcalloc(l->node_count, sizeof *is_done);
    for (uint32_t e = 0; e < l->edge_count; e++) waits[l->edges[e].to]++;
    for (uint32_t step = 0; step < l->node_count; step++) {
        uint32_t best = l->node_count;
        for (uint32_t n = 0; n < l->node_count; n++)
            if (!is_done[n] && (best == l->node_count || waits[n] < waits[best])) best = n;
        is_done[best] = true;
        for (uint32_t e = 0; e < l->edge_count; e++) {
            uint32_t to = l->edges[e].to;
            if (l->edges[e].from != best || is_done[to]) continue;
            waits[to]--;
            uint32_t rank = rows->places.data[best].rank + 1;
            if (rows->places.data[to].rank < rank) rows->places.data[to].rank = rank;
        }
    }
    free(waits);
    free(is_done);
}

static uint32_t add_place(Rows *rows, uint32_t rank, double width)
{
    *vec_push(&rows->places) = (Place){.rank = rank, .width = width};
    return (uint32_t)rows->places.len - 1;
}

static void add_pieces(Rows *rows, uint32_t edge, bool has_places)
{
    const ReportEdge *e = &rows->layout->edges[edge];
    bool goes_up = rows->places.data[e->from].rank > rows->places.data[e->to].rank;
    uint32_t above = goes_up ? e->to : e->from, end = goes_up ? e->from : e->to;
    uint32_t last = rows->places.data[end].rank;
    for (uint32_t rank = rows->places.data[above].rank + 1; has_places && rank < last; rank++) {
        uint32_t place = add_place(rows, rank, LINE_WIDTH);
        *vec_push(&rows->pieces) = (Piece){above, place, edge};
        above = place;
    }
    *vec_push(&rows->pieces) = (Piece){above, end, edge};
}

static void find_pieces(Rows *rows)
{
    const Layout *l = rows->layout;
    int64_t sum = 0;
    for (uint32_t e = 0; e < l->edge_count; e++)
        sum += llabs((int64_t)rows->places.data[l->edges[e].from].rank -
                     (int64_t)rows->places.data[l->edges[e].to].rank);
    for (uint32_t e = 0; e < l->edge_count; e++) add_pieces(rows, e, sum <= MOST_PLACES);
}

static void fill_rows(Rows *rows)
{
    for (size_t i = 0; i < rows->places.len; i++)
        if (rows->places.data[i].rank >= rows->rank_count)
            rows->rank_count = rows->places.data[i].rank + 1;
    rows->order = xcalloc(rows->places.len, sizeof *rows->order);
    rows->begins = xcalloc(rows->rank_count + 1, sizeof *rows->begins);
    for (size_t i = 0; i < rows->places.len; i++) rows->begins[rows->places.data[i].rank + 1]++;
    for (uint32_t r = 0; r < rows->rank_count; r++) rows->begins[r + 1] += rows->begins[r];
    uint32_t *next = xcalloc(rows->rank_count, sizeof *next);
    for (uint32_t r = 0; r < rows->rank_count; r++) next[r] = rows->begins[r];
    for (size_t i = 0; i < rows->places.len; i++)
        rows->order[next[rows->places.data[i].rank]++] = (uint32_t)i;
    free(next);
}

/* Sets each key to the mean x of the neighbours above, below or at both sides; without any, to its
 * own x. */
static void find_keys(Rows *rows, bool from_above, bool from_below)
{
    Place *places = rows->places.data;
    uint32_t *counts = xcalloc(rows->places.len, sizeof *counts);
    for (size_t i = 0; i < rows->places.len; i++) places[i].key = 0;
    for (size_t i = 0; i < rows->pieces.len; i++) {
        const Piece *p = &rows->pieces.data[i];
        if (from_above) places[p->below].key += places[p->above].x;
        if (from_below) places[p->above].key += places[p->below].x;
        counts[p->below] += from_above;
        counts[p->above] += from_below;
    }
    for (size_t i = 0; i < rows->places.len; i++)
        places[i].key = counts[i] > 0 ? places[i].key / counts[i] : places[i].x;
    free(counts);
}

/* Puts a row's places side by side around the middle of the keys. */
static void take_row(Rows *rows, uint32_t rank)
{
    Place *places = rows->places.data;
    uint32_t begin = rows->begins[rank], end = rows->begins[rank + 1];
    double at = 0, shift = 0;
    for (uint32_t i = begin; i < end; i++) {
        Place *p = &places[rows->order[i]];
        double least = i > begin ? at + p->width / 2 : p->key;
        p->x = p->key > least ? p->key : least;
        at = p->x + p->width / 2 + COLUMN_GAP;
        shift += p->key - p->x;
    }
    for (uint32_t i = begin; i < end; i++) places[rows->order[i]].x += shift / (end - begin);
}

/* A stable sort of a row by keys; rows are short. */
static void sort_row(Rows *rows, uint32_t rank)
{
    const Place *places = rows->places.data;
    for (uint32_t i = rows->begins[rank] + 1; i < rows->begins[rank + 1]; i++) {
        uint32_t place = rows->order[i], at = i;
        for (; at > rows->begins[rank] && places[rows->order[at - 1]].key > places[place].key; at--)
            rows->order[at] = rows->order[at - 1];
        rows->order[at] = place;
    }
}

static void order_rows(Rows *rows)
{
    for (uint32_t r = 0; r < rows->rank_count; r++) take_row(rows, r);
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        find_keys(rows, sweep % 2 == 0, sweep % 2 != 0);
        for (uint32_t r = 0; r < rows->rank_count; r++) {
            sort_row(rows, r);
            take_row(rows, r);
        }
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        find_keys(rows, true, true);
        for (uint32_t r = 0; r < rows->rank_count; r++) take_row(rows, r);
    }
}

/* Moves all to the right of the margin, and sets the size. */
static void set_size(Rows *rows)
{
    Layout *l = rows->layout;
    double left = 0, right = 0;
    for (size_t i = 0; i < rows->places.len; i++) {
        const Place *p = &rows->places.data[i];
        if (i == 0 || p->x - p->width / 2 < left) left = p->x - p->width / 2;
        if (i == 0 || p->x + p->width / 2 > right) right = p->x + p->width / 2;
    }
    for (size_t i = 0; i < rows->places.len; i++) rows->places.data[i].x += MARGIN - left;
    l->width = right - left + 2 * MARGIN;
    l->height = rows->rank_count * (l->node_height + ROW_GAP) - ROW_GAP + 2 * MARGIN;
}

static double y_of(const Rows *rows, uint32_t place)
{
    const Layout *l = rows->layout;
    return MARGIN + l->node_height / 2 + rows->places.data[place].rank * (l->node_height + ROW_GAP);
}

static void add_point(LayoutCurve *curve, double x, double y)
{
    *vec_push(&curve->points) = (LayoutPoint){x, y};
}

/* A piece of a line from (x, y) on, upright at both ends. */
static void add_curve(LayoutCurve *curve, LayoutPoint to)
{
    LayoutPoint from = curve->points.data[curve->points.len - 1];
    double middle = (from.y + to.y) / 2;
    add_point(curve, from.x, middle);
    add_point(curve, to.x, middle);
    add_point(curve, to.x, to.y);
}

static void turn_around(LayoutCurve *curve)
{
    for (size_t i = 0, j = curve->points.len - 1; i < j; i++, j--) {
        LayoutPoint point = curve->points.data[i];
        curve->points.data[i] = curve->points.data[j];
        curve->points.data[j] = point;
    }
}

static void draw_pieces(Rows *rows)
{
    Layout *l = rows->layout;
    const Place *places = rows->places.data;
    double half = l->node_height / 2;
    for (size_t i = 0; i < rows->pieces.len; i++) {
        const Piece *p = &rows->pieces.data[i];
        LayoutCurve *curve = &l->curves[p->edge];
        bool is_end = p->below < l->node_count;
        if (curve->points.len == 0)
            add_point(curve, places[p->above].x, y_of(rows, p->above) + half);
        if (!is_end) { /* past the nodes of the row */
            add_curve(curve, (LayoutPoint){places[p->below].x, y_of(rows, p->below) - half});
            add_curve(curve, (LayoutPoint){places[p->below].x, y_of(rows, p->below) + half});
            continue;
        }
        add_curve(curve, (LayoutPoint){places[p->below].x, y_of(rows, p->below) - half});
        if (l->edges[p->edge].from == p->below) turn_around(curve);
    }
}

void report_layout_place(Layout *l)
{
    Rows rows = {.layout = l};
    l->nodes = xcalloc(l->node_count, sizeof *l->nodes);
    l->curves = xcalloc(l->edge_count, sizeof *l->curves);
    for (uint32_t i = 0; i < l->node_count; i++) add_place(&rows, 0, l->node_width);
    find_ranks(&rows);
    find_pieces(&rows);
    fill_rows(&rows);
    order_rows(&rows);
    set_size(&rows);
    for (uint32_t i = 0; i < l->node_count; i++)
        l->nodes[i] = (LayoutPoint){rows.places.data[i].x, y_of(&rows, i)};
    draw_pieces(&rows);
    vec_free(&rows.places);
    vec_free(&rows.pieces);
    free(rows.order);
    free(rows.begins);
}

void report_layout_free(Layout *l)
{
    for (uint32_t i = 0; l->curves && i < l->edge_count; i++) vec_free(&l->curves[i].points);
    free(l->nodes);
    free(l->curves);
    l->nodes = NULL;
    l->curves = NULL;
}
