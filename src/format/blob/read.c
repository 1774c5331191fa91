/* Blob files as batches. The index is read when the file is opened; records of a batch are read in one piece and checked one by one. */
#include "format/blob/blob_private.h"
#include "format/passing.h"
#include "types/blob_descriptor.h"

#include <strings.h>

/* Values of one batch, beyond the first: bounds memory where values are large. */
#define BATCH_BYTES_MAX (64 << 20)

typedef struct blob_reader {
    tl_reader base;
    tl_fs *fs; /* ref held */
    tl_file *file;
    char *name;            /* for messages */
    const uint8_t *mapped; /* NULL: the file system cannot */
    int32_t column;        /* the BLOB column of the batches; -1: none is wanted, rows are only counted */
    tl_predicate *predicate;
    int64_t batch_rows;
    bool with_row_numbers;
    char *uri; /* values are descriptors of their bytes in this file; NULL: the bytes themselves */
    tl_bytes index;
    size_t index_at;
    int64_t length;     /* of the record read last from the index: the next is a difference to it */
    int64_t row_number; /* of the next row */
    int64_t offset;     /* of the next record */
    int64_t records_end;
    int64_t *lengths; /* of the records of the batch being read */
    tl_buf bytes;     /* of these records, unless the file is mapped */
} blob_reader;

static tl_status corrupt(const blob_reader *r, const char *what, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "row %lld, byte %lld: %s", (long long)r->row_number, (long long)r->offset, what);
}

/* ---- the index ---- */

/* The length of row `row`, whose record would be at `offset`; the caller has seen that the index goes on. */
static tl_status next_length(blob_reader *r, int64_t row, int64_t offset, int64_t *out, tl_error *err)
{
    uint64_t v = 0;
    size_t n = tl_varint_decode(r->index.data + r->index_at, r->index.data + r->index.len, &v);
    if (n == 0)
        return tl_error_set(err, TL_E_CORRUPT, "row %lld: the index, byte %lld, ends inside a length or holds one that is too large",
                            (long long)row, (long long)(r->records_end + (int64_t)r->index_at));
    /* Lengths may differ by any number in a spoilt file: they add up as unsigned ones. */
    int64_t length = (int64_t)((uint64_t)r->length + (uint64_t)tl_unzigzag64(v));
    if (length != TL_BLOB__NULL && (length < TL_BLOB__FRAME_BYTES || length > r->records_end - offset))
        return tl_error_set(err, TL_E_CORRUPT, "row %lld: a record of %lld bytes at byte %lld does not fit in front of the index",
                            (long long)row, (long long)length, (long long)offset);
    if (length > INT32_MAX)
        return tl_error_set(err, TL_E_UNSUPPORTED, "row %lld: a value of %lld bytes is larger than a column can hold (2 GB)",
                            (long long)row, (long long)length - TL_BLOB__FRAME_BYTES);
    r->index_at += n;
    r->length = *out = length;
    return TL_OK;
}

/* Lengths of the next batch's records and how many bytes they have together. */
static tl_status plan_batch(blob_reader *r, int64_t *rows, int64_t *bytes, tl_error *err)
{
    *rows = *bytes = 0;
    while (r->index_at < r->index.len && *rows < r->batch_rows) {
        int64_t length = 0, before = r->length;
        size_t at = r->index_at;
        TL_TRY(next_length(r, r->row_number + *rows, r->offset + *bytes, &length, err));
        if (*bytes > 0 && length > BATCH_BYTES_MAX - *bytes) { /* the next batch begins with it */
            r->index_at = at;
            r->length = before;
            return TL_OK;
        }
        r->lengths[(*rows)++] = length;
        *bytes += length == TL_BLOB__NULL ? 0 : length;
    }
    return TL_OK;
}

/* ---- records ---- */

static tl_status check_record(const blob_reader *r, const uint8_t *record, int64_t length, tl_error *err)
{
    if ((int32_t)tl_read_le32(record) != TL_BLOB__MAGIC)
        return corrupt(r, "no record begins here", err);
    if ((int64_t)tl_read_le64(record + length - TL_BLOB__TAIL_BYTES) != length)
        return corrupt(r, "the record and the index tell different lengths", err);
    if (tl_read_le32(record + length - 4) != tl_crc32(0, record, (size_t)length - 4))
        return corrupt(r, "the record's checksum is wrong", err);
    return TL_OK;
}

static tl_status records_of(blob_reader *r, int64_t bytes, const uint8_t **out, tl_error *err)
{
    if (r->mapped != NULL) {
        tl_io_count_mapped((size_t)bytes);
        *out = r->mapped + r->offset;
        return TL_OK;
    }
    r->bytes.len = 0;
    if (tl_buf_reserve(&r->bytes, (size_t)bytes) != TL_OK)
        return tl_nomem(err, "blob values");
    *out = r->bytes.data;
    return bytes == 0 ? TL_OK : tl_file_read_at(r->file, r->offset, r->bytes.data, (size_t)bytes, err);
}

/* A column with room for values of so many bytes, none of them NULL, none of them there yet. */
static tl_status empty_values(const blob_reader *r, int64_t rows, size_t bytes, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    TL_TRY(tl_column_alloc(r->base.type->fields[r->column].type, rows, &col, err));
    tl_free(col->data);
    col->data = tl_alloc_aligned(bytes + 64);
    col->validity = tl_alloc(tl_bitmap_bytes(rows));
    if (col->data == NULL || col->validity == NULL)
        return tl_nomem(err, "blob values");
    memset(col->validity, 0xff, tl_bitmap_bytes(rows));
    *out = TL_STEAL(col);
    return TL_OK;
}

/* Row i ends where it begins; true if it is NULL. */
static bool put_null(tl_column *col, int64_t i, int64_t length)
{
    col->offsets[i + 1] = col->offsets[i];
    if (length != TL_BLOB__NULL)
        return false;
    tl_bit_clear(col->validity, i);
    col->null_count++;
    return true;
}

static tl_status make_values(blob_reader *r, int64_t rows, int64_t bytes, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    const uint8_t *record = NULL;
    TL_TRY(records_of(r, bytes, &record, err));
    TL_TRY(empty_values(r, rows, (size_t)bytes, &col, err));
    for (int64_t i = 0; i < rows; i++, r->row_number++) {
        int64_t length = r->lengths[i];
        if (put_null(col, i, length))
            continue;
        TL_TRY(check_record(r, record, length, err));
        int32_t value_bytes = (int32_t)length - TL_BLOB__FRAME_BYTES;
        memcpy(col->data + col->offsets[i], record + TL_BLOB__HEAD_BYTES, (size_t)value_bytes);
        col->offsets[i + 1] += value_bytes;
        record += length;
        r->offset += length;
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

/* ---- descriptors ---- */

/* Where the values lie, instead of the values: no record is read (Java: BlobDescriptor#serialize). */
static tl_status make_descriptors(blob_reader *r, int64_t rows, tl_column **out, tl_error *err)
{
    TL_CLEANUP(tl_column_unrefp) tl_column *col = NULL;
    size_t uri_bytes = strlen(r->uri), each = TL_BLOB_DESCRIPTOR_BYTES + uri_bytes;
    tl_blob_descriptor where = {.uri = {(const uint8_t *)r->uri, uri_bytes}};
    if ((uint64_t)rows * each > INT32_MAX)
        return tl_error_set(err, TL_E_LIMIT, "descriptors of %lld rows are larger than a column can hold", (long long)rows);
    TL_TRY(empty_values(r, rows, (size_t)rows * each, &col, err));
    for (int64_t i = 0; i < rows; i++, r->row_number++) {
        int64_t length = r->lengths[i];
        if (put_null(col, i, length))
            continue;
        where.offset = r->offset + TL_BLOB__HEAD_BYTES;
        where.length = length - TL_BLOB__FRAME_BYTES;
        tl_blob_descriptor_write(&where, col->data + col->offsets[i]);
        col->offsets[i + 1] += (int32_t)each;
        r->offset += length;
    }
    *out = TL_STEAL(col);
    return TL_OK;
}

/* The reference's name of a file: with a scheme. */
static tl_status name_file(blob_reader *r, const char *path, const tl_options *options, tl_error *err)
{
    const char *as_descriptor = options == NULL ? NULL : tl_options_get(options, "blob-as-descriptor");
    if (as_descriptor == NULL || strcasecmp(as_descriptor, "true") != 0)
        return TL_OK;
    r->uri = path[0] == '/' ? tl_strf("file:%s", path) : tl_strdup(path);
    return r->uri == NULL ? tl_nomem(err, "blob reader") : TL_OK;
}

/* ---- batches ---- */

static tl_status fill_batch(tl_reader *reader, tl_batch **out, tl_error *err)
{
    blob_reader *r = (blob_reader *)reader;
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    int64_t rows = 0, bytes = 0, first = r->row_number;
    *out = NULL;
    TL_TRY(plan_batch(r, &rows, &bytes, err));
    if (rows == 0)
        return TL_OK;
    TL_TRY(tl_batch_create(r->base.type, rows, &batch, err));
    if (r->column < 0) {
        r->row_number += rows;
        r->offset += bytes;
    } else {
        TL_TRY(r->uri != NULL ? make_descriptors(r, rows, &batch->cols[r->column], err) : make_values(r, rows, bytes, &batch->cols[r->column], err));
    }
    for (int32_t c = 0; c < batch->n_cols; c++) {
        if (c != r->column)
            TL_TRY(tl_column_nulls(r->base.type->fields[c].type, rows, &batch->cols[c], err));
    }
    if (r->with_row_numbers)
        TL_TRY(tl_batch_number(batch, first, err));
    *out = TL_STEAL(batch);
    return TL_OK;
}

static tl_status reader_next(tl_reader *reader, tl_batch **out, tl_error *err)
{
    blob_reader *r = (blob_reader *)reader;
    return tl_format__next_passing(reader, fill_batch, r->predicate, r->name, out, err);
}

static void reader_free(tl_reader *reader)
{
    blob_reader *r = (blob_reader *)reader;
    tl_predicate_free(r->predicate);
    tl_bytes_deinit(&r->index);
    tl_buf_deinit(&r->bytes);
    tl_free(r->lengths);
    if (r->file != NULL)
        (void)tl_file_close(r->file, NULL); /* was only read */
    if (r->fs != NULL)
        tl_fs_unref(r->fs);
    tl_type_unref(r->base.type);
    tl_free(r->name);
    tl_free(r->uri);
    tl_free(r);
}

static const tl_reader_ops reader_ops = {reader_next, reader_free};

/* ---- open ---- */

static tl_status read_index(blob_reader *r, int64_t size, tl_error *err)
{
    uint8_t end[TL_BLOB__END_BYTES];
    if (size < TL_BLOB__END_BYTES)
        return tl_error_set(err, TL_E_CORRUPT, "%lld bytes are no blob file", (long long)size);
    TL_TRY(tl_file_read_at(r->file, size - TL_BLOB__END_BYTES, end, sizeof end, err));
    if (end[4] != TL_BLOB__VERSION)
        return tl_error_set(err, TL_E_UNSUPPORTED, "version %d of blob files is not supported", (int8_t)end[4]);
    int64_t bytes = (int32_t)tl_read_le32(end);
    if (bytes < 0 || bytes > size - TL_BLOB__END_BYTES)
        return tl_error_set(err, TL_E_CORRUPT, "an index of %lld bytes does not fit in a file of %lld", (long long)bytes, (long long)size);
    r->records_end = size - TL_BLOB__END_BYTES - bytes;
    r->index = (tl_bytes){tl_alloc((size_t)bytes + 1), (size_t)bytes};
    if (r->index.data == NULL)
        return tl_nomem(err, "blob index");
    return bytes == 0 ? TL_OK : tl_file_read_at(r->file, r->records_end, r->index.data, (size_t)bytes, err);
}

static tl_status open_file(blob_reader *r, const char *path, int64_t bytes, tl_error *err)
{
    int64_t mapped = 0;
    TL_TRY(tl_fs_open_read(r->fs, path, &r->file, err));
    if (bytes <= 0)
        TL_TRY(tl_file_size(r->file, &bytes, err));
    TL_TRY(read_index(r, bytes, err));
    r->mapped = tl_file_map(r->file, &mapped);
    if (r->mapped != NULL && mapped < bytes)
        return tl_error_set(err, TL_E_CORRUPT, "ends at byte %lld of %lld", (long long)mapped, (long long)bytes);
    return TL_OK;
}

static tl_status prepare(blob_reader *r, const tl_read_spec *spec, tl_error *err)
{
    r->column = -1;
    for (int32_t c = 0; c < spec->row_type->n_fields && r->column < 0; c++) {
        if (spec->row_type->fields[c].type->kind == TL_BLOB)
            r->column = c;
    }
    r->lengths = tl_alloc((size_t)r->batch_rows * sizeof *r->lengths);
    if (r->lengths == NULL)
        return tl_nomem(err, "blob reader");
    return spec->predicate != NULL && spec->exact ? tl_predicate_dup(spec->predicate, &r->predicate, err) : TL_OK;
}

tl_status tl_blob__open(tl_fs *fs, const char *path, int64_t bytes, const tl_read_spec *spec, tl_reader **out, tl_error *err)
{
    blob_reader *r = tl_calloc(1, sizeof *r);
    if (r == NULL)
        return tl_nomem(err, "blob reader");
    r->base.ops = &reader_ops;
    r->base.type = tl_type_ref(spec->row_type);
    r->fs = tl_fs_ref(fs);
    r->batch_rows = spec->batch_rows > 0 ? spec->batch_rows : TL_BATCH_ROWS;
    r->with_row_numbers = spec->with_row_numbers;
    tl_status status = (r->name = tl_strdup(tl_path_base(path))) == NULL ? tl_nomem(err, "blob reader") : TL_OK;
    if (status == TL_OK)
        status = open_file(r, path, bytes, err);
    if (status == TL_OK)
        status = prepare(r, spec, err);
    if (status == TL_OK)
        status = name_file(r, path, spec->options, err);
    if (status != TL_OK) {
        reader_free(&r->base);
        return tl_error_wrap(err, status, "file '%s'", tl_path_base(path));
    }
    *out = &r->base;
    return TL_OK;
}
