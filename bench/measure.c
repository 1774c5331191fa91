#include "measure.h"

#include <ftw.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

double measure_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The number behind `key` in a file of /proc/self; 0 if it is not there. */
static int64_t proc_number(const char *path, const char *key)
{
    char line[256];
    int64_t value = 0;
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            value = strtoll(line + strlen(key), NULL, 10);
    if (f != NULL)
        fclose(f);
    return value;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

measure measure_start(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (measure){measure_now(), seconds(usage.ru_utime), seconds(usage.ru_stime), proc_number("/proc/self/io", "wchar:")};
}

void measure_done(const measure *start, const char *w, const char *variant, int rep, const char *format, ...)
{
    measure now = measure_start();
    printf("{\"peer\":\"tidelake\",\"w\":\"%s\",\"variant\":\"%s\",\"rep\":%d,\"wall\":%.4f,\"user\":%.3f,\"sys\":%.3f,\"rss_mb\":%lld,"
           "\"wchar\":%lld",
           w, variant, rep, now.wall - start->wall, now.user - start->user, now.system - start->system,
           (long long)proc_number("/proc/self/status", "VmHWM:") / 1024, (long long)(now.written - start->written));
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    puts("}");
    fflush(stdout);
}

static struct {
    int64_t files, bytes, data, changelog;
} found;

static int count_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
    if (type != FTW_F)
        return 0;
    found.files++;
    found.bytes += st->st_size;
    found.data += strncmp(path + at->base, "data-", 5) == 0;
    found.changelog += strncmp(path + at->base, "changelog-", 10) == 0;
    return 0;
}

const char *measure_files(const char *dir)
{
    static char text[256];
    memset(&found, 0, sizeof found);
    nftw(dir, count_file, 16, FTW_PHYS);
    snprintf(text, sizeof text, ",\"files\":%lld,\"bytes\":%lld,\"data_files\":%lld,\"changelog_files\":%lld", (long long)found.files,
             (long long)found.bytes, (long long)found.data, (long long)found.changelog);
    return text;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

const char *measure_quantiles(double *latencies, int n)
{
    static char text[128];
    qsort(latencies, (size_t)n, sizeof *latencies, compare);
    snprintf(text, sizeof text, ",\"p50_us\":%.2f,\"p99_us\":%.2f,\"max_us\":%.1f", latencies[n / 2] * 1e6,
             latencies[(int)(n * 0.99)] * 1e6, latencies[n - 1] * 1e6);
    return text;
}
