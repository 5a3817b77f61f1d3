/* Files that tools need at run time: simulation headers, device descriptions.
 * Tests: test/e2e, lit/tools/ming-compile.mir */
#ifndef MING_TOOLS_RESOURCES_H
#define MING_TOOLS_RESOURCES_H

#include "ir/support/support.h"

/* Directory of one kind of files: "csim" or "devices". Looks beside the program: where an
 * installation has them, then where a build has them; then in the configured place. */
bool driver_resource_dir(const char *kind, StrBuf *out) MUST_CHECK;

#endif
