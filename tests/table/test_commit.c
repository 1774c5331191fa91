/* Commits: phases, idempotence, conflicts, dropped compactions, overwrites, empty commits, manifest merging, cleanup. */
#include "table_support.h"

#define KEYED "k INT NOT NULL, v STRING"

static tl_status commit(tl_table *table, const char *user, int64_t identifier, const tl_commit_messages *messages,
                        tl_commit_result *result, tl_error *err)
{
    tl_commit_spec spec = batch_commit(user, identifier);
    return tl_table_commit(table, &spec, messages, result, err);
}

/* ---- phases ---- */

static void data_and_compaction_become_two_snapshots(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_commit_result result = put_as(table, "u", 1, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}", /* full= */ true);
    assert_int_equal(result.snapshots, 2);
    assert_int_equal(result.snapshot_id, 2);
    assert_false(result.compaction_dropped);
    for (int64_t id = 1; id <= 2; id++) {
        tl_snapshot *snap = NULL;
        tl_error err;
        assert_ok(tl_snapshot_read(l.fs, &table->paths, id, &snap, &err), &err);
        assert_int_equal(snap->commit_kind, id == 1 ? TL_COMMIT_APPEND : TL_COMMIT_COMPACT);
        assert_string_equal(snap->commit_user, "u");
        assert_int_equal(snap->commit_identifier, 1);
        assert_int_equal(snap->total_record_count, 2);
        assert_int_equal(snap->delta_record_count, id == 1 ? 2 : 0);
        tl_snapshot_free(snap);
    }
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void an_empty_commit_makes_a_snapshot_unless_told_otherwise(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, NULL, NULL, NULL);
    tl_table *table = open_table(&l, "t");
    tl_commit_messages none = {0};
    tl_commit_result result = {0};
    tl_error err;
    tl_commit_spec spec = batch_commit("u", 1);
    spec.ignore_empty = true;
    assert_ok(tl_table_commit(table, &spec, &none, &result, &err), &err);
    assert_int_equal(result.snapshots, 0);
    spec.ignore_empty = false;
    spec.watermark = 17;
    spec.identifier = 2;
    assert_ok(tl_table_commit(table, &spec, &none, &result, &err), &err);
    assert_int_equal(result.snapshots, 1);
    tl_snapshot *snap = latest_of(table);
    assert_int_equal(snap->watermark, 17);
    assert_int_equal(snap->delta_record_count, 0);
    tl_snapshot_free(snap);
    tl_table_free(table);
    close_lake(&l);
}

static void watermarks_never_go_back_and_properties_stay_with_their_commit(void **state)
{
    (void)state;
    static const int64_t given[] = {100, 50, TL_ABSENT, 200}, kept[] = {100, 100, 100, 200};
    lake l = memory_lake();
    create(&l, "t", KEYED, NULL, NULL, NULL);
    tl_table *table = open_table(&l, "t");
    tl_error err;
    for (int i = 0; i < 4; i++) {
        tl_commit_messages messages = prepared(table, "{'k':1,'v':'a'}", false);
        tl_options properties = options_of(i == 1 ? "offset=7" : "");
        tl_commit_spec spec = {.user = "u", .identifier = i + 1, .watermark = given[i], .properties = &properties};
        tl_commit_result result;
        assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
        tl_snapshot *snap = latest_of(table);
        assert_int_equal(snap->watermark, kept[i]);
        const char *offset = tl_options_get(&snap->properties, "offset");
        assert_true((offset != NULL) == (i == 1));
        tl_snapshot_free(snap);
        tl_options_deinit(&properties);
        tl_commit_messages_deinit(&messages);
    }
    tl_table_free(table);
    close_lake(&l);
}

/* ---- idempotence ---- */

static void the_same_commit_twice_gets_in_once(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, NULL, NULL, NULL);
    tl_table *table = open_table(&l, "t"), *other = open_table(&l, "t");
    tl_error err;
    put_as(table, "u", 1, "{'k':1,'v':'a'}", false);
    tl_commit_messages again = prepared(table, "{'k':1,'v':'a'}", false);
    size_t files = files_with(l.fs, "/bucket-0/");
    assert_int_equal(files, 2);
    tl_commit_result result = {0};
    assert_ok(commit(other, "u", 1, &again, &result, &err), &err);
    assert_int_equal(result.snapshots, 0);
    assert_int_equal(files_with(l.fs, "/bucket-0/"), 1); /* the duplicate's file is gone */
    tl_commit_messages_deinit(&again);
    put_as(other, "u", 2, "{'k':2,'v':'b'}", false);
    put_as(other, "w", 1, "{'k':3,'v':'c'}", false); /* another user's 1 is another commit */
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':3,'v':'c'}");
    tl_table_free(other);
    tl_table_free(table);
    close_lake(&l);
}

static void the_very_messages_committed_twice_keep_their_files(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, NULL, NULL, NULL);
    tl_table *table = open_table(&l, "t"), *other = open_table(&l, "t");
    tl_error err;
    tl_commit_messages messages = prepared(table, "{'k':1,'v':'a'}", false);
    tl_commit_result result = {0};
    assert_ok(commit(table, "u", 1, &messages, &result, &err), &err);
    assert_ok(commit(other, "u", 1, &messages, &result, &err), &err);
    assert_int_equal(result.snapshots, 0);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}");
    tl_commit_messages_deinit(&messages);
    tl_table_free(other);
    tl_table_free(table);
    close_lake(&l);
}

static void a_compaction_whose_data_phase_is_in_already_still_gets_in(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t"), *other = open_table(&l, "t");
    tl_error err;
    tl_commit_messages messages = prepared(table, "{'k':1,'v':'a'}", true), half = {0};
    tl_commit_message first = messages.items[0];
    first.compact_before = first.compact_after = first.compact_changelog = (tl_file_list){0};
    half.items = &first;
    half.n = 1;
    tl_commit_result result = {0};
    assert_ok(commit(table, "u", 1, &half, &result, &err), &err);
    assert_int_equal(result.snapshots, 1);
    assert_ok(commit(other, "u", 1, &messages, &result, &err), &err); /* as after a crash between the phases */
    assert_int_equal(result.snapshots, 1);
    tl_snapshot *snap = latest_of(table);
    assert_int_equal(snap->commit_kind, TL_COMMIT_COMPACT);
    tl_snapshot_free(snap);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}");
    assert_sound(table);
    tl_commit_messages_deinit(&messages);
    tl_table_free(other);
    tl_table_free(table);
    close_lake(&l);
}

/* Commits of somebody else, and of the old snapshots only the last one stays. */
static void others_go_on(tl_table *table, int commits)
{
    tl_error err;
    static int64_t identifier;
    for (int i = 0; i < commits; i++)
        put_as(table, "others", ++identifier, "{'k':100,'v':'x'}", /* full= */ false);
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    assert_ok(tl_table_expire(table, &spec, NULL, &err), &err);
}

/* The snapshots that would tell are gone; what is left of the user or of its files must. */
static void a_commit_whose_snapshots_have_expired_is_not_made_again(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT, v STRING", NULL, NULL, "bucket=-1");
    tl_table *table = open_table(&l, "t");
    tl_commit_result result = {0};
    tl_error err;
    tl_commit_messages first = prepared(table, "{'k':1,'v':'a'}", false), second = prepared(table, "{'k':2,'v':'b'}", false);
    assert_ok(commit(table, "u", 1, &first, &result, &err), &err);
    assert_ok(commit(table, "u", 2, &second, &result, &err), &err);
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    assert_ok(tl_table_expire(table, &spec, NULL, &err), &err);
    /* The user's second commit says that the first was in. */
    tl_table *again = open_table(&l, "t");
    assert_ok(commit(again, "u", 1, &first, &result, &err), &err);
    assert_int_equal(result.snapshots, 0);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}");
    tl_table_free(again);
    /* Nothing is known of the user: the live file does. */
    others_go_on(table, 2);
    again = open_table(&l, "t");
    assert_ok(commit(again, "u", 2, &second, &result, &err), &err);
    assert_int_equal(result.snapshots, 0);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':100,'v':'x'}\n{'k':100,'v':'x'}");
    tl_table_free(again);
    /* A new commit of this user gets in. */
    tl_commit_messages third = prepared(table, "{'k':3,'v':'c'}", false);
    again = open_table(&l, "t");
    assert_ok(commit(again, "u", 3, &third, &result, &err), &err);
    assert_int_equal(result.snapshots, 1);
    tl_table_free(again);
    assert_sound(table);
    tl_commit_messages_deinit(&first);
    tl_commit_messages_deinit(&second);
    tl_commit_messages_deinit(&third);
    tl_table_free(table);
    close_lake(&l);
}

/* Its file was compacted away and is gone with its snapshot: to commit would name a file that is not there. */
static void messages_whose_files_are_gone_are_refused(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_commit_result result = {0};
    tl_error err;
    tl_commit_messages messages = prepared(table, "{'k':1,'v':'a'}", false);
    assert_ok(commit(table, "u", 1, &messages, &result, &err), &err);
    put_as(table, "other", 1, "{'k':2,'v':'b'}", /* full= */ true);
    others_go_on(table, 2);
    tl_table *again = open_table(&l, "t");
    assert_fails(commit(again, "u", 1, &messages, &result, &err), TL_E_INVALID, &err, "is gone");
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':100,'v':'x'}");
    assert_sound(table);
    tl_table_free(again);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
    close_lake(&l);
}

/* The data's snapshot has expired, that of its compaction has not. */
static void data_is_not_doubled_when_only_its_compaction_is_left(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v BIGINT", "k", NULL, "bucket=1,merge-engine=aggregation,fields.v.aggregate-function=sum");
    tl_table *table = open_table(&l, "t");
    tl_commit_result result = {0};
    tl_error err;
    tl_commit_messages messages = prepared(table, "{'k':1,'v':5}", /* full= */ true);
    put_as(table, "other", 1, "{'k':9,'v':1}", /* full= */ false);
    assert_ok(commit(table, "u", 1, &messages, &result, &err), &err);
    assert_int_equal(result.snapshots, 2);
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    assert_ok(tl_table_expire(table, &spec, NULL, &err), &err);
    tl_table *again = open_table(&l, "t");
    tl_commit_messages anew = prepared(again, "{'k':1,'v':5}", /* full= */ false);
    assert_ok(commit(again, "u", 1, &anew, &result, &err), &err);
    assert_int_equal(result.snapshots, 0);
    assert_rows(&l, "t", NULL, "{'k':1,'v':5}\n{'k':9,'v':1}");
    tl_commit_messages_deinit(&anew);
    tl_table_free(again);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
    close_lake(&l);
}

/* A file system whose answer to the publication of a snapshot gets lost, while others commit and expire what it may have made. */
typedef struct deaf_fs {
    tl_fs base;
    tl_fs *inner;
    bool publishes; /* the rename happens all the same */
    int lost;       /* answers still to be lost */
} deaf_fs;

static tl_fs *inner_of(tl_fs *fs)
{
    return ((deaf_fs *)fs)->inner;
}

static tl_status deaf_rename(tl_fs *fs, const char *from, const char *to, bool replace, tl_error *err)
{
    deaf_fs *deaf = (deaf_fs *)fs;
    if (deaf->lost == 0 || strstr(to, "/snapshot/snapshot-") == NULL)
        return tl_fs_rename(deaf->inner, from, to, replace, err);
    deaf->lost--;
    if (deaf->publishes)
        assert_ok(tl_fs_rename(deaf->inner, from, to, replace, err), err);
    lake l = lake_on(tl_fs_ref(deaf->inner));
    tl_table *table = open_table(&l, "t");
    others_go_on(table, 3);
    tl_table_free(table);
    close_lake(&l);
    return tl_error_set(err, TL_E_IO, "could not rename '%s': connection timed out", from);
}

static tl_status deaf_open_read(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    return tl_fs_open_read(inner_of(fs), path, out, err);
}

static tl_status deaf_create(tl_fs *fs, const char *path, tl_file **out, tl_error *err)
{
    return tl_fs_create(inner_of(fs), path, out, err);
}

static tl_status deaf_stat(tl_fs *fs, const char *path, tl_stat *out, tl_error *err)
{
    return tl_fs_stat(inner_of(fs), path, out, err);
}

static tl_status deaf_list(tl_fs *fs, const char *path, tl_dir_entry **out, size_t *n, tl_error *err)
{
    return tl_fs_list(inner_of(fs), path, out, n, err);
}

static tl_status deaf_mkdirs(tl_fs *fs, const char *path, tl_error *err)
{
    return tl_fs_mkdirs(inner_of(fs), path, err);
}

static tl_status deaf_remove(tl_fs *fs, const char *path, tl_error *err)
{
    return tl_fs_remove(inner_of(fs), path, err);
}

static tl_status deaf_sync_dir(tl_fs *fs, const char *path, tl_error *err)
{
    return inner_of(fs)->ops->sync_dir(inner_of(fs), path, err);
}

static void deaf_free(tl_fs *fs)
{
    tl_fs_unref(inner_of(fs));
    free(fs);
}

static void an_unclear_publication_is_settled_also_when_it_has_expired(void **state)
{
    (void)state;
    static const tl_fs_ops ops = {.free = deaf_free,   .open_read = deaf_open_read, .create = deaf_create, .stat = deaf_stat,        .list = deaf_list,
                                  .mkdirs = deaf_mkdirs, .remove = deaf_remove,     .rename = deaf_rename, .sync_dir = deaf_sync_dir};
    for (int how = 0; how < 8; how++) {
        tl_fs *memory = NULL;
        tl_error err;
        assert_ok(tl_fs_memory(&memory, &err), &err);
        deaf_fs *deaf = calloc(1, sizeof *deaf);
        assert_non_null(deaf);
        *deaf = (deaf_fs){.base = {.ops = &ops, .refs = 1}, .inner = tl_fs_ref(memory), .publishes = how % 2 == 1};
        lake l = lake_on(&deaf->base);
        create(&l, "t", "k INT, v STRING", NULL, NULL, "bucket=-1,commit.min-retry-wait=1 ms,commit.max-retry-wait=2 ms");
        tl_table *table = open_table(&l, "t");
        tl_commit_messages messages = prepared(table, "{'k':1,'v':'mine'}", false);
        tl_commit_result result = {0};
        deaf->lost = 1 + how / 2 % 2 * 2; /* once, or three times */
        if (how >= 4)
            put_as(table, "early", 1, "{'k':1,'v':'mine'}", false); /* takes one of the answers */
        assert_ok(commit(table, "u", 1, &messages, &result, &err), &err);
        tl_table *again = open_table(&l, "t");
        char *text = read_where(again, NULL);
        int mine = 0;
        for (const char *at = text; (at = strstr(at, "mine")) != NULL; at++)
            mine++;
        assert_int_equal(mine, how >= 4 ? 2 : 1);
        free(text);
        assert_sound(again);
        tl_table_free(again);
        tl_commit_messages_deinit(&messages);
        tl_table_free(table);
        close_lake(&l);
        tl_fs_unref(memory);
    }
}

static void a_user_s_newest_snapshot_is_found_for_recovery(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, NULL, NULL, NULL);
    tl_table *table = open_table(&l, "t");
    tl_error err;
    tl_snapshot *snap = NULL;
    assert_int_equal(tl_table_latest_of_user(table, "u", &snap, &err), TL_E_NOT_FOUND);
    put_as(table, "u", 1, "{'k':1}", false);
    put_as(table, "u", 5, "{'k':2}", false);
    put_as(table, "w", 9, "{'k':3}", false);
    assert_ok(tl_table_latest_of_user(table, "u", &snap, &err), &err);
    assert_int_equal(snap->commit_identifier, 5);
    assert_int_equal(snap->id, 2);
    tl_snapshot_free(snap);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- conflicts ---- */

static void a_compaction_that_lost_its_race_is_dropped_and_the_data_gets_in(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_error err;
    put(table, "{'k':1,'v':'a'}");
    tl_commit_messages a = prepared(table, "{'k':2,'v':'b'}", true), b = prepared(table, "{'k':3,'v':'c'}", true);
    tl_commit_result result = {0};
    assert_ok(commit(table, "a", 1, &a, &result, &err), &err);
    assert_int_equal(result.snapshots, 2);
    assert_ok(commit(table, "b", 1, &b, &result, &err), &err);
    assert_true(result.compaction_dropped);
    assert_int_equal(result.snapshots, 1);
    assert_int_equal(b.items[0].compact_after.n, 1);
    assert_int_equal(files_with(l.fs, b.items[0].compact_after.items[0]->name), 0); /* its file is removed */
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}\n{'k':2,'v':'b'}\n{'k':3,'v':'c'}");
    assert_sound(table);
    tl_commit_messages_deinit(&a);
    tl_commit_messages_deinit(&b);
    tl_table_free(table);
    close_lake(&l);
}

static void data_for_another_number_of_buckets_is_refused(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t"), *wider = NULL;
    tl_error err;
    put(table, "{'k':1,'v':'a'}");
    tl_alter change = {.kind = TL_ALTER_SET_OPTION, .name = "bucket", .value = "2"};
    assert_ok(tl_table_alter(l.catalog, "d", "t", &change, 1, &err), &err);
    wider = open_table(&l, "t");
    tl_commit_messages messages = {0};
    assert_fails(prepare_lines(wider, "{'k':2,'v':'b'}", false, false, &messages, &err), TL_E_INVALID,
                 &err, "bucket");
    tl_commit_messages_deinit(&messages);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'a'}");
    tl_table_free(wider);
    tl_table_free(table);
    close_lake(&l);
}

static void a_file_that_was_deleted_meanwhile_is_a_conflict_and_nothing_is_left(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL, "bucket=1,write-only=true");
    tl_table *table = open_table(&l, "t"), *compactor = open_with(&l, "t", "write-only=false");
    tl_error err;
    put(table, "{'k':1,'v':'a'}");
    put(table, "{'k':1,'v':'b'}");
    tl_commit_result first = {0}, second = {0};
    tl_table_writer *writer = NULL;
    tl_commit_messages messages = {0};
    assert_ok(tl_table_writer_create(compactor, NULL, &writer, &err), &err);
    assert_ok(tl_table_writer_compact_all(writer, true, &err), &err);
    assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
    assert_ok(tl_table_compact(compactor, "other", true, NULL, &first, &err), &err);
    assert_int_equal(first.snapshots, 1);
    size_t before = files_with(l.fs, "/bucket-0/");
    tl_commit_spec spec = batch_commit("late", 1);
    spec.ignore_empty = true;
    assert_ok(tl_table_commit(compactor, &spec, &messages, &second, &err), &err);
    assert_true(second.compaction_dropped);
    assert_int_equal(second.snapshots, 0);
    assert_int_equal(files_with(l.fs, "/bucket-0/"), before - 1);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'b'}");
    assert_sound(table);
    tl_commit_messages_deinit(&messages);
    tl_table_writer_free(writer);
    tl_table_free(compactor);
    tl_table_free(table);
    close_lake(&l);
}

static void a_long_lived_writer_goes_on_after_another_s_compaction(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL, "bucket=1,num-sorted-run.compaction-trigger=2");
    tl_table *table = open_table(&l, "t"), *other = open_table(&l, "t");
    tl_table_writer *writer = NULL;
    tl_error err;
    assert_ok(tl_table_writer_create(table, NULL, &writer, &err), &err);
    for (int i = 1; i <= 12; i++) {
        char line[64];
        snprintf(line, sizeof line, "{'k':%d,'v':'%d'}", i % 5, i);
        tl_commit_messages messages = {0};
        tl_commit_result result = {0};
        assert_ok(write_lines(table, writer, line, &err), &err);
        assert_ok(tl_table_writer_compact(writer, false, &err), &err);
        assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
        if (i % 3 == 0)
            assert_ok(tl_table_compact(other, NULL, true, NULL, &result, &err), &err);
        assert_ok(commit(table, "long", i, &messages, &result, &err), &err);
        assert_ok(tl_table_writer_committed(writer, &result, &err), &err);
        tl_commit_messages_deinit(&messages);
    }
    assert_rows(&l, "t", NULL, "{'k':0,'v':'10'}\n{'k':1,'v':'11'}\n{'k':2,'v':'12'}\n{'k':3,'v':'8'}\n{'k':4,'v':'9'}");
    assert_sound(table);
    tl_table_writer_free(writer);
    tl_table_free(other);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- overwrite ---- */

static void overwrite_as(tl_table *table, const char *spec_text, const char *lines)
{
    tl_commit_messages messages = {0};
    tl_error err;
    assert_ok(prepare_lines(table, lines, false, /* ignore_previous= */ true, &messages, &err), &err);
    tl_options partition = options_of(spec_text);
    tl_commit_spec spec = {.user = "o",
                           .identifier = TL_COMMIT_BATCH,
                           .watermark = TL_ABSENT,
                           .overwrite = true,
                           .overwrite_partition = spec_text == NULL ? NULL : &partition};
    tl_commit_result result = {0};
    assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
    tl_snapshot *snap = latest_of(table);
    assert_int_equal(snap->commit_kind, TL_COMMIT_OVERWRITE);
    tl_snapshot_free(snap);
    tl_options_deinit(&partition);
    tl_commit_messages_deinit(&messages);
}

static void overwrites_replace_what_they_name(void **state)
{
    (void)state;
    lake l = memory_lake();
    for (int keyed = 0; keyed < 2; keyed++) {
        const char *name = keyed ? "k" : "a";
        create(&l, name, "p STRING NOT NULL, k INT NOT NULL, v STRING", keyed ? "p,k" : NULL, "p", keyed ? "bucket=1" : NULL);
        tl_table *table = open_table(&l, name);
        put(table, "{'p':'x','k':1,'v':'a'}\n{'p':'y','k':2,'v':'b'}\n{'p':'z','k':3,'v':'c'}");
        overwrite_as(table, NULL, "{'p':'x','k':9,'v':'d'}"); /* dynamic: only the partition that gets data */
        assert_rows(&l, name, NULL, "{'p':'x','k':9,'v':'d'}\n{'p':'y','k':2,'v':'b'}\n{'p':'z','k':3,'v':'c'}");
        tl_table *by_spec = open_with(&l, name, "dynamic-partition-overwrite=false");
        overwrite_as(by_spec, "p=y", "");
        assert_rows(&l, name, NULL, "{'p':'x','k':9,'v':'d'}\n{'p':'z','k':3,'v':'c'}");
        overwrite_as(by_spec, NULL, "{'p':'w','k':4,'v':'e'}");
        assert_rows(&l, name, NULL, "{'p':'w','k':4,'v':'e'}");
        assert_sound(table);
        tl_table_free(by_spec);
        tl_table_free(table);
    }
    close_lake(&l);
}

static void rows_outside_a_static_overwrite_s_partition_are_refused(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "p STRING NOT NULL, k INT", NULL, "p", "dynamic-partition-overwrite=false");
    tl_table *table = open_table(&l, "t");
    tl_commit_messages messages = {0};
    tl_error err;
    assert_ok(prepare_lines(table, "{'p':'x','k':9}", false, true, &messages, &err), &err);
    tl_options partition = options_of("p=y");
    tl_commit_spec spec = batch_commit("o", TL_COMMIT_BATCH);
    spec.overwrite = true;
    spec.overwrite_partition = &partition;
    tl_commit_result result = {0};
    assert_fails(tl_table_commit(table, &spec, &messages, &result, &err), TL_E_INVALID, &err, "do not belong to it");
    tl_options_deinit(&partition);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
    close_lake(&l);
}

static void dropping_partitions_takes_their_rows_away(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "p STRING NOT NULL, q INT NOT NULL, k INT", NULL, "p,q", NULL);
    tl_table *table = open_table(&l, "t");
    tl_error err;
    put(table, "{'p':'x','q':1,'k':1}\n{'p':'x','q':2,'k':2}\n{'p':'y','q':1,'k':3}\n{'p':'y','q':2,'k':4}");
    tl_options specs[2] = {options_of("p=x"), options_of("p=y,q=2")};
    assert_ok(tl_table_drop_partitions(table, specs, 2, &err), &err);
    assert_rows(&l, "t", NULL, "{'p':'y','q':1,'k':3}");
    assert_sound(table);
    tl_options wrong = options_of("nope=1");
    assert_int_not_equal(tl_table_drop_partitions(table, &wrong, 1, &err), TL_OK);
    tl_options_deinit(&wrong);
    tl_options_deinit(&specs[0]);
    tl_options_deinit(&specs[1]);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- manifests ---- */

static size_t manifests_of(tl_table *table, tl_scan_mode mode)
{
    tl_snapshot *snap = latest_of(table);
    tl_manifest_list list = {0};
    tl_error err;
    assert_ok(tl_table__manifests(table, snap, mode, &list, &err), &err);
    size_t n = list.n;
    tl_manifest_list_deinit(&list);
    tl_snapshot_free(snap);
    return n;
}

static void small_manifests_are_merged_when_there_are_enough_of_them(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, NULL, NULL, "manifest.merge-min-count=5,snapshot.num-retained.min=100,snapshot.num-retained.max=100");
    tl_table *table = open_table(&l, "t");
    size_t largest = 0;
    char want[1024] = "";
    for (int i = 0; i < 12; i++) {
        char line[64];
        snprintf(line, sizeof line, "{'k':%d,'v':'x'}\n", i);
        strcat(want, line);
        put(table, line);
        largest = TL_MAX(largest, manifests_of(table, TL_SCAN_ALL));
        assert_sound(table);
    }
    assert_int_equal(largest, 5); /* the next commit merges them */
    assert_rows(&l, "t", NULL, want);
    tl_table_free(table);
    close_lake(&l);
}

static void a_full_merge_forgets_entries_that_cancel_out(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, "k", NULL,
           "bucket=1,manifest.full-compaction-threshold-size=1b,manifest.merge-min-count=1000");
    tl_table *table = open_table(&l, "t");
    for (int i = 0; i < 6; i++)
        put_as(table, NULL, TL_COMMIT_BATCH, "{'k':1,'v':'x'}", /* full= */ true);
    put_as(table, NULL, TL_COMMIT_BATCH, "{'k':1,'v':'y'}", false);
    tl_snapshot *snap = latest_of(table);
    tl_manifest_list list = {0};
    tl_error err;
    assert_ok(tl_manifest_list_read(l.fs, &table->paths, snap->base_manifest_list, snap->base_manifest_list_bytes, &list, &err),
              &err);
    int64_t added = 0, deleted = 0;
    for (size_t i = 0; i < list.n; i++) {
        added += list.items[i].added;
        deleted += list.items[i].deleted;
    }
    assert_int_equal(added, 1);
    assert_int_equal(deleted, 0);
    assert_rows(&l, "t", NULL, "{'k':1,'v':'y'}");
    tl_manifest_list_deinit(&list);
    tl_snapshot_free(snap);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- refusals at write ---- */

static void rows_that_break_not_null_are_refused(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING NOT NULL", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_commit_messages messages = {0};
    tl_error err;
    assert_fails(prepare_lines(table, "{'k':1,'v':'a'}\n{'k':2}", false, false, &messages, &err), TL_E_INVALID, &err,
                 "Cannot write null to non-null column(v)");
    assert_int_equal(files_with(l.fs, "/bucket-0/"), 0);
    tl_table_free(table);
    close_lake(&l);
}

static void an_append_table_takes_inserts_only(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", KEYED, NULL, NULL, NULL);
    tl_table *table = open_table(&l, "t");
    tl_commit_messages messages = {0};
    tl_error err;
    assert_fails(prepare_lines(table, "{'_kind':'-D','k':1}", false, false, &messages, &err), TL_E_INVALID, &err,
                 "can not accept row with RowKind DELETE");
    tl_table_free(table);
    close_lake(&l);
}

static void row_kinds_come_from_a_column_or_are_left_out_as_the_options_say(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    create(&l, "a", "k INT NOT NULL, op STRING", "k", NULL, "bucket=1,rowkind.field=op");
    create(&l, "b", KEYED, "k", NULL, "bucket=1,ignore-delete=true");
    tl_table *a = open_table(&l, "a"), *b = open_table(&l, "b");
    put(a, "{'k':1,'op':'+I'}\n{'k':2,'op':'+I'}\n{'k':1,'op':'-D'}");
    assert_rows(&l, "a", NULL, "{'k':2,'op':'+I'}");
    put(b, "{'k':1,'v':'x'}\n{'_kind':'-D','k':1,'v':'x'}");
    assert_rows(&l, "b", NULL, "{'k':1,'v':'x'}");
    tl_commit_messages messages = {0};
    assert_int_not_equal(prepare_lines(a, "{'k':1,'op':'nope'}", false, false, &messages, &err), TL_OK);
    tl_table_free(a);
    tl_table_free(b);
    close_lake(&l);
}

static void aborted_messages_leave_no_files(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "p INT NOT NULL, k INT NOT NULL", "p,k", "p", "bucket=2,changelog-producer=input");
    tl_table *table = open_table(&l, "t");
    tl_commit_messages messages = prepared(table, "{'p':1,'k':1}\n{'p':2,'k':2}\n{'p':2,'k':3}", true);
    assert_true(files_with(l.fs, "/bucket-") > 3);
    tl_table_abort(table, &messages);
    assert_int_equal(files_with(l.fs, "/bucket-"), 0);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_and_compaction_become_two_snapshots),
        cmocka_unit_test(an_empty_commit_makes_a_snapshot_unless_told_otherwise),
        cmocka_unit_test(watermarks_never_go_back_and_properties_stay_with_their_commit),
        cmocka_unit_test(the_same_commit_twice_gets_in_once),
        cmocka_unit_test(the_very_messages_committed_twice_keep_their_files),
        cmocka_unit_test(a_compaction_whose_data_phase_is_in_already_still_gets_in),
        cmocka_unit_test(a_commit_whose_snapshots_have_expired_is_not_made_again),
        cmocka_unit_test(messages_whose_files_are_gone_are_refused),
        cmocka_unit_test(data_is_not_doubled_when_only_its_compaction_is_left),
        cmocka_unit_test(an_unclear_publication_is_settled_also_when_it_has_expired),
        cmocka_unit_test(a_user_s_newest_snapshot_is_found_for_recovery),
        cmocka_unit_test(a_compaction_that_lost_its_race_is_dropped_and_the_data_gets_in),
        cmocka_unit_test(data_for_another_number_of_buckets_is_refused),
        cmocka_unit_test(a_file_that_was_deleted_meanwhile_is_a_conflict_and_nothing_is_left),
        cmocka_unit_test(a_long_lived_writer_goes_on_after_another_s_compaction),
        cmocka_unit_test(overwrites_replace_what_they_name),
        cmocka_unit_test(rows_outside_a_static_overwrite_s_partition_are_refused),
        cmocka_unit_test(dropping_partitions_takes_their_rows_away),
        cmocka_unit_test(small_manifests_are_merged_when_there_are_enough_of_them),
        cmocka_unit_test(a_full_merge_forgets_entries_that_cancel_out),
        cmocka_unit_test(rows_that_break_not_null_are_refused),
        cmocka_unit_test(an_append_table_takes_inserts_only),
        cmocka_unit_test(row_kinds_come_from_a_column_or_are_left_out_as_the_options_say),
        cmocka_unit_test(aborted_messages_leave_no_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
