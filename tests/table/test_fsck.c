/* fsck finds what is wrong, and finds nothing where nothing is. */
#include "table_support.h"

static lake sound_lake(void)
{
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,changelog-producer=input,write-only=true");
    tl_table *table = open_table(&l, "t");
    put(table, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    put(table, "{'k':2,'v':'c'}\n{'k':5,'v':'d'}");
    tl_table_free(table);
    return l;
}

static char *first_file(lake *l, const char *part)
{
    char **paths = NULL, *hit = NULL;
    size_t n = 0;
    walk_files(l->fs, "/lake", &paths, &n);
    for (size_t i = 0; i < n; i++) {
        if (hit == NULL && strstr(paths[i], part) != NULL)
            hit = strdup(paths[i]);
        tl_free(paths[i]);
    }
    free(paths);
    assert_non_null(hit);
    return hit;
}

/* Some problem of the table has `part` in its text. */
static void assert_problem(lake *l, const char *part)
{
    tl_table *table = open_table(l, "t");
    tl_fsck_report report = {0};
    tl_error err = {TL_OK, 0, ""};
    tl_status status = tl_table_fsck(table, true, &report, &err);
    bool found = status != TL_OK && strstr(err.message, part) != NULL;
    for (size_t i = 0; i < report.n_problems; i++)
        found |= strstr(report.problems[i], part) != NULL;
    if (!found) {
        for (size_t i = 0; i < report.n_problems; i++)
            printf("  problem: %s\n", report.problems[i]);
        fail_msg("no problem tells of '%s' (%s)", part, status == TL_OK ? "ok" : err.message);
    }
    tl_fsck_report_deinit(&report);
    tl_table_free(table);
}

static void a_sound_table_is_counted(void **state)
{
    (void)state;
    lake l = sound_lake();
    tl_table *table = open_table(&l, "t");
    tl_fsck_report report = {0};
    tl_error err;
    assert_ok(tl_table_fsck(table, true, &report, &err), &err);
    assert_int_equal(report.n_problems, 0);
    assert_int_equal(report.snapshots, 2);
    assert_int_equal(report.latest_snapshot, 2);
    assert_int_equal(report.data_files, 4); /* changelog files too */
    assert_int_equal(report.rows, 4);
    tl_fsck_report_deinit(&report);
    tl_table_free(table);
    close_lake(&l);
}

static void a_missing_data_file_is_found(void **state)
{
    (void)state;
    static const char *const parts[] = {"/data-", "/changelog-", "/manifest-list-"};
    for (size_t i = 0; i < TL_ARRAY_LEN(parts); i++) {
        lake l = sound_lake();
        tl_error err;
        char *path = first_file(&l, parts[i]);
        assert_ok(tl_fs_remove(l.fs, path, &err), &err);
        assert_problem(&l, tl_path_base(path));
        free(path);
        close_lake(&l);
    }
}

static void a_file_of_another_size_is_found(void **state)
{
    (void)state;
    lake l = sound_lake();
    tl_error err;
    tl_bytes content = {0};
    char *path = first_file(&l, "/data-");
    assert_ok(tl_fs_read_all(l.fs, path, 1 << 20, &content, &err), &err);
    assert_ok(tl_fs_publish(l.fs, path, (tl_bytes_view){content.data, content.len - 1}, true, &err), &err);
    assert_problem(&l, tl_path_base(path));
    tl_bytes_deinit(&content);
    free(path);
    close_lake(&l);
}

/* Commit a message whose file says something else about itself than is in it. */
static void forge(lake *l, void (*lie)(tl_data_file *file))
{
    tl_table *table = open_table(l, "t");
    tl_commit_messages messages = prepared(table, "{'k':7,'v':'x'}\n{'k':9,'v':'y'}", false);
    tl_data_file *file = NULL;
    tl_error err;
    assert_ok(tl_data_file_dup(messages.items[0].new_files.items[0], &file, &err), &err);
    lie(file);
    tl_data_file_unref(messages.items[0].new_files.items[0]);
    messages.items[0].new_files.items[0] = file;
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    tl_commit_result result;
    assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
}

static void more_rows(tl_data_file *file)
{
    file->rows++;
}

static void other_sequence(tl_data_file *file)
{
    file->max_seq -= 1;
}

static void other_key(tl_data_file *file)
{
    file->min_key.data[file->min_key.len - 8] ^= 1;
}

static void other_deletes(tl_data_file *file)
{
    file->delete_rows = 1;
}

static void other_nulls(tl_data_file *file)
{
    file->value_stats.null_counts[1] = 1;
}

/* "x" as the least value of 'v' becomes "y", or the greatest "y" becomes "x": a filter would leave the file out. */
static void put_byte(tl_bytes row, uint8_t from, uint8_t to)
{
    uint8_t *at = memrchr(row.data, from, row.len);
    assert_non_null(at);
    *at = to;
}

static void greater_minimum(tl_data_file *file)
{
    put_byte(file->value_stats.min, 'x', 'y');
}

static void smaller_maximum(tl_data_file *file)
{
    put_byte(file->value_stats.max, 'y', 'x');
}

static void lies_of_a_file_are_found(void **state)
{
    (void)state;
    static const struct {
        void (*lie)(tl_data_file *file);
        const char *part;
    } lies[] = {{more_rows, "row"}, {other_sequence, "sequence"}, {other_key, "key"}, {other_deletes, "retracts"},
                {other_nulls, "is NULL in"}, {greater_minimum, "outside of the bounds"}, {smaller_maximum, "outside of the bounds"}};
    for (size_t i = 0; i < TL_ARRAY_LEN(lies); i++) {
        lake l = sound_lake();
        forge(&l, lies[i].lie);
        assert_problem(&l, lies[i].part);
        close_lake(&l);
    }
}

/* A compaction whose changes are not committed: the table is right, but nobody who follows it will learn of them. */
static void changes_that_are_not_told_are_found(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket=1,changelog-producer=lookup", "bucket=1,changelog-producer=full-compaction"};
    for (int i = 0; i < 4; i++) {
        lake l = memory_lake();
        bool loses = i % 2 == 1;
        tl_error err;
        create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, options[i / 2]);
        tl_table *table = open_table(&l, "t");
        put_as(table, "u", 1, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}", /* full= */ true);
        tl_commit_messages messages = prepared(table, "{'k':2,'v':'c'}\n{'k':5,'v':'d'}", /* full= */ true);
        tl_commit_message *m = &messages.items[0];
        assert_true(m->compact_changelog.n > 0);
        for (size_t f = 0; loses && f < m->compact_changelog.n; f++)
            tl_data_file_unref(m->compact_changelog.items[f]);
        if (loses)
            m->compact_changelog.n = 0;
        tl_commit_spec spec = batch_commit("u", 2);
        tl_commit_result result = {0};
        assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
        if (loses)
            assert_problem(&l, "do not lead");
        else
            assert_sound(table);
        tl_commit_messages_deinit(&messages);
        put_as(table, "u", 3, "{'_kind':'-D','k':1,'v':'a'}", /* full= */ true);
        if (!loses)
            assert_sound(table);
        tl_table_free(table);
        close_lake(&l);
    }
}

/* As the reference does: the compaction of an overwrite is a snapshot of its own, and tells as little as the overwrite. */
static void what_an_overwrite_compacts_is_not_missed_in_the_changelog(void **state)
{
    (void)state;
    static const char *const options[] = {"bucket=1,changelog-producer=lookup", "bucket=1,changelog-producer=full-compaction",
                                          "bucket=1,changelog-producer=lookup,deletion-vectors.enabled=true"};
    for (size_t i = 0; i < TL_ARRAY_LEN(options); i++) {
        lake l = memory_lake();
        tl_error err;
        tl_commit_messages messages = {0};
        tl_commit_spec spec = batch_commit("u", TL_COMMIT_BATCH);
        create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, options[i]);
        tl_table *table = open_table(&l, "t");
        put_as(table, "u", 1, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}", /* full= */ true);
        assert_ok(prepare_lines(table, "{'k':2,'v':'c'}\n{'k':5,'v':'d'}", /* full= */ true, /* ignore_previous= */ true, &messages, &err), &err);
        spec.overwrite = true;
        assert_ok(tl_table_commit(table, &spec, &messages, NULL, &err), &err);
        tl_commit_messages_deinit(&messages);
        assert_sound(table);
        put_as(table, "u", 2, "{'_kind':'-D','k':2,'v':'c'}\n{'k':7,'v':'e'}", /* full= */ true);
        assert_sound(table);
        tl_table_free(table);
        close_lake(&l);
    }
}

/* A branch from a tag names the changelog of its first snapshot, which goes when the main branch expires that. */
static void a_changelog_that_went_with_the_main_branch_is_not_missed(void **state)
{
    (void)state;
    for (int expires = 0; expires < 2; expires++) {
        lake l = sound_lake();
        tl_error err;
        tl_table *table = open_table(&l, "t");
        tl_expire_spec last = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
        assert_ok(tl_table_create_tag(table, "base", 1, TL_ABSENT, &err), &err);
        assert_ok(tl_table_create_branch(table, "side", "base", &err), &err);
        tl_table *side = open_table(&l, "t$branch_side");
        assert_sound(side);
        if (expires) {
            assert_ok(tl_table_expire(table, &last, NULL, &err), &err);
            assert_sound(side);
            put(side, "{'k':7,'v':'e'}");
            assert_sound(side);
        } else { /* the same loss without the expiry is damage, in the branch as in the table */
            tl_fsck_report report = {0};
            tl_snapshot *snap = NULL;
            assert_ok(tl_snapshot_read(l.fs, &table->paths, 1, &snap, &err), &err);
            char *path = tl_paths_manifest(&table->paths, snap->changelog_manifest_list);
            assert_ok(tl_fs_remove(l.fs, path, &err), &err);
            assert_ok(tl_table_fsck(side, true, &report, &err), &err);
            assert_true(report.n_problems > 0);
            assert_problem(&l, snap->changelog_manifest_list);
            tl_fsck_report_deinit(&report);
            tl_free(path);
            tl_snapshot_free(snap);
        }
        tl_table_free(side);
        tl_table_free(table);
        close_lake(&l);
    }
}

static void a_damaged_manifest_is_found(void **state)
{
    (void)state;
    lake l = sound_lake();
    tl_error err;
    char *path = first_file(&l, "/manifest/manifest-");
    tl_stat st;
    assert_ok(tl_fs_stat(l.fs, path, &st, &err), &err);
    uint8_t *rubbish = calloc(1, (size_t)st.bytes);
    assert_ok(tl_fs_publish(l.fs, path, (tl_bytes_view){rubbish, (size_t)st.bytes}, true, &err), &err);
    assert_problem(&l, tl_path_base(path));
    free(rubbish);
    free(path);
    close_lake(&l);
}

/* Two partitions with three buckets each, a key deleted: what is in an index without being in the table is right. */
static lake dynamic_lake(void)
{
    lake l = memory_lake();
    create(&l, "t", "p INT NOT NULL, k INT NOT NULL, v STRING", "p,k", "p", "bucket=-1,dynamic-bucket.target-row-num=2");
    tl_table *table = open_table(&l, "t");
    for (int p = 1; p <= 2; p++) {
        char lines[400];
        size_t len = 0;
        for (int k = 1; k <= 6; k++)
            len += (size_t)snprintf(lines + len, sizeof lines - len, "{'p':%d,'k':%d,'v':'a'}\n", p, k);
        put(table, lines);
    }
    put(table, "{'p':1,'k':7,'v':'b'}\n{'_kind':'-D','p':1,'k':3,'v':'a'}");
    put_as(table, NULL, TL_COMMIT_BATCH, "{'p':1,'k':1,'v':'c'}", /* full= */ true);
    assert_sound(table);
    tl_table_free(table);
    return l;
}

static tl_index_entries indexes_of(tl_table *table)
{
    tl_index_entries indexes = {0};
    tl_error err;
    tl_snapshot *snap = latest_of(table);
    assert_ok(tl_indexes__read(table, snap, &indexes, &err), &err);
    tl_snapshot_free(snap);
    return indexes;
}

static void replace_index(tl_table *table, const tl_index_entry *e, tl_bytes_view content)
{
    tl_error err;
    char *path = tl_indexes__path(table, tl_bytes_view_of(e->partition), e->bucket, e->file->name, e->file->external_path);
    assert_ok(tl_fs_publish(table->fs, path, content, true, &err), &err);
    tl_free(path);
}

static void hash_indexes_that_do_not_fit_their_keys_are_found(void **state)
{
    (void)state;
    lake l = dynamic_lake();
    tl_error err;
    tl_bytes hashes = {0};
    tl_table *table = open_table(&l, "t");
    tl_index_entries indexes = indexes_of(table);
    const tl_index_entry *e = &indexes.items[0];
    assert_ok(tl_hash_index__read(table, e, &hashes, &err), &err);
    hashes.data[3] ^= 0x55; /* a key is not found any more */
    replace_index(table, e, tl_bytes_view_of(hashes));
    assert_problem(&l, "the hashes of 1 keys are not in the index of bucket");
    assert_problem(&l, e->file->name);
    hashes.data[3] ^= 0x55;
    replace_index(table, e, tl_bytes_view_of(hashes));
    assert_sound(table);
    tl_bytes_deinit(&hashes);
    tl_index_entries_deinit(&indexes);
    tl_table_free(table);
    close_lake(&l);
}

static void hashes_of_two_buckets_are_found(void **state)
{
    (void)state;
    lake l = dynamic_lake();
    tl_bytes hashes = {0};
    tl_error err;
    tl_table *table = open_table(&l, "t");
    tl_index_entries indexes = indexes_of(table);
    const tl_index_entry *a = &indexes.items[0], *b = NULL;
    for (size_t i = 1; i < indexes.n; i++)
        if (b == NULL && tl_bytes_equal(tl_bytes_view_of(indexes.items[i].partition), tl_bytes_view_of(a->partition)) &&
            indexes.items[i].file->bytes == a->file->bytes)
            b = &indexes.items[i];
    assert_non_null(b);
    assert_ok(tl_hash_index__read(table, a, &hashes, &err), &err);
    replace_index(table, b, tl_bytes_view_of(hashes));
    assert_problem(&l, "are in the indexes of two buckets");
    tl_bytes_deinit(&hashes);
    tl_index_entries_deinit(&indexes);
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_table_is_counted),
        cmocka_unit_test(a_missing_data_file_is_found),
        cmocka_unit_test(a_file_of_another_size_is_found),
        cmocka_unit_test(lies_of_a_file_are_found),
        cmocka_unit_test(changes_that_are_not_told_are_found),
        cmocka_unit_test(what_an_overwrite_compacts_is_not_missed_in_the_changelog),
        cmocka_unit_test(a_changelog_that_went_with_the_main_branch_is_not_missed),
        cmocka_unit_test(a_damaged_manifest_is_found),
        cmocka_unit_test(hash_indexes_that_do_not_fit_their_keys_are_found),
        cmocka_unit_test(hashes_of_two_buckets_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
