/* Hooks of the cf rows that live outside cf.c. */
#ifndef MING_DIALECTS_CF_INTERNAL_H
#define MING_DIALECTS_CF_INTERNAL_H

#include "dialects/cf/cf.h"
#include "ir/rewrite/rewrite.h"

void cf_canonicalize_assert(PatternSet *set);
void cf_canonicalize_br(PatternSet *set);
void cf_canonicalize_cond_br(PatternSet *set);
void cf_canonicalize_switch(PatternSet *set);

#endif
