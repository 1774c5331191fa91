/*
 * The write buffer of one bucket: batches as they came, sorted only when they leave.
 *
 * A flush sorts references to the rows by (key, sequence fields, sequence number), merges the groups of equal keys in chunks
 * and hands each chunk to the file writer. A buffer that has to free memory before that writes its rows as a sorted run to a
 * temporary file; the flush then merges these runs, so that one flush still gives one sequence of level-0 files, whatever the
 * memory (Java: SortBufferWriteBuffer over BinaryExternalSortBuffer).
 *
 * Runs keep every record, since engines do not give the same when merged in parts, and the changelog of producer `input` wants
 * them all. Only deduplicate without that producer is merged at once: the winner of winners is the winner.
 */
#include "lsm/lsm_private.h"

/* Sorting needs, a row: key 8, order 4, its scratch 4, reference 8, group start 4, and part of a chunk being gathered. */
#define SORT_BYTES_PER_ROW 32
/* Rows are gathered in large chunks, column by column: a column of a chunk's rows then stays in the cache while it is read in
 * random order, and each of its cache lines is fetched once for many rows (5M order rows: 13% less CPU than chunks of 4096). */
#define CHUNK_ROWS_MAX 131072
#define CHUNK_ROWS_MIN 1024
#define CHUNK_BYTES (32 << 20)
#define SPILL_CHUNK_BYTES (256 << 10) /* of one frame: what each run keeps in memory while runs are merged */
#define SPILL_CHUNK_ROWS_MIN 16
#define SPILL_FAN_IN 32 /* so many runs of one tier become one of the next */

typedef struct spilled_run {
    tl_lsm__spill *spill;
    int tier;
} spilled_run;

struct tl_lsm__buffer {
    tl_lsm__bucket *bucket;
    tl_batch **batches;
    uint32_t n_batches;
    uint32_t batches_cap;
    int64_t rows;
    int64_t bytes;
    spilled_run *runs; /* tiers fall */
    size_t n_runs;
    size_t runs_cap;
    int64_t spilled_rows;
};

static const tl_lsm_config *config_of(const tl_lsm__buffer *buffer)
{
    return buffer->bucket->config;
}

tl_status tl_lsm__buffer_create(tl_lsm__bucket *bucket, tl_lsm__buffer **out, tl_error *err)
{
    tl_lsm__buffer *buffer = tl_calloc(1, sizeof *buffer);
    if (buffer == NULL)
        return tl_nomem(err, "write buffer");
    buffer->bucket = tl_lsm__bucket_ref(bucket);
    *out = buffer;
    return TL_OK;
}

static void clear_memory(tl_lsm__buffer *buffer)
{
    for (uint32_t i = 0; i < buffer->n_batches; i++)
        tl_batch_free(buffer->batches[i]);
    buffer->n_batches = 0;
    buffer->rows = buffer->bytes = 0;
}

static void clear(tl_lsm__buffer *buffer)
{
    clear_memory(buffer);
    for (size_t i = 0; i < buffer->n_runs; i++)
        tl_lsm__spill_free(buffer->runs[i].spill);
    buffer->n_runs = 0;
    buffer->spilled_rows = 0;
}

void tl_lsm__buffer_free(tl_lsm__buffer *buffer)
{
    if (buffer == NULL)
        return;
    clear(buffer);
    tl_free(buffer->batches);
    tl_free(buffer->runs);
    tl_lsm__bucket_unref(buffer->bucket);
    tl_free(buffer);
}

int64_t tl_lsm__buffer_bytes(const tl_lsm__buffer *buffer)
{
    return buffer->bytes + buffer->rows * SORT_BYTES_PER_ROW;
}

int64_t tl_lsm__buffer_rows(const tl_lsm__buffer *buffer)
{
    return buffer->rows + buffer->spilled_rows;
}

/* ---- adding ---- */

static tl_status numbered_copy(const tl_lsm__buffer *buffer, const tl_batch *batch, int64_t first_seq, tl_batch **out,
                               tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *copy = NULL;
    TL_TRY(tl_batch_create(config_of(buffer)->schema->row_type, batch->n_rows, &copy, err));
    for (int32_t i = 0; i < copy->n_cols; i++)
        copy->cols[i] = tl_column_ref(batch->cols[i]);
    copy->level = -1;
    copy->seq = tl_alloc((size_t)batch->n_rows * sizeof(int64_t));
    if (copy->seq == NULL)
        return tl_nomem(err, "write buffer");
    for (int64_t i = 0; i < batch->n_rows; i++)
        copy->seq[i] = first_seq + i;
    if (batch->row_kind != NULL && (copy->row_kind = tl_memdup(batch->row_kind, (size_t)batch->n_rows)) == NULL)
        return tl_nomem(err, "write buffer");
    *out = TL_STEAL(copy);
    return TL_OK;
}

tl_status tl_lsm__buffer_add(tl_lsm__buffer *buffer, const tl_batch *batch, int64_t first_seq, tl_error *err)
{
    if (buffer->n_batches == buffer->batches_cap) {
        uint32_t cap = buffer->batches_cap == 0 ? 64 : buffer->batches_cap * 2;
        tl_batch **grown = tl_realloc(buffer->batches, cap * sizeof(*grown));
        if (grown == NULL)
            return tl_nomem(err, "write buffer");
        buffer->batches = grown;
        buffer->batches_cap = cap;
    }
    tl_batch *copy = NULL;
    TL_TRY(numbered_copy(buffer, batch, first_seq, &copy, err));
    buffer->batches[buffer->n_batches++] = copy;
    buffer->rows += copy->n_rows;
    buffer->bytes += tl_batch_bytes(copy);
    return TL_OK;
}

/* ---- sorted rows of the memory ---- */

typedef struct sorted {
    tl_rowref *refs;
    uint32_t *starts;
    uint32_t n_groups;
} sorted;

static void sorted_deinit(sorted *s)
{
    tl_free(s->refs);
    tl_free(s->starts);
}

static tl_status sort_memory(const tl_lsm__buffer *buffer, sorted *out, tl_error *err)
{
    const tl_lsm_config *config = config_of(buffer);
    return tl_merge_sort_groups(config->buffer_engine, config->key_idx, config->n_keys,
                                (const tl_batch *const *)buffer->batches, buffer->n_batches, &out->refs, &out->starts,
                                &out->n_groups, err);
}

/* Groups from `g` on that hold about `rows_max` records (at least one group). */
static uint32_t chunk_end(const sorted *s, uint32_t g, int64_t rows_max)
{
    uint32_t end = g + 1;
    while (end < s->n_groups && (int64_t)s->starts[end + 1] - s->starts[g] <= rows_max)
        end++;
    return end;
}

static tl_status merge_chunk(const tl_lsm__buffer *buffer, const sorted *s, uint32_t from, uint32_t to, tl_batch **out,
                             tl_error *err)
{
    tl_groups groups = {(const tl_batch *const *)buffer->batches, buffer->n_batches, s->refs, s->starts + from, to - from};
    return tl_merge_groups(config_of(buffer)->buffer_engine, &groups, /* always_call= */ false, out, err);
}

static tl_status gather_chunk(const tl_lsm__buffer *buffer, const sorted *s, uint32_t from, uint32_t to, tl_batch **out,
                              tl_error *err)
{
    return tl_lsm__gather_rows((const tl_batch *const *)buffer->batches, buffer->n_batches, s->refs + s->starts[from],
                               (int64_t)s->starts[to] - s->starts[from], out, err);
}

static int64_t row_bytes(const tl_lsm__buffer *buffer)
{
    return buffer->bytes / TL_MAX(buffer->rows, 1) + 1;
}

static tl_status flush_memory(tl_lsm__buffer *buffer, tl_lsm__writer *data, tl_lsm__writer *changelog, tl_error *err)
{
    sorted s = {0};
    int64_t rows_max = TL_MAX(CHUNK_ROWS_MIN, TL_MIN(CHUNK_ROWS_MAX, CHUNK_BYTES / row_bytes(buffer)));
    tl_status status = sort_memory(buffer, &s, err);
    for (uint32_t g = 0; g < s.n_groups && status == TL_OK;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *merged = NULL;
        TL_CLEANUP(tl_batch_freep) tl_batch *records = NULL;
        uint32_t end = chunk_end(&s, g, rows_max);
        if (changelog != NULL) {
            status = gather_chunk(buffer, &s, g, end, &records, err);
            if (status == TL_OK)
                status = tl_lsm__writer_write(changelog, records, err);
        }
        if (status == TL_OK)
            status = merge_chunk(buffer, &s, g, end, &merged, err);
        if (status == TL_OK)
            status = tl_lsm__writer_write(data, merged, err);
        g = end;
    }
    sorted_deinit(&s);
    return status;
}

/* ---- spilling ---- */

static bool merges_in_parts(const tl_lsm_config *config)
{
    return tl_merge_engine_get_kind(config->buffer_engine) == TL_ENGINE_DEDUPLICATE &&
           config->changelog_producer != TL_CHANGELOG_INPUT;
}

static int64_t spill_chunk_rows(const tl_lsm__buffer *buffer)
{
    return TL_MAX(SPILL_CHUNK_ROWS_MIN, TL_MIN(TL_BATCH_ROWS, SPILL_CHUNK_BYTES / row_bytes(buffer)));
}

static tl_status write_run(const tl_lsm__buffer *buffer, const sorted *s, tl_lsm__spill *spill, tl_error *err)
{
    bool merge = merges_in_parts(config_of(buffer));
    int64_t rows_max = spill_chunk_rows(buffer);
    for (uint32_t g = 0; g < s->n_groups;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *chunk = NULL;
        uint32_t end = chunk_end(s, g, rows_max);
        TL_TRY(merge ? merge_chunk(buffer, s, g, end, &chunk, err) : gather_chunk(buffer, s, g, end, &chunk, err));
        TL_TRY(tl_lsm__spill_write(spill, chunk, err));
        g = end;
    }
    return TL_OK;
}

static tl_status add_run(tl_lsm__buffer *buffer, tl_lsm__spill *spill, int tier, tl_error *err)
{
    if (buffer->n_runs == buffer->runs_cap) {
        size_t cap = buffer->runs_cap == 0 ? 16 : buffer->runs_cap * 2;
        spilled_run *grown = tl_realloc(buffer->runs, cap * sizeof(*grown));
        if (grown == NULL)
            return tl_nomem(err, "write buffer");
        buffer->runs = grown;
        buffer->runs_cap = cap;
    }
    buffer->runs[buffer->n_runs++] = (spilled_run){spill, tier};
    return TL_OK;
}

/* Merge of the runs from `first` on. */
static tl_status open_runs(const tl_lsm__buffer *buffer, size_t first, const tl_group_hook *hook, tl_reader **out,
                           tl_error *err)
{
    const tl_lsm_config *config = config_of(buffer);
    size_t n = buffer->n_runs - first;
    tl_merge_spec spec = {.engine = config->buffer_engine, .key_idx = config->key_idx, .n_keys = config->n_keys, .hook = hook};
    TL_CLEANUP(tl_freep) tl_merge_input *inputs = tl_calloc(n, sizeof(*inputs));
    if (inputs == NULL)
        return tl_nomem(err, "write buffer");
    for (size_t i = 0; i < n; i++) {
        inputs[i].level = -1;
        tl_status status = tl_lsm__spill_open(buffer->runs[first + i].spill, config->schema->row_type, &inputs[i].reader, err);
        if (status != TL_OK) {
            for (size_t j = 0; j < i; j++)
                tl_reader_free(inputs[j].reader);
            return status;
        }
    }
    return tl_merge_open(config->schema->row_type, &spec, inputs, (int32_t)n, out, err);
}

static tl_status merge_runs(tl_lsm__buffer *buffer, size_t first, tl_lsm__spill *into, tl_error *err)
{
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    TL_TRY(open_runs(buffer, first, merges_in_parts(config_of(buffer)) ? NULL : &tl_lsm__keep_all_hook, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return tl_lsm__spill_finish(into, err);
        TL_TRY(tl_lsm__spill_write(into, batch, err));
    }
}

/* Keep the number of runs small, as an LSM tree does: full tiers become one run of the next. */
static tl_status compact_runs(tl_lsm__buffer *buffer, tl_error *err)
{
    for (;;) {
        size_t first = buffer->n_runs;
        while (first > 0 && buffer->runs[first - 1].tier == buffer->runs[buffer->n_runs - 1].tier)
            first--;
        if (buffer->n_runs - first < SPILL_FAN_IN)
            return TL_OK;
        tl_lsm__spill *merged = NULL;
        TL_TRY(tl_lsm__spill_create(buffer->bucket->config, &merged, err));
        tl_status status = merge_runs(buffer, first, merged, err);
        if (status != TL_OK) {
            tl_lsm__spill_free(merged);
            return status;
        }
        int tier = buffer->runs[first].tier + 1;
        for (size_t i = first; i < buffer->n_runs; i++)
            tl_lsm__spill_free(buffer->runs[i].spill);
        buffer->n_runs = first;
        buffer->runs[buffer->n_runs++] = (spilled_run){merged, tier};
    }
}

tl_status tl_lsm__buffer_spill(tl_lsm__buffer *buffer, tl_error *err)
{
    if (buffer->rows == 0)
        return TL_OK;
    sorted s = {0};
    tl_lsm__spill *spill = NULL;
    tl_status status = tl_lsm__spill_create(buffer->bucket->config, &spill, err);
    if (status == TL_OK)
        status = sort_memory(buffer, &s, err);
    if (status == TL_OK)
        status = write_run(buffer, &s, spill, err);
    sorted_deinit(&s);
    if (status == TL_OK)
        status = tl_lsm__spill_finish(spill, err);
    if (status == TL_OK)
        status = add_run(buffer, spill, /* tier= */ 0, err);
    if (status != TL_OK) {
        tl_lsm__spill_free(spill);
        return status;
    }
    buffer->spilled_rows += buffer->rows;
    clear_memory(buffer);
    return compact_runs(buffer, err);
}

static tl_status flush_runs(tl_lsm__buffer *buffer, tl_lsm__writer *data, tl_lsm__writer *changelog, tl_error *err)
{
    tl_lsm__changelog input = {.bucket = buffer->bucket, .writer = changelog};
    tl_group_hook hook;
    TL_CLEANUP(tl_reader_freep) tl_reader *reader = NULL;
    tl_lsm__input_changelog_hook(&input, &hook);
    TL_TRY(open_runs(buffer, /* first= */ 0, changelog == NULL ? NULL : &hook, &reader, err));
    for (;;) {
        TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
        TL_TRY(tl_reader_next(reader, &batch, err));
        if (batch == NULL)
            return TL_OK;
        TL_TRY(tl_lsm__writer_write(data, batch, err));
    }
}

tl_status tl_lsm__buffer_flush(tl_lsm__buffer *buffer, tl_lsm__writer *data, tl_lsm__writer *changelog, tl_error *err)
{
    tl_status status = TL_OK;
    if (buffer->n_runs == 0) {
        status = buffer->rows == 0 ? TL_OK : flush_memory(buffer, data, changelog, err);
    } else {
        status = tl_lsm__buffer_spill(buffer, err); /* the rest becomes one more run, so that there is one kind of input */
        if (status == TL_OK)
            status = flush_runs(buffer, data, changelog, err);
    }
    clear(buffer);
    return status;
}
