/* Keys and rows in the reference's binary forms: normalised keys, sorting them, bucket hashes, binary rows. */
#include "stage.h"
#include "types/binary_row.h"
#include "types/key.h"

#define SORT_ROWS (1 << 18)

typedef struct work {
    tl_batch *batch;
    tl_keys *keys;
    uint32_t *order, *starts;
    int32_t *hashes;
    int64_t *offsets;
    tl_buf rows;
    tl_builder **builders;
} work;

static void normalise(void *ctx)
{
    work *w = ctx;
    tl_keys *keys;
    check(tl_keys_create((const tl_column *const *)w->batch->cols, w->batch->n_cols, w->batch->n_rows, &keys, &err));
    tl_keys_free(keys);
}

static void sort(void *ctx)
{
    work *w = ctx;
    uint32_t n;
    check(tl_keys_sort_groups(w->keys, w->order, w->starts, &n, &err));
}

static void hash(void *ctx)
{
    work *w = ctx;
    check(tl_bucket_hash((const tl_column *const *)w->batch->cols, w->batch->n_cols, w->batch->n_rows, w->hashes, &err));
}

static void write_rows(void *ctx)
{
    work *w = ctx;
    w->rows.len = 0;
    check(tl_binary_rows((const tl_column *const *)w->batch->cols, w->batch->n_cols, w->batch->n_rows, &w->rows, w->offsets, &err));
}

static void read_rows(void *ctx)
{
    work *w = ctx;
    for (int64_t i = 0; i < w->batch->n_rows; i++) {
        tl_bytes_view row = {w->rows.data + w->offsets[i], (size_t)(w->offsets[i + 1] - w->offsets[i])};
        check(tl_binary_row_read(row, w->batch->type, /* with_arity= */ false, w->builders, &err));
    }
    for (int32_t c = 0; c < w->batch->n_cols; c++)
        tl_builder_truncate(w->builders[c], 0);
}

static void of_rows(const char *what, const char *type_text)
{
    const tl_type *type = type_of(type_text);
    work w = {.batch = make_batch(type, (values){0}, 0, STAGE_ROWS)};
    int64_t bytes = batch_bytes(w.batch);
    w.hashes = calloc(STAGE_ROWS, sizeof *w.hashes);
    w.offsets = calloc(STAGE_ROWS + 1, sizeof *w.offsets);
    w.builders = calloc((size_t)type->n_fields, sizeof(tl_builder *));
    for (int32_t c = 0; c < type->n_fields; c++)
        check(tl_builder_create(type->fields[c].type, &w.builders[c], &err));
    stage_run("key", what, normalise, &w, STAGE_ROWS, bytes);
    stage_run("bucket hash", what, hash, &w, STAGE_ROWS, bytes);
    write_rows(&w);
    stage_run("write row", what, write_rows, &w, STAGE_ROWS, bytes);
    stage_run("read row", what, read_rows, &w, STAGE_ROWS, (int64_t)w.rows.len);
    for (int32_t c = 0; c < type->n_fields; c++)
        tl_builder_free(w.builders[c]);
    free(w.builders);
    free(w.hashes);
    free(w.offsets);
    tl_buf_deinit(&w.rows);
    tl_batch_free(w.batch);
    tl_type_unref(type);
}

static void of_sort(const char *what, const char *type_text, values how)
{
    if (!is_wanted("sort", what))
        return;
    const tl_type *type = type_of(type_text);
    work w = {.batch = make_batch(type, how, 0, SORT_ROWS)};
    check(tl_keys_create((const tl_column *const *)w.batch->cols, w.batch->n_cols, w.batch->n_rows, &w.keys, &err));
    w.order = calloc(SORT_ROWS, sizeof *w.order);
    w.starts = calloc(SORT_ROWS + 1, sizeof *w.starts);
    stage_run("sort", what, sort, &w, SORT_ROWS, batch_bytes(w.batch));
    free(w.order);
    free(w.starts);
    tl_keys_free(w.keys);
    tl_batch_free(w.batch);
    tl_type_unref(type);
}

void stage_keys(void)
{
    of_rows("BIGINT", "ROW<a BIGINT NOT NULL>");
    of_rows("INT, INT", "ROW<a INT NOT NULL, b INT NOT NULL>");
    of_rows("STRING", "ROW<a STRING NOT NULL>");
    of_rows("STRING, BIGINT, TIMESTAMP(3)", "ROW<a STRING NOT NULL, b BIGINT NOT NULL, c TIMESTAMP(3) NOT NULL>");
    of_rows("8 columns", "ROW<a BIGINT, b INT, c DOUBLE, d DECIMAL(12, 2), e STRING, f TIMESTAMP(3), g BOOLEAN, h DATE>");
    of_sort("262,144 BIGINTs at random", "ROW<a BIGINT NOT NULL>", (values){0});
    of_sort("262,144 BIGINTs, rising", "ROW<a BIGINT NOT NULL>", (values){.sorted = true});
    of_sort("262,144 BIGINTs of 1,000 values", "ROW<a BIGINT NOT NULL>", (values){.distinct = 1000});
    of_sort("262,144 STRINGs at random", "ROW<a STRING NOT NULL>", (values){0});
    of_sort("262,144 pairs of STRING and INT", "ROW<a STRING NOT NULL, b INT NOT NULL>", (values){.distinct = 50000});
}
