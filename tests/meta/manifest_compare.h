/* Comparing manifest entries and metas field by field. */
#ifndef TL_TESTS_MANIFEST_COMPARE_H
#define TL_TESTS_MANIFEST_COMPARE_H

#include "meta/meta.h"
#include "support/test.h"

static inline void assert_same_bytes(tl_bytes a, tl_bytes b, const char *what)
{
    if ((a.data == NULL) != (b.data == NULL) || !tl_bytes_equal(tl_bytes_view_of(a), tl_bytes_view_of(b)))
        fail_msg("%s differ: %zu and %zu bytes", what, a.len, b.len);
}

static inline void assert_same_text(const char *a, const char *b, const char *what)
{
    if ((a == NULL) != (b == NULL) || (a != NULL && strcmp(a, b) != 0))
        fail_msg("%s differ: '%s' and '%s'", what, a != NULL ? a : "NULL", b != NULL ? b : "NULL");
}

static inline void assert_same_texts(char *const *a, int32_t n, char *const *b, int32_t m, const char *what)
{
    if (n != m)
        fail_msg("%s differ: %d and %d", what, n, m);
    for (int32_t i = 0; i < n; i++)
        assert_same_text(a[i], b[i], what);
}

static inline void assert_same_stats(const tl_simple_stats *a, const tl_simple_stats *b, const char *what)
{
    assert_same_bytes(a->min, b->min, what);
    assert_same_bytes(a->max, b->max, what);
    if (a->n != b->n)
        fail_msg("%s: %d and %d null counts", what, a->n, b->n);
    for (int32_t i = 0; i < a->n; i++)
        if (a->null_counts[i] != b->null_counts[i])
            fail_msg("%s: null count %d is %lld and %lld", what, i, (long long)a->null_counts[i], (long long)b->null_counts[i]);
}

static inline void assert_same_file(const tl_data_file *a, const tl_data_file *b)
{
    assert_same_text(a->name, b->name, "names");
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->rows, b->rows);
    assert_same_bytes(a->min_key, b->min_key, "minimum keys");
    assert_same_bytes(a->max_key, b->max_key, "maximum keys");
    assert_same_stats(&a->key_stats, &b->key_stats, "key statistics");
    assert_same_stats(&a->value_stats, &b->value_stats, "value statistics");
    assert_int_equal(a->min_seq, b->min_seq);
    assert_int_equal(a->max_seq, b->max_seq);
    assert_int_equal(a->schema_id, b->schema_id);
    assert_int_equal(a->level, b->level);
    assert_same_texts(a->extra_files, a->n_extra_files, b->extra_files, b->n_extra_files, "extra files");
    assert_int_equal(a->creation_time_ms, b->creation_time_ms);
    assert_int_equal(a->delete_rows, b->delete_rows);
    assert_same_bytes(a->embedded_index, b->embedded_index, "embedded indexes");
    assert_int_equal(a->file_source, b->file_source);
    assert_same_texts(a->value_stats_cols, a->n_value_stats_cols, b->value_stats_cols, b->n_value_stats_cols,
                      "statistics columns");
    assert_same_text(a->external_path, b->external_path, "external paths");
    assert_int_equal(a->first_row_id, b->first_row_id);
    assert_same_texts(a->write_cols, a->n_write_cols, b->write_cols, b->n_write_cols, "written columns");
}

static inline void assert_same_entry(const tl_manifest_entry *a, const tl_manifest_entry *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_same_bytes(a->partition, b->partition, "partitions");
    assert_int_equal(a->bucket, b->bucket);
    assert_int_equal(a->total_buckets, b->total_buckets);
    assert_same_file(a->file, b->file);
}

/** All but name and size. */
static inline void assert_same_summary(const tl_manifest_meta *a, const tl_manifest_meta *b)
{
    assert_int_equal(a->added, b->added);
    assert_int_equal(a->deleted, b->deleted);
    assert_same_stats(&a->partition_stats, &b->partition_stats, "partition statistics");
    assert_int_equal(a->schema_id, b->schema_id);
    assert_int_equal(a->min_bucket, b->min_bucket);
    assert_int_equal(a->max_bucket, b->max_bucket);
    assert_int_equal(a->min_level, b->min_level);
    assert_int_equal(a->max_level, b->max_level);
    assert_int_equal(a->min_row_id, b->min_row_id);
    assert_int_equal(a->max_row_id, b->max_row_id);
}

#endif
