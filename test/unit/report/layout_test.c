/* Places of graphs: nodes never overlap, lines go from node to node, circles end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "report/internal.h"

static Layout layout_of(uint32_t nodes, const ReportEdge *edges, uint32_t count)
{
    Layout l = {.node_count = nodes,
                .edge_count = count,
                .edges = edges,
                .node_width = NODE_WIDTH,
                .node_height = NODE_HEIGHT};
    report_layout_place(&l);
    return l;
}

static bool is_apart(const Layout *l, uint32_t a, uint32_t b)
{
    double x = l->nodes[a].x - l->nodes[b].x, y = l->nodes[a].y - l->nodes[b].y;
    return x >= l->node_width || -x >= l->node_width || y >= l->node_height || -y >= l->node_height;
}

static void check(const Layout *l)
{
    for (uint32_t a = 0; a < l->node_count; a++) {
        assert_true(l->nodes[a].x >= l->node_width / 2);
        assert_true(l->nodes[a].x <= l->width - l->node_width / 2);
        assert_true(l->nodes[a].y >= l->node_height / 2);
        assert_true(l->nodes[a].y <= l->height - l->node_height / 2);
        for (uint32_t b = 0; b < a; b++) assert_true(is_apart(l, a, b));
    }
    for (uint32_t e = 0; e < l->edge_count; e++) {
        const LayoutPoints *p = &l->curves[e].points;
        assert_true(p->len >= 4);
        assert_int_equal(p->len % 3, 1);
        assert_true(p->data[0].x == l->nodes[l->edges[e].from].x);
        assert_true(p->data[p->len - 1].x == l->nodes[l->edges[e].to].x);
    }
}

static void test_chain(void **state)
{
    (void)state;
    const ReportEdge edges[] = {{.from = 2, .to = 1}, {.from = 1, .to = 0}};
    Layout l = layout_of(3, edges, COUNT_OF(edges));
    check(&l);
    assert_true(l.nodes[2].y < l.nodes[1].y && l.nodes[1].y < l.nodes[0].y);
    assert_true(l.nodes[0].x == l.nodes[1].x && l.nodes[1].x == l.nodes[2].x);
    report_layout_free(&l);
}

/* The line past the middle node has a place beside it. */
static void test_skip(void **state)
{
    (void)state;
    const ReportEdge edges[] = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 0, .to = 2}};
    Layout l = layout_of(3, edges, COUNT_OF(edges));
    check(&l);
    const LayoutPoints *p = &l.curves[2].points;
    assert_int_equal(p->len, 10);
    double distance = p->data[3].x - l.nodes[1].x;
    assert_true(distance > l.node_width / 2 || -distance > l.node_width / 2);
    report_layout_free(&l);
}

static void test_circles(void **state)
{
    (void)state;
    const ReportEdge edges[] = {{.from = 0, .to = 1}, {.from = 1, .to = 2}, {.from = 2, .to = 0},
                                {.from = 2, .to = 3}, {.from = 3, .to = 2}, {.from = 4, .to = 4}};
    Layout l = layout_of(5, edges, COUNT_OF(edges) - 1);
    check(&l);
    assert_true(l.nodes[2].y > l.nodes[0].y); /* the line from 2 to 0 goes up */
    assert_true(l.curves[2].points.data[0].y > l.nodes[0].y);
    report_layout_free(&l);
}

static void test_fans(void **state)
{
    (void)state;
    enum { FAN = 40 };
    ReportEdge edges[2 * FAN];
    for (uint32_t i = 0; i < FAN; i++) {
        edges[2 * i] = (ReportEdge){.from = 0, .to = i + 2};
        edges[2 * i + 1] = (ReportEdge){.from = FAN + 1 - i, .to = 1};
    }
    Layout l = layout_of(FAN + 2, edges, COUNT_OF(edges));
    check(&l);
    report_layout_free(&l);
}

/* So many rows between two nodes that lines have no places. */
static void test_long(void **state)
{
    (void)state;
    enum { LENGTH = 400 };
    ReportEdge edges[2 * LENGTH];
    for (uint32_t i = 0; i < LENGTH; i++) {
        edges[2 * i] = (ReportEdge){.from = i, .to = i + 1};
        edges[2 * i + 1] = (ReportEdge){.from = 0, .to = i + 1};
    }
    Layout l = layout_of(LENGTH + 1, edges, COUNT_OF(edges));
    check(&l);
    assert_int_equal(l.curves[2 * LENGTH - 1].points.len, 4);
    report_layout_free(&l);
}

static void test_empty(void **state)
{
    (void)state;
    Layout l = layout_of(1, NULL, 0);
    check(&l);
    report_layout_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain), cmocka_unit_test(test_skip), cmocka_unit_test(test_circles),
        cmocka_unit_test(test_fans),  cmocka_unit_test(test_long), cmocka_unit_test(test_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
