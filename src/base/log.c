#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the three below */
static tl_log_fn log_fn;
static void *log_ctx;
static tl_log_level log_max = TL_LOG_WARN;

void tl_log_set(tl_log_fn fn, void *ctx, tl_log_level level_max)
{
    pthread_mutex_lock(&lock);
    log_fn = fn;
    log_ctx = ctx;
    log_max = level_max;
    pthread_mutex_unlock(&lock);
}

void tl_log(tl_log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"error", "warning", "info", "debug"};
    pthread_mutex_lock(&lock);
    if (level <= log_max) {
        char message[2048];
        va_list args;
        va_start(args, fmt);
        vsnprintf(message, sizeof message, fmt, args);
        va_end(args);
        if (log_fn != NULL)
            log_fn(log_ctx, level, message);
        else
            fprintf(stderr, "tidelake: %s: %s\n", names[level], message);
    }
    pthread_mutex_unlock(&lock);
}
