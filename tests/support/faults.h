/* What tests share that let each call and each allocation fail: states told apart, and how many of the faults are tried. */
#ifndef TL_TESTS_FAULTS_H
#define TL_TESTS_FAULTS_H

#include <stdlib.h>
#include <time.h>

#include <xxhash.h>

#include "support/copy_fs.h"

/* In place of the C library's: there is nobody here to wait for, and waiting (for a hint that a power cut emptied) took 4/5 of the time. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    (void)wanted;
    if (left != NULL)
        *left = (struct timespec){0};
    return 0;
}

/* A number that tells two states apart: paths and contents, in whatever order. Empty folders do not count. */
static inline uint64_t fingerprint(tl_fs *fs, const char *dir)
{
    tl_error err;
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    uint64_t sum = 0;
    assert_ok(tl_fs_list(fs, dir, &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = tl_path_join(dir, entries[i].name);
        assert_non_null(path);
        if (entries[i].stat.is_dir) {
            sum += fingerprint(fs, path);
        } else {
            tl_bytes bytes = {0};
            assert_ok(tl_fs_read_all(fs, path, INT64_C(1) << 30, &bytes, &err), &err);
            sum += XXH3_64bits_withSeed(bytes.data, bytes.len, XXH3_64bits(path, strlen(path)));
            tl_bytes_deinit(&bytes);
        }
        tl_free(path);
    }
    tl_dir_free(entries, n);
    return sum;
}

/* Every file of the one is in the other, unchanged; hints may change. */
static inline void assert_nothing_lost(tl_fs *before, tl_fs *after, const char *dir, const char *where)
{
    tl_error err;
    tl_dir_entry *entries = NULL;
    size_t n = 0;
    assert_ok(tl_fs_list(before, dir, &entries, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        char *path = tl_path_join(dir, entries[i].name);
        tl_bytes old = {0}, now = {0};
        assert_non_null(path);
        if (entries[i].stat.is_dir) {
            assert_nothing_lost(before, after, path, where);
        } else if (strcmp(entries[i].name, "LATEST") != 0 && strcmp(entries[i].name, "EARLIEST") != 0) {
            assert_ok(tl_fs_read_all(before, path, INT64_C(1) << 30, &old, &err), &err);
            if (tl_fs_read_all(after, path, INT64_C(1) << 30, &now, &err) != TL_OK ||
                !tl_bytes_equal(tl_bytes_view_of(old), tl_bytes_view_of(now)))
                fail_msg("%s: '%s' is gone or different", where, path);
        }
        tl_bytes_deinit(&old);
        tl_bytes_deinit(&now);
        tl_free(path);
    }
    tl_dir_free(entries, n);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOW true
#elif defined(__has_feature)
#define SLOW (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define SLOW false
#endif

/* Distance between the numbers that are tried, of `total`. */
static inline uint64_t fault_stride(uint64_t total, uint64_t samples, uint64_t samples_if_slow)
{
    const char *text = getenv("TL_FAULT_SAMPLES");
    uint64_t limit = text != NULL ? strtoull(text, NULL, 10) : SLOW ? samples_if_slow : samples;
    return limit == 0 || total < limit ? 1 : total / limit;
}

#endif
