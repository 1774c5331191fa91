/* Manifest entries: identity, merging against a simple model, rolling, filters, and files cut or changed on disk. */
#include "base/bits.h"
#include "format/avro/avro.h"
#include "manifest_compare.h"

/* ---- random entries ---- */

static tl_bytes random_bytes(uint64_t *rng, size_t max)
{
    tl_bytes b = {NULL, test_random(rng) % (max + 1)};
    b.data = tl_alloc(b.len);
    for (size_t i = 0; i < b.len; i++)
        b.data[i] = (uint8_t)test_random(rng);
    return b;
}

static char *random_text(uint64_t *rng)
{
    static const char *const parts[] = {"", "a", "data-1.parquet", "\xc3\xa4\xe2\x82\xac",
                                        ("a long name that needs two bytes of length to be stored, "
                                         "as all names above sixty-three bytes do")};
    return tl_strdup(parts[test_random(rng) % 5]);
}

static void random_texts(uint64_t *rng, char ***out, int32_t *n, bool nullable)
{
    *n = nullable && test_random(rng) % 3 == 0 ? -1 : (int32_t)(test_random(rng) % 4);
    *out = *n > 0 ? tl_calloc((size_t)*n, sizeof **out) : NULL;
    for (int32_t i = 0; i < *n; i++)
        (*out)[i] = random_text(rng);
}

static tl_simple_stats random_stats(uint64_t *rng)
{
    tl_simple_stats s = {.min = random_bytes(rng, 40), .max = random_bytes(rng, 40), .n = (int32_t)(test_random(rng) % 5)};
    s.null_counts = tl_calloc((size_t)s.n + 1, sizeof *s.null_counts);
    for (int32_t i = 0; i < s.n; i++)
        s.null_counts[i] = (int64_t)(test_random(rng) % 3) - 1;
    return s;
}

static int64_t optional(uint64_t *rng)
{
    return test_random(rng) % 2 == 0 ? TL_ABSENT : (int64_t)test_random(rng) >> (test_random(rng) % 64);
}

static tl_data_file *random_file(uint64_t *rng, int number)
{
    tl_data_file *f = tl_data_file_create();
    f->name = tl_strf("data-%d.parquet", number);
    f->bytes = (int64_t)(test_random(rng) >> 1);
    f->rows = (int64_t)(test_random(rng) % 1000);
    f->min_key = random_bytes(rng, 30);
    f->max_key = random_bytes(rng, 30);
    f->key_stats = random_stats(rng);
    f->value_stats = random_stats(rng);
    f->min_seq = (int64_t)test_random(rng);
    f->max_seq = -1;
    f->schema_id = (int64_t)(test_random(rng) % 3);
    f->level = (int32_t)(test_random(rng) % 6);
    random_texts(rng, &f->extra_files, &f->n_extra_files, false);
    for (int32_t i = 0; i < f->n_extra_files; i++) {
        tl_free(f->extra_files[i]); /* names of files: not any text */
        f->extra_files[i] = tl_strf("x-%u.index", (unsigned)(test_random(rng) % 1000));
    }
    f->creation_time_ms = optional(rng);
    f->delete_rows = optional(rng);
    if (test_random(rng) % 2)
        f->embedded_index = random_bytes(rng, 600);
    f->file_source = (int32_t)(test_random(rng) % 3) - 1;
    random_texts(rng, &f->value_stats_cols, &f->n_value_stats_cols, true);
    f->external_path = test_random(rng) % 2 ? random_text(rng) : NULL;
    f->first_row_id = test_random(rng) % 2 ? TL_ABSENT : (int64_t)(test_random(rng) % 100000);
    random_texts(rng, &f->write_cols, &f->n_write_cols, true);
    return f;
}

/* A partition row of one INT. */
static tl_bytes_view partition_row(uint8_t storage[20], int32_t value)
{
    memset(storage, 0, 20);
    storage[3] = 1;
    tl_write_le32(storage + 12, (uint32_t)value);
    return (tl_bytes_view){storage, 20};
}

static void add_random(tl_entries *entries, uint64_t *rng, int number)
{
    tl_error err;
    uint8_t storage[20];
    tl_data_file *file = random_file(rng, number);
    assert_ok(tl_entries_add(entries, test_random(rng) % 4 == 0, partition_row(storage, (int32_t)(test_random(rng) % 7)),
                             (int32_t)(test_random(rng) % 5), 5, file, &err),
              &err);
    tl_data_file_unref(file);
}

static const tl_type *int_partition(void)
{
    tl_error err;
    const tl_type *type = NULL;
    assert_ok(tl_type_parse((tl_bytes_view){(const uint8_t *)"ROW<p INT>", 10}, &type, &err), &err);
    return type;
}

static tl_manifest_writer writer_of(tl_fs *fs, const tl_type *partition_type, const char *compression)
{
    tl_manifest_writer w = {
        .fs = fs, .paths = {.table = "/t"}, .partition_type = partition_type, .zstd_level = 1, .target_bytes = 8 << 20};
    snprintf(w.uuid, sizeof w.uuid, "%s", "uuid");
    snprintf(w.compression, sizeof w.compression, "%s", compression);
    return w;
}

static void entries_survive_every_codec(void **state)
{
    (void)state;
    static const char *const codecs[] = {"zstd", "null", "deflate", "snappy", "bzip2", "xz", "zstandard"};
    uint64_t rng = test_seed(11);
    const tl_type *type = int_partition();
    tl_error err;
    for (size_t c = 0; c < TL_ARRAY_LEN(codecs); c++) {
        tl_fs *fs = NULL;
        assert_ok(tl_fs_memory(&fs, &err), &err);
        tl_manifest_writer w = writer_of(fs, type, codecs[c]);
        tl_entries in = {0}, out = {0};
        tl_manifest_list list = {0};
        for (int i = 0; i < 700; i++)
            add_random(&in, &rng, i);
        assert_ok(tl_manifest_write(&w, in.items, in.n, &list, &err), &err);
        assert_int_equal(list.n, 1);
        assert_ok(tl_manifest_read(fs, &w.paths, list.items[0].name, list.items[0].bytes, NULL, NULL, &out, &err), &err);
        assert_int_equal(out.n, in.n);
        for (size_t i = 0; i < in.n; i++)
            assert_same_entry(&in.items[i], &out.items[i]);
        tl_entries_deinit(&in);
        tl_entries_deinit(&out);
        tl_manifest_list_deinit(&list);
        tl_fs_unref(fs);
    }
    tl_type_unref(type);
}

static void a_copied_file_can_be_changed(void **state)
{
    (void)state;
    uint64_t rng = test_seed(12);
    tl_error err;
    for (int i = 0; i < 50; i++) {
        tl_data_file *file = random_file(&rng, i), *copy = NULL;
        assert_ok(tl_data_file_dup(file, &copy, &err), &err);
        assert_same_file(file, copy);
        tl_free(copy->name);
        copy->name = tl_strdup("other");
        copy->level = 5;
        tl_data_file_unref(file);
        tl_data_file_unref(copy);
    }
}

static bool keep_bucket_2(void *ctx, tl_bytes_view partition, int32_t bucket, int32_t total_buckets, int32_t level)
{
    ++*(int *)ctx;
    assert_int_equal(partition.len, 20);
    assert_int_equal(total_buckets, 5);
    assert_in_range(level, 0, 5);
    return bucket == 2;
}

static void a_filter_sees_each_entry_and_keeps_some(void **state)
{
    (void)state;
    uint64_t rng = test_seed(13);
    const tl_type *type = int_partition();
    tl_error err;
    tl_fs *fs = NULL;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_manifest_writer w = writer_of(fs, type, "zstd");
    tl_entries in = {0}, out = {0};
    tl_manifest_list list = {0};
    for (int i = 0; i < 300; i++)
        add_random(&in, &rng, i);
    assert_ok(tl_manifest_write(&w, in.items, in.n, &list, &err), &err);
    int seen = 0;
    assert_ok(tl_manifest_read(fs, &w.paths, list.items[0].name, TL_ABSENT, keep_bucket_2, &seen, &out, &err), &err);
    assert_int_equal(seen, 300);
    size_t k = 0;
    for (size_t i = 0; i < in.n; i++)
        if (in.items[i].bucket == 2)
            assert_same_entry(&in.items[i], &out.items[k++]);
    assert_int_equal(k, out.n);
    tl_entries_deinit(&in);
    tl_entries_deinit(&out);
    tl_manifest_list_deinit(&list);
    tl_fs_unref(fs);
    tl_type_unref(type);
}

static void manifests_roll_at_their_target_size(void **state)
{
    (void)state;
    uint64_t rng = test_seed(14);
    const tl_type *type = int_partition();
    tl_error err;
    tl_fs *fs = NULL;
    assert_ok(tl_fs_memory(&fs, &err), &err);
    tl_manifest_writer w = writer_of(fs, type, "null");
    w.target_bytes = 200000;
    tl_entries in = {0}, out = {0};
    tl_manifest_list list = {0};
    for (int i = 0; i < 5500; i++)
        add_random(&in, &rng, i);
    assert_ok(tl_manifest_write(&w, in.items, in.n, &list, &err), &err);
    assert_true(list.n > 2);
    int64_t added = 0;
    for (size_t i = 0; i < list.n; i++) {
        assert_true(i + 1 == list.n || list.items[i].bytes >= 200000);
        assert_true(i + 1 == list.n || (list.items[i].added + list.items[i].deleted) % 1000 == 0);
        added += list.items[i].added;
        char name[64];
        snprintf(name, sizeof name, "manifest-uuid-%zu", i);
        assert_string_equal(list.items[i].name, name);
        assert_ok(tl_manifest_read(fs, &w.paths, name, list.items[i].bytes, NULL, NULL, &out, &err), &err);
    }
    assert_int_equal(out.n, in.n);
    for (size_t i = 0; i < in.n; i++)
        assert_same_entry(&in.items[i], &out.items[i]);
    tl_entries_deinit(&in);
    tl_entries_deinit(&out);
    tl_manifest_list_deinit(&list);
    tl_fs_unref(fs);
    tl_type_unref(type);
    (void)added;
}

/* ---- merging ---- */

static void add_named(tl_entries *entries, tl_entry_kind kind, int bucket, int level, const char *name, const char *extra)
{
    tl_error err;
    uint8_t storage[20];
    tl_data_file *f = tl_data_file_create();
    f->name = tl_strdup(name);
    f->level = level;
    if (extra != NULL) {
        f->extra_files = tl_calloc(1, sizeof *f->extra_files);
        f->extra_files[0] = tl_strdup(extra);
        f->n_extra_files = 1;
    }
    assert_ok(tl_entries_add(entries, kind, partition_row(storage, 1), bucket, 4, f, &err), &err);
    tl_data_file_unref(f);
}

static void add_and_delete_of_one_file_cancel_each_other(void **state)
{
    (void)state;
    tl_error err;
    tl_entries e = {0};
    add_named(&e, TL_ENTRY_ADD, 0, 0, "a", NULL);
    add_named(&e, TL_ENTRY_ADD, 0, 0, "b", NULL);
    add_named(&e, TL_ENTRY_DELETE, 0, 0, "a", NULL);
    add_named(&e, TL_ENTRY_ADD, 0, 5, "a", NULL);    /* an upgrade: another identity */
    add_named(&e, TL_ENTRY_DELETE, 1, 0, "b", NULL); /* another bucket */
    add_named(&e, TL_ENTRY_DELETE, 0, 0, "b", "b.index");
    assert_ok(tl_entries_merge(&e, /* drop_deletes= */ false, &err), &err);
    assert_int_equal(e.n, 4);
    assert_string_equal(e.items[0].file->name, "b");
    assert_int_equal(e.items[1].file->level, 5);
    assert_int_equal(e.items[2].kind, TL_ENTRY_DELETE);
    assert_int_equal(e.items[3].file->n_extra_files, 1);
    assert_ok(tl_entries_merge(&e, /* drop_deletes= */ true, &err), &err);
    assert_int_equal(e.n, 2);
    tl_entries_deinit(&e);
}

static void a_file_added_twice_is_corrupt(void **state)
{
    (void)state;
    tl_error err;
    tl_entries e = {0};
    add_named(&e, TL_ENTRY_ADD, 0, 0, "a", NULL);
    add_named(&e, TL_ENTRY_ADD, 0, 0, "a", NULL);
    assert_fails(tl_entries_merge(&e, false, &err), TL_E_CORRUPT, &err, "'a'");
    tl_entries_deinit(&e);
}

/* The model: an ADD lives if no DELETE has its identity bytes, wherever that stands. */
static void merging_agrees_with_a_simple_model(void **state)
{
    (void)state;
    uint64_t rng = test_seed(15);
    tl_error err;
    for (int round = 0; round < 200; round++) {
        tl_entries e = {0};
        bool added[8][3] = {{false}}, deleted[8][3] = {{false}};
        int n = (int)(test_random(&rng) % 40), order[24][2], n_alive = 0;
        for (int i = 0; i < n; i++) {
            int name = (int)(test_random(&rng) % 8), level = (int)(test_random(&rng) % 3);
            bool del = test_random(&rng) % 2;
            if (!del && added[name][level])
                continue;
            char text[8];
            snprintf(text, sizeof text, "f%d", name);
            add_named(&e, del ? TL_ENTRY_DELETE : TL_ENTRY_ADD, 0, level, text, NULL);
            if (del) {
                deleted[name][level] = true;
            } else {
                added[name][level] = true;
                order[n_alive][0] = name;
                order[n_alive++][1] = level;
            }
        }
        assert_ok(tl_entries_merge(&e, /* drop_deletes= */ true, &err), &err);
        size_t k = 0;
        for (int i = 0; i < n_alive; i++) {
            if (deleted[order[i][0]][order[i][1]])
                continue;
            assert_true(k < e.n);
            assert_int_equal(e.items[k].file->name[1] - '0', order[i][0]);
            assert_int_equal(e.items[k].file->level, order[i][1]);
            k++;
        }
        assert_int_equal(k, e.n);
        tl_entries_deinit(&e);
    }
}

static void identities_differ_where_they_must(void **state)
{
    (void)state;
    tl_entries e = {0};
    add_named(&e, TL_ENTRY_ADD, 0, 0, "a", NULL);
    add_named(&e, TL_ENTRY_DELETE, 0, 0, "a", NULL); /* the same */
    add_named(&e, TL_ENTRY_ADD, 1, 0, "a", NULL);
    add_named(&e, TL_ENTRY_ADD, 0, 1, "a", NULL);
    add_named(&e, TL_ENTRY_ADD, 0, 0, "b", NULL);
    add_named(&e, TL_ENTRY_ADD, 0, 0, "a", "x");
    add_named(&e, TL_ENTRY_ADD, 0, 0, "a", "");
    tl_buf ids[7] = {{0}};
    for (size_t i = 0; i < e.n; i++)
        assert_int_equal(tl_entry_identity(&e.items[i], &ids[i]), TL_OK);
    for (size_t i = 0; i < e.n; i++) {
        for (size_t j = 0; j < i; j++) {
            bool same = tl_bytes_equal((tl_bytes_view){ids[i].data, ids[i].len}, (tl_bytes_view){ids[j].data, ids[j].len});
            assert_int_equal(same, i == 1 && j == 0);
        }
    }
    for (size_t i = 0; i < e.n; i++)
        tl_buf_deinit(&ids[i]);
    tl_entries_deinit(&e);
}

/* ---- hostile files ---- */

static void put_file(tl_fs *fs, const char *path, const uint8_t *data, size_t len)
{
    tl_error err;
    assert_ok(tl_fs_publish(fs, path, (tl_bytes_view){data, len}, /* replace= */ true, &err), &err);
}

/* One manifest of each codec, cut at every byte of its tail and changed at random bytes: read or refused, never worse. */
static void cut_or_changed_manifests_are_refused_or_read(void **state)
{
    (void)state;
    static const char *const codecs[] = {"null", "zstd", "snappy", "deflate"};
    uint64_t rng = test_seed(16);
    const tl_type *type = int_partition();
    tl_error err;
    for (size_t c = 0; c < TL_ARRAY_LEN(codecs); c++) {
        tl_fs *fs = NULL;
        assert_ok(tl_fs_memory(&fs, &err), &err);
        tl_manifest_writer w = writer_of(fs, type, codecs[c]);
        tl_entries in = {0};
        tl_manifest_list list = {0};
        for (int i = 0; i < 6; i++)
            add_random(&in, &rng, i);
        assert_ok(tl_manifest_write(&w, in.items, in.n, &list, &err), &err);
        tl_bytes good = {0};
        assert_ok(tl_fs_read_all(fs, "/t/manifest/manifest-uuid-0", 1 << 20, &good, &err), &err);
        int refused = 0;
        for (int i = 0; i < 3000; i++) {
            uint8_t *bad = tl_memdup(good.data, good.len);
            size_t len = good.len;
            if (i % 3 == 0)
                len = test_random(&rng) % good.len;
            for (uint64_t flips = i % 3 == 0 ? 0 : 1 + test_random(&rng) % 3; flips > 0; flips--)
                bad[test_random(&rng) % len] ^= (uint8_t)(1u << test_random(&rng) % 8);
            put_file(fs, "/t/manifest/bad", bad, len);
            tl_entries out = {0};
            tl_status status = tl_manifest_read(fs, &w.paths, "bad", TL_ABSENT, NULL, NULL, &out, &err);
            refused += status != TL_OK;
            if (status != TL_OK)
                assert_int_equal(out.n, 0);
            tl_entries_deinit(&out);
            tl_free(bad);
        }
        assert_true(refused > 1000);
        assert_fails(tl_manifest_read(fs, &w.paths, "manifest-uuid-0", 77, NULL, NULL, &in, &err), TL_E_CORRUPT, &err,
                     "77 are recorded");
        tl_bytes_deinit(&good);
        tl_entries_deinit(&in);
        tl_manifest_list_deinit(&list);
        tl_fs_unref(fs);
    }
    tl_type_unref(type);
}

static void names_that_lead_out_of_the_table_are_refused(void **state)
{
    (void)state;
    tl_error err;
    tl_fs *fs = NULL;
    tl_entries out = {0};
    tl_manifest_list list = {0};
    tl_paths paths = {.table = "/t"};
    assert_ok(tl_fs_memory(&fs, &err), &err);
    assert_fails(tl_manifest_read(fs, &paths, "../../etc/passwd", TL_ABSENT, NULL, NULL, &out, &err), TL_E_CORRUPT, &err,
                 "passwd");
    assert_fails(tl_manifest_list_read(fs, &paths, "..", TL_ABSENT, &list, &err), TL_E_CORRUPT, &err, "'..'");
    assert_fails(tl_manifest_read(fs, &paths, "manifest-1", TL_ABSENT, NULL, NULL, &out, &err), TL_E_NOT_FOUND, &err,
                 "manifest 'manifest-1'");
    tl_fs_unref(fs);
}

/* Every allocation of write and read fails once; nothing may leak (checked by the sanitizer) or be half there. */
static void failing_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    uint64_t rng = test_seed(17);
    const tl_type *type = int_partition();
    tl_error err;
    tl_entries in = {0};
    for (int i = 0; i < 3; i++)
        add_random(&in, &rng, i);
    for (uint64_t nth = 1;; nth++) {
        tl_fs *fs = NULL;
        assert_ok(tl_fs_memory(&fs, &err), &err);
        tl_manifest_writer w = writer_of(fs, type, "zstd");
        tl_manifest_list list = {0};
        tl_entries out = {0};
        tl_alloc_fail_at(nth);
        tl_status status = tl_manifest_write(&w, in.items, in.n, &list, &err);
        if (status == TL_OK)
            status = tl_manifest_read(fs, &w.paths, list.items[0].name, list.items[0].bytes, NULL, NULL, &out, &err);
        if (status == TL_OK)
            status = tl_entries_merge(&out, false, &err);
        bool reached = tl_alloc_count() >= nth;
        tl_alloc_fail_at(0);
        assert_true(status == TL_OK || status == TL_E_NOMEM);
        tl_entries_deinit(&out);
        tl_manifest_list_deinit(&list);
        tl_fs_unref(fs);
        if (!reached)
            break;
    }
    tl_entries_deinit(&in);
    tl_type_unref(type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_survive_every_codec),
        cmocka_unit_test(a_copied_file_can_be_changed),
        cmocka_unit_test(a_filter_sees_each_entry_and_keeps_some),
        cmocka_unit_test(manifests_roll_at_their_target_size),
        cmocka_unit_test(add_and_delete_of_one_file_cancel_each_other),
        cmocka_unit_test(a_file_added_twice_is_corrupt),
        cmocka_unit_test(merging_agrees_with_a_simple_model),
        cmocka_unit_test(identities_differ_where_they_must),
        cmocka_unit_test(cut_or_changed_manifests_are_refused_or_read),
        cmocka_unit_test(names_that_lead_out_of_the_table_are_refused),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
