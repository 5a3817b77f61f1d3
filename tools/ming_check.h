/* ming check: what of a model compiles, and what it takes. Tests: lit/tools/ming-check.test */
#ifndef MING_TOOLS_MING_CHECK_H
#define MING_TOOLS_MING_CHECK_H

/* The command with its own argv[0]; an exit status. */
int ming_check(int argc, char **argv);

#endif
