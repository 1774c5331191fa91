/*
 * What a full compaction would give back: bytes of newer runs that take the place of rows of the oldest one. No file tells. Two things do:
 *
 * - The last full compaction of this writer: of the bytes that lay above the oldest run, how many it grew by.
 * - Before there was one, key ranges, where the key is one integer: rows of the oldest run over the numbers in its range that are the
 *   bucket's say how likely a key in that range is there. Keys that count up by one are all there; of keys drawn at random from 64 bits
 *   none is, and the estimate says so.
 */
#include "lsm/lsm_private.h"

#include "base/bits.h"

/* A BinaryRow of one field, arity in front: 4 bytes of arity, 8 of kind and null bits, 8 of the field. */
#define ROW_OF_ONE_BYTES 20
#define FIELD_AT 12

typedef struct key_range {
    bool known;
    double min, max; /* inclusive */
} key_range;

static bool integer_of(tl_type_kind kind, const tl_bytes *row, double *out)
{
    if (row->len != ROW_OF_ONE_BYTES)
        return false;
    uint64_t field = tl_read_le64(row->data + FIELD_AT);
    switch (kind) {
    case TL_TINYINT:
        *out = (int8_t)field;
        return true;
    case TL_SMALLINT:
        *out = (int16_t)field;
        return true;
    case TL_INT:
    case TL_DATE:
        *out = (int32_t)field;
        return true;
    case TL_BIGINT:
        *out = (double)(int64_t)field;
        return true;
    default:
        return false;
    }
}

static key_range range_of(const tl_lsm_config *config, tl_data_file *const *files, size_t n)
{
    key_range r = {.known = config->n_keys == 1 && n > 0};
    for (size_t i = 0; r.known && i < n; i++) {
        tl_type_kind kind = config->schema->row_type->fields[config->key_idx[0]].type->kind;
        double min = 0, max = 0;
        r.known = integer_of(kind, &files[i]->min_key, &min) && integer_of(kind, &files[i]->max_key, &max) && min <= max;
        r.min = i == 0 ? min : TL_MIN(r.min, min);
        r.max = i == 0 ? max : TL_MAX(r.max, max);
    }
    return r;
}

/* Of a run's keys, those that the oldest one has, if both are spread evenly. */
static double share_of(const key_range *run, const key_range *oldest, double density)
{
    double from = TL_MAX(run->min, oldest->min), to = TL_MIN(run->max, oldest->max);
    return from > to ? 0 : (to - from + 1) / (run->max - run->min + 1) * density;
}

static int64_t stale_of(const tl_lsm_config *config, tl_data_file *const *files, size_t n, int64_t bytes, const key_range *oldest, double density)
{
    key_range r = range_of(config, files, n);
    return r.known ? (int64_t)((double)bytes * share_of(&r, oldest, density)) : 0;
}

void tl_lsm__note_stale(const tl_lsm_config *config, const tl_lsm__levels *levels, tl_lsm__run *runs, size_t n)
{
    int32_t top = levels->n_levels - 1;
    const tl_file_list *last = &levels->levels[top];
    size_t at = 0;
    double rows = 0;
    key_range oldest = range_of(config, last->items, last->n);
    if (!oldest.known)
        return;
    for (size_t i = 0; i < last->n; i++)
        rows += (double)last->items[i]->rows;
    double buckets = TL_MAX(1, config->total_buckets); /* each has its share of the numbers */
    double density = TL_MIN(1.0, rows * buckets / (oldest.max - oldest.min + 1));
    for (size_t i = 0; i < levels->levels[0].n && at < n; i++, at++)
        runs[at].stale = stale_of(config, &levels->levels[0].items[i], 1, runs[at].bytes, &oldest, density);
    for (int32_t level = 1; level < top; level++) {
        const tl_file_list *files = &levels->levels[level];
        if (files->n > 0 && at < n) {
            runs[at].stale = stale_of(config, files->items, files->n, runs[at].bytes, &oldest, density);
            at++;
        }
    }
}

void tl_lsm__learn_stale(tl_lsm__picker *picker, int32_t top, const tl_file_list *before, const tl_file_list *after)
{
    double oldest = 0, newer = 0, made = (double)tl_lsm__list_bytes(after);
    for (size_t i = 0; i < before->n; i++)
        *(before->items[i]->level == top ? &oldest : &newer) += (double)before->items[i]->bytes;
    if (newer > 0)
        picker->fresh = TL_MAX(0.0, TL_MIN(1.0, (made - oldest) / newer));
}

int64_t tl_lsm__stale_bytes(const tl_lsm__picker *picker, const tl_lsm__run *runs, size_t n)
{
    double newer = 0, stale = 0;
    for (size_t i = 0; i + 1 < n; i++) {
        newer += (double)runs[i].bytes;
        stale += (double)runs[i].stale;
    }
    return (int64_t)(picker->fresh >= 0 ? newer * (1 - picker->fresh) : stale);
}
