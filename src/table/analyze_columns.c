/*
 * Statistics of columns for ANALYZE … FOR COLUMNS: distinct values, NULLs, bounds, lengths. Source: Java: ColStats, and TableStatsUtil, which
 * says what Flink's ANALYZE stores for which type: texts and bytes have lengths and no bounds, bytes and BOOLEAN no more than that.
 *
 * Distinct values are exact up to EXACT_MAX and estimated beyond (HyperLogLog, off by 0.8% on average; Flink: APPROX_COUNT_DISTINCT).
 */
#include "table/analyze_private.h"

#include "base/bits.h"
#include "types/key.h"
#include "types/text.h"
#include "base/utf8.h"

#include <math.h>

#define EXACT_MAX 65536
#define SLOTS (EXACT_MAX * 2) /* a power of two */
#define REGISTER_BITS 14
#define REGISTERS (1 << REGISTER_BITS)

/* Hashes of the values seen: a set of them, then registers. 0 in the set: free. */
struct tl_distinct {
    uint64_t slots[SLOTS];
    int64_t n;
    bool estimates;
    uint8_t registers[REGISTERS];
};

static void note_register(struct tl_distinct *d, uint64_t hash)
{
    uint64_t rest = hash << REGISTER_BITS | (uint64_t)1 << (REGISTER_BITS - 1);
    uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
    uint8_t *reg = &d->registers[hash >> (64 - REGISTER_BITS)];
    *reg = TL_MAX(*reg, rank);
}

static void note_value(struct tl_distinct *d, uint64_t hash)
{
    hash += hash == 0;
    note_register(d, hash);
    if (d->estimates)
        return;
    uint64_t at = hash % SLOTS;
    while (d->slots[at] != 0 && d->slots[at] != hash)
        at = (at + 1) % SLOTS;
    if (d->slots[at] == hash)
        return;
    d->slots[at] = hash;
    d->estimates = ++d->n == EXACT_MAX;
}

/* Flajolet et al. 2007, without the corrections for small numbers, which are exact here, and for 32-bit hashes. */
static int64_t distinct_values(const struct tl_distinct *d)
{
    if (!d->estimates)
        return d->n;
    double sum = 0;
    for (int i = 0; i < REGISTERS; i++)
        sum += ldexp(1, -d->registers[i]);
    double alpha = 0.7213 / (1 + 1.079 / REGISTERS);
    return llround(alpha * REGISTERS * REGISTERS / sum);
}

/* ---- a column ---- */

static bool has_lengths(const tl_type *type)
{
    return tl_type_phys(type) == TL_PHYS_BYTES;
}

static bool is_text(const tl_type *type)
{
    return type->kind == TL_CHAR || type->kind == TL_VARCHAR;
}

bool tl_table_has_column_stats(const tl_type *type)
{
    return type->n_fields == 0 && type->kind != TL_VARIANT && type->kind != TL_BLOB;
}

tl_status tl_column_summary__init(tl_column_summary *s, const tl_field *field, tl_error *err)
{
    *s = (tl_column_summary){.field = field};
    s->distinct = tl_calloc(1, sizeof *s->distinct);
    return s->distinct == NULL ? tl_nomem(err, "statistics") : TL_OK;
}

void tl_column_summary__deinit(tl_column_summary *s)
{
    tl_free(s->distinct);
    tl_column_unref(s->min);
    tl_column_unref(s->max);
}

static void note_bytes(tl_column_summary *s, const tl_column *col)
{
    bool text = is_text(s->field->type);
    for (int64_t i = 0; i < col->length; i++) {
        if (tl_col_is_null(col, i))
            continue;
        tl_bytes_view v = tl_col_bytes(col, i);
        int64_t len = text ? tl_utf8_length(v) : (int64_t)v.len;
        s->sum_len += len;
        s->max_len = TL_MAX(s->max_len, len);
        note_value(s->distinct, tl_xxh64(v.data, v.len, 0));
    }
}

static void note_fixed(tl_column_summary *s, const tl_column *col, int64_t *least, int64_t *greatest)
{
    int width = tl_phys_width(col->phys);
    *least = *greatest = -1;
    for (int64_t i = 0; i < col->length; i++) {
        if (tl_col_is_null(col, i))
            continue;
        note_value(s->distinct, tl_xxh64((const uint8_t *)col->values + i * width, (size_t)width, 0));
        if (*least < 0 || tl_column_compare(col, i, col, *least, false, false) < 0)
            *least = i;
        if (*greatest < 0 || tl_column_compare(col, i, col, *greatest, false, false) > 0)
            *greatest = i;
    }
}

static tl_status keep_bound(tl_column **bound, int sign, const tl_column *col, int64_t i, tl_error *err)
{
    if (i < 0 || (*bound != NULL && tl_column_compare(col, i, *bound, 0, false, false) * sign <= 0))
        return TL_OK;
    tl_column *value;
    TL_TRY(tl_column_repeat(col, i, 1, &value, err));
    tl_column_unref(*bound);
    *bound = value;
    return TL_OK;
}

tl_status tl_column_summary__add(tl_column_summary *s, const tl_column *col, tl_error *err)
{
    int64_t least, greatest;
    s->rows += col->length;
    s->nulls += col->null_count;
    if (has_lengths(s->field->type)) {
        note_bytes(s, col);
        return TL_OK;
    }
    note_fixed(s, col, &least, &greatest);
    TL_TRY(keep_bound(&s->min, -1, col, least, err));
    return keep_bound(&s->max, 1, col, greatest, err);
}

/* ---- text ---- */

static void write_number(tl_json_writer *w, const char *key, int64_t v)
{
    tl_json_key(w, key);
    tl_json_write_int(w, v);
}

/* As the type's serializer in Java writes it: dates and times of day as numbers. */
static tl_status write_bound(tl_json_writer *w, const char *key, const tl_column *value, tl_error *err)
{
    if (value == NULL)
        return TL_OK;
    TL_CLEANUP(tl_buf_deinit) tl_buf text = {0};
    tl_status status;
    if (value->type->kind == TL_DATE || value->type->kind == TL_TIME)
        status = tl_buf_appendf(&text, "%lld", (long long)tl_col_integer(value, 0));
    else
        status = tl_text_append_cast(&text, value, 0);
    if (status == TL_OK)
        status = tl_buf_append_byte(&text, 0);
    if (status != TL_OK)
        return tl_text_append_error(status, err);
    tl_json_key(w, key);
    tl_json_write_str(w, (const char *)text.data);
    return TL_OK;
}

tl_status tl_column_summary__write(const tl_column_summary *s, tl_json_writer *w, tl_error *err)
{
    const tl_type *type = s->field->type;
    int64_t values = s->rows - s->nulls;
    tl_json_key(w, s->field->name);
    tl_json_begin_object(w);
    write_number(w, "colId", s->field->id);
    if (!has_lengths(type) || is_text(type))
        write_number(w, "distinctCount", distinct_values(s->distinct));
    if (type->kind != TL_BOOLEAN) {
        TL_TRY(write_bound(w, "min", s->min, err));
        TL_TRY(write_bound(w, "max", s->max, err));
    }
    write_number(w, "nullCount", s->nulls);
    if (has_lengths(type) && values > 0) {
        write_number(w, "avgLen", s->sum_len / values);
        write_number(w, "maxLen", s->max_len);
    }
    tl_json_end_object(w);
    return TL_OK;
}
