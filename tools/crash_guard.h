/* Surviving crashes: the work goes on in a child process while the parent waits, so that a signal
 * ends only the child and the parent can still tell what it was doing.
 * Tests: test/unit/crash_guard_test.c */
#ifndef MING_TOOLS_CRASH_GUARD_H
#define MING_TOOLS_CRASH_GUARD_H

#include "ir/support/support.h"

typedef struct CrashGuard {
    int notes;   /* in the child: where they are written; -1: no guard */
    StrBuf what; /* in the parent: the child's last note */
    StrBuf text;
} CrashGuard;

/* Splits the process. True: this is the child (or splitting failed), which goes on. False: this
 * is the parent and a signal has ended the child, whose last note is in the guard. If the child
 * ends otherwise, the parent ends too, with the same status. */
bool crash_guard_enter(CrashGuard *guard);
/* In the child: what to know if it crashes from now on. */
void crash_guard_note(CrashGuard *guard, Str what, Str text);
/* In the child: from now on a crash is one. */
void crash_guard_leave(CrashGuard *guard);
void crash_guard_free(CrashGuard *guard);

#endif
