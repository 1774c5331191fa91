/* Logging of the program and of background work. Library functions return errors and do not log them. */
#ifndef TL_BASE_LOG_H
#define TL_BASE_LOG_H

typedef enum tl_log_level { TL_LOG_ERROR, TL_LOG_WARN, TL_LOG_INFO, TL_LOG_DEBUG } tl_log_level;
typedef void (*tl_log_fn)(void *ctx, tl_log_level level, const char *message);

/** Default: WARN and above to stderr. */
void tl_log_set(tl_log_fn fn, void *ctx, tl_log_level level_max);
void tl_log(tl_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
