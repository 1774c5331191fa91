/* Clocks of the benchmark: what a piece of work took, as the JSON line that bench/run reads. */
#ifndef TL_BENCH_MEASURE_H
#define TL_BENCH_MEASURE_H

#include <stdint.h>
#include <stdio.h>

typedef struct measure {
    double wall;
    double user;
    double system;
    int64_t written;
} measure;

measure measure_start(void);
/**
 * Print {"peer":"tidelake","w":…,"variant":…,"rep":…,"wall":…,"user":…,"sys":…,"rss_mb":…,"wchar":…,MORE}; `format` tells
 * MORE and may be "".
 */
void measure_done(const measure *start, const char *w, const char *variant, int rep, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
double measure_now(void);

/** Files below a folder, as members of a JSON object. */
const char *measure_files(const char *dir);
/** Quantiles of latencies in seconds (sorted in place), as members of a JSON object. */
const char *measure_quantiles(double *seconds, int n);

#endif
