/* Inside of dialects/cf: the hooks of rows whose code is in cf_canon.c. */
#ifndef MING_DIALECTS_CF_INTERNAL_H
#define MING_DIALECTS_CF_INTERNAL_H

#include "dialects/cf/cf.h"
#include "ir/rewrite/rewrite.h"

void cf_canonicalize_assert(PatternSet *set);
void cf_canonicalize_br(PatternSet *set);
void cf_canonicalize_cond_br(PatternSet *set);
void cf_canonicalize_switch(PatternSet *set);

#endif
