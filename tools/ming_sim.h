/* ming sim: a compiled design, cycle by cycle. Tests: lit/tools/ming-sim.mir */
#ifndef MING_TOOLS_MING_SIM_H
#define MING_TOOLS_MING_SIM_H

/* The command with its own argv[0]; an exit status. */
int ming_sim(int argc, char **argv);

#endif
