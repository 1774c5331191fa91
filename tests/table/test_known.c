/* What a handle knows of the snapshot that it made: commits do not read it again, and others' commits are seen all the same. */
#include "table_support.h"

#include "support/random_column.h"

/* ---- a file system that counts manifests and lists being opened ---- */

typedef struct counting_fs {
    tl_fs base;
    tl_fs *inner;
    int manifests;
} counting_fs;

static tl_fs *inner_of(tl_fs *fs)
{
    return ((counting_fs *)fs)->inner;
}

static tl_status open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    ((counting_fs *)fs)->manifests += strstr(path, "/manifest/") != NULL;
    return tl_fs_open_read(inner_of(fs), path, out, err);
}

static tl_status create_file(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    return tl_fs_create(inner_of(fs), path, out, err);
}

static tl_status stat_path(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    return tl_fs_stat(inner_of(fs), path, out, err);
}

static tl_status list_dir(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    return tl_fs_list(inner_of(fs), path, out, n, err);
}

static tl_status make_dirs(tl_fs *fs, const char *path, tl_error *err)
{
    return tl_fs_mkdirs(inner_of(fs), path, err);
}

static tl_status remove_path(tl_fs *fs, const char *path, tl_error *err)
{
    return tl_fs_remove(inner_of(fs), path, err);
}

static tl_status rename_path(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    return tl_fs_rename(inner_of(fs), from, to, replace, err);
}

static tl_status sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    return inner_of(fs)->ops->sync_dir(inner_of(fs), path, err);
}

static void free_fs(tl_fs *fs)
{
    tl_fs_unref(inner_of(fs));
    free(fs);
}

static counting_fs *counting(void)
{
    static const tl_fs_ops ops = {.free = free_fs,    .open_read = open_read,  .create = create_file, .stat = stat_path,   .list = list_dir,
                                  .mkdirs = make_dirs, .remove = remove_path, .rename = rename_path, .sync_dir = sync_dir};
    tl_error err;
    counting_fs *fs = calloc(1, sizeof *fs);
    assert_non_null(fs);
    fs->base = (tl_fs){.ops = &ops, .refs = 1};
    assert_ok(tl_fs_memory(&fs->inner, &err), &err);
    return fs;
}

/* ---- */

static void write_and_compact(tl_table *table, tl_table_writer *writer, int i)
{
    char line[64];
    tl_commit_messages messages = {0};
    tl_commit_result result = {0};
    tl_error err;
    snprintf(line, sizeof line, "{'k':%d,'v':'%d'}", i % 5, i);
    tl_commit_spec spec = batch_commit("long", i);
    assert_ok(write_lines(table, writer, line, &err), &err);
    assert_ok(tl_table_writer_compact(writer, true, &err), &err);
    assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
    assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
    assert_int_equal(result.snapshots, 2);
    assert_false(result.compaction_dropped);
    assert_ok(tl_table_writer_committed(writer, &result, &err), &err);
    tl_commit_messages_deinit(&messages);
}

static void a_commit_does_not_read_what_its_handle_has_written(void **state)
{
    (void)state;
    counting_fs *fs = counting();
    lake l = lake_on(&fs->base);
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,snapshot.num-retained.min=100,snapshot.num-retained.max=100");
    tl_table *table = open_table(&l, "t"), *other = open_table(&l, "t");
    tl_table_writer *writer = NULL;
    tl_error err;
    assert_ok(tl_table_writer_create(table, NULL, &writer, &err), &err);
    for (int i = 1; i <= 2; i++)
        write_and_compact(table, writer, i);
    fs->manifests = 0;
    for (int i = 3; i <= 8; i++)
        write_and_compact(table, writer, i);
    assert_int_equal(fs->manifests, 0);
    put(other, "{'k':9,'v':'other'}");
    fs->manifests = 0;
    put(table, "{'k':8,'v':'mine'}");
    assert_true(fs->manifests > 0);
    assert_rows(&l, "t", NULL,
                "{'k':0,'v':'5'}\n{'k':1,'v':'6'}\n{'k':2,'v':'7'}\n{'k':3,'v':'8'}\n{'k':4,'v':'4'}\n{'k':8,'v':'mine'}\n{'k':9,'v':'other'}");
    assert_sound(table);
    tl_table_writer_free(writer);
    tl_table_free(other);
    tl_table_free(table);
    close_lake(&l);
}

/* Two handles commit by turns into some partitions, compact, overwrite and roll back; what each knows never shows. */
static void run_history(uint64_t seed)
{
    lake l = memory_lake();
    create(&l, "t", "p INT NOT NULL, k INT NOT NULL, v INT", "p,k", "p",
           "bucket=1,num-sorted-run.compaction-trigger=2,manifest.merge-min-count=4,snapshot.num-retained.min=100,snapshot.num-retained.max=100");
    tl_table *tables[2] = {open_table(&l, "t"), open_table(&l, "t")};
    tl_error err;
    int rows[64][9]; /* v + 1 of (p, k) = (i / 3, i % 3) after each snapshot; 0: no row */
    int64_t latest = 0;
    memset(rows, 0, sizeof rows);
    for (int step = 1; step <= 25; step++) {
        tl_table *table = tables[test_random(&seed) % 2];
        int now[9];
        memcpy(now, rows[latest], sizeof now);
        if (latest > 3 && test_random(&seed) % 8 == 0) {
            latest -= 1 + (int64_t)(test_random(&seed) % 3);
            assert_ok(tl_table_rollback(table, latest, NULL, &err), &err);
            continue;
        }
        char lines[512] = "";
        for (size_t i = 0, n = 1 + test_random(&seed) % 4; i < n; i++) {
            int at = (int)(test_random(&seed) % 9);
            char line[64];
            snprintf(line, sizeof line, "{'p':%d,'k':%d,'v':%d}\n", at / 3, at % 3, step);
            strcat(lines, line);
            now[at] = step + 1;
        }
        tl_commit_result result = put_as(table, NULL, TL_COMMIT_BATCH, lines, /* full= */ test_random(&seed) % 2 == 0);
        assert_false(result.compaction_dropped);
        for (int64_t id = latest + 1; id <= result.snapshot_id; id++)
            memcpy(rows[id], now, sizeof now);
        latest = result.snapshot_id;
        assert_sound(table);
    }
    char want[1024] = "";
    for (int i = 0; i < 9; i++) {
        char line[64];
        snprintf(line, sizeof line, "{'p':%d,'k':%d,'v':%d}\n", i / 3, i % 3, rows[latest][i] - 1);
        if (rows[latest][i] != 0)
            strcat(want, line);
    }
    assert_rows(&l, "t", NULL, want);
    tl_table_free(tables[0]);
    tl_table_free(tables[1]);
    close_lake(&l);
}

static void two_handles_by_turns_lose_nothing(void **state)
{
    (void)state;
    uint64_t seed = test_seed(1);
    for (int i = 0; i < 8; i++)
        run_history(seed + (uint64_t)i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_does_not_read_what_its_handle_has_written),
        cmocka_unit_test(two_handles_by_turns_lose_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
