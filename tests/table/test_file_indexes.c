/*
 * File indexes of whole tables: what is written is what the reference writes, filters read only what they must, and tables whose schema
 * has changed since give the same rows with indexes and without.
 */
#include "base/log.h"
#include "index/file_index.h"
#include "meta/fixture_tables.h"
#include "support/temp_dir.h"
#include "table_support.h"

/* ---- bytes ---- */

/* A container made anew from the rows of a data file. */
static tl_buf rebuilt_index(tl_table *table, const tl_split *split, tl_data_file *file, const tl_file_index_plan *plan)
{
    tl_error err;
    tl_buf out = {0};
    tl_reader *reader = NULL;
    tl_file_index_writer *writer = NULL;
    tl_bucket_read_spec spec = {.keep_deletes = true};
    assert_ok(tl_file_index_writer_create(plan, &writer, &err), &err);
    assert_ok(tl_files_read(table->config, tl_bytes_view_of(split->partition), split->bucket, &file, 1, &spec, &reader, &err), &err);
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        assert_ok(tl_reader_next(reader, &batch, &err), &err);
        if (batch == NULL)
            break;
        assert_ok(tl_file_index_writer_add(writer, batch->cols, batch->n_rows, &err), &err);
    }
    assert_ok(tl_file_index_writer_finish(writer, &out, &err), &err);
    tl_reader_free(reader);
    tl_file_index_writer_free(writer);
    return out;
}

static tl_bytes stored_index(tl_table *table, const tl_split *split, const tl_data_file *file)
{
    tl_error err;
    tl_bytes bytes = {NULL, 0};
    if (file->embedded_index.data != NULL) {
        assert_int_equal(tl_bytes_dup(tl_bytes_view_of(file->embedded_index), &bytes), TL_OK);
        return bytes;
    }
    assert_int_equal(file->n_extra_files, 1);
    TL_CLEANUP(tl_freep) char *path = tl_data_file_path(table->config, tl_bytes_view_of(split->partition), split->bucket, file);
    TL_CLEANUP(tl_freep) char *index = tl_strf("%.*s%s", (int)(tl_path_base(path) - path), path, file->extra_files[0]);
    assert_ok(tl_fs_read_all(table->fs, index, 1 << 24, &bytes, &err), &err);
    return bytes;
}

static int compare_table(tl_catalog *catalog, const char *name)
{
    tl_error err;
    tl_table *table = NULL;
    tl_splits splits = {0};
    tl_file_index_plan *plan = NULL;
    tl_scan_spec spec = {.limit = -1};
    int n = 0;
    if (tl_table_open(catalog, "db", name, NULL, &table, &err) == TL_E_NOT_FOUND)
        return 0;
    assert_ok(tl_file_index_plan_create(&table->schema->options, table->schema->row_type, &plan, &err), &err);
    assert_ok(tl_table_plan(table, &spec, &splits, &err), &err);
    for (size_t s = 0; s < splits.n; s++) {
        for (size_t i = 0; i < splits.items[s].files.n; i++, n++) {
            tl_data_file *file = splits.items[s].files.items[i];
            tl_buf got = rebuilt_index(table, &splits.items[s], file, plan);
            tl_bytes want = stored_index(table, &splits.items[s], file);
            if (got.len != want.len || memcmp(got.data, want.data, want.len) != 0)
                fail_msg("the index of %s is not the reference's", file->name);
            tl_buf_deinit(&got);
            tl_bytes_deinit(&want);
        }
    }
    tl_splits_deinit(&splits);
    tl_file_index_plan_free(plan);
    tl_table_free(table);
    return n;
}

static void indexes_are_the_references_to_the_byte(void **state)
{
    (void)state;
    static const char *const cases[] = {"bitmap-embedded", "bitmap-separate", "bitmap-v1", "bloom-filter-embedded", "bloom-filter-separate",
                                        "bsi-embedded", "bsi-separate", "map-key", "pk-dv", "range-bitmap-embedded", "range-bitmap-separate"};
    const char *root = fixtures_root();
    int n = 0;
    if (root == NULL)
        skip();
    tl_error err;
    tl_fs *fs = NULL;
    assert_ok(tl_fs_local(&fs, &err), &err);
    for (size_t i = 0; i < TL_ARRAY_LEN(cases); i++) {
        tl_catalog *catalog = NULL;
        TL_CLEANUP(tl_freep) char *warehouse = tl_strf("%s/index-%s/warehouse", root, cases[i]);
        assert_ok(tl_catalog_open(fs, warehouse, &catalog, &err), &err);
        n += compare_table(catalog, "t");
        n += compare_table(catalog, "orc");
        tl_catalog_close(catalog);
    }
    tl_fs_unref(fs);
    assert_true(n > 40);
}

/* ---- what is read ---- */

#define ROWS 20000
#define NAMES 5000

/* A long name, random but for its number. */
static const char *name_of(uint64_t number, char text[128])
{
    uint64_t rng = number;
    int len = snprintf(text, 128, "%04d ", (int)number);
    for (int w = 0; w < 4; w++)
        len += snprintf(text + len, 128 - (size_t)len, "%016llx", (unsigned long long)test_random(&rng));
    return text;
}

/* ROWS rows in one commit: id, a name, the name's number times 2, and something large. Names come in no order, so that bounds say
   nothing of them, and each four times. */
static void fill(lake *l, const char *options)
{
    tl_error err;
    uint64_t rng = 5;
    tl_builder *cols[4];
    tl_batch *batch = NULL;
    tl_table_writer *writer = NULL;
    tl_write_options write_options = {.pool = NULL};
    tl_commit_messages messages = {0};
    tl_commit_result result = {0};
    create(l, "t", "id INT, name STRING, n BIGINT, payload STRING", NULL, NULL, options);
    tl_table *table = open_table(l, "t");
    assert_ok(tl_batch_create(table->row_type, ROWS, &batch, &err), &err);
    for (int c = 0; c < 4; c++)
        assert_ok(tl_builder_create(table->row_type->fields[c].type, &cols[c], &err), &err);
    for (uint64_t i = 0; i < ROWS; i++) {
        char payload[64], name[128];
        uint64_t number = i * 7919 % NAMES;
        int len = snprintf(payload, sizeof payload, "%016llx%016llx", (unsigned long long)test_random(&rng), (unsigned long long)test_random(&rng));
        assert_int_equal(tl_builder_int(cols[0], (int64_t)i), TL_OK);
        assert_int_equal(tl_builder_bytes(cols[1], name_of(number, name), strlen(name)), TL_OK);
        assert_int_equal(tl_builder_int(cols[2], (int64_t)number * 2), TL_OK);
        assert_int_equal(tl_builder_bytes(cols[3], payload, (size_t)len), TL_OK);
    }
    for (int c = 0; c < 4; c++) {
        assert_ok(tl_builder_finish(cols[c], &batch->cols[c], &err), &err);
        tl_builder_free(cols[c]);
    }
    assert_ok(tl_table_writer_create(table, &write_options, &writer, &err), &err);
    assert_ok(tl_table_writer_write(writer, batch, &err), &err);
    assert_ok(tl_table_writer_prepare(writer, true, &messages, &err), &err);
    tl_commit_spec spec = batch_commit(NULL, TL_COMMIT_BATCH);
    assert_ok(tl_table_commit(table, &spec, &messages, &result, &err), &err);
    tl_commit_messages_deinit(&messages);
    tl_table_writer_free(writer);
    tl_batch_free(batch);
    tl_table_free(table);
}

/* Rows and bytes of a read with a filter. */
static char *read_counted(lake *l, const char *options, const char *where, uint64_t *bytes)
{
    tl_table *table = open_with(l, "t", options);
    uint64_t before = tl_io_count().read_bytes;
    char *rows = read_where(table, where);
    *bytes = tl_io_count().read_bytes - before;
    tl_table_free(table);
    return rows;
}

static void compare_reads(lake *l, const char *where, uint64_t *with, uint64_t *without)
{
    char *a = read_counted(l, NULL, where, with), *b = read_counted(l, "file-index.read.enabled=false", where, without);
    assert_string_equal(a, b);
    free(a);
    free(b);
}

static lake local_lake(const char *folder)
{
    tl_fs *fs = NULL;
    tl_error err;
    assert_ok(tl_fs_local(&fs, &err), &err);
    return lake_at(fs, folder);
}

static void expect_share(const char *options, uint64_t with, uint64_t without, uint64_t share)
{
    if (with * share > without)
        fail_msg("%s: %llu bytes with its index, %llu without", options, (unsigned long long)with, (unsigned long long)without);
}

/*
 * An index in a file of its own is read piece by piece, and then pages with rows that pass; where no row passes nothing but the index.
 * On a file system that maps files and on one that does not: what is looked at of a mapping counts.
 */
static void read_only_what_they_must(bool mapped)
{
    static const struct {
        const char *options;
        const char *few;  /* %s: a name; NULL: the kind knows no rows */
        const char *none; /* no row passes */
        uint64_t share;   /* of the bytes that are read without the index, at most one in so many */
        uint64_t unmapped_share; /* without a mapping; 0: any, an ORC stripe's streams are read whole */
    } tables[] = {
        {"file-index.range-bitmap.columns=name,parquet.page.size=4096", "[\"=\",\"name\",\"%s\"]", "[\"=\",\"name\",\"1234\"]", 3, 3},
        {"file-index.range-bitmap.columns=name,parquet.page.size=4096", "[\"between\",\"name\",\"1233\",\"%s\"]", "[\"between\",\"name\",\"123\",\"1230\"]", 3, 3},
        {"file-index.bitmap.columns=name,parquet.page.size=4096", "[\"=\",\"name\",\"%s\"]", "[\"in\",\"name\",[\"1234\",\"x\"]]", 6, 6},
        {"file-index.bitmap.columns=name,file.format=avro,file.compression=null", "[\"=\",\"name\",\"%s\"]", "[\"=\",\"name\",\"1234\"]", 4, 4},
        {"file-index.bitmap.columns=name,file.format=orc,orc.dictionary.key.threshold=0", "[\"=\",\"name\",\"%s\"]", "[\"=\",\"name\",\"1234\"]", 3, 0},
        {"file-index.bloom-filter.columns=name,file-index.bloom-filter.name.items=5000,file-index.bloom-filter.name.fpp=0.001", NULL,
         "[\"=\",\"name\",\"1234\"]", 2, 2},
    };
    char name[128], where[256], options[512];
    name_of(1234, name);
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        char *folder = mapped ? make_temp_dir() : NULL;
        lake l = mapped ? local_lake(folder) : memory_lake();
        uint64_t with, without, share = mapped ? tables[i].share : tables[i].unmapped_share;
        snprintf(options, sizeof options, "%s,file-index.in-manifest-threshold=0 b,parquet.enable.dictionary=false%s", tables[i].options,
                 strstr(tables[i].options, "compression") == NULL ? ",file.compression=none" : "");
        fill(&l, options);
        tl_file_index_counters before = tl_file_index_count();
        if (tables[i].few != NULL) {
            snprintf(where, sizeof where, tables[i].few, name);
            compare_reads(&l, where, &with, &without);
            expect_share(tables[i].options, with, without, share);
            assert_int_equal(tl_file_index_count().files_cut - before.files_cut, 1);
            assert_true(tl_file_index_count().rows_cut - before.rows_cut >= ROWS - 8);
        }
        compare_reads(&l, tables[i].none, &with, &without);
        expect_share(tables[i].options, with, without, 8);
        assert_int_equal(tl_file_index_count().files_skipped - before.files_skipped, 1);
        close_lake(&l);
        if (mapped)
            remove_temp_dir(folder);
    }
}

static void filters_read_only_what_they_must(void **state)
{
    (void)state;
    read_only_what_they_must(false);
    read_only_what_they_must(true);
}

/* ---- tables that change ---- */

static void alter(lake *l, const tl_alter *changes, size_t n)
{
    tl_error err;
    assert_ok(tl_table_alter(l->catalog, "d", "t", changes, n, &err), &err);
}

static void assert_same_rows(lake *l, const char *const *filters, size_t n)
{
    tl_table *with = open_table(l, "t"), *without = open_with(l, "t", "file-index.read.enabled=false");
    for (size_t i = 0; i < n; i++) {
        char *a = read_where(with, filters[i]), *b = read_where(without, filters[i]);
        if (strcmp(a, b) != 0)
            fail_msg("%s: with indexes\n%swithout\n%s", filters[i], a, b);
        free(a);
        free(b);
    }
    tl_table_free(with);
    tl_table_free(without);
}

/* Indexes keep the name and type that a column had when they were written. */
static void indexes_outlive_changes_of_the_schema(void **state)
{
    (void)state;
    static const char *const tables[] = {
        "bucket=-1",
        "bucket=-1,file.format=orc,file-index.in-manifest-threshold=1 b",
    };
    static const char *const filters[] = {
        "[\"=\",\"a\",300]",        "[\"=\",\"a\",3000000000]",   "[\"<\",\"a\",7]",          "[\"!=\",\"a\",7]",
        "[\"=\",\"s\",\"7\"]",      "[\"=\",\"s\",\"07\"]",       "[\"in\",\"s\",[\"7\",\"x\"]]", "[\"isNull\",\"s\"]",
        "[\"=\",\"w\",1.5]",        "[\"<\",\"w\",1.6]",          "[\">=\",\"w\",1.1]",       "[\"=\",\"x\",9]",
        "[\"isNull\",\"x\"]",       "[\"isNotNull\",\"x\"]",      "[\"=\",\"c\",1]",          "[\"not\",[\"between\",\"a\",5,9]]",
        "[\"and\",[\"=\",\"a\",7],[\"isNotNull\",\"s\"]]", "[\"or\",[\"=\",\"x\",9],[\"=\",\"a\",300]]",
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        lake l = memory_lake();
        char options[512];
        snprintf(options, sizeof options,
                 "%s,file-index.bsi.columns=a,file-index.bitmap.columns=a;n,file-index.range-bitmap.columns=n;v,file-index.bloom-filter.columns=a;n;c,"
                 "file-index.bloom-filter.c.items=10",
                 tables[i]);
        create(&l, "t", "a INT, n INT, v FLOAT, c INT", NULL, NULL, options);
        tl_table *table = open_table(&l, "t");
        put(table, "{'a':7,'n':7,'v':1.5,'c':1}\n{'a':300,'v':1.1,'c':2}\n{'n':8,'v':1.6}");
        tl_table_free(table);
        const tl_type *bigint = test_type("BIGINT"), *text = test_type("STRING"), *number = test_type("DOUBLE"), *integer = test_type("INT");
        tl_alter changes[] = {
            {.kind = TL_ALTER_COLUMN_TYPE, .name = "a", .type = bigint},
            {.kind = TL_ALTER_COLUMN_TYPE, .name = "n", .type = text},
            {.kind = TL_ALTER_COLUMN_TYPE, .name = "v", .type = number},
            {.kind = TL_ALTER_RENAME_COLUMN, .name = "n", .value = "s"},
            {.kind = TL_ALTER_RENAME_COLUMN, .name = "v", .value = "w"},
            {.kind = TL_ALTER_DROP_COLUMN, .name = "c"},
            {.kind = TL_ALTER_ADD_COLUMN, .name = "x", .type = integer},
            {.kind = TL_ALTER_ADD_COLUMN, .name = "c", .type = integer}, /* another column of that name */
            {.kind = TL_ALTER_SET_OPTION, .name = "file-index.bitmap.columns", .value = "a,s"},
            {.kind = TL_ALTER_SET_OPTION, .name = "file-index.range-bitmap.columns", .value = "s,w,x"},
            {.kind = TL_ALTER_SET_OPTION, .name = "file-index.bloom-filter.columns", .value = "a,s,c"},
        };
        alter(&l, changes, TL_ARRAY_LEN(changes));
        table = open_table(&l, "t");
        put(table, "{'a':3000000000,'s':'07','w':1.5,'x':9,'c':1}\n{'a':7,'s':'7','w':-0.0}\n{'a':null,'s':'x','w':1.1,'x':null}");
        tl_table_free(table);
        assert_same_rows(&l, filters, TL_ARRAY_LEN(filters));
        table = open_table(&l, "t");
        tl_error err;
        assert_ok(tl_table_compact(table, NULL, true, NULL, NULL, &err), &err);
        assert_sound(table);
        tl_table_free(table);
        assert_same_rows(&l, filters, TL_ARRAY_LEN(filters));
        tl_type_unref(bigint);
        tl_type_unref(text);
        tl_type_unref(number);
        tl_type_unref(integer);
        close_lake(&l);
    }
}

/* ---- files ---- */

static void index_files_go_with_their_data_files(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    int32_t expired = 0;
    create(&l, "t", "id INT NOT NULL, v STRING", "id", NULL, "bucket=1,file-index.bitmap.columns=v,file-index.in-manifest-threshold=0 b");
    tl_table *table = open_table(&l, "t");
    put(table, "{'id':1,'v':'a'}");
    put(table, "{'id':2,'v':'b'}");
    assert_int_equal(files_with(l.fs, ".index"), 2);
    put_as(table, NULL, TL_COMMIT_BATCH, "{'id':1,'v':'c'}", /* full= */ true);
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1};
    assert_ok(tl_table_expire(table, &spec, &expired, &err), &err);
    assert_int_equal(files_with(l.fs, ".index"), 1);
    assert_sound(table);
    /* A writer that is given up takes its index files with it. */
    tl_commit_messages messages = prepared(table, "{'id':3,'v':'d'}", false);
    assert_int_equal(files_with(l.fs, ".index"), 2);
    tl_table_abort(table, &messages);
    assert_int_equal(files_with(l.fs, ".index"), 1);
    tl_commit_messages_deinit(&messages);
    tl_table_free(table);
    close_lake(&l);
}

static int64_t latest_snapshot(tl_table *table)
{
    TL_CLEANUP(tl_snapshot_freep) tl_snapshot *latest = latest_of(table);
    return latest->id;
}

static void rewrite_indexes(lake *l, const char *partition)
{
    tl_error err;
    tl_table *table = open_table(l, "t");
    tl_options spec = options_of(partition);
    assert_ok(tl_table_rewrite_file_index(table, NULL, &spec, partition == NULL ? 0 : 1, NULL, &err), &err);
    tl_options_deinit(&spec);
    assert_sound(table);
    tl_table_free(table);
}

/* Files asked of a filter since the last call, and that the rows are those of a read without indexes. */
static uint64_t asked(lake *l, const char *where)
{
    uint64_t before = tl_file_index_count().files_asked;
    assert_same_rows(l, &where, 1);
    return tl_file_index_count().files_asked - before;
}

static void indexes_are_made_anew_for_files_that_are_there(void **state)
{
    (void)state;
    static const struct {
        const char *keys, *options;
    } tables[] = {
        {NULL, "bucket=-1"},
        {NULL, "bucket=-1,row-tracking.enabled=true"},
        {"p,id", "bucket=1,deletion-vectors.enabled=true"},
        {"p,id", "bucket=1,file.format=orc"},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(tables); i++) {
        lake l = memory_lake();
        tl_error err;
        create(&l, "t", "p INT NOT NULL, id INT NOT NULL, v STRING", tables[i].keys, "p", tables[i].options);
        tl_table *table = open_table(&l, "t");
        put_as(table, NULL, TL_COMMIT_BATCH, "{'p':1,'id':1,'v':'a'}\n{'p':1,'id':2,'v':'b'}\n{'p':2,'id':1,'v':'a'}", tables[i].keys != NULL);
        put(table, "{'p':1,'id':2,'v':'c'}\n{'p':1,'id':3}");
        int64_t before = latest_snapshot(table);
        tl_table_free(table);
        tl_alter changes[] = {{.kind = TL_ALTER_RENAME_COLUMN, .name = "v", .value = "w"},
                              {.kind = TL_ALTER_SET_OPTION, .name = "file-index.bitmap.columns", .value = "w,id"},
                              {.kind = TL_ALTER_SET_OPTION, .name = "file-index.in-manifest-threshold", .value = "0 b"}};
        alter(&l, changes, TL_ARRAY_LEN(changes));
        assert_int_equal(asked(&l, "[\"=\",\"w\",\"a\"]"), 0);
        rewrite_indexes(&l, "p=2");
        assert_int_equal(files_with(l.fs, ".index"), 1);
        rewrite_indexes(&l, NULL);
        table = open_table(&l, "t");
        assert_int_equal(latest_snapshot(table), before + 2);
        assert_true(asked(&l, "[\"=\",\"w\",\"a\"]") >= 2);
        assert_same_rows(&l, (const char *const[]){"[\"isNull\",\"w\"]", "[\"!=\",\"w\",\"b\"]", "[\"=\",\"id\",2]"}, 3);
        /* Nothing changes the second time. */
        rewrite_indexes(&l, NULL);
        assert_int_equal(latest_snapshot(table), before + 2);
        size_t files = files_with(l.fs, ".index");
        tl_alter more[] = {{.kind = TL_ALTER_SET_OPTION, .name = "file-index.bitmap.columns", .value = "w"}};
        alter(&l, more, 1);
        rewrite_indexes(&l, NULL);
        assert_int_equal(files_with(l.fs, ".index"), 2 * files);
        /* Old index files go with the snapshots that know them, data files stay. */
        tl_expire_spec spec = {.retain_max = 1, .retain_min = 1};
        int32_t expired = 0;
        assert_ok(tl_table_expire(table, &spec, &expired, &err), &err);
        assert_int_equal(files_with(l.fs, ".index"), files);
        rewrite_indexes(&l, NULL);
        assert_true(asked(&l, "[\"=\",\"w\",\"a\"]") >= 2);
        tl_table_free(table);
        close_lake(&l);
    }
}

static char *index_path(lake *l)
{
    char **paths = NULL, *found = NULL;
    size_t n = 0;
    walk_files(l->fs, "/lake", &paths, &n);
    for (size_t i = 0; i < n; i++) {
        if (found == NULL && strstr(paths[i], ".index") != NULL)
            found = paths[i];
        else
            tl_free(paths[i]);
    }
    free(paths);
    return found;
}

static void a_damaged_index_is_told_by_name(void **state)
{
    (void)state;
    lake l = memory_lake();
    tl_error err;
    char *text = NULL;
    tl_bytes content = {NULL, 0};
    create(&l, "t", "id INT, v STRING", NULL, NULL, "file-index.bitmap.columns=v,file-index.in-manifest-threshold=0 b");
    tl_table *table = open_table(&l, "t");
    put(table, "{'id':1,'v':'a'}\n{'id':2,'v':'b'}\n{'id':3,'v':'a'}");
    TL_CLEANUP(tl_freep) char *path = index_path(&l);
    assert_ok(tl_fs_read_all(l.fs, path, 1 << 20, &content, &err), &err);
    for (size_t len = 0; len < content.len; len += 11) {
        assert_ok(tl_fs_publish(l.fs, path, (tl_bytes_view){content.data, len}, /* replace= */ true, &err), &err);
        assert_fails(try_read(table, "[\"=\",\"v\",\"a\"]", false, NULL, &text, &err), TL_E_CORRUPT, &err, ".index'");
        assert_non_null(strstr(err.message, "data file"));
    }
    assert_ok(tl_fs_remove(l.fs, path, &err), &err);
    assert_fails(try_read(table, "[\"=\",\"v\",\"a\"]", false, NULL, &text, &err), TL_E_NOT_FOUND, &err, ".index'");
    assert_ok(try_read(table, NULL, false, NULL, &text, &err), &err); /* without a filter nobody asks it */
    free(text);
    tl_bytes_deinit(&content);
    tl_table_free(table);
    close_lake(&l);
}

/* ---- values that a kind cannot hold ---- */

static void keep_message(void *ctx, tl_log_level level, const char *message)
{
    (void)level;
    snprintf(ctx, 512, "%s", message);
}

static void the_least_number_leaves_bsi_out(void **state)
{
    (void)state;
    lake l = memory_lake();
    char message[512] = "";
    create(&l, "t", "id BIGINT", NULL, NULL, "file-index.bsi.columns=id,file-index.bitmap.columns=id");
    tl_table *table = open_table(&l, "t");
    tl_log_set(keep_message, message, TL_LOG_WARN);
    put(table, "{'id':-9223372036854775808}\n{'id':9223372036854775807}\n{'id':0}");
    tl_log_set(NULL, NULL, TL_LOG_WARN);
    assert_non_null(strstr(message, "no file index bsi of column 'id'"));
    char *rows = read_where(table, "[\"<\",\"id\",0]");
    assert_lines(rows, "{'id':-9223372036854775808}");
    free(rows);
    tl_table_free(table);
    close_lake(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indexes_are_the_references_to_the_byte),
        cmocka_unit_test(filters_read_only_what_they_must),
        cmocka_unit_test(indexes_outlive_changes_of_the_schema),
        cmocka_unit_test(indexes_are_made_anew_for_files_that_are_there),
        cmocka_unit_test(index_files_go_with_their_data_files),
        cmocka_unit_test(a_damaged_index_is_told_by_name),
        cmocka_unit_test(the_least_number_leaves_bsi_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
