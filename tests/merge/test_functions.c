/*
 * Aggregate functions and engines by example: rows as JSON lines in, merged rows out. Cases of the field (public reports about
 * the reference) have their number there; values marked "seen" were given by the Java reference.
 */
#include "support/random_column.h"

#include "merge/merge.h"
#include "types/text.h"

typedef struct example {
    const char *name;
    const char *type; /* ROW; the first column is the key */
    const char *options[16];
    const char *rows;   /* one JSON object a line, in order of arrival */
    const char *wanted; /* merged rows with their kind; NULL: an error */
    const char *error;
} example;

static const int32_t key_column = 0;

static const example examples[] = {
    {"listagg distinct compares whole tokens (BUG-01)",
     "ROW<k INT NOT NULL, v STRING>",
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "listagg", "fields.v.distinct", "true"},
     "{\"k\":1,\"v\":\"abc,def,asd\"}\n{\"k\":1,\"v\":\"ab,xy\"}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"v\":\"abc,def,asd,ab,xy\"}\n",
     NULL},
    {"listagg distinct with another delimiter",
     "ROW<k INT NOT NULL, v STRING>",
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "listagg", "fields.v.distinct", "true",
      "fields.v.list-agg-delimiter", ";"},
     "{\"k\":1,\"v\":\"abc;def;asd\"}\n{\"k\":1,\"v\":\"ab;xy;def\"}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"v\":\"abc;def;asd;ab;xy\"}\n",
     NULL},
    {"listagg leaves empty strings out",
     "ROW<k INT NOT NULL, v STRING>",
     {"merge-engine", "aggregation", "fields.v.aggregate-function", "listagg", "fields.v.list-agg-delimiter", "--"},
     "{\"k\":1,\"v\":\"\"}\n{\"k\":1,\"v\":\"a\"}\n{\"k\":1,\"v\":\"\"}\n{\"k\":1,\"v\":null}\n{\"k\":1,\"v\":\"b\"}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"v\":\"a--b\"}\n",
     NULL},
    {"two ordering columns move as one, nulls first (BUG-03)",
     "ROW<pk INT NOT NULL, v STRING, s0 INT, s1 INT>",
     {"merge-engine", "aggregation", "sequence.field", "s0,s1"},
     "{\"pk\":1,\"v\":\"A1\",\"s0\":null,\"s1\":1}\n{\"pk\":1,\"v\":\"A2\",\"s0\":1,\"s1\":null}\n",
     "{\"_kind\":\"+I\",\"pk\":1,\"v\":\"A2\",\"s0\":1,\"s1\":null}\n",
     NULL},
    {"insert after delete (BUG-05)",
     "ROW<a INT NOT NULL, b INT, c INT, d INT>",
     {"merge-engine", "partial-update", "partial-update.remove-record-on-delete", "true"},
     "{\"a\":1,\"b\":1,\"c\":1,\"d\":1}\n{\"_kind\":\"-D\",\"a\":1,\"b\":1,\"c\":1,\"d\":1}\n{\"a\":1,\"b\":1,\"c\":2,\"d\":2}"
     "\n",
     "{\"_kind\":\"+I\",\"a\":1,\"b\":1,\"c\":2,\"d\":2}\n",
     NULL},
    {"a record revived after its removal starts from the values of the delete (seen)",
     "ROW<a INT NOT NULL, b INT, c INT>",
     {"merge-engine", "partial-update", "partial-update.remove-record-on-delete", "true"},
     "{\"_kind\":\"-D\",\"a\":1,\"b\":11,\"c\":21}\n{\"a\":1,\"b\":null,\"c\":30}\n",
     "{\"_kind\":\"+I\",\"a\":1,\"b\":11,\"c\":30}\n",
     NULL},
    {"a sum that runs over is an error that names key and column (BUG-07)",
     "ROW<k INT NOT NULL, a TINYINT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "sum"},
     "{\"k\":1,\"a\":100}\n{\"k\":1,\"a\":27}\n{\"k\":2,\"a\":-128}\n{\"k\":2,\"a\":-1}\n",
     NULL,
     "key (k=2): column 'a': the sum does not fit TINYINT"},
    {"a large sum that runs over, all plain",
     "ROW<k BIGINT NOT NULL, s STRING, a BIGINT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "sum"},
     "{\"k\":1,\"a\":9223372036854775807}\n{\"k\":1,\"a\":1}\n",
     NULL,
     "key (k=1): column 'a': the sum does not fit BIGINT"},
    {"a negated minimum",
     "ROW<k INT NOT NULL, a INT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "sum"},
     "{\"k\":1,\"a\":null}\n{\"_kind\":\"-U\",\"k\":1,\"a\":-2147483648}\n",
     NULL,
     "key (k=1): column 'a': the sum does not fit INT"},
    {"a product that runs over",
     "ROW<k INT NOT NULL, a INT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "product"},
     "{\"k\":1,\"a\":65536}\n{\"k\":1,\"a\":65536}\n",
     NULL,
     "key (k=1): column 'a': the product does not fit INT"},
    {"a quotient that runs over",
     "ROW<k INT NOT NULL, a BIGINT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "product"},
     "{\"k\":1,\"a\":-9223372036854775808}\n{\"_kind\":\"-U\",\"k\":1,\"a\":-1}\n",
     NULL,
     "key (k=1): column 'a': the product does not fit BIGINT"},
    {"sums and products may be too large on the way",
     "ROW<k INT NOT NULL, a TINYINT, b SMALLINT, c INT, d BIGINT, e INT>",
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "sum", "fields.e.aggregate-function", "product"},
     "{\"k\":1,\"a\":127,\"b\":32767,\"c\":2147483647,\"d\":9223372036854775807,\"e\":65536}\n"
     "{\"k\":1,\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":65536}\n"
     "{\"_kind\":\"-U\",\"k\":1,\"a\":2,\"b\":2,\"c\":2,\"d\":2,\"e\":-4}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":126,\"b\":32766,\"c\":2147483646,\"d\":9223372036854775806,\"e\":-1073741824}\n",
     NULL},
    {"plain sums may be too large on the way",
     "ROW<k INT NOT NULL, c INT, d BIGINT>",
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "sum"},
     "{\"k\":1,\"c\":2147483647,\"d\":9223372036854775807}\n{\"k\":1,\"c\":1,\"d\":1}\n{\"k\":1,\"c\":-5,\"d\":-5}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"c\":2147483643,\"d\":9223372036854775803}\n",
     NULL},
    {"a retraction without a value: product stays NULL, sum goes below zero (BUG-09)",
     "ROW<k INT NOT NULL, p INT, s INT>",
     {"merge-engine", "aggregation", "fields.p.aggregate-function", "product", "fields.s.aggregate-function", "sum"},
     "{\"k\":1,\"p\":null,\"s\":null}\n{\"_kind\":\"-U\",\"k\":1,\"p\":5,\"s\":5}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"p\":null,\"s\":-5}\n",
     NULL},
    {"an aggregated record is never deleted by retraction (seen)",
     "ROW<k INT NOT NULL, s INT, l STRING>",
     {"merge-engine", "aggregation", "fields.s.aggregate-function", "sum"},
     "{\"k\":1,\"s\":5,\"l\":\"x\"}\n{\"_kind\":\"-D\",\"k\":1,\"s\":5,\"l\":\"x\"}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"s\":0,\"l\":null}\n",
     NULL},
    {"late records count for sums of a group (BUG-11)",
     "ROW<k INT NOT NULL, a INT, b INT, g INT>",
     {"merge-engine", "partial-update", "fields.g.sequence-group", "a,b", "fields.a.aggregate-function", "sum",
      "fields.b.aggregate-function", "last_non_null_value"},
     "{\"k\":1,\"a\":1,\"b\":1,\"g\":1}\n{\"k\":1,\"a\":2,\"b\":2,\"g\":2}\n{\"k\":1,\"a\":3,\"b\":3,\"g\":1}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":6,\"b\":2,\"g\":2}\n",
     NULL},
    {"insert and delete of one key (BUG-13)",
     "ROW<k INT NOT NULL, v STRING>",
     {"merge-engine", "deduplicate"},
     "{\"k\":1,\"v\":\"a\"}\n{\"_kind\":\"-D\",\"k\":1,\"v\":null}\n{\"_kind\":\"-D\",\"k\":2,\"v\":null}\n{\"k\":2,\"v\":"
     "\"b\"}\n",
     "{\"_kind\":\"-D\",\"k\":1,\"v\":null}\n{\"_kind\":\"+I\",\"k\":2,\"v\":\"b\"}\n",
     NULL},
    {"small decimals are not held to their precision, large ones are (seen)",
     "ROW<k INT NOT NULL, a DECIMAL(3, 0), b DECIMAL(20, 0)>",
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "sum"},
     "{\"k\":1,\"a\":\"999\",\"b\":\"99999999999999999999\"}\n{\"k\":1,\"a\":\"999\",\"b\":\"1\"}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":\"1998\",\"b\":null}\n",
     NULL},
    {"products of decimals round half up",
     "ROW<k INT NOT NULL, a DECIMAL(5, 2), b DECIMAL(38, 10)>",
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "product"},
     "{\"k\":1,\"a\":\"1.05\",\"b\":\"-12345678901234567.0123456789\"}\n{\"k\":1,\"a\":\"1.10\",\"b\":\"10000.0000000001\"}\n"
     "{\"k\":2,\"a\":\"-1.05\",\"b\":\"9999999999999999999999999999\"}\n{\"k\":2,\"a\":\"0.10\",\"b\":\"10\"}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":\"1.16\",\"b\":\"-123456789012346904691.3469124567\"}\n"
     "{\"_kind\":\"+I\",\"k\":2,\"a\":\"-0.11\",\"b\":null}\n",
     NULL},
    {"products are retracted by division",
     "ROW<k INT NOT NULL, a INT, b DECIMAL(10, 3), c DOUBLE, d BIGINT>",
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "product"},
     "{\"k\":1,\"a\":7,\"b\":\"1\",\"c\":1,\"d\":-9223372036854775807}\n{\"_kind\":\"-U\",\"k\":1,\"a\":2,\"b\":\"8\",\"c\":0,"
     "\"d\":-1}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":3,\"b\":\"0.125\",\"c\":\"Infinity\",\"d\":9223372036854775807}\n",
     NULL},
    {"division by zero",
     "ROW<k INT NOT NULL, a INT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "product"},
     "{\"k\":1,\"a\":7}\n{\"_kind\":\"-U\",\"k\":1,\"a\":0}\n",
     NULL,
     "column 'a': product cannot retract 0: division by zero"},
    {"a quotient without end",
     "ROW<k INT NOT NULL, a DECIMAL(10, 2)>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "product"},
     "{\"k\":1,\"a\":\"1\"}\n{\"_kind\":\"-U\",\"k\":1,\"a\":\"3\"}\n",
     NULL,
     "no exact decimal form"},
    {"max knows no retraction",
     "ROW<k INT NOT NULL, a INT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "max"},
     "{\"k\":1,\"a\":7}\n{\"_kind\":\"-U\",\"k\":1,\"a\":1}\n",
     NULL,
     "column 'a': Aggregate function 'max' does not support retraction"},
    {"max of booleans",
     "ROW<k INT NOT NULL, a BOOLEAN>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "max"},
     "{\"k\":1,\"a\":true}\n{\"k\":1,\"a\":null}\n{\"k\":2,\"a\":true}\n{\"k\":2,\"a\":false}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":true}\n{\"_kind\":\"+I\",\"k\":2,\"a\":true}\n",
     NULL}, /* as later releases; 1.4.2 knows no order of them */
    {"floats: NaN is the greatest, -0 below 0",
     "ROW<k INT NOT NULL, a DOUBLE, b FLOAT>",
     {"merge-engine", "aggregation", "fields.a.aggregate-function", "max", "fields.b.aggregate-function", "min"},
     "{\"k\":1,\"a\":1,\"b\":0}\n{\"k\":1,\"a\":\"NaN\",\"b\":-0.0}\n{\"k\":1,\"a\":\"Infinity\",\"b\":\"NaN\"}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":\"NaN\",\"b\":-0}\n",
     NULL},
    {"partial-update refuses a delete",
     "ROW<k INT NOT NULL, a INT>",
     {"merge-engine", "partial-update"},
     "{\"k\":1,\"a\":7}\n{\"_kind\":\"-D\",\"k\":1,\"a\":1}\n",
     NULL,
     "By default, Partial update can not accept delete records"},
    {"a lone delete passes partial-update untouched",
     "ROW<k INT NOT NULL, a INT>",
     {"merge-engine", "partial-update"},
     "{\"_kind\":\"-D\",\"k\":1,\"a\":1}\n{\"_kind\":\"+U\",\"k\":2,\"a\":2}\n",
     "{\"_kind\":\"-D\",\"k\":1,\"a\":1}\n{\"_kind\":\"+U\",\"k\":2,\"a\":2}\n",
     NULL},
    {"a lone record of an empty group keeps its values",
     "ROW<k INT NOT NULL, a INT, g INT>",
     {"merge-engine", "partial-update", "fields.g.sequence-group", "a"},
     "{\"k\":1,\"a\":5,\"g\":null}\n{\"k\":2,\"a\":5,\"g\":null}\n{\"k\":2,\"a\":6,\"g\":null}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"a\":5,\"g\":null}\n{\"_kind\":\"+I\",\"k\":2,\"a\":null,\"g\":null}\n",
     NULL},
    {"first-row refuses a delete",
     "ROW<k INT NOT NULL, a INT>",
     {"merge-engine", "first-row"},
     "{\"k\":1,\"a\":7}\n{\"_kind\":\"-D\",\"k\":1,\"a\":1}\n",
     NULL,
     "First row merge engine can not accept DELETE/UPDATE_BEFORE records"},
    {"nested_update appends without a key, and takes equal rows away",
     "ROW<k INT NOT NULL, t ARRAY<ROW<a INT, b STRING>>>",
     {"merge-engine", "aggregation", "fields.t.aggregate-function", "nested_update"},
     "{\"k\":1,\"t\":[{\"a\":1,\"b\":\"x\"},{\"a\":1,\"b\":\"x\"}]}\n{\"k\":1,\"t\":[{\"a\":2,\"b\":null},null]}\n"
     "{\"_kind\":\"-U\",\"k\":1,\"t\":[{\"a\":1,\"b\":\"x\"}]}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"t\":[{\"a\":2,\"b\":null}]}\n",
     NULL},
    {"nested_update by key: the later row wins",
     "ROW<k INT NOT NULL, t ARRAY<ROW<a INT, b STRING>>>",
     {"merge-engine", "aggregation", "fields.t.aggregate-function", "nested_update", "fields.t.nested-key", "a"},
     "{\"k\":1,\"t\":[{\"a\":1,\"b\":\"x\"},{\"a\":2,\"b\":\"y\"}]}\n{\"k\":1,\"t\":[{\"a\":1,\"b\":\"z\"},{\"a\":3,\"b\":null}"
     "]}\n"
     "{\"_kind\":\"-U\",\"k\":1,\"t\":[{\"a\":2,\"b\":\"whatever\"}]}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"t\":[{\"a\":3,\"b\":null},{\"a\":1,\"b\":\"z\"}]}\n", /* a hash table's order */
     NULL},
    {"nested_update stops at its limit",
     "ROW<k INT NOT NULL, t ARRAY<ROW<a INT>>>",
     {"merge-engine", "aggregation", "fields.t.aggregate-function", "nested_update", "fields.t.count-limit", "3"},
     "{\"k\":1,\"t\":[{\"a\":1},{\"a\":2}]}\n{\"k\":1,\"t\":[{\"a\":3},{\"a\":4}]}\n{\"k\":1,\"t\":[{\"a\":5}]}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"t\":[{\"a\":1},{\"a\":2},{\"a\":3}]}\n",
     NULL},
    {"nested_partial_update fills rows field by field",
     "ROW<k INT NOT NULL, t ARRAY<ROW<a INT, b STRING, c INT>>>",
     {"merge-engine", "aggregation", "fields.t.aggregate-function", "nested_partial_update", "fields.t.nested-key", "a"},
     "{\"k\":1,\"t\":[{\"a\":1,\"b\":\"x\",\"c\":null}]}\n{\"k\":1,\"t\":[{\"a\":1,\"b\":null,\"c\":5},{\"a\":2,\"b\":\"y\","
     "\"c\":1}]}\n"
     "{\"k\":1,\"t\":[{\"a\":2,\"b\":\"z\",\"c\":null},null]}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"t\":[{\"a\":2,\"b\":\"z\",\"c\":1},{\"a\":1,\"b\":\"x\",\"c\":5}]}\n",
     NULL},
    {"merge_map: later keys win, retraction removes keys",
     "ROW<k INT NOT NULL, m MAP<STRING, INT>>",
     {"merge-engine", "aggregation", "fields.m.aggregate-function", "merge_map"},
     "{\"k\":1,\"m\":{\"a\":1,\"b\":2}}\n{\"k\":1,\"m\":{\"b\":3,\"c\":null}}\n{\"_kind\":\"-U\",\"k\":1,\"m\":{\"a\":9}}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"m\":[[\"b\",3],[\"c\",null]]}\n",
     NULL},
    {"merge_map_with_keytime: the later time wins, NULL removes",
     "ROW<k INT NOT NULL, m MAP<STRING, ROW<v INT, t STRING>>>",
     {"merge-engine", "aggregation", "fields.m.aggregate-function", "merge_map_with_keytime"},
     "{\"k\":1,\"m\":{\"a\":{\"v\":1,\"t\":\"2\"},\"b\":{\"v\":2,\"t\":\"5\"},\"c\":{\"v\":3,\"t\":null}}}\n"
     "{\"k\":1,\"m\":{\"a\":{\"v\":10,\"t\":\"3\"},\"b\":{\"v\":20,\"t\":\"5\"},\"c\":{\"v\":30,\"t\":\"1\"},\"d\":{\"v\":40,"
     "\"t\":null}}}\n"
     "{\"k\":1,\"m\":{\"a\":null}}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"m\":[[\"b\",{\"v\":2,\"t\":\"5\"}],[\"c\",{\"v\":30,\"t\":\"1\"}]]}\n",
     NULL},
    {"merge_map_with_keytime by a named field",
     "ROW<k INT NOT NULL, m MAP<INT, ROW<t STRING, v INT>>>",
     {"merge-engine", "aggregation", "fields.m.aggregate-function", "merge_map_with_keytime", "fields.m.ts-field", "t"},
     "{\"k\":1,\"m\":[[1,{\"t\":\"b\",\"v\":1}]]}\n{\"k\":1,\"m\":[[1,{\"t\":\"a\",\"v\":2}]]}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"m\":[[1,{\"t\":\"b\",\"v\":1}]]}\n",
     NULL},
    {"collect takes equal elements away once",
     "ROW<k INT NOT NULL, l ARRAY<STRING>>",
     {"merge-engine", "aggregation", "fields.l.aggregate-function", "collect"},
     "{\"k\":1,\"l\":[\"a\",\"b\",\"a\",null]}\n{\"k\":1,\"l\":[\"a\"]}\n{\"_kind\":\"-U\",\"k\":1,\"l\":[\"a\",null,\"x\"]}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"l\":[\"b\",\"a\",\"a\"]}\n",
     NULL},
    {"collect distinct compares arrays and rows by value",
     "ROW<k INT NOT NULL, l ARRAY<ARRAY<INT>>, m ARRAY<ROW<a INT, b DOUBLE>>>",
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "collect", "fields.l.distinct", "true",
      "fields.m.distinct", "true"},
     "{\"k\":1,\"l\":[[1,2],[1]],\"m\":[{\"a\":1,\"b\":\"NaN\"}]}\n{\"k\":1,\"l\":[[1,2],[]],\"m\":[{\"a\":1,\"b\":\"NaN\"},{"
     "\"a\":2,\"b\":0}]}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"l\":[[1,2],[1],[]],\"m\":[{\"a\":1,\"b\":\"NaN\"},{\"a\":2,\"b\":0}]}\n",
     NULL},
    {"a single value is not made distinct",
     "ROW<k INT NOT NULL, l ARRAY<INT>>",
     {"merge-engine", "aggregation", "fields.l.aggregate-function", "collect", "fields.l.distinct", "true"},
     "{\"k\":1,\"l\":[1,1]}\n{\"k\":2,\"l\":[1,1]}\n{\"k\":2,\"l\":null}\n",
     "{\"_kind\":\"+I\",\"k\":1,\"l\":[1,1]}\n{\"_kind\":\"+I\",\"k\":2,\"l\":[1]}\n",
     NULL},
    {"a sketch that is none",
     "ROW<k INT NOT NULL, h VARBINARY(100)>",
     {"merge-engine", "aggregation", "fields.h.aggregate-function", "hll_sketch"},
     "{\"k\":1,\"h\":\"0011\"}\n{\"k\":1,\"h\":\"0022\"}\n",
     NULL,
     "column 'h': hll_sketch: HLL sketch: shorter than its preamble"},
    {"primary keys are never aggregated",
     "ROW<k INT NOT NULL, v INT>",
     {"merge-engine", "aggregation", "fields.default-aggregate-function", "sum"},
     "{\"k\":3,\"v\":1}\n{\"k\":3,\"v\":1}\n",
     "{\"_kind\":\"+I\",\"k\":3,\"v\":2}\n",
     NULL},
};

static tl_batch *read_rows(const tl_type *type, const char *text)
{
    tl_error err;
    tl_arena arena = {0};
    tl_builder *builders[16] = {NULL};
    tl_batch *batch = NULL;
    tl_buf kinds = {0};
    for (int32_t c = 0; c < type->n_fields; c++)
        assert_ok(tl_builder_create(type->fields[c].type, &builders[c], &err), &err);
    for (const char *line = text; *line != 0;) {
        size_t len = strcspn(line, "\n");
        const tl_json *row = NULL, *kind_json;
        uint8_t kind = TL_KIND_INSERT;
        assert_ok(tl_json_parse(&arena, (tl_bytes_view){(const uint8_t *)line, len}, &row, &err), &err);
        if ((kind_json = tl_json_get(row, "_kind")) != NULL)
            assert_true(tl_row_kind_parse(kind_json->text, &kind));
        assert_int_equal(tl_buf_append_byte(&kinds, kind), TL_OK);
        for (int32_t c = 0; c < type->n_fields; c++)
            assert_ok(tl_text_read_json(tl_json_get(row, type->fields[c].name), type->fields[c].type, builders[c], &err), &err);
        line += len + 1;
    }
    assert_ok(tl_batch_create(type, (int64_t)kinds.len, &batch, &err), &err);
    batch->seq = tl_alloc(kinds.len * sizeof *batch->seq);
    for (int64_t i = 0; i < batch->n_rows; i++)
        batch->seq[i] = i;
    for (int32_t c = 0; c < type->n_fields; c++) {
        assert_ok(tl_builder_finish(builders[c], &batch->cols[c], &err), &err);
        tl_builder_free(builders[c]);
    }
    batch->row_kind = tl_buf_steal(&kinds).data;
    tl_arena_deinit(&arena);
    return batch;
}

static void check_example(const example *e)
{
    tl_error err = {0};
    const tl_type *type = test_type(e->type);
    tl_options options = {0};
    tl_merge_engine *engine = NULL;
    for (int i = 0; e->options[i] != NULL; i += 2)
        assert_int_equal(tl_options_set(&options, e->options[i], e->options[i + 1]), TL_OK);
    assert_ok(tl_merge_engine_create(type, &key_column, 1, &options, &engine, &err), &err);
    tl_batch *batch = read_rows(type, e->rows), *merged = NULL;
    const tl_batch *const *sources = (const tl_batch *const *)&batch;
    tl_rowref *refs = NULL;
    uint32_t *starts = NULL, n_groups = 0;
    assert_ok(tl_merge_sort_groups(engine, &key_column, 1, sources, 1, &refs, &starts, &n_groups, &err), &err);
    tl_groups groups = {sources, 1, refs, starts, n_groups};
    tl_status status = tl_merge_groups(engine, &groups, /* always_call= */ false, &merged, &err);
    tl_buf text = {0};
    for (int64_t i = 0; status == TL_OK && i < merged->n_rows; i++) {
        assert_int_equal(tl_text_append_json_row(&text, merged, i, /* with_kind= */ true, 0), TL_OK);
        assert_int_equal(tl_buf_append_byte(&text, '\n'), TL_OK);
    }
    assert_int_equal(tl_buf_append_byte(&text, 0), TL_OK);
    if (e->wanted != NULL && (status != TL_OK || strcmp((const char *)text.data, e->wanted) != 0))
        fail_msg("%s: got\n%s%s\nwanted\n%s", e->name, (const char *)text.data, status == TL_OK ? "" : err.message, e->wanted);
    if (e->wanted == NULL && (status == TL_OK || strstr(err.message, e->error) == NULL))
        fail_msg("%s: got\n%s%s\nwanted '%s'", e->name, (const char *)text.data, status == TL_OK ? "" : err.message, e->error);
    tl_buf_deinit(&text);
    tl_batch_free(batch);
    tl_batch_free(merged);
    tl_free(refs);
    tl_free(starts);
    tl_merge_engine_unref(engine);
    tl_options_deinit(&options);
    tl_type_unref(type);
}

static void functions_do_what_the_examples_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < TL_ARRAY_LEN(examples); i++)
        check_example(&examples[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_do_what_the_examples_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
