/* Identifiers from the names of layers.
 * Tests: test/unit/analysis/layer_name_test.c */
#include <string.h>

#include "analysis/analysis.h"
#include "dialects/dfg/dfg.h"
#include "dialects/linalg/linalg.h"

/* Words that an identifier must not be: C++ keywords, and names that the headers of the emitted
 * code define at file scope in a way that no function or variable can share. */
static const char *const reserved[] = {
    "P_tmpdir",
    "alignas",
    "alignof",
    "alloca",
    "and",
    "and_eq",
    "asm",
    "assert",
    "auto",
    "be16toh",
    "be32toh",
    "be64toh",
    "bitand",
    "bitor",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "continue",
    "daylight",
    "decltype",
    "default",
    "delete",
    "do",
    "double",
    "dynamic_cast",
    "else",
    "enum",
    "environ",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "fd_mask",
    "fd_set",
    "float",
    "for",
    "friend",
    "goto",
    "half",
    "hls",
    "htobe16",
    "htobe32",
    "htobe64",
    "htole16",
    "htole32",
    "htole64",
    "if",
    "inline",
    "int",
    "issubnormal",
    "le16toh",
    "le32toh",
    "le64toh",
    "linux",
    "long",
    "main",
    "math_errhandling",
    "ming",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "offsetof",
    "operator",
    "or",
    "or_eq",
    "packed",
    "private",
    "protected",
    "pthread_cleanup_pop",
    "pthread_cleanup_pop_restore_np",
    "pthread_cleanup_push",
    "pthread_cleanup_push_defer_np",
    "public",
    "register",
    "reinterpret_cast",
    "requires",
    "return",
    "sched_priority",
    "short",
    "signed",
    "signgam",
    "sizeof",
    "static",
    "static_assert",
    "static_cast",
    "std",
    "stderr",
    "stdin",
    "stdout",
    "strdupa",
    "strndupa",
    "struct",
    "switch",
    "template",
    "this",
    "thread_local",
    "throw",
    "timezone",
    "true",
    "try",
    "typedef",
    "typeid",
    "typename",
    "tzname",
    "u_char",
    "u_int",
    "u_long",
    "u_short",
    "uint",
    "ulong",
    "union",
    "unix",
    "unsigned",
    "ushort",
    "using",
    "va_arg",
    "va_copy",
    "va_end",
    "va_list",
    "va_start",
    "virtual",
    "void",
    "volatile",
    "while",
    "xor",
    "xor_eq",
};

/* Types end in _t, constants of <cmath> and <cstdio> begin with M_ and L_; the other prefixes are
 * those of the simulation headers. */
bool identifier_is_reserved(Str word)
{
    for (size_t i = 0; i < COUNT_OF(reserved); i++)
        if (str_eq_c(word, reserved[i])) return true;
    return str_ends_with(word, "_t") || str_starts_with(word, "ap_") ||
           str_starts_with(word, "hls_") || str_starts_with(word, "ming_") ||
           str_starts_with(word, "M_") || str_starts_with(word, "L_");
}

static char identifier_char(char c)
{
    if (c >= 'A' && c <= 'Z') return (char)(c - 'A' + 'a');
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
}

void identifier_append(StrBuf *out, Str raw)
{
    size_t start = out->len;
    for (size_t i = 0; i < raw.len && out->len - start < NAME_MAX_LENGTH; i++) {
        char c = identifier_char(raw.data[i]);
        bool after_break = out->len == start || out->data[out->len - 1] == '_';
        if (c == '_' && after_break) continue;
        if (out->len == start && c >= '0' && c <= '9') strbuf_add_char(out, 'n');
        strbuf_add_char(out, c);
    }
    while (out->len > start && out->data[out->len - 1] == '_') out->data[--out->len] = '\0';
    if (out->len == start)
        strbuf_add_c(out, "layer");
    else if (identifier_is_reserved((Str){out->data + start, out->len - start}))
        strbuf_add_c(out, "_layer");
}

Str layer_name_source(const Op *op)
{
    const Attr *name = op_attr(op, DFG_ATTR_NAME);
    return name && name->kind == ATTR_STRING ? name->u.string : (Str){"", 0};
}

static const char *kernel_word(const Op *generic)
{
    Kernel kernel;
    if (generic->def == DFG(MERGE) || generic->def == DFG(REORDER))
        return generic->def == DFG(MERGE) ? "merge" : "reorder";
    bool binary = linalg_input_count(generic) > 1;
    if (!kernel_analyze(generic, &kernel)) return "kernel";
    switch (kernel.class) {
    case KERNEL_SLIDING_WINDOW: return binary ? "conv" : "pool";
    case KERNEL_REGULAR_REDUCTION: return binary ? "matmul" : "reduce";
    case KERNEL_PURE_PARALLEL: return "map";
    }
    return "kernel";
}

void layer_name_append(StrBuf *out, const Op *generic)
{
    Str name = layer_name_source(generic);
    identifier_append(out, name.len ? name : str_from(kernel_word(generic)));
}
