/*
 * Temporary files of batches: sorted runs of a write buffer that outgrew its budget.
 *
 * A file is a sequence of frames, one a batch: u64 raw bytes, u64 compressed bytes (0: stored raw), payload. The payload is
 * u64 rows, u8 has kinds, kinds, u8 has sequence numbers, numbers, then the columns in order, each as u8 has validity,
 * bitmap, and by its physical type
 *   fixed width: the values;  BYTES: i32 offsets from 0 on, data;  LIST, MAP: i32 offsets from 0 on, children;  ROW: children.
 * All numbers little-endian, as in memory. LZ4 over this writes and reads several times faster than sorted Parquet would,
 * since nothing is encoded by value; the size matters little, as each byte is written and read once.
 *
 * The file is ours alone, yet its reader checks every length: a full or failing disk must give an error, not a crash.
 */
#include "lsm/lsm_private.h"

#define FRAME_HEADER_BYTES 16
#define FRAME_BYTES_MAX (INT64_C(1) << 40)

struct tl_lsm__spill {
    tl_fs *fs;
    tl_codec codec;
    char *path;
    tl_file *file; /* while it is written */
    bool created;
    tl_compressor *compressor;
    tl_buf raw;
    tl_buf frame;
    int64_t bytes;
};

/* ---- writing ---- */

static tl_status append_offsets(tl_buf *buf, const int32_t *offsets, int64_t from, int64_t n)
{
    TL_TRY(tl_buf_reserve(buf, (size_t)(n + 1) * sizeof(int32_t)));
    for (int64_t i = 0; i <= n; i++)
        tl_write_le32(buf->data + buf->len + i * 4, (uint32_t)(offsets[from + i] - offsets[from]));
    buf->len += (size_t)(n + 1) * sizeof(int32_t);
    return TL_OK;
}

static tl_status append_validity(tl_buf *buf, const tl_column *col, int64_t from, int64_t n)
{
    TL_TRY(tl_buf_append_byte(buf, col->validity != NULL));
    if (col->validity == NULL)
        return TL_OK;
    size_t bytes = tl_bitmap_bytes(n);
    TL_TRY(tl_buf_reserve(buf, bytes));
    memset(buf->data + buf->len, 0, bytes);
    tl_bitmap_copy(buf->data + buf->len, 0, col->validity, from, n);
    buf->len += bytes;
    return TL_OK;
}

static tl_status append_column(tl_buf *buf, const tl_column *col, int64_t from, int64_t n)
{
    TL_TRY(append_validity(buf, col, from, n));
    int width = tl_phys_width(col->phys);
    if (width > 0)
        return tl_buf_append(buf, (const uint8_t *)col->values + from * width, (size_t)n * (size_t)width);
    if (col->phys != TL_PHYS_ROW) {
        TL_TRY(append_offsets(buf, col->offsets, from, n));
        int64_t start = col->offsets[from];
        n = col->offsets[from + n] - start;
        from = start;
        if (col->phys == TL_PHYS_BYTES)
            return tl_buf_append(buf, col->data + from, (size_t)n);
    }
    for (int32_t i = 0; i < col->n_children; i++)
        TL_TRY(append_column(buf, col->children[i], from, n));
    return TL_OK;
}

static tl_status append_batch(tl_buf *buf, const tl_batch *batch)
{
    int64_t n = batch->n_rows;
    TL_TRY(tl_buf_append(buf, &n, sizeof n));
    TL_TRY(tl_buf_append_byte(buf, batch->row_kind != NULL));
    if (batch->row_kind != NULL)
        TL_TRY(tl_buf_append(buf, batch->row_kind, (size_t)n));
    TL_TRY(tl_buf_append_byte(buf, batch->seq != NULL));
    if (batch->seq != NULL)
        TL_TRY(tl_buf_append(buf, batch->seq, (size_t)n * sizeof(int64_t)));
    for (int32_t c = 0; c < batch->n_cols; c++)
        TL_TRY(append_column(buf, batch->cols[c], 0, n));
    return TL_OK;
}

tl_status tl_lsm__spill_create(tl_lsm_config *config, tl_lsm__spill **out, tl_error *err)
{
    tl_lsm__spill *spill = tl_calloc(1, sizeof *spill);
    char uuid[37];
    if (spill == NULL)
        return tl_nomem(err, "spill file");
    tl_uuid(uuid);
    spill->fs = tl_fs_ref(config->spill_fs);
    spill->codec = config->spill_codec;
    spill->path = tl_strf("%s/tidelake-spill-%s", config->spill_dir, uuid);
    tl_status status = spill->path == NULL ? tl_nomem(err, "spill file") : TL_OK;
    if (status == TL_OK && spill->codec != TL_CODEC_NONE)
        status = tl_compressor_create(spill->codec, /* level= */ 1, &spill->compressor, err);
    if (status == TL_OK) {
        spill->created = true; /* also if it fails, it may have got as far as making the file */
        status = tl_error_wrap(err, tl_fs_create(spill->fs, spill->path, &spill->file, err), "spill of the write buffer");
    }
    if (status != TL_OK) {
        tl_lsm__spill_free(spill);
        return status;
    }
    *out = spill;
    return TL_OK;
}

static tl_status write_frame(tl_lsm__spill *spill, tl_error *err)
{
    spill->frame.len = 0;
    if (tl_buf_reserve(&spill->frame, FRAME_HEADER_BYTES) != TL_OK)
        return tl_nomem(err, "spill file");
    spill->frame.len = FRAME_HEADER_BYTES;
    uint64_t packed = 0;
    if (spill->compressor != NULL) {
        TL_TRY(tl_compress(spill->compressor, (tl_bytes_view){spill->raw.data, spill->raw.len}, &spill->frame, err));
        packed = spill->frame.len - FRAME_HEADER_BYTES;
    }
    if (packed == 0 || packed >= spill->raw.len) {
        spill->frame.len = FRAME_HEADER_BYTES;
        packed = 0;
        if (tl_buf_append(&spill->frame, spill->raw.data, spill->raw.len) != TL_OK)
            return tl_nomem(err, "spill file");
    }
    tl_write_le64(spill->frame.data, spill->raw.len);
    tl_write_le64(spill->frame.data + 8, packed);
    TL_TRY(tl_file_write(spill->file, spill->frame.data, spill->frame.len, err));
    spill->bytes += (int64_t)spill->frame.len;
    return TL_OK;
}

tl_status tl_lsm__spill_write(tl_lsm__spill *spill, const tl_batch *batch, tl_error *err)
{
    spill->raw.len = 0;
    if (append_batch(&spill->raw, batch) != TL_OK)
        return tl_nomem(err, "spill file");
    return tl_error_wrap(err, write_frame(spill, err), "spill of the write buffer");
}

tl_status tl_lsm__spill_finish(tl_lsm__spill *spill, tl_error *err)
{
    tl_buf_deinit(&spill->raw);
    tl_buf_deinit(&spill->frame);
    tl_compressor_free(spill->compressor);
    spill->compressor = NULL;
    return tl_error_wrap(err, tl_file_close(TL_STEAL(spill->file), err), "spill of the write buffer");
}

int64_t tl_lsm__spill_bytes(const tl_lsm__spill *spill)
{
    return spill->bytes;
}

void tl_lsm__spill_free(tl_lsm__spill *spill)
{
    if (spill == NULL)
        return;
    if (spill->file != NULL)
        (void)tl_file_close(spill->file, /* err= */ NULL); /* it is removed next */
    if (spill->created)
        (void)tl_fs_remove(spill->fs, spill->path, /* err= */ NULL); /* a temporary file: nothing to save */
    tl_compressor_free(spill->compressor);
    tl_buf_deinit(&spill->raw);
    tl_buf_deinit(&spill->frame);
    tl_free(spill->path);
    tl_fs_unref(spill->fs);
    tl_free(spill);
}

/* ---- reading ---- */

typedef struct spill_reader {
    tl_reader base;
    const tl_lsm__spill *spill;
    tl_file *file;
    int64_t pos;
    tl_buf frame;
    tl_buf raw;
} spill_reader;

typedef struct cursor {
    const uint8_t *p;
    const uint8_t *end;
} cursor;

static tl_status take(cursor *c, size_t bytes, const uint8_t **out, tl_error *err)
{
    if ((size_t)(c->end - c->p) < bytes)
        return tl_error_set(err, TL_E_CORRUPT, "spill file: frame ends too early");
    *out = c->p;
    c->p += bytes;
    return TL_OK;
}

/* A copy of the next `count` values of `width` bytes. */
static tl_status take_copy(cursor *c, int64_t count, size_t width, void **out, tl_error *err)
{
    size_t bytes = 0;
    const uint8_t *p = NULL;
    if (count < 0 || !tl_mul_size((size_t)count, width, &bytes))
        return tl_error_set(err, TL_E_CORRUPT, "spill file: impossible length");
    TL_TRY(take(c, bytes, &p, err));
    void *copy = tl_alloc(bytes);
    if (copy == NULL)
        return tl_nomem(err, "spill file");
    memcpy(copy, p, bytes);
    *out = copy;
    return TL_OK;
}

static tl_status take_flag(cursor *c, bool *out, tl_error *err)
{
    const uint8_t *p = NULL;
    TL_TRY(take(c, 1, &p, err));
    *out = *p != 0;
    return TL_OK;
}

static tl_status read_validity(cursor *c, tl_column *col, tl_error *err)
{
    bool has = false;
    TL_TRY(take_flag(c, &has, err));
    if (!has)
        return TL_OK;
    void *bits = NULL;
    TL_TRY(take_copy(c, (int64_t)tl_bitmap_bytes(col->length), 1, &bits, err));
    col->validity = bits;
    col->null_count = col->length - tl_bitmap_count(col->validity, 0, col->length);
    return TL_OK;
}

/* Offsets start at 0 and never fall. */
static tl_status read_offsets(cursor *c, tl_column *col, tl_error *err)
{
    const uint8_t *p = NULL;
    TL_TRY(take(c, (size_t)(col->length + 1) * sizeof(int32_t), &p, err));
    memcpy(col->offsets, p, (size_t)(col->length + 1) * sizeof(int32_t));
    bool ok = col->offsets[0] == 0;
    for (int64_t i = 0; i < col->length; i++)
        ok &= col->offsets[i + 1] >= col->offsets[i];
    return ok ? TL_OK : tl_error_set(err, TL_E_CORRUPT, "spill file: impossible offsets");
}

/* The depth of recursion is that of the type, which the table's schema bounds. */
static tl_status read_column(cursor *c, const tl_type *type, int64_t n, tl_column **out, tl_error *err)
{
    if (n < 0 || n > c->end - c->p)
        return tl_error_set(err, TL_E_CORRUPT, "spill file: frame ends too early");
    TL_TRY(tl_column_alloc(type, n, out, err));
    tl_column *col = *out;
    TL_TRY(read_validity(c, col, err));
    int width = tl_phys_width(col->phys);
    const uint8_t *p = NULL;
    if (width > 0) {
        TL_TRY(take(c, (size_t)n * (size_t)width, &p, err));
        memcpy(col->values, p, (size_t)n * (size_t)width);
        return TL_OK;
    }
    if (col->phys != TL_PHYS_ROW) {
        TL_TRY(read_offsets(c, col, err));
        n = col->offsets[n];
    }
    if (col->phys == TL_PHYS_BYTES) {
        TL_TRY(take(c, (size_t)n, &p, err));
        col->data = tl_alloc((size_t)n);
        if (col->data == NULL)
            return tl_nomem(err, "spill file");
        memcpy(col->data, p, (size_t)n);
        return TL_OK;
    }
    for (int32_t i = 0; i < col->n_children; i++)
        TL_TRY(read_column(c, type->fields[i].type, n, &col->children[i], err));
    return TL_OK;
}

static tl_status read_batch(cursor *c, const tl_type *type, tl_batch **out, tl_error *err)
{
    int64_t n = 0;
    const uint8_t *p = NULL;
    void *copy = NULL;
    bool has = false;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(take(c, sizeof n, &p, err));
    memcpy(&n, p, sizeof n);
    if (n < 0 || n > c->end - c->p)
        return tl_error_set(err, TL_E_CORRUPT, "spill file: impossible number of rows");
    TL_TRY(tl_batch_create(type, n, &batch, err));
    TL_TRY(take_flag(c, &has, err));
    if (has) {
        TL_TRY(take_copy(c, n, 1, &copy, err));
        batch->row_kind = copy;
    }
    TL_TRY(take_flag(c, &has, err));
    if (has) {
        TL_TRY(take_copy(c, n, sizeof(int64_t), &copy, err));
        batch->seq = copy;
    }
    for (int32_t i = 0; i < batch->n_cols; i++)
        TL_TRY(read_column(c, type->fields[i].type, n, &batch->cols[i], err));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static void spill_reader_free(tl_reader *reader)
{
    spill_reader *r = (spill_reader *)reader;
    if (r->file != NULL)
        (void)tl_file_close(r->file, /* err= */ NULL); /* only read from */
    tl_buf_deinit(&r->frame);
    tl_buf_deinit(&r->raw);
    tl_type_unref(r->base.type);
    tl_free(r);
}

static tl_status read_frame(spill_reader *r, cursor *out, tl_error *err)
{
    uint8_t header[FRAME_HEADER_BYTES];
    TL_TRY(tl_file_read_at(r->file, r->pos, header, sizeof header, err));
    uint64_t raw = tl_read_le64(header), packed = tl_read_le64(header + 8), stored = packed == 0 ? raw : packed;
    r->pos += FRAME_HEADER_BYTES;
    if (raw > FRAME_BYTES_MAX || stored > (uint64_t)(r->spill->bytes - r->pos))
        return tl_error_set(err, TL_E_CORRUPT, "spill file: impossible frame at byte %lld", (long long)r->pos);
    r->frame.len = r->raw.len = 0;
    if (tl_buf_reserve(&r->frame, stored + 1) != TL_OK || (packed != 0 && tl_buf_reserve(&r->raw, raw + 1) != TL_OK))
        return tl_nomem(err, "spill file");
    TL_TRY(tl_file_read_at(r->file, r->pos, r->frame.data, stored, err));
    r->pos += (int64_t)stored;
    const uint8_t *data = r->frame.data;
    if (packed != 0) {
        TL_TRY(tl_decompress(r->spill->codec, (tl_bytes_view){r->frame.data, stored}, r->raw.data, raw, err));
        data = r->raw.data;
    }
    *out = (cursor){data, data + raw};
    return TL_OK;
}

static tl_status spill_reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    spill_reader *r = (spill_reader *)reader;
    cursor c;
    if (r->pos >= r->spill->bytes) {
        *out = NULL;
        return TL_OK;
    }
    TL_TRY(tl_error_wrap(err, read_frame(r, &c, err), "spill of the write buffer"));
    return tl_error_wrap(err, read_batch(&c, r->base.type, out, err), "spill of the write buffer");
}

static const tl_reader_ops spill_reader_ops = {spill_reader_next, spill_reader_free};

tl_status tl_lsm__spill_open(tl_lsm__spill *spill, const tl_type *type, tl_reader **out, tl_error *err)
{
    spill_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "spill reader");
    r->base = (tl_reader){&spill_reader_ops, tl_type_ref(type)};
    r->spill = spill;
    tl_status status = tl_error_wrap(err, tl_fs_open_read(spill->fs, spill->path, &r->file, err), "spill of the write buffer");
    if (status != TL_OK) {
        spill_reader_free(&r->base);
        return status;
    }
    *out = &r->base;
    return TL_OK;
}
