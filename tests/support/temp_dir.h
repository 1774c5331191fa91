/* A folder of its own for a test. */
#ifndef TL_TESTS_TEMP_DIR_H
#define TL_TESTS_TEMP_DIR_H

#include <stdlib.h>
#include <unistd.h>

#include "io/io.h"
#include "support/test.h"

/* "/tmp/tidelake-test-XXXXXX" or so; freed and removed by remove_temp_dir(). */
static inline char *make_temp_dir(void)
{
    const char *tmp = getenv("TMPDIR");
    char *path = tl_strf("%s/tidelake-test-XXXXXX", tmp == NULL || *tmp == '\0' ? "/tmp" : tmp);
    assert_non_null(path);
    assert_non_null(mkdtemp(path));
    return path;
}

static inline void remove_temp_dir(char *path)
{
    tl_fs *fs = NULL;
    tl_error err;
    assert_ok(tl_fs_local(&fs, &err), &err);
    assert_ok(tl_fs_remove_all(fs, path, &err), &err);
    tl_fs_unref(fs);
    tl_free(path);
}

#endif
