/*
 * Errors: set where a fault is detected, wrapped by each layer with the one thing that only it knows.
 * The user reads `snapshot 17: manifest 'manifest-51c1-0': block 3: sync marker mismatch at byte 4711`.
 */
#ifndef TL_BASE_ERROR_H
#define TL_BASE_ERROR_H

#include <tidelake/error.h>

/** Set code and message; returns `status`, so that `return tl_error_set(err, …)` reads well. `err` may be NULL. */
tl_status tl_error_set(tl_error *err, tl_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** As tl_error_set() for a failed system call: maps `errnum` to a status and appends its text. */
tl_status tl_error_errno(tl_error *err, int errnum, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/** If `status` is not TL_OK, put "PREFIX: " before the message. Returns `status` unchanged. */
tl_status tl_error_wrap(tl_error *err, tl_status status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same calls, in a form that shows the compiler what they return: else it takes every output that a failing callee left
   unset for one that is used, and warns. (cppcheck cannot read it.) */
#ifndef __cppcheck__
#define tl_error_set(err, status, ...)                                                                                           \
    __extension__({                                                                                                              \
        const tl_status tl_set_status_ = (status);                                                                               \
        (void)tl_error_set((err), tl_set_status_, __VA_ARGS__);                                                                  \
        tl_set_status_;                                                                                                          \
    })
#define tl_error_wrap(err, status, ...)                                                                                          \
    __extension__({                                                                                                              \
        const tl_status tl_wrap_status_ = (status);                                                                              \
        if (tl_wrap_status_ != TL_OK)                                                                                            \
            (void)tl_error_wrap((err), tl_wrap_status_, __VA_ARGS__);                                                            \
        tl_wrap_status_;                                                                                                         \
    })
#endif

/** The name of a status for messages and JSON: "not found", "corrupt", … Static storage. */
const char *tl_status_name(tl_status status);

/** Forward any failure unchanged. */
#define TL_TRY(expr)                                                                                                             \
    do {                                                                                                                         \
        tl_status tl_try_status_ = (expr);                                                                                       \
        if (tl_try_status_ != TL_OK)                                                                                             \
            return tl_try_status_;                                                                                               \
    } while (0)

/** As TL_TRY, for functions with one `out:` label that unwinds; needs a local `tl_status status`. */
#define TL_TRY_GOTO(expr)                                                                                                        \
    do {                                                                                                                         \
        status = (expr);                                                                                                         \
        if (status != TL_OK)                                                                                                     \
            goto out;                                                                                                            \
    } while (0)

#endif
