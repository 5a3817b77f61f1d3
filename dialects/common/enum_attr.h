/* Attributes that wrap one enumeration value, #dialect.name<keyword>, with one integer parameter.
 * Flag sets hold a bit per keyword and print them with a separator. */
#ifndef MING_DIALECTS_ENUM_ATTR_H
#define MING_DIALECTS_ENUM_ATTR_H

#include "ir/asm/parse/parse.h"

typedef struct EnumSpec {
    const AttrDef *def;
    const char *cpp_name;     /* upstream's C++ enum, for its messages: "::mlir::…::Flags" */
    const char *td_name;      /* and its attribute's record name */
    const char *const *names; /* NULL-terminated; of values 0, 1, 2, … */
    const char *separator;    /* of flag sets: names[0] is 0, names[i] is bit i - 1; else NULL */
    const char *all;          /* of flag sets: keyword of all bits together, or NULL */
} EnumSpec;

/* "<" keyword ">", or of flag sets "<" keyword ("," keyword)* ">". */
const Attr *enum_attr_parse(OpParser *p, const EnumSpec *spec);
void enum_attr_print(StrBuf *out, const Attr *attr, const EnumSpec *spec);
const Attr *enum_attr_get(Context *ctx, const EnumSpec *spec, int64_t value);
int64_t enum_attr_value(const Attr *attr);

#endif
