/* Inside of attributes, for ir/ sources only.
 * A constructor fills an Attr on the stack that borrows its arrays and interns it. */
#ifndef MING_IR_ATTR_IMPL_H
#define MING_IR_ATTR_IMPL_H

#include "ir/attr/context_impl.h"

/* The context's attribute equal to key; on a miss a copy that owns its arrays. */
const Attr *attr_intern(const Attr *key);
/* The same for a key whose arrays live as long as the context: a miss keeps them. */
const Attr *attr_intern_owned(const Attr *key);

#endif
