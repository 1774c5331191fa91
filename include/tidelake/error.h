/*
 * Status codes and the error object of the public API.
 *
 * A function that can fail returns a tl_status and takes a `tl_error *err` (which may be NULL) last. The error belongs to
 * the caller; nothing is kept in globals or per thread. `err` is only written on failure.
 */
#ifndef TIDELAKE_ERROR_H
#define TIDELAKE_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tl_status {
    TL_OK = 0,
    TL_E_INVALID = 1,     /* wrong argument, option, schema or statement: the caller must change it */
    TL_E_NOMEM = 2,       /* an allocation failed */
    TL_E_IO = 3,          /* the system refused a read, write, rename, … */
    TL_E_NOT_FOUND = 4,   /* no such file, table, snapshot, tag, … */
    TL_E_EXISTS = 5,      /* already there, and must not be */
    TL_E_CONFLICT = 6,    /* a commit lost against another one; its input is still good for a retry */
    TL_E_CORRUPT = 7,     /* bytes from outside break their format */
    TL_E_UNSUPPORTED = 8, /* a known feature that this build does not have; the message names it */
    TL_E_NOSPACE = 9,     /* disk full or quota */
    TL_E_CANCELLED = 10,  /* stopped on request */
    TL_E_LIMIT = 11,      /* a named limit was exceeded */
    TL_E_INTERNAL = 12,   /* a broken invariant of Tidelake itself */
    TL_E_OVERFLOW = 13    /* a sum or product does not fit its column's type; the message names key and column */
} tl_status;

#define TL_ERROR_MESSAGE_BYTES 2048

typedef struct tl_error {
    tl_status status;
    int retryable; /* 1 if the same call may succeed later (a conflict, a time-out) */
    char message[TL_ERROR_MESSAGE_BYTES];
} tl_error;

#ifdef __cplusplus
}
#endif
#endif
