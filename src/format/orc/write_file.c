/*
 * Batches as a new ORC file, in the form that the reference's defaults give: stripes of 64 MiB, row groups of 10000 rows, types
 * with `paimon.id`, texts as words of a dictionary where they repeat. Blocks have 128 KiB: the 256 of the reference save nothing.
 * Java: OrcBulkWriter, OrcTypeUtil; org.apache.orc.impl.WriterImpl.
 */
#include <stdio.h>
#include <strings.h>

#include "base/parse.h"
#include "format/orc/write_private.h"

#define STRIPE_BYTES ((int64_t)64 << 20)
/** ORC_14, the newest: statistics and timestamps can be believed. */
#define WRITER_VERSION 9
#define SOFTWARE "1.9.2"
/** Words of a dictionary to the values they stand for, at most: the reference's default. */
#define WORDS_THRESHOLD 0.8
/** Yes in vain, as a share of values that a bloom filter is asked for: the reference's default, and what makes 36 KB of a row group. */
#define BLOOM_FPP 0.01
#define BLOOM_FPP_MIN 1e-6

typedef struct orc_writer {
    tl_file_writer base;
    tl_fs *fs;
    char *path;
    tl_file *file;
    bool created, finished, with_stats;
    const tl_type *type;
    tl_arena arena;
    tl_compressor *compressor;
    tl_orc_compression compression;
    int64_t stripe_bytes;
    tl_orc_wnode root;
    int32_t n_columns;
    int64_t bytes;      /* of the file so far */
    int64_t rows;       /* of the file */
    int64_t stripe_rows; /* of the open stripe */
    bool in_group;
    tl_buf stripes;  /* StripeInformation as fields of the footer */
    tl_buf metadata; /* StripeStatistics as fields of Metadata */
} orc_writer;

static tl_status put(orc_writer *w, const void *data, size_t bytes, tl_error *err)
{
    TL_TRY(tl_file_write(w->file, data, bytes, err));
    w->bytes += (int64_t)bytes;
    return TL_OK;
}

/* A message in compression blocks. */
static tl_status put_message(orc_writer *w, const tl_buf *message, int64_t *bytes, tl_error *err)
{
    tl_orc_out out = {.compressor = w->compressor};
    tl_status status = tl_orc__out_put(&out, message->data, message->len, err);
    if (status == TL_OK)
        status = tl_orc__out_flush(&out, err);
    *bytes = (int64_t)out.done.len;
    if (status == TL_OK && out.done.len > 0)
        status = put(w, out.done.data, out.done.len, err);
    tl_orc__out_deinit(&out);
    return status;
}

/* ---- stripes ---- */

static tl_status note_stripe(orc_writer *w, const tl_orc_stripe *s, const tl_buf *stats, tl_error *err)
{
    const int64_t fields[] = {s->offset, s->index_bytes, s->data_bytes, s->footer_bytes, s->rows};
    tl_buf message = {0};
    tl_status status = TL_OK;
    for (uint32_t i = 0; i < TL_ARRAY_LEN(fields) && status == TL_OK; i++)
        status = tl_orc__put_uint(&message, i + 1, (uint64_t)fields[i]);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&w->stripes, 3, message.data, message.len);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&w->metadata, 1, stats->data, stats->len);
    tl_buf_deinit(&message);
    return status == TL_OK ? TL_OK : tl_nomem(err, "stripe");
}

static tl_status put_stripe(orc_writer *w, tl_orc_stripe_out *out, tl_error *err)
{
    tl_orc_stripe s = {.offset = w->bytes,
                       .index_bytes = (int64_t)out->index.len,
                       .data_bytes = (int64_t)out->data.len,
                       .rows = w->stripe_rows};
    TL_TRY(put(w, out->index.data, out->index.len, err));
    TL_TRY(put(w, out->data.data, out->data.len, err));
    tl_buf *footer = &out->index_streams;
    if (tl_buf_append(footer, out->data_streams.data, out->data_streams.len) != TL_OK ||
        tl_buf_append(footer, out->encodings.data, out->encodings.len) != TL_OK ||
        tl_orc__put_bytes(footer, 3, "UTC", 3) != TL_OK)
        return tl_nomem(err, "stripe footer");
    TL_TRY(put_message(w, footer, &s.footer_bytes, err));
    return note_stripe(w, &s, &out->stats, err);
}

static tl_status end_group(orc_writer *w, tl_error *err)
{
    if (w->in_group)
        TL_TRY(tl_orc__wnode_end_group(&w->root, err));
    w->in_group = false;
    return TL_OK;
}

static tl_status end_stripe(orc_writer *w, tl_error *err)
{
    TL_TRY(end_group(w, err));
    if (w->stripe_rows == 0)
        return TL_OK;
    tl_orc_stripe_out out = {.compressor = w->compressor};
    tl_status status = tl_orc__wnode_end_stripe(&w->root, &out, err);
    if (status == TL_OK)
        status = put_stripe(w, &out, err);
    tl_buf *const bufs[] = {&out.index, &out.data, &out.index_streams, &out.data_streams, &out.encodings, &out.stats};
    for (size_t i = 0; i < TL_ARRAY_LEN(bufs); i++)
        tl_buf_deinit(bufs[i]);
    w->stripe_rows = 0;
    return status;
}

/* ---- rows ---- */

/* Rows of one group. The root has no column of its own: its children are the batch's. */
static tl_status write_piece(orc_writer *w, const tl_batch *batch, int64_t from, int64_t n, tl_error *err)
{
    if (!w->in_group)
        TL_TRY(tl_orc__wnode_start_group(&w->root, err));
    w->in_group = true;
    for (int32_t c = 0; c < batch->n_cols; c++) {
        tl_status status = tl_orc__wnode_write(&w->root.children[c], batch->cols[c], from, n, err);
        TL_TRY(tl_error_wrap(err, status, "column '%s'", w->type->fields[c].name));
    }
    w->root.group.count += n;
    w->rows += n;
    w->stripe_rows += n;
    if (w->stripe_rows % TL_ORC_STRIDE == 0)
        TL_TRY(end_group(w, err));
    return tl_orc__wnode_bytes(&w->root) >= w->stripe_bytes ? end_stripe(w, err) : TL_OK;
}

static tl_status write_rows(orc_writer *w, const tl_batch *batch, tl_error *err)
{
    if (batch->n_cols != w->type->n_fields)
        return tl_error_set(err, TL_E_INTERNAL, "a batch of %d columns for a file of %d", batch->n_cols, w->type->n_fields);
    TL_CLEANUP(tl_batch_freep) tl_batch *fitting = NULL;
    TL_TRY(tl_batch_fit_decimals(batch, &fitting, err));
    batch = fitting != NULL ? fitting : batch;
    for (int64_t from = 0, n; from < batch->n_rows; from += n) {
        n = TL_MIN(batch->n_rows - from, TL_ORC_STRIDE - w->stripe_rows % TL_ORC_STRIDE);
        TL_TRY(write_piece(w, batch, from, n, err));
    }
    return TL_OK;
}

static tl_status writer_write(tl_file_writer *writer, const tl_batch *batch, tl_error *err)
{
    orc_writer *w = (orc_writer *)writer;
    return tl_error_wrap(err, write_rows(w, batch, err), "ORC file '%s'", w->path);
}

static int64_t writer_bytes_estimate(tl_file_writer *writer)
{
    const orc_writer *w = (const orc_writer *)writer;
    return w->bytes + tl_orc__wnode_bytes(&w->root);
}

static int64_t writer_memory_bytes(tl_file_writer *writer)
{
    return tl_orc__wnode_bytes(&((const orc_writer *)writer)->root);
}

/* ---- footer ---- */

static tl_status put_attribute(tl_buf *message, int32_t id)
{
    char text[16];
    tl_buf pair = {0};
    snprintf(text, sizeof text, "%d", id);
    tl_status status = tl_orc__put_bytes(&pair, 1, "paimon.id", 9);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&pair, 2, text, strlen(text));
    if (status == TL_OK)
        status = tl_orc__put_bytes(message, 7, pair.data, pair.len);
    tl_buf_deinit(&pair);
    return status;
}

static tl_status put_children(const tl_orc_wnode *node, tl_buf *message)
{
    tl_buf packed = {0};
    uint8_t number[10];
    tl_status status = TL_OK;
    for (int32_t i = 0; i < node->n_children && status == TL_OK; i++)
        status = tl_buf_append(&packed, number, tl_varint_encode((uint64_t)node->children[i].column, number));
    if (status == TL_OK && packed.len > 0)
        status = tl_orc__put_bytes(message, 2, packed.data, packed.len);
    for (int32_t i = 0; i < node->n_children && status == TL_OK && node->kind == TL_ORC_STRUCT; i++)
        status = tl_orc__put_bytes(message, 3, node->type->fields[i].name, strlen(node->type->fields[i].name));
    tl_buf_deinit(&packed);
    return status;
}

static tl_status put_type(const tl_orc_wnode *node, tl_buf *footer)
{
    tl_buf message = {0};
    tl_status status = tl_orc__put_uint(&message, 1, node->kind);
    if (status == TL_OK)
        status = put_children(node, &message);
    if (status == TL_OK && (node->kind == TL_ORC_CHAR || node->kind == TL_ORC_VARCHAR))
        status = tl_orc__put_uint(&message, 4, (uint64_t)node->type->length);
    if (status == TL_OK && node->kind == TL_ORC_DECIMAL) {
        status = tl_orc__put_uint(&message, 5, (uint64_t)node->type->precision);
        if (status == TL_OK)
            status = tl_orc__put_uint(&message, 6, (uint64_t)node->type->scale);
    }
    if (status == TL_OK && node->id >= 0)
        status = put_attribute(&message, node->id);
    if (status == TL_OK)
        status = tl_orc__put_bytes(footer, 4, message.data, message.len);
    tl_buf_deinit(&message);
    for (int32_t i = 0; i < node->n_children && status == TL_OK; i++)
        status = put_type(&node->children[i], footer);
    return status;
}

static tl_status put_file_stats(const tl_orc_wnode *node, tl_buf *footer)
{
    tl_buf message = {0};
    tl_status status = tl_orc__bounds_message(&node->file, node->kind, node->type, &message);
    if (status == TL_OK)
        status = tl_orc__put_bytes(footer, 7, message.data, message.len);
    tl_buf_deinit(&message);
    for (int32_t i = 0; i < node->n_children && status == TL_OK; i++)
        status = put_file_stats(&node->children[i], footer);
    return status;
}

static tl_status make_footer(const orc_writer *w, tl_buf *footer)
{
    TL_TRY(tl_orc__put_uint(footer, 1, TL_ORC_MAGIC_BYTES));
    TL_TRY(tl_orc__put_uint(footer, 2, (uint64_t)w->bytes));
    TL_TRY(tl_buf_append(footer, w->stripes.data, w->stripes.len));
    TL_TRY(put_type(&w->root, footer));
    TL_TRY(tl_orc__put_uint(footer, 6, (uint64_t)w->rows));
    TL_TRY(put_file_stats(&w->root, footer));
    TL_TRY(tl_orc__put_uint(footer, 8, TL_ORC_STRIDE));
    TL_TRY(tl_orc__put_uint(footer, 9, 0)); /* the writer's kind: ORC Java, whose form this is */
    TL_TRY(tl_orc__put_uint(footer, 11, 1)); /* Julian and Gregorian, so that the reference's reader leaves days as they are */
    return tl_orc__put_bytes(footer, 12, SOFTWARE, strlen(SOFTWARE));
}

static tl_status put_postscript(orc_writer *w, int64_t footer_bytes, int64_t metadata_bytes, tl_error *err)
{
    tl_buf ps = {0};
    static const uint8_t version[] = {0, 12};
    tl_status status = tl_orc__put_uint(&ps, 1, (uint64_t)footer_bytes);
    if (status == TL_OK)
        status = tl_orc__put_uint(&ps, 2, w->compression);
    if (status == TL_OK && w->compression != TL_ORC_NONE)
        status = tl_orc__put_uint(&ps, 3, TL_ORC_BLOCK_BYTES);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&ps, 4, version, sizeof version);
    if (status == TL_OK)
        status = tl_orc__put_uint(&ps, 5, (uint64_t)metadata_bytes);
    if (status == TL_OK)
        status = tl_orc__put_uint(&ps, 6, WRITER_VERSION);
    if (status == TL_OK)
        status = tl_orc__put_bytes(&ps, 8000, TL_ORC_MAGIC, TL_ORC_MAGIC_BYTES);
    if (status == TL_OK)
        status = tl_buf_append_byte(&ps, (uint8_t)ps.len);
    status = status == TL_OK ? put(w, ps.data, ps.len, err) : tl_nomem(err, "postscript");
    tl_buf_deinit(&ps);
    return status;
}

static tl_status finish_file(orc_writer *w, tl_error *err)
{
    int64_t metadata_bytes, footer_bytes;
    tl_buf footer = {0};
    TL_TRY(end_stripe(w, err));
    tl_status status = make_footer(w, &footer) == TL_OK ? TL_OK : tl_nomem(err, "footer");
    if (status == TL_OK)
        status = put_message(w, &w->metadata, &metadata_bytes, err);
    if (status == TL_OK)
        status = put_message(w, &footer, &footer_bytes, err);
    tl_buf_deinit(&footer);
    TL_TRY(status);
    TL_TRY(put_postscript(w, footer_bytes, metadata_bytes, err));
    TL_TRY(tl_file_finish(TL_STEAL(w->file), err));
    w->finished = true;
    return TL_OK;
}

static tl_status make_result(const orc_writer *w, tl_write_result *out, tl_error *err)
{
    tl_write_result result = {.bytes = w->bytes, .rows = w->rows};
    if (!w->with_stats) {
        *out = result;
        return TL_OK;
    }
    result.stats = tl_calloc((size_t)w->type->n_fields + 1, sizeof *result.stats);
    if (result.stats == NULL)
        return tl_nomem(err, "file statistics");
    tl_status status = TL_OK;
    for (; result.n_stats < w->type->n_fields && status == TL_OK; result.n_stats++) {
        const tl_orc_wnode *node = &w->root.children[result.n_stats];
        status = tl_orc__bounds_result(&node->file, node->type, w->rows, &result.stats[result.n_stats], err);
    }
    if (status != TL_OK)
        tl_write_result_deinit(&result);
    else
        *out = result;
    return status;
}

static tl_status writer_finish(tl_file_writer *writer, tl_write_result *out, tl_error *err)
{
    orc_writer *w = (orc_writer *)writer;
    tl_status status = finish_file(w, err);
    if (status == TL_OK)
        status = make_result(w, out, err);
    return tl_error_wrap(err, status, "ORC file '%s'", w->path);
}

static void writer_free(tl_file_writer *writer)
{
    orc_writer *w = (orc_writer *)writer;
    if (w == NULL)
        return;
    if (w->file != NULL)
        (void)tl_file_close(w->file, NULL); /* thrown away */
    if (w->created && !w->finished)
        (void)tl_fs_remove(w->fs, w->path, NULL); /* best effort: an orphan is harmless */
    tl_orc__wnode_deinit(&w->root);
    tl_compressor_free(w->compressor);
    tl_buf_deinit(&w->stripes);
    tl_buf_deinit(&w->metadata);
    tl_arena_deinit(&w->arena);
    tl_type_unref(w->type);
    tl_fs_unref(w->fs);
    tl_free(w->path);
    tl_free(w);
}

/* ---- create ---- */

static tl_status choose_compression(orc_writer *w, const tl_write_spec *spec, tl_error *err)
{
    static const struct {
        const char *name;
        tl_orc_compression compression;
        tl_codec codec;
    } known[] = {{"zstd", TL_ORC_ZSTD, TL_CODEC_ZSTD},       {"snappy", TL_ORC_SNAPPY, TL_CODEC_SNAPPY},
                 {"lz4", TL_ORC_LZ4, TL_CODEC_LZ4_RAW},      {"zlib", TL_ORC_ZLIB, TL_CODEC_DEFLATE},
                 {"lzo", TL_ORC_LZO, TL_CODEC_LZO},          {"none", TL_ORC_NONE, TL_CODEC_NONE}};
    const char *own = spec->options == NULL ? NULL : tl_options_get(spec->options, "orc.compress");
    const char *name = own != NULL ? own : spec->compression != NULL ? spec->compression : "zstd";
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (strcasecmp(name, known[i].name) != 0)
            continue;
        w->compression = known[i].compression;
        return w->compression == TL_ORC_NONE ? TL_OK
                                             : tl_compressor_create(known[i].codec, spec->compression_level, &w->compressor, err);
    }
    return tl_error_set(err, TL_E_UNSUPPORTED, "compression '%s' is not supported for ORC", name);
}

static tl_status read_options(orc_writer *w, const tl_options *options, tl_error *err)
{
    const char *size = options == NULL ? NULL : tl_options_get(options, "orc.stripe.size");
    if (size == NULL && options != NULL)
        size = tl_options_get(options, "file.block-size");
    w->stripe_bytes = STRIPE_BYTES;
    if (size != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_memory_bytes(size, &w->stripe_bytes, err), "stripe size"));
    return TL_OK;
}

/* As the tree's init does it, but that the ids of the root's children are the caller's. */
static tl_status init_columns(orc_writer *w, const tl_write_spec *spec, tl_error *err)
{
    int32_t n = spec->row_type->n_fields;
    w->root = (tl_orc_wnode){.type = w->type, .kind = TL_ORC_STRUCT, .id = -1, .column = w->n_columns++};
    w->root.present.octets.out.compressor = w->compressor;
    if ((w->root.children = tl_arena_calloc(&w->arena, (size_t)n + 1, sizeof *w->root.children)) == NULL)
        return tl_nomem(err, "ORC writer");
    for (int32_t i = 0; i < n; i++) {
        const tl_field *field = &w->type->fields[i];
        int32_t id = spec->field_ids == NULL ? field->id : spec->field_ids[i];
        w->root.n_children = i + 1;
        tl_status status = tl_orc__wnode_init(&w->root.children[i], field->type, id, id, 0, &w->n_columns, w->compressor,
                                              &w->arena, err);
        TL_TRY(tl_error_wrap(err, status, "column '%s'", field->name));
    }
    return TL_OK;
}

/* Java: OrcConf DICTIONARY_KEY_SIZE_THRESHOLD, DIRECT_ENCODING_COLUMNS. */
static tl_status choose_words(orc_writer *w, const tl_options *options, tl_error *err)
{
    const char *share = options == NULL ? NULL : tl_options_get(options, "orc.dictionary.key.threshold");
    const char *direct = options == NULL ? NULL : tl_options_get(options, "orc.column.encoding.direct");
    double threshold = WORDS_THRESHOLD;
    if (share != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_double(share, &threshold, err), "orc.dictionary.key.threshold"));
    for (int32_t i = 0; i < w->root.n_children; i++)
        tl_orc__wnode_set_words(&w->root.children[i], tl_list_has(direct, w->type->fields[i].name) ? 0 : threshold);
    return TL_OK;
}

/* Java: OrcConf BLOOM_FILTER_COLUMNS, BLOOM_FILTER_FPP. */
static tl_status choose_blooms(orc_writer *w, const tl_options *options, tl_error *err)
{
    const char *names = options == NULL ? NULL : tl_options_get(options, "orc.bloom.filter.columns");
    const char *share = options == NULL ? NULL : tl_options_get(options, "orc.bloom.filter.fpp");
    double fpp = BLOOM_FPP;
    if (share != NULL)
        TL_TRY(tl_error_wrap(err, tl_parse_double(share, &fpp, err), "orc.bloom.filter.fpp"));
    if (!(fpp >= BLOOM_FPP_MIN && fpp < 1))
        return tl_error_set(err, TL_E_INVALID, "orc.bloom.filter.fpp is %s: it must lie between %g and 1", share, BLOOM_FPP_MIN);
    for (int32_t i = 0; i < w->root.n_children; i++)
        if (tl_list_has(names, w->type->fields[i].name))
            tl_orc__wnode_set_bloom(&w->root.children[i], fpp);
    return TL_OK;
}

static tl_status open_writer(orc_writer *w, const tl_write_spec *spec, tl_error *err)
{
    TL_TRY(choose_compression(w, spec, err));
    TL_TRY(read_options(w, spec->options, err));
    TL_TRY(init_columns(w, spec, err));
    TL_TRY(choose_words(w, spec->options, err));
    TL_TRY(choose_blooms(w, spec->options, err));
    TL_TRY(tl_fs_create(w->fs, w->path, &w->file, err));
    w->created = true;
    return put(w, TL_ORC_MAGIC, TL_ORC_MAGIC_BYTES, err);
}

tl_status tl_orc__create(tl_fs *fs, const char *path, const tl_write_spec *spec, tl_file_writer **out, tl_error *err)
{
    static const tl_file_writer_ops ops = {.write = writer_write,
                                           .bytes_estimate = writer_bytes_estimate,
                                           .memory_bytes = writer_memory_bytes,
                                           .finish = writer_finish,
                                           .free = writer_free};
    orc_writer *w = tl_calloc(1, sizeof *w);
    if (w == NULL)
        return tl_nomem(err, "ORC writer");
    w->base.ops = &ops;
    w->fs = tl_fs_ref(fs);
    w->type = tl_type_ref(spec->row_type);
    w->with_stats = spec->with_stats;
    tl_status status = (w->path = tl_strdup(path)) == NULL ? tl_nomem(err, "ORC writer") : open_writer(w, spec, err);
    if (status != TL_OK) {
        writer_free(&w->base);
        return tl_error_wrap(err, status, "ORC file '%s'", path);
    }
    *out = &w->base;
    return TL_OK;
}
