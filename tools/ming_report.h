/* ming report: predicted figures of a compiled design beside those of a vendor's tool.
 * Tests: lit/tools/ming-report*.test */
#ifndef MING_TOOLS_MING_REPORT_H
#define MING_TOOLS_MING_REPORT_H

/* The command with its own argv[0]; an exit status. */
int ming_report(int argc, char **argv);

#endif
