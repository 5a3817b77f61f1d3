/* ming run: executes a model or module on .npy arrays. Tests: lit/tools/ming-run.mir */
#ifndef MING_TOOLS_MING_RUN_H
#define MING_TOOLS_MING_RUN_H

/* The command with its own argv[0]; an exit status. */
int ming_run(int argc, char **argv);

#endif
