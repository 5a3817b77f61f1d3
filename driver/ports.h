/* Arguments and results of a function with the .npy files that stand for them.
 * Tests: lit/tools/ming-run.mir, lit/tools/ming-run-invalid.mir */
#ifndef MING_TOOLS_PORTS_H
#define MING_TOOLS_PORTS_H

#include "sim/io/boundary.h"
#include "driver/tool_support.h"

typedef struct Port {
    Boundary boundary;
    const char *path; /* NULL: not given */
    Npy npy;
} Port;

typedef struct Ports {
    const Tool *tool;
    const char *what; /* "input", as messages call one */
    Port *items;
    uint32_t count;
    int64_t frames; /* in each array */
} Ports;

/* The function of that name, else the first public one with a body. NULL: said so. */
Op *ports_find_function(const Tool *tool, Op *module, const char *wanted) MUST_CHECK;

/* Of the arguments or the results of func. False: diagnosed; ports_free is right anyway. */
bool ports_init(Ports *ports, const Tool *tool, const Op *func, const char *what,
                bool is_results) MUST_CHECK;
void ports_free(Ports *ports);
/* Files by the command line: "path" goes to the next port without one, "name=path" to the one of
 * that name. False: said so. */
bool ports_assign(Ports *ports, const Texts *files) MUST_CHECK;
/* Reads a file for every port. False: said so. */
bool ports_read(Ports *ports) MUST_CHECK;
/* One frame of each port; what is given is the caller's, also on failure, which is told. */
bool ports_enter(const Ports *ports, int64_t frame, Array **inputs) MUST_CHECK;

#endif
