/* Messages of an ORC file's metadata into structs. Lists grow with the bytes that are there; unknown fields are skipped. */
#include "base/bits.h"
#include "format/orc/orc_private.h"

static tl_status corrupt(const char *what, tl_error *err)
{
    return tl_error_set(err, TL_E_CORRUPT, "malformed %s", what);
}

/* How often a field comes: lists are allocated once. */
static int32_t count_field(tl_bytes_view message, uint32_t field)
{
    int32_t n = 0;
    tl_orc_pb pb = tl_orc__pb(message);
    while (tl_orc__pb_next(&pb))
        n += pb.field == field;
    return n;
}

static void *list(tl_arena *arena, int32_t n, size_t bytes)
{
    return tl_arena_calloc(arena, (size_t)n + 1, bytes);
}

/* ---- postscript ---- */

tl_status tl_orc__read_postscript(tl_bytes_view bytes, tl_orc_meta *out, tl_error *err)
{
    tl_orc_pb pb = tl_orc__pb(bytes);
    uint64_t footer = 0, compression = 0, block = 256 << 10, metadata = 0, version = 0, number;
    int32_t n_versions = 0;
    bool has_magic = false;
    while (tl_orc__pb_next(&pb)) {
        switch (pb.field) {
        case 1:
            footer = pb.v;
            break;
        case 2:
            compression = pb.v;
            break;
        case 3:
            block = pb.v;
            break;
        case 4:
            while (tl_orc__pb_packed(&pb, &number))
                if (n_versions < 2)
                    out->version[n_versions++] = (uint32_t)number;
            break;
        case 5:
            metadata = pb.v;
            break;
        case 6:
            version = pb.v;
            break;
        case 8000:
            has_magic = pb.bytes.len == TL_ORC_MAGIC_BYTES && memcmp(pb.bytes.data, TL_ORC_MAGIC, TL_ORC_MAGIC_BYTES) == 0;
            break;
        }
    }
    if (pb.is_bad)
        return corrupt("postscript", err);
    if (compression > TL_ORC_ZSTD)
        return tl_error_set(err, TL_E_UNSUPPORTED, "ORC compression of an unknown kind is not supported");
    if (footer > INT64_MAX / 4 || metadata > INT64_MAX / 4 || block > 1 << 23)
        return corrupt("postscript: sizes are too large", err);
    out->has_magic = has_magic;
    out->compression = (tl_orc_compression)compression;
    out->footer_bytes = (int64_t)footer;
    out->metadata_bytes = (int64_t)metadata;
    out->block_bytes = (int64_t)block;
    out->writer_version = (uint32_t)TL_MIN(version, UINT32_MAX);
    return TL_OK;
}

/* ---- types ---- */

static tl_status read_children(tl_bytes_view message, tl_arena *arena, tl_orc_type *out, tl_error *err)
{
    int32_t n = 0, n_names = count_field(message, 3), i = 0;
    uint64_t number;
    tl_orc_pb pb = tl_orc__pb(message);
    while (tl_orc__pb_next(&pb))
        while (pb.field == 2 && tl_orc__pb_packed(&pb, &number))
            n++;
    out->children = list(arena, n, sizeof *out->children);
    out->names = list(arena, TL_MAX(n, n_names), sizeof *out->names);
    if (out->children == NULL || out->names == NULL)
        return tl_nomem(err, "types of a file");
    pb = tl_orc__pb(message);
    while (tl_orc__pb_next(&pb)) {
        while (pb.field == 2 && tl_orc__pb_packed(&pb, &number))
            out->children[out->n_children++] = number > INT32_MAX ? -1 : (int32_t)number;
        if (pb.field == 3 && (out->names[i++] = tl_arena_strndup(arena, (const char *)pb.bytes.data, pb.bytes.len)) == NULL)
            return tl_nomem(err, "types of a file");
    }
    if (out->kind == TL_ORC_STRUCT && n != n_names)
        return corrupt("type: a struct with fields without names", err);
    return TL_OK;
}

static tl_status read_type(tl_bytes_view message, tl_arena *arena, tl_orc_type *out, tl_error *err)
{
    tl_orc_pb pb = tl_orc__pb(message);
    *out = (tl_orc_type){.precision = 38, .scale = 18};
    while (tl_orc__pb_next(&pb)) {
        if (pb.field == 1)
            out->kind = (tl_orc_kind)TL_MIN(pb.v, TL_ORC_KIND_MAX);
        else if (pb.field == 4)
            out->length = (uint32_t)TL_MIN(pb.v, UINT32_MAX);
        else if (pb.field == 5)
            out->precision = (int32_t)TL_MIN(pb.v, 255);
        else if (pb.field == 6)
            out->scale = (int32_t)TL_MIN(pb.v, 255);
    }
    if (pb.is_bad)
        return corrupt("type", err);
    return read_children(message, arena, out, err);
}

/* Children come after their parents and have one: so the types are a tree, and walking it ends. */
static tl_status check_types(const tl_orc_meta *meta, tl_arena *arena, tl_error *err)
{
    if (meta->n_types == 0)
        return corrupt("footer: no types", err);
    int32_t *depth = list(arena, meta->n_types, sizeof *depth);
    if (depth == NULL)
        return tl_nomem(err, "types of a file");
    for (int32_t i = 0; i < meta->n_types; i++) {
        const tl_orc_type *type = &meta->types[i];
        int32_t want = type->kind == TL_ORC_LIST ? 1 : type->kind == TL_ORC_MAP ? 2 : -1;
        bool is_nested = want > 0 || type->kind == TL_ORC_STRUCT || type->kind == TL_ORC_UNION;
        if ((want > 0 && type->n_children != want) || (!is_nested && type->n_children != 0))
            return corrupt("type: wrong number of children", err);
        if (depth[i] >= TL_TYPE_DEPTH_MAX)
            return tl_error_set(err, TL_E_LIMIT, "types are nested deeper than %d levels", TL_TYPE_DEPTH_MAX);
        for (int32_t c = 0; c < type->n_children; c++) {
            int32_t child = type->children[c];
            if (child <= i || child >= meta->n_types || depth[child] != 0)
                return corrupt("type: children are no tree", err);
            depth[child] = depth[i] + 1;
        }
    }
    return TL_OK;
}

/* ---- footer ---- */

static tl_status read_stripe(tl_bytes_view message, tl_orc_stripe *out, tl_error *err)
{
    int64_t *const fields[] = {&out->offset, &out->index_bytes, &out->data_bytes, &out->footer_bytes, &out->rows};
    tl_orc_pb pb = tl_orc__pb(message);
    while (tl_orc__pb_next(&pb)) {
        if (pb.field > TL_ARRAY_LEN(fields))
            continue;
        if (pb.v > INT64_MAX / 8)
            return corrupt("stripe: sizes are too large", err);
        *fields[pb.field - 1] = (int64_t)pb.v;
    }
    return pb.is_bad ? corrupt("stripe", err) : TL_OK;
}

static tl_status read_lists(tl_bytes_view bytes, tl_arena *arena, tl_orc_meta *out, tl_error *err)
{
    out->stripes = list(arena, count_field(bytes, 3), sizeof *out->stripes);
    out->types = list(arena, count_field(bytes, 4), sizeof *out->types);
    out->stats = list(arena, count_field(bytes, 7), sizeof *out->stats);
    if (out->stripes == NULL || out->types == NULL || out->stats == NULL)
        return tl_nomem(err, "footer");
    tl_orc_pb pb = tl_orc__pb(bytes);
    while (tl_orc__pb_next(&pb)) {
        if (pb.field == 3)
            TL_TRY(read_stripe(pb.bytes, &out->stripes[out->n_stripes++], err));
        else if (pb.field == 4)
            TL_TRY(read_type(pb.bytes, arena, &out->types[out->n_types++], err));
        else if (pb.field == 7)
            out->stats[out->n_stats++] = pb.bytes;
    }
    return check_types(out, arena, err);
}

tl_status tl_orc__read_footer(tl_bytes_view bytes, tl_arena *arena, tl_orc_meta *out, tl_error *err)
{
    tl_orc_pb pb = tl_orc__pb(bytes);
    uint64_t rows = 0, stride = 0;
    bool has_rows = false; /* old writers may leave it out */
    while (tl_orc__pb_next(&pb)) {
        has_rows |= pb.field == 6;
        if (pb.field == 6)
            rows = pb.v;
        else if (pb.field == 8)
            stride = pb.v;
        else if (pb.field == 10)
            return tl_error_set(err, TL_E_UNSUPPORTED, "encrypted ORC files are not supported");
    }
    if (pb.is_bad || rows > INT64_MAX / 2)
        return corrupt("footer", err);
    out->stride = stride > INT32_MAX ? 0 : (int64_t)stride;
    TL_TRY(read_lists(bytes, arena, out, err));
    int64_t sum = 0;
    for (int32_t i = 0; i < out->n_stripes; i++) {
        if (__builtin_add_overflow(sum, out->stripes[i].rows, &sum))
            return corrupt("footer: too many rows", err);
    }
    if (has_rows && (uint64_t)sum != rows)
        return tl_error_set(err, TL_E_CORRUPT, "the stripes have %lld rows, the footer says %llu", (long long)sum,
                            (unsigned long long)rows);
    out->rows = sum;
    return TL_OK;
}

tl_status tl_orc__read_metadata(tl_bytes_view bytes, tl_arena *arena, tl_orc_meta *out, tl_error *err)
{
    if ((out->stripe_stats = list(arena, count_field(bytes, 1), sizeof *out->stripe_stats)) == NULL)
        return tl_nomem(err, "metadata");
    tl_orc_pb pb = tl_orc__pb(bytes);
    while (tl_orc__pb_next(&pb))
        if (pb.field == 1)
            out->stripe_stats[out->n_stripe_stats++] = pb.bytes;
    return pb.is_bad ? corrupt("metadata", err) : TL_OK;
}

/* ---- stripe footer ---- */

static tl_status read_stream(tl_bytes_view message, tl_orc_stream *out, int64_t *offset, int64_t end, tl_error *err)
{
    tl_orc_pb pb = tl_orc__pb(message);
    uint64_t bytes = 0;
    while (tl_orc__pb_next(&pb)) {
        if (pb.field == 1)
            out->kind = pb.v;
        else if (pb.field == 2)
            out->column = pb.v;
        else if (pb.field == 3)
            bytes = pb.v;
    }
    if (pb.is_bad || bytes > (uint64_t)(end - *offset))
        return corrupt("stripe footer: a stream lies outside of its stripe", err);
    out->offset = *offset;
    out->bytes = (int64_t)bytes;
    *offset += (int64_t)bytes;
    return TL_OK;
}

tl_status tl_orc__read_stripe_footer(tl_bytes_view bytes, const tl_orc_stripe *stripe, tl_arena *arena, tl_orc_stripe_footer *out,
                                     tl_error *err)
{
    *out = (tl_orc_stripe_footer){0};
    out->streams = list(arena, count_field(bytes, 1), sizeof *out->streams);
    out->encodings = list(arena, count_field(bytes, 2), sizeof *out->encodings);
    if (out->streams == NULL || out->encodings == NULL)
        return tl_nomem(err, "stripe footer");
    int64_t offset = stripe->offset, end = stripe->offset + stripe->index_bytes + stripe->data_bytes;
    tl_orc_pb pb = tl_orc__pb(bytes);
    while (tl_orc__pb_next(&pb)) {
        if (pb.field == 1)
            TL_TRY(read_stream(pb.bytes, &out->streams[out->n_streams++], &offset, end, err));
        else if (pb.field == 3)
            out->timezone = pb.bytes;
        if (pb.field != 2)
            continue;
        tl_orc_pb encoding = tl_orc__pb(pb.bytes);
        while (tl_orc__pb_next(&encoding)) {
            if (encoding.field == 1)
                out->encodings[out->n_encodings].kind = encoding.v;
            else if (encoding.field == 2)
                out->encodings[out->n_encodings].dictionary_size = encoding.v;
        }
        pb.is_bad |= encoding.is_bad;
        out->n_encodings++;
    }
    return pb.is_bad ? corrupt("stripe footer", err) : TL_OK;
}

/* ---- statistics ---- */

/* Bounds of a kind of statistics: fields 1 and 2 (or others) as zigzag numbers, doubles or bytes. */
typedef struct bounds {
    bool has_min, has_max;
    uint64_t min, max;
    tl_bytes_view min_bytes, max_bytes;
    int32_t min_nanos, max_nanos;
} bounds;

static bool read_bounds(tl_bytes_view message, uint32_t min_field, uint32_t max_field, bounds *out)
{
    tl_orc_pb pb = tl_orc__pb(message);
    *out = (bounds){.max_nanos = 999999}; /* what a writer did not tell may be anything */
    while (tl_orc__pb_next(&pb)) {
        if (pb.field == min_field) {
            out->has_min = true;
            out->min = pb.v;
            out->min_bytes = pb.bytes;
        } else if (pb.field == max_field) {
            out->has_max = true;
            out->max = pb.v;
            out->max_bytes = pb.bytes;
        } else if (pb.field == 5) { /* TIMESTAMP only: one more than the nanoseconds */
            out->min_nanos = pb.v >= 1 && pb.v <= 1000000 ? (int32_t)pb.v - 1 : 0;
        } else if (pb.field == 6) {
            out->max_nanos = pb.v >= 1 && pb.v <= 1000000 ? (int32_t)pb.v - 1 : 999999;
        }
    }
    return !pb.is_bad;
}

static void set_ints(const bounds *b, tl_orc_stats *out)
{
    out->has_ints = b->has_min && b->has_max;
    out->min = tl_unzigzag64(b->min);
    out->max = tl_unzigzag64(b->max);
}

static void set_texts(const bounds *b, tl_orc_stats *out)
{
    out->has_texts = b->has_min && b->has_max;
    out->min_text = b->min_bytes;
    out->max_text = b->max_bytes;
}

/* A NaN among the values may have spoiled either bound. */
static void set_doubles(const bounds *b, tl_orc_stats *out)
{
    memcpy(&out->min_double, &b->min, sizeof b->min);
    memcpy(&out->max_double, &b->max, sizeof b->max);
    out->has_doubles = b->has_min && b->has_max && out->min_double <= out->max_double;
}

static bool read_true_count(tl_bytes_view message, tl_orc_stats *out)
{
    tl_orc_pb pb = tl_orc__pb(message);
    while (tl_orc__pb_next(&pb)) {
        uint64_t n;
        if (pb.field == 1 && tl_orc__pb_packed(&pb, &n)) {
            out->has_true_count = n <= INT64_MAX;
            out->true_count = (int64_t)n;
        }
    }
    return !pb.is_bad;
}

bool tl_orc__read_stats(tl_bytes_view message, uint32_t writer_version, tl_orc_stats *out)
{
    tl_orc_pb pb = tl_orc__pb(message);
    bounds b;
    bool ok = true;
    *out = (tl_orc_stats){.has_null = -1};
    while (ok && tl_orc__pb_next(&pb)) {
        switch (pb.field) {
        case 1:
            out->has_count = pb.v <= INT64_MAX;
            out->count = (int64_t)pb.v;
            break;
        case 2: /* integers */
        case 7: /* dates */
            ok = read_bounds(pb.bytes, 1, 2, &b);
            set_ints(&b, out);
            break;
        case 3:
            ok = read_bounds(pb.bytes, 1, 2, &b);
            set_doubles(&b, out);
            break;
        case 4:
            ok = read_bounds(pb.bytes, 1, 2, &b);
            if (writer_version >= TL_ORC_VERSION_STRINGS)
                set_texts(&b, out);
            break;
        case 5:
            ok = read_true_count(pb.bytes, out);
            break;
        case 6:
            ok = read_bounds(pb.bytes, 1, 2, &b);
            set_texts(&b, out);
            break;
        case 9:
            ok = read_bounds(pb.bytes, 3, 4, &b);
            if (writer_version >= TL_ORC_VERSION_TIMESTAMPS)
                set_ints(&b, out);
            out->min_nanos = b.min_nanos;
            out->max_nanos = b.max_nanos == 0 ? 999999 : b.max_nanos;
            break;
        case 10:
            out->has_null = pb.v != 0;
            break;
        }
    }
    return ok && !pb.is_bad;
}
