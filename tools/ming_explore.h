/* ming explore: what a network can trade of throughput for resources on a device.
 * Tests: lit/tools/ming-explore.test */
#ifndef MING_TOOLS_MING_EXPLORE_H
#define MING_TOOLS_MING_EXPLORE_H

/* The command with its arguments; argv[0] is "explore". Returns the exit status. */
int ming_explore(int argc, char **argv);

#endif
