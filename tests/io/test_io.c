#include <stdio.h>
#include <unistd.h>

#include "io/io.h"
#include "support/test.h"

static tl_bytes_view view(const char *text)
{
    return (tl_bytes_view){(const uint8_t *)text, strlen(text)};
}

static char root[64]; /* a fresh folder for each file system */

static tl_fs *open_fs(bool local)
{
    tl_fs *fs;
    tl_error err;
    if (local) {
        strcpy(root, "/tmp/tidelake-io-XXXXXX");
        assert_non_null(mkdtemp(root));
        assert_ok(tl_fs_local(&fs, &err), &err);
    } else {
        strcpy(root, "/mem");
        assert_ok(tl_fs_memory(&fs, &err), &err);
        assert_ok(tl_fs_mkdirs(fs, root, &err), &err);
        assert_ok(tl_fs_flush(fs, &err), &err);
    }
    return fs;
}

static void close_fs(tl_fs *fs)
{
    tl_error err;
    assert_ok(tl_fs_remove_all(fs, root, &err), &err);
    tl_fs_unref(fs);
}

static void publishing_never_replaces_unasked(void **state)
{
    for (int local = 0; local < 2; local++) {
        (void)state;
        tl_fs *fs = open_fs(local);
        tl_error err;
        char *path = tl_path_join(root, "snapshot/snapshot-1");
        assert_ok(tl_fs_publish(fs, path, view("one"), false, &err), &err);
        assert_fails(tl_fs_publish(fs, path, view("two"), false, &err), TL_E_EXISTS, &err, "snapshot-1");
        tl_bytes content;
        assert_ok(tl_fs_read_all(fs, path, 100, &content, &err), &err);
        assert_int_equal(content.len, 3);
        assert_memory_equal(content.data, "one", 3);
        tl_bytes_deinit(&content);
        assert_ok(tl_fs_publish(fs, path, view("three"), true, &err), &err);
        assert_fails(tl_fs_read_all(fs, path, 4, &content, &err), TL_E_LIMIT, &err, "5 bytes");

        char *dir = tl_path_join(root, "snapshot");
        tl_dir_entry *entries;
        size_t n;
        assert_ok(tl_fs_list(fs, dir, &entries, &n, &err), &err);
        assert_int_equal(n, 1); /* no temporary file stays, also after the refusal */
        assert_string_equal(entries[0].name, "snapshot-1");
        tl_dir_free(entries, n);
        tl_free(dir);
        tl_free(path);
        close_fs(fs);
    }
}

static void reads_past_the_end_are_corrupt_not_short(void **state)
{
    for (int local = 0; local < 2; local++) {
        (void)state;
        tl_fs *fs = open_fs(local);
        tl_error err;
        char *path = tl_path_join(root, "f");
        assert_ok(tl_fs_publish(fs, path, view("0123456789"), false, &err), &err);
        tl_file *file;
        assert_ok(tl_fs_open_read(fs, path, &file, &err), &err);
        char buf[10];
        assert_ok(tl_file_read_at(file, 8, buf, 2, &err), &err);
        assert_memory_equal(buf, "89", 2);
        assert_fails(tl_file_read_at(file, 8, buf, 3, &err), TL_E_CORRUPT, &err, "ends at byte 10");
        assert_ok(tl_file_close(file, &err), &err);
        assert_fails(tl_fs_open_read(fs, "/nowhere/f", &file, &err), TL_E_NOT_FOUND, &err, "/nowhere/f");
        tl_free(path);
        close_fs(fs);
    }
}

static void folders_move_with_their_content(void **state)
{
    for (int local = 0; local < 2; local++) {
        (void)state;
        tl_fs *fs = open_fs(local);
        tl_error err;
        char *from = tl_path_join(root, "a/b/f"), *a = tl_path_join(root, "a"), *c = tl_path_join(root, "c"), *to = tl_path_join(root, "c/b/f");
        assert_ok(tl_fs_publish(fs, from, view("x"), false, &err), &err);
        assert_ok(tl_fs_rename(fs, a, c, false, &err), &err);
        bool exists;
        assert_ok(tl_fs_exists(fs, to, &exists, &err), &err);
        assert_true(exists);
        assert_ok(tl_fs_exists(fs, from, &exists, &err), &err);
        assert_false(exists);
        tl_free(from);
        tl_free(a);
        tl_free(c);
        tl_free(to);
        close_fs(fs);
    }
}

/* Publish with each call failing once: the file is there whole or not at all, and the error tells. */
static void a_fault_at_any_call_leaves_no_torn_file(void **state)
{
    (void)state;
    static const tl_fault_kind kinds[] = {TL_FAULT_EIO, TL_FAULT_ENOSPC, TL_FAULT_TORN_WRITE, TL_FAULT_CRASH};
    for (size_t k = 0; k < TL_ARRAY_LEN(kinds); k++) {
        bool failed = true;
        for (uint64_t at = 1; failed; at++) {
            tl_fs *mem = open_fs(false), *fs;
            tl_error err;
            tl_fault_plan plan = {kinds[k], at, 0};
            assert_ok(tl_fs_fault(mem, &plan, &fs, &err), &err);
            failed = tl_fs_publish(fs, "/mem/f", view("content"), false, &err) != TL_OK;
            tl_bytes content;
            tl_status status = tl_fs_read_all(mem, "/mem/f", 100, &content, &err);
            if (status == TL_OK) {
                assert_int_equal(content.len, 7);
                tl_bytes_deinit(&content);
            } else {
                assert_int_equal(status, TL_E_NOT_FOUND);
                assert_true(failed);
            }
            assert_true(at < 20);
            tl_fs_unref(fs);
            close_fs(mem);
        }
    }
}

static void finish_one(tl_fs *fs, const char *path)
{
    tl_file *file;
    tl_error err;
    assert_ok(tl_fs_create(fs, path, &file, &err), &err);
    assert_ok(tl_file_write(file, "content", 7, &err), &err);
    assert_ok(tl_file_finish(file, &err), &err);
}

static size_t size_of(tl_fs *fs, const char *path)
{
    tl_stat st;
    tl_error err;
    assert_ok(tl_fs_stat(fs, path, &st, &err), &err);
    return (size_t)st.bytes;
}

/* Stops the power; returns how many of the seven bytes are there afterwards, -1 if the file is not. */
static int after_power_cut(tl_fs *mem, tl_fs *fs, tl_fault_plan *plan, const char *path)
{
    tl_error err;
    plan->kind = TL_FAULT_CRASH;
    plan->at = plan->calls + 1;
    assert_fails(tl_fs_mkdirs(fs, "/mem/last", &err), TL_E_IO, &err, "dead");
    bool there = false;
    assert_ok(tl_fs_exists(mem, path, &there, &err), &err);
    return there ? (int)size_of(mem, path) : -1;
}

/* A finished file and its name are durable once something was published, in old folders and new ones, also if there are more of
 * them than a flush takes together. */
static void publishing_makes_finished_files_durable(void **state)
{
    (void)state;
    for (int published = 0; published < 2; published++) {
        tl_fs *mem = open_fs(false), *fs;
        tl_error err;
        tl_fault_plan plan = {TL_FAULT_NONE, 0, 0};
        assert_ok(tl_fs_fault(mem, &plan, &fs, &err), &err);
        for (int i = 0; i < 100; i++) {
            char path[32];
            snprintf(path, sizeof path, "/mem/%sdata-%d", i % 2 == 0 ? "" : "p=1/bucket-0/", i);
            finish_one(fs, path);
        }
        if (published)
            assert_ok(tl_fs_publish(fs, "/mem/snapshot-1", view("{}"), false, &err), &err);
        assert_int_equal(after_power_cut(mem, fs, &plan, "/mem/data-0"), published ? 7 : -1);
        assert_int_equal(after_power_cut(mem, fs, &plan, "/mem/p=1/bucket-0/data-1"), published ? 7 : -1);
        assert_int_equal(after_power_cut(mem, fs, &plan, "/mem/data-98"), published ? 7 : -1);
        tl_fs_unref(fs);
        close_fs(mem);
    }
}

/* The kernel reports a lost page once. Nothing may be published until the file it belongs to is gone. */
static void a_failed_sync_is_not_forgotten(void **state)
{
    (void)state;
    tl_fs *mem = open_fs(false), *fs;
    tl_error err;
    tl_fault_plan plan = {TL_FAULT_EIO, 0, 0};
    assert_ok(tl_fs_fault(mem, &plan, &fs, &err), &err);
    finish_one(fs, "/mem/a");
    finish_one(fs, "/mem/b");
    plan.at = plan.calls + 1;
    assert_fails(tl_fs_flush(fs, &err), TL_E_IO, &err, "could not sync '/mem/a'");
    assert_fails(tl_fs_publish(fs, "/mem/snapshot-1", view("{}"), false, &err), TL_E_IO, &err, "could not sync '/mem/a'");
    bool there = true;
    assert_ok(tl_fs_exists(mem, "/mem/snapshot-1", &there, &err), &err);
    assert_false(there);
    assert_ok(tl_fs_remove(fs, "/mem/a", &err), &err);
    assert_ok(tl_fs_publish(fs, "/mem/snapshot-1", view("{}"), false, &err), &err);
    assert_int_equal(after_power_cut(mem, fs, &plan, "/mem/b"), 7);
    tl_fs_unref(fs);
    close_fs(mem);
}

/* A folder that could not be synced may have lost the names of all files that waited with it. */
static void a_failed_sync_of_a_folder_is_not_forgotten(void **state)
{
    (void)state;
    tl_fs *mem = open_fs(false), *fs;
    tl_error err;
    tl_fault_plan plan = {TL_FAULT_EIO, 0, 0};
    assert_ok(tl_fs_fault(mem, &plan, &fs, &err), &err);
    finish_one(fs, "/mem/a");
    finish_one(fs, "/mem/b");
    plan.at = plan.calls + 3;
    assert_fails(tl_fs_flush(fs, &err), TL_E_IO, &err, "could not sync the folder '/mem'");
    assert_fails(tl_fs_publish(fs, "/mem/snapshot-1", view("{}"), false, &err), TL_E_IO, &err, "could not sync the folder '/mem'");
    assert_ok(tl_fs_remove(fs, "/mem/a", &err), &err);
    assert_fails(tl_fs_publish(fs, "/mem/snapshot-1", view("{}"), false, &err), TL_E_IO, &err, "could not sync the folder '/mem'");
    assert_ok(tl_fs_remove(fs, "/mem/b", &err), &err);
    assert_ok(tl_fs_publish(fs, "/mem/snapshot-1", view("{}"), false, &err), &err);
    tl_fs_unref(fs);
    close_fs(mem);
}

/* Several files on a real disk, waited for by several threads; a hint beside them. */
static void local_files_are_flushed_together(void **state)
{
    (void)state;
    tl_fs *fs = open_fs(true);
    tl_error err;
    for (int i = 0; i < 20; i++) {
        TL_CLEANUP(tl_freep) char *path = tl_strf("%s/bucket-%d/data", root, i);
        finish_one(fs, path);
    }
    TL_CLEANUP(tl_freep) char *gone = tl_strf("%s/bucket-3/data", root);
    TL_CLEANUP(tl_freep) char *hint = tl_strf("%s/LATEST", root);
    assert_ok(tl_fs_remove(fs, gone, &err), &err);
    assert_ok(tl_fs_flush(fs, &err), &err);
    assert_ok(tl_fs_replace_hint(fs, hint, view("12345"), &err), &err);
    assert_ok(tl_fs_replace_hint(fs, hint, view("7"), &err), &err);
    assert_int_equal(size_of(fs, hint), 1);
    TL_CLEANUP(tl_freep) char *last = tl_strf("%s/bucket-19/data", root);
    assert_int_equal(size_of(fs, last), 7);
    finish_one(fs, gone); /* left unflushed: closed with the file system */
    close_fs(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(publishing_never_replaces_unasked),
        cmocka_unit_test(reads_past_the_end_are_corrupt_not_short),
        cmocka_unit_test(folders_move_with_their_content),
        cmocka_unit_test(a_fault_at_any_call_leaves_no_torn_file),
        cmocka_unit_test(publishing_makes_finished_files_durable),
        cmocka_unit_test(a_failed_sync_is_not_forgotten),
        cmocka_unit_test(a_failed_sync_of_a_folder_is_not_forgotten),
        cmocka_unit_test(local_files_are_flushed_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
