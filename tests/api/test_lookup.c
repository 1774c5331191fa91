/* Look-ups by key: both tiers against each other and against what was written. */
#include "api_support.h"

/* The rows of the keys in `lines` (JSON lines of the table; columns that are no keys do not matter), one text a row: "POSITION:CELLS". */
static tl_status find(api_lake *l, tidelake_table *table, tidelake_lookup *lookup, const char *lines, tl_buf *out, tl_error *err)
{
    tidelake_input *input;
    struct ArrowSchema schema;
    TL_TRY(tidelake_input_open(table, api_file(l, "keys.jsonl", lines), NULL, &input, err));
    assert_ok(tidelake_table_arrow_schema(table, &schema, err), err);
    tl_status status;
    int commit;
    tidelake_batch *keys = NULL, *found = NULL;
    assert_ok(tidelake_input_next(input, &keys, &commit, err), err);
    assert_non_null(keys);
    struct ArrowArray array;
    assert_ok(tidelake_batch_arrow(keys, &array, err), err);
    const uint32_t *positions = NULL;
    status = tidelake_lookup_find(lookup, &array, &schema, &found, &positions, err);
    assert_null(array.release);
    for (int64_t i = 0; status == TL_OK && i < tidelake_batch_rows(found); i++) {
        struct ArrowArray rows;
        struct ArrowSchema row_schema;
        assert_ok(tidelake_batch_arrow(found, &rows, err), err);
        assert_ok(tidelake_lookup_arrow_schema(lookup, &row_schema, err), err);
        assert_int_equal(tl_buf_appendf(out, "%u:", (unsigned)positions[i]), TL_OK);
        for (int64_t c = 0; c < rows.n_children; c++) {
            const struct ArrowArray *a = rows.children[c];
            int64_t at = a->offset + i;
            const uint8_t *valid = a->buffers[0];
            if (valid != NULL && !(valid[at / 8] >> (at % 8) & 1)) {
                assert_int_equal(tl_buf_append_str(out, " -"), TL_OK);
            } else if (strcmp(row_schema.children[c]->format, "i") == 0) {
                assert_int_equal(tl_buf_appendf(out, " %d", ((const int32_t *)a->buffers[1])[at]), TL_OK);
            } else if (strcmp(row_schema.children[c]->format, "+l") == 0) { /* of INT */
                const int32_t *offsets = a->buffers[1];
                const struct ArrowArray *elements = a->children[0];
                assert_int_equal(tl_buf_append_str(out, " ["), TL_OK);
                for (int32_t e = offsets[at]; e < offsets[at + 1]; e++)
                    assert_int_equal(tl_buf_appendf(out, "%d,", ((const int32_t *)elements->buffers[1])[elements->offset + e]), TL_OK);
                assert_int_equal(tl_buf_append_str(out, "]"), TL_OK);
            } else {
                assert_string_equal(row_schema.children[c]->format, "u");
                const int32_t *offsets = a->buffers[1];
                assert_int_equal(tl_buf_appendf(out, " %.*s", offsets[at + 1] - offsets[at], (const char *)a->buffers[2] + offsets[at]), TL_OK);
            }
        }
        assert_int_equal(tl_buf_append_str(out, "\n"), TL_OK);
        rows.release(&rows);
        row_schema.release(&row_schema);
    }
    tidelake_batch_free(found);
    tidelake_batch_free(keys);
    tidelake_input_close(input);
    schema.release(&schema);
    return status;
}

static void assert_finds(api_lake *l, tidelake_table *table, tidelake_lookup *lookup, const char *lines, const char *want)
{
    tl_error err;
    tl_buf text = {0};
    assert_ok(find(l, table, lookup, lines, &text, &err), &err);
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    assert_string_equal((const char *)text.data, want);
    tl_buf_deinit(&text);
}

static tidelake_lookup *open_tier(tidelake_table *table, tidelake_lookup_tier tier)
{
    tl_error err;
    tidelake_lookup *lookup;
    tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT;
    options.tier = tier;
    assert_ok(tidelake_lookup_open(table, &options, &lookup, &err), &err);
    assert_int_equal(tidelake_lookup_is_in_memory(lookup), tier == TIDELAKE_LOOKUP_MEMORY);
    return lookup;
}

static void answers_stay_until_refreshed(void **state)
{
    (void)state;
    for (int tier = TIDELAKE_LOOKUP_MEMORY; tier <= TIDELAKE_LOOKUP_FILES; tier++) {
        api_lake l;
        api_lake_open(&l);
        tl_error err;
        tidelake_table *table = api_table(&l, "db.t", keyed_schema);
        tidelake_lookup *lookup = open_tier(table, (tidelake_lookup_tier)tier);
        assert_int_equal(tidelake_lookup_snapshot(lookup), 0);
        assert_finds(&l, table, lookup, "{\"k\":1}", "");
        assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"b\"}\n{\"k\":4}", NULL, NULL, NULL, &err), &err);
        assert_finds(&l, table, lookup, "{\"k\":1}", "");
        int changed = 0;
        assert_ok(tidelake_lookup_refresh(lookup, &changed, &err), &err);
        assert_int_equal(changed, 1);
        assert_int_equal(tidelake_lookup_snapshot(lookup), 1);
        assert_finds(&l, table, lookup, "{\"k\":2}\n{\"k\":3}\n{\"k\":1}\n{\"k\":2}\n{\"k\":4}", "0: 2 b\n2: 1 a\n3: 2 b\n4: 4 -\n");
        assert_ok(api_write(&l, table, "{\"k\":2,\"v\":\"new\"}\n{\"k\":3,\"v\":\"c\"}", NULL, NULL, NULL, &err), &err);
        assert_finds(&l, table, lookup, "{\"k\":2}\n{\"k\":3}", "0: 2 b\n");
        assert_ok(tidelake_lookup_refresh(lookup, NULL, &err), &err);
        assert_finds(&l, table, lookup, "{\"k\":2}\n{\"k\":3}", "0: 2 new\n1: 3 c\n");
        assert_ok(tidelake_lookup_refresh(lookup, &changed, &err), &err);
        assert_int_equal(changed, 0);
        tidelake_lookup_close(lookup);
        tidelake_table_close(table);
        api_lake_close(&l);
    }
}

/* Any columns can be the key, and several rows may have it; a NULL is no key. */
static void other_columns_may_be_the_key(void **state)
{
    (void)state;
    for (int tier = TIDELAKE_LOOKUP_MEMORY; tier <= TIDELAKE_LOOKUP_FILES; tier++) {
        api_lake l;
        api_lake_open(&l);
        tl_error err;
        tidelake_table *table = api_table(&l, "db.t", keyed_schema);
        assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"b\"}\n{\"k\":3,\"v\":\"a\"}\n{\"k\":4}", NULL, NULL, NULL, &err), &err);
        const char *const keys[] = {"v"}, *const columns[] = {"k"};
        tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT;
        options.keys = keys;
        options.n_keys = 1;
        options.columns = columns;
        options.n_columns = 1;
        options.tier = (tidelake_lookup_tier)tier;
        options.where = "[\"<\",\"k\",9]";
        tidelake_lookup *lookup;
        assert_ok(tidelake_lookup_open(table, &options, &lookup, &err), &err);
        assert_finds(&l, table, lookup, "{\"k\":0}\n{\"k\":0,\"v\":\"c\"}\n{\"k\":0,\"v\":\"a\"}", "2: 1\n2: 3\n");
        /* A filter sees the merged row: 3 has left it, 2 has become 'a'. */
        assert_ok(api_write(&l, table, "{\"k\":2,\"v\":\"a\"}\n{\"k\":3,\"v\":\"z\"}", NULL, NULL, NULL, &err), &err);
        assert_ok(tidelake_lookup_refresh(lookup, NULL, &err), &err);
        if (tier == TIDELAKE_LOOKUP_FILES)
            assert_finds(&l, table, lookup, "{\"k\":0,\"v\":\"a\"}", "0: 1\n0: 2\n");
        else /* in memory changed rows stand behind the others */
            assert_finds(&l, table, lookup, "{\"k\":0,\"v\":\"z\"}", "0: 3\n");
        tidelake_lookup_close(lookup);
        tidelake_table_close(table);
        api_lake_close(&l);
    }
}

/* Columns that are not packed row by row stand beside those that are, over several chunks and changes. */
static void lists_are_found_with_their_rows(void **state)
{
    (void)state;
    static const char schema[] = "{\"columns\":[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"a\",\"type\":\"ARRAY<INT>\"},"
                                 "{\"name\":\"v\",\"type\":\"STRING\"}],\"primaryKeys\":[\"k\"],\"options\":{\"bucket\":\"1\"}}";
    static const char probe[] = "{\"k\":3}\n{\"k\":1}\n{\"k\":2}\n{\"k\":3}\n{\"k\":4}\n{\"k\":5}";
    for (int tier = TIDELAKE_LOOKUP_MEMORY; tier <= TIDELAKE_LOOKUP_FILES; tier++) {
        api_lake l;
        api_lake_open(&l);
        tl_error err;
        tidelake_table *table = api_table(&l, "db.t", schema);
        assert_ok(api_write(&l, table, "{\"k\":1,\"a\":[1,2],\"v\":\"x\"}\n{\"k\":2,\"v\":\"y\"}\n{\"k\":3,\"a\":[]}", NULL, NULL, NULL, &err), &err);
        tidelake_lookup *lookup = open_tier(table, (tidelake_lookup_tier)tier);
        assert_finds(&l, table, lookup, probe, "0: 3 [] -\n1: 1 [1,2,] x\n2: 2 - y\n3: 3 [] -\n");
        assert_ok(api_write(&l, table, "{\"k\":2,\"a\":[7],\"v\":\"z\"}\n{\"k\":4,\"a\":[8,9]}", NULL, NULL, NULL, &err), &err);
        assert_ok(tidelake_lookup_refresh(lookup, NULL, &err), &err);
        assert_finds(&l, table, lookup, probe, "0: 3 [] -\n1: 1 [1,2,] x\n2: 2 [7,] z\n3: 3 [] -\n4: 4 [8,9,] -\n");
        tidelake_lookup_close(lookup);
        tidelake_table_close(table);
        api_lake_close(&l);
    }
}

/* Random writes into partitions and buckets, keys of two columns: both tiers say what was written last. */
static void tiers_agree_with_the_model(void **state)
{
    (void)state;
    static const char schema[] = "{\"columns\":[{\"name\":\"p\",\"type\":\"STRING\"},{\"name\":\"k\",\"type\":\"INT\"},"
                                 "{\"name\":\"v\",\"type\":\"INT\"}],\"partitionKeys\":[\"p\"],\"primaryKeys\":[\"p\",\"k\"],"
                                 "\"options\":{\"bucket\":\"3\",\"num-sorted-run.compaction-trigger\":\"3\"}}";
    enum { PARTS = 3, KEYS = 40 };
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", schema);
    tidelake_lookup *tiers[] = {open_tier(table, TIDELAKE_LOOKUP_MEMORY), open_tier(table, TIDELAKE_LOOKUP_FILES)};
    int32_t model[PARTS][KEYS];
    memset(model, 0xff, sizeof model);
    uint64_t rng = 1;
    for (int round = 0; round < 12; round++) {
        tl_buf rows = {0}, keys = {0}, want = {0};
        for (int i = 0; i < 30; i++) {
            int p = (int)(test_random(&rng) % PARTS), k = (int)(test_random(&rng) % KEYS);
            model[p][k] = round * 100 + i;
            assert_int_equal(tl_buf_appendf(&rows, "{\"p\":\"p%d\",\"k\":%d,\"v\":%d}\n", p, k, model[p][k]), TL_OK);
        }
        TL_CLEANUP(tl_freep) char *some_keys = NULL, *some_want = NULL;
        for (int i = 0; i < 25; i++) {
            if (i == 10) {
                some_keys = tl_strndup((const char *)keys.data, keys.len);
                some_want = tl_strndup(want.len == 0 ? "" : (const char *)want.data, want.len);
            }
            int p = (int)(test_random(&rng) % PARTS), k = (int)(test_random(&rng) % (KEYS + 5));
            assert_int_equal(tl_buf_appendf(&keys, "{\"p\":\"p%d\",\"k\":%d}\n", p, k), TL_OK);
            if (k < KEYS && model[p][k] >= 0)
                assert_int_equal(tl_buf_appendf(&want, "%d: p%d %d %d\n", i, p, k, model[p][k]), TL_OK);
        }
        assert_int_equal(tl_buf_append_byte(&rows, 0) | tl_buf_append_byte(&keys, 0) | tl_buf_append_byte(&want, 0), TL_OK);
        assert_ok(api_write(&l, table, (const char *)rows.data, NULL, NULL, NULL, &err), &err);
        for (int t = 0; t < 2; t++) {
            assert_ok(tidelake_lookup_refresh(tiers[t], NULL, &err), &err);
            assert_finds(&l, table, tiers[t], some_keys, some_want);
            for (int again = 0; again < 2; again++) /* some of the keys are known, then all are */
                assert_finds(&l, table, tiers[t], (const char *)keys.data, (const char *)want.data);
        }
        tl_buf_deinit(&rows);
        tl_buf_deinit(&keys);
        tl_buf_deinit(&want);
    }
    for (int t = 0; t < 2; t++)
        tidelake_lookup_close(tiers[t]);
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* Field case: apache/paimon#4558, #5535. The newest partition is replaced, then a newer one comes: each refresh answers by it alone. */
static void the_newest_partition_answers_after_it_was_overwritten(void **state)
{
    (void)state;
    static const char schema[] = "{\"columns\":[{\"name\":\"p\",\"type\":\"INT\"},{\"name\":\"k\",\"type\":\"INT\"},"
                                 "{\"name\":\"v\",\"type\":\"INT\"}],\"partitionKeys\":[\"p\"],\"primaryKeys\":[\"p\",\"k\"],"
                                 "\"options\":{\"bucket\":\"1\",\"lookup.dynamic-partition\":\"max_pt()\","
                                 "\"lookup.dynamic-partition.refresh-interval\":\"99999 d\"}}";
    static const char probe[] = "{\"k\":1}\n{\"k\":2}\n{\"k\":3}";
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", schema);
    const char *const keys[] = {"k"}, *const columns[] = {"k", "v"};
    tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT;
    options.keys = keys;
    options.n_keys = 1;
    options.columns = columns;
    options.n_columns = 2;
    options.tier = TIDELAKE_LOOKUP_MEMORY;
    tidelake_lookup *lookup;
    assert_ok(api_write(&l, table, "{\"p\":1,\"k\":1,\"v\":101}\n{\"p\":1,\"k\":2,\"v\":102}\n{\"p\":2,\"k\":1,\"v\":201}\n{\"p\":2,\"k\":2,\"v\":202}", NULL,
                        NULL, NULL, &err), &err);
    assert_ok(tidelake_lookup_open(table, &options, &lookup, &err), &err);
    assert_finds(&l, table, lookup, probe, "0: 1 201\n1: 2 202\n");
    tidelake_write_options replace = TIDELAKE_WRITE_INIT;
    replace.overwrite = 1;
    assert_ok(api_write(&l, table, "{\"p\":2,\"k\":1,\"v\":211}\n{\"p\":2,\"k\":2,\"v\":212}\n{\"p\":2,\"k\":3,\"v\":213}", &replace, NULL, NULL, &err),
              &err);
    assert_ok(tidelake_lookup_refresh(lookup, NULL, &err), &err);
    assert_finds(&l, table, lookup, probe, "0: 1 211\n1: 2 212\n2: 3 213\n");
    assert_ok(api_write(&l, table, "{\"p\":3,\"k\":3,\"v\":303}", NULL, NULL, NULL, &err), &err);
    assert_ok(tidelake_lookup_refresh(lookup, NULL, &err), &err);
    assert_finds(&l, table, lookup, probe, "2: 3 303\n");
    assert_ok(api_write(&l, table, "{\"p\":2,\"k\":3,\"v\":999}", NULL, NULL, NULL, &err), &err);
    assert_ok(tidelake_lookup_refresh(lookup, NULL, &err), &err);
    assert_finds(&l, table, lookup, probe, "2: 3 303\n");
    tidelake_lookup_close(lookup);
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void memory_is_taken_while_it_suffices(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"b\"}", NULL, NULL, NULL, &err), &err);
    for (int small = 0; small < 2; small++) {
        tidelake_lookup *lookup;
        tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT;
        options.memory_bytes = small ? 100 : 0;
        assert_ok(tidelake_lookup_open(table, &options, &lookup, &err), &err);
        assert_int_equal(tidelake_lookup_is_in_memory(lookup), !small);
        assert_true(small ? tidelake_lookup_memory_bytes(lookup) == 0 : tidelake_lookup_memory_bytes(lookup) > 0);
        assert_finds(&l, table, lookup, "{\"k\":2}", "0: 2 b\n");
        tidelake_lookup_close(lookup);
    }
    tidelake_table_close(table);
    api_lake_close(&l);
}

/* Keys that were asked for, found or not, are answered without the table's files, if there is memory for them. */
static void files_are_read_once_for_a_key(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}\n{\"k\":2,\"v\":\"b\"}", NULL, NULL, NULL, &err), &err);
    for (int keeps = 0; keeps < 2; keeps++) {
        tidelake_lookup *lookup;
        tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT;
        options.tier = TIDELAKE_LOOKUP_FILES;
        options.memory_bytes = keeps ? 1 << 20 : 100;
        assert_ok(tidelake_lookup_open(table, &options, &lookup, &err), &err);
        assert_finds(&l, table, lookup, "{\"k\":1}\n{\"k\":7}", "0: 1 a\n");
        assert_finds(&l, table, lookup, "{\"k\":2}", "0: 2 b\n");
        int64_t held = tidelake_lookup_memory_bytes(lookup);
        assert_finds(&l, table, lookup, "{\"k\":7}\n{\"k\":1}\n{\"k\":2}", "1: 1 a\n2: 2 b\n");
        assert_true(keeps == (tidelake_lookup_memory_bytes(lookup) == held)); /* nothing new was read */
        tidelake_lookup_close(lookup);
    }
    tidelake_table_close(table);
    api_lake_close(&l);
}

static void what_cannot_be_asked_is_refused(void **state)
{
    (void)state;
    api_lake l;
    api_lake_open(&l);
    tl_error err;
    tidelake_lookup *lookup;
    tidelake_table *table = api_table(&l, "db.t", keyed_schema);
    tidelake_table *append = api_table(&l, "db.a", "{\"columns\":[{\"name\":\"k\",\"type\":\"INT\"}]}");
    assert_fails(tidelake_lookup_open(append, NULL, &lookup, &err), TL_E_INVALID, &err, "no primary key");
    const char *const wrong[] = {"x"};
    tidelake_lookup_options options = TIDELAKE_LOOKUP_INIT;
    options.keys = wrong;
    assert_fails(tidelake_lookup_open(table, &options, &lookup, &err), TL_E_INVALID, &err, "needs a key");
    options.n_keys = 1;
    assert_fails(tidelake_lookup_open(table, &options, &lookup, &err), TL_E_INVALID, &err, "no column 'x'");
    options.keys = NULL;
    options.tier = (tidelake_lookup_tier)7;
    assert_fails(tidelake_lookup_open(table, &options, &lookup, &err), TL_E_INVALID, &err, "tier 7");
    /* A snapshot that has expired under a look-up from files: a refresh helps. */
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"a\"}", NULL, NULL, NULL, &err), &err);
    lookup = open_tier(table, TIDELAKE_LOOKUP_FILES);
    assert_ok(api_write(&l, table, "{\"k\":1,\"v\":\"b\"}", NULL, NULL, NULL, &err), &err);
    char path[128];
    snprintf(path, sizeof path, "%s/db.db/t/snapshot/snapshot-1", l.folder);
    assert_int_equal(remove(path), 0);
    tl_buf text = {0};
    assert_fails(find(&l, table, lookup, "{\"k\":1}", &text, &err), TL_E_NOT_FOUND, &err, "snapshot 1");
    tl_buf_deinit(&text);
    assert_ok(tidelake_lookup_refresh(lookup, NULL, &err), &err);
    assert_finds(&l, table, lookup, "{\"k\":1}", "0: 1 b\n");
    tidelake_lookup_close(lookup);
    tidelake_lookup_close(NULL);
    tidelake_table_close(append);
    tidelake_table_close(table);
    api_lake_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_stay_until_refreshed),
        cmocka_unit_test(other_columns_may_be_the_key),
        cmocka_unit_test(lists_are_found_with_their_rows),
        cmocka_unit_test(tiers_agree_with_the_model),
        cmocka_unit_test(the_newest_partition_answers_after_it_was_overwritten),
        cmocka_unit_test(memory_is_taken_while_it_suffices),
        cmocka_unit_test(files_are_read_once_for_a_key),
        cmocka_unit_test(what_cannot_be_asked_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
