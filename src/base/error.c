#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void set_message(tl_error *err, tl_status status, const char *fmt, va_list args)
{
    err->status = status;
    err->retryable = status == TL_E_CONFLICT;
    vsnprintf(err->message, sizeof err->message, fmt, args);
}

tl_status (tl_error_set)(tl_error *err, tl_status status, const char *fmt, ...)
{
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        set_message(err, status, fmt, args);
        va_end(args);
    }
    return status;
}

static tl_status status_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
        return TL_E_NOT_FOUND;
    case EEXIST:
    case ENOTEMPTY:
        return TL_E_EXISTS;
    case ENOSPC:
    case EDQUOT:
        return TL_E_NOSPACE;
    case ENOMEM:
        return TL_E_NOMEM;
    default:
        return TL_E_IO;
    }
}

tl_status tl_error_errno(tl_error *err, int errnum, const char *fmt, ...)
{
    tl_status status = status_of_errno(errnum);
    if (err != NULL) {
        va_list args;
        va_start(args, fmt);
        set_message(err, status, fmt, args);
        va_end(args);
        size_t len = strlen(err->message);
        snprintf(err->message + len, sizeof err->message - len, ": %s", strerror(errnum));
    }
    return status;
}

tl_status (tl_error_wrap)(tl_error *err, tl_status status, const char *fmt, ...)
{
    if (status == TL_OK || err == NULL)
        return status;
    /* The prefix goes in front; a message too long for the buffer loses its end, not its beginning. */
    char old[TL_ERROR_MESSAGE_BYTES];
    memcpy(old, err->message, sizeof old);
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->message, sizeof err->message, fmt, args);
    va_end(args);
    size_t len = strlen(err->message);
    if (old[0] != '\0')
        snprintf(err->message + len, sizeof err->message - len, ": %s", old);
    return status;
}

const char *tl_status_name(tl_status status)
{
    static const char *const names[] = {"ok",       "invalid", "out of memory", "i/o error",     "not found", "exists",
                                        "conflict", "corrupt", "unsupported",   "no space left", "cancelled", "limit exceeded",
                                        "internal error", "overflow"};
    return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "unknown status";
}
