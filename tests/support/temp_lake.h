/* A catalog in memory or in a folder of its own on disk, for tests; several can be open on the same folder. */
#ifndef TL_TESTS_TEMP_LAKE_H
#define TL_TESTS_TEMP_LAKE_H

#include "support/lake_model.h"
#include "support/temp_dir.h"

/* Without cmocka's checks: also for children and threads. `dir` NULL: in memory, given `fs`. */
static inline tl_status open_lake(const char *dir, tl_fs *memory, tl_catalog **out, tl_error *err)
{
    tl_fs *fs = NULL;
    if (dir == NULL)
        return tl_catalog_open(memory, "/lake", out, err);
    TL_TRY(tl_fs_local(&fs, err));
    tl_status status = tl_catalog_open(fs, dir, out, err);
    tl_fs_unref(fs);
    return status;
}

static inline void create_lake(tl_catalog *catalog, const table_kind *kind)
{
    tl_error err;
    assert_ok(tl_catalog_create_database(catalog, "d", /* if_not_exists= */ true, &err), &err);
    assert_ok(create_table(catalog, kind, &err), &err);
}

#endif
