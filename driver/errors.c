/* Errors of requests, on their way to the client. */
#include "driver/internal.h"

bool driver_error(DriverErrors errors, DriverErrorKind kind, const char *fmt, ...)
{
    if (!errors.report) return false;
    StrBuf text = {0};
    va_list args;
    va_start(args, fmt);
    strbuf_vprintf(&text, fmt, args);
    va_end(args);
    errors.report(errors.user, kind, strbuf_str(&text));
    strbuf_free(&text);
    return false;
}
