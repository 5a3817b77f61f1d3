/* Places by Graphviz's program dot, run without a shell. It is given numbers only, no names, and its
 * output of numbers (-Tplain) is taken if all of it is as expected:
 *
 *   graph SCALE WIDTH HEIGHT
 *   node n3 X Y …
 *   edge n3 n4 COUNT X Y X Y …
 *   stop
 *
 * in inches from the lower left corner, edges in the order of the input within those of a node.
 * Tests: test/e2e/report_check.py */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/internal.h"

extern char **environ;

enum { INCH = 72, MARGIN = 12, MOST_NODES = 3000, PATIENCE_MS = 10000, STEP_MS = 2 };

static void print_input(const Layout *l, FILE *file)
{
    fprintf(file,
            "digraph { ranksep=0.55 nodesep=0.4 node [shape=box fixedsize=true width=%.3f "
            "height=%.3f label=\"\"] edge [dir=none]\n",
            l->node_width / INCH, l->node_height / INCH);
    for (uint32_t i = 0; i < l->node_count; i++) fprintf(file, "n%u\n", i);
    for (uint32_t e = 0; e < l->edge_count; e++)
        fprintf(file, "n%u -> n%u\n", l->edges[e].from, l->edges[e].to);
    fprintf(file, "}\n");
}

/* Waits for the program; kills it if it takes too long. */
static bool await(pid_t pid)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
    int status = 0;
    for (int waited = 0;; waited += STEP_MS) {
        pid_t done = waitpid(pid, &status, WNOHANG);
        if (done == pid) return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        if (done < 0 && errno != EINTR) return false;
        if (waited == PATIENCE_MS) (void)kill(pid, SIGKILL);
        nanosleep(&step, NULL);
    }
}

static bool run(FILE *input, FILE *output)
{
    char name[] = "dot", format[] = "-Tplain";
    char *const arguments[] = {name, format, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    bool ok = posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO) == 0 &&
              posix_spawn_file_actions_adddup2(&actions, fileno(output), STDOUT_FILENO) == 0 &&
              posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0) == 0 &&
              posix_spawnp(&pid, name, &actions, NULL, arguments, environ) == 0;
    (void)posix_spawn_file_actions_destroy(&actions);
    return ok && await(pid);
}

static double y_from_top(const Layout *l, double y)
{
    return l->height - MARGIN - y * INCH;
}

static bool read_node(Layout *l, const char *line)
{
    unsigned node;
    double x, y;
    if (sscanf(line, "node n%u %lf %lf", &node, &x, &y) != 3 || node >= l->node_count) return false;
    l->nodes[node] = (LayoutPoint){x * INCH + MARGIN, y_from_top(l, y)};
    return true;
}

/* The line between two nodes, of which there is one at most. */
static LayoutCurve *find_curve(Layout *l, unsigned from, unsigned to)
{
    for (uint32_t e = 0; e < l->edge_count; e++)
        if (l->edges[e].from == from && l->edges[e].to == to) return &l->curves[e];
    return NULL;
}

static bool read_edge(Layout *l, const char *line)
{
    unsigned from, to, count;
    int used;
    if (sscanf(line, "edge n%u n%u %u%n", &from, &to, &count, &used) != 3) return false;
    LayoutCurve *curve = find_curve(l, from, to);
    if (!curve || curve->points.len > 0 || count < 4 || count % 3 != 1) return false;
    for (line += used; count > 0; count--, line += used) {
        double x, y;
        if (sscanf(line, "%lf %lf%n", &x, &y, &used) != 2) return false;
        *vec_push(&curve->points) = (LayoutPoint){x * INCH + MARGIN, y_from_top(l, y)};
    }
    return true;
}

static bool read_line(Layout *l, const char *line, uint32_t *nodes, uint32_t *edges)
{
    double scale;
    if (strncmp(line, "node ", 5) == 0) return ++*nodes && read_node(l, line);
    if (strncmp(line, "edge ", 5) == 0) return ++*edges && read_edge(l, line);
    if (sscanf(line, "graph %lf %lf %lf", &scale, &l->width, &l->height) != 3) return false;
    l->width = l->width * INCH + 2 * MARGIN;
    l->height = l->height * INCH + 2 * MARGIN;
    return scale == 1;
}

/* Whether the output told all places. */
static bool read_output(Layout *l, FILE *output)
{
    char *line = NULL;
    size_t room = 0;
    uint32_t nodes = 0, edges = 0;
    bool ok = true, is_over = false;
    rewind(output);
    while (ok && !is_over && getline(&line, &room, output) > 0) {
        is_over = strcmp(line, "stop\n") == 0;
        ok = is_over || read_line(l, line, &nodes, &edges);
    }
    free(line);
    return ok && is_over && nodes == l->node_count && edges == l->edge_count;
}

bool report_layout_by_dot(Layout *l)
{
    if (l->node_count > MOST_NODES) return false;
    FILE *input = tmpfile(), *output = tmpfile();
    l->nodes = xcalloc(l->node_count, sizeof *l->nodes);
    l->curves = xcalloc(l->edge_count, sizeof *l->curves);
    bool ok = input && output;
    if (ok) {
        print_input(l, input);
        ok = fflush(input) == 0;
        rewind(input);
        ok = ok && run(input, output) && read_output(l, output);
    }
    if (input) fclose(input);
    if (output) fclose(output);
    if (!ok) report_layout_free(l);
    return ok;
}
