/*
 * The delta partitions between an anchor and the partition that is read. The reference does not look which there are: it counts through the
 * time between the two, by days where the chain is one column and by hours where it is several, and takes the partitions that are called so.
 * A partition of another time, or one that is called differently, is left out. Java: ChainTableUtils#getDeltaPartitions, #calPartValues.
 */
#include <ctype.h>

#include "base/parse.h"

#include "table/chain.h"
#include "types/java_format.h"
#include "types/key.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS (24 * HOUR_MS)
#define MAX_VARIABLES 32 /* of a pattern: no table has as many partition columns */
#define MAX_TEXT 512     /* bytes of a time */

int32_t tl_chain__columns(const tl_table *table)
{
    const char *list = tl_table_option(table, "chain-table.chain-partition-keys");
    int32_t n = 0;
    for (tl_bytes_view name; list != NULL && tl_list_next(&list, &name);)
        n++;
    return n == 0 ? table->n_partition : TL_MIN(n, table->n_partition);
}

/* ---- values as texts ---- */

/* The value as it stands in the names of folders, unescaped. */
static tl_status value_text(const tl_table *table, const tl_column *col, tl_builder *out, tl_error *err)
{
    const tl_lsm_config *config = table->config;
    tl_buf text = {0};
    tl_status status = tl_partition_value_text(col, config->partition_default_name, config->legacy_partition_names, &text);
    if (status == TL_OK)
        status = tl_builder_error(out, tl_builder_bytes(out, text.data, text.len), err);
    else
        status = tl_nomem(err, "partition");
    tl_buf_deinit(&text);
    return status;
}

/* One row of texts, with the names of the chain's columns. */
static tl_status text_row(const tl_table *table, const tl_batch *partition, int32_t n_chain, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_type_unrefp) const tl_type *string = NULL;
    TL_CLEANUP(tl_type_unrefp) const tl_type *type = NULL;
    TL_CLEANUP(tl_freep) tl_field *fields = tl_calloc((size_t)n_chain + 1, sizeof *fields);
    TL_CLEANUP(tl_batch_freep) tl_batch *row = NULL;
    int32_t first = partition->n_cols - n_chain;
    if (fields == NULL)
        return tl_nomem(err, "partition");
    TL_TRY(tl_type_parse((tl_bytes_view){(const uint8_t *)"STRING", 6}, &string, err));
    for (int32_t i = 0; i < n_chain; i++)
        fields[i] = (tl_field){.name = table->partition_type->fields[first + i].name, .id = i, .type = string};
    TL_TRY(tl_type_create_row(/* nullable= */ false, fields, n_chain, &type, err));
    TL_TRY(tl_batch_create(type, 1, &row, err));
    for (int32_t i = 0; i < n_chain; i++) {
        tl_builder *builder = NULL;
        TL_TRY(tl_builder_create(string, &builder, err));
        tl_status status = value_text(table, partition->cols[first + i], builder, err);
        if (status == TL_OK)
            status = tl_builder_finish(builder, &row->cols[i], err);
        tl_builder_free(builder);
        TL_TRY(status);
    }
    *out = TL_STEAL(row);
    return TL_OK;
}

/* ---- a time's values: the text of it taken apart by the pattern ---- */

typedef struct pattern {
    tl_bytes_view literals[MAX_VARIABLES + 1]; /* one before each variable, and the rest */
    tl_bytes_view names[MAX_VARIABLES];
    size_t n;
} pattern;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static tl_status read_pattern(const char *text, pattern *out, tl_error *err)
{
    const char *from = text, *p = text;
    while (*p != '\0') {
        if (*p != '$' || !is_word(p[1])) {
            p++;
            continue;
        }
        if (out->n == MAX_VARIABLES)
            return tl_error_set(err, TL_E_LIMIT, "option 'partition.timestamp-pattern': more than %d columns", MAX_VARIABLES);
        out->literals[out->n] = (tl_bytes_view){(const uint8_t *)from, (size_t)(p - from)};
        const char *name = ++p;
        while (is_word(*p))
            p++;
        out->names[out->n++] = (tl_bytes_view){(const uint8_t *)name, (size_t)(p - name)};
        from = p;
    }
    out->literals[out->n] = (tl_bytes_view){(const uint8_t *)from, (size_t)(p - from)};
    return TL_OK;
}

typedef struct match {
    const pattern *pattern;
    const uint8_t *text;
    size_t len;
    size_t from[MAX_VARIABLES], to[MAX_VARIABLES];
    bool failed[MAX_VARIABLES + 1][MAX_TEXT + 1]; /* from here on it does not fit */
} match;

/* Each variable is as long as it can be, as in Java's regular expression `(.+)`. */
static bool match_from(match *m, size_t k, size_t at)
{
    tl_bytes_view literal = m->pattern->literals[k];
    if (m->failed[k][at] || m->len - at < literal.len || memcmp(m->text + at, literal.data, literal.len) != 0)
        return false;
    size_t begin = at + literal.len;
    if (k == m->pattern->n)
        return begin == m->len;
    for (size_t end = m->len; end > begin; end--) {
        if (match_from(m, k + 1, end)) {
            m->from[k] = begin;
            m->to[k] = end;
            return true;
        }
    }
    m->failed[k][at] = true;
    return false;
}

/* What the pattern takes for the column; "" if it does not name it, the last one if it does so twice. */
static tl_bytes_view value_of(const match *m, const char *name)
{
    tl_bytes_view value = {(const uint8_t *)"", 0};
    for (size_t k = 0; k < m->pattern->n; k++) {
        tl_bytes_view n = m->pattern->names[k];
        if (n.len == strlen(name) && memcmp(n.data, name, n.len) == 0)
            value = (tl_bytes_view){m->text + m->from[k], m->to[k] - m->from[k]};
    }
    return value;
}

static tl_status same_value(const tl_table *table, const tl_field *field, const tl_column *col, tl_bytes_view text, bool *same, tl_error *err)
{
    TL_CLEANUP(tl_freep) char *copy = tl_strndup((const char *)text.data, text.len);
    tl_column *value = NULL;
    if (copy == NULL)
        return tl_nomem(err, "partition");
    TL_TRY(tl_error_wrap(err, tl_import_value(copy, table->config->partition_default_name, field->type, &value, err), "partition column '%s'",
                         field->name));
    *same = *same && !tl_col_is_null(value, 0) && tl_column_compare(value, 0, col, 0, /* descending= */ false, /* nulls_first= */ true) == 0;
    tl_column_unref(value);
    return TL_OK;
}

static tl_status called_so(const tl_table *table, const tl_batch *partition, int32_t n_chain, tl_bytes_view text, bool *same, tl_error *err)
{
    TL_CLEANUP(tl_freep) match *m = tl_calloc(1, sizeof *m);
    pattern parts = {.n = 0};
    if (m == NULL)
        return tl_nomem(err, "partition");
    if (text.len > MAX_TEXT)
        return tl_error_set(err, TL_E_LIMIT, "option 'partition.timestamp-formatter': a time of %zu bytes", text.len);
    TL_TRY(read_pattern(tl_table_option(table, "partition.timestamp-pattern"), &parts, err));
    m->pattern = &parts;
    m->text = text.data;
    m->len = text.len;
    if (!match_from(m, 0, 0))
        return tl_error_set(err, TL_E_INVALID, "Formatted datetime does not match timestamp pattern: '%.*s' is not as '%s' ('partition.timestamp-pattern')",
                            (int)text.len, (const char *)text.data, tl_table_option(table, "partition.timestamp-pattern"));
    *same = true;
    for (int32_t i = partition->n_cols - n_chain; i < partition->n_cols; i++) {
        const tl_field *field = &table->partition_type->fields[i];
        TL_TRY(same_value(table, field, partition->cols[i], value_of(m, field->name), same, err));
    }
    return TL_OK;
}

/* ---- times ---- */

static int64_t day_of(int64_t local_ms)
{
    return local_ms / DAY_MS - (local_ms % DAY_MS < 0);
}

static tl_status is_regular(const tl_table *table, const tl_batch *partition, int32_t n_chain, int64_t local_ms, bool *out, tl_error *err)
{
    if (local_ms % (n_chain == 1 ? DAY_MS : HOUR_MS) != 0)
        return TL_OK;
    const char *format = tl_table_option(table, "partition.timestamp-formatter");
    tl_jformat *compiled = NULL;
    tl_buf text = {0};
    tl_status status = tl_jformat_compile((tl_bytes_view){(const uint8_t *)format, strlen(format)}, /* legacy= */ false, &compiled, err);
    if (status == TL_OK)
        status = tl_jformat_print(compiled, &(tl_jtime){.millis = local_ms}, &text, err);
    if (status == TL_OK)
        status = called_so(table, partition, n_chain, (tl_bytes_view){text.data, text.len}, out, err);
    tl_buf_deinit(&text);
    tl_jformat_free(compiled);
    return status;
}

tl_status tl_chain__time_of(const tl_table *table, const tl_batch *partition, int32_t n_chain, tl_chain_time *out, tl_error *err)
{
    static const char *const needed[] = {"partition.timestamp-pattern", "partition.timestamp-formatter"};
    TL_CLEANUP(tl_partition_time__freep) tl_partition_time *time = NULL;
    TL_CLEANUP(tl_batch_freep) tl_batch *texts = NULL;
    *out = (tl_chain_time){0};
    for (size_t i = 0; i < TL_ARRAY_LEN(needed); i++) {
        if (tl_table_option(table, needed[i]) == NULL)
            return tl_error_set(err, TL_E_INVALID, "a chain table needs the option '%s'", needed[i]);
    }
    TL_TRY(tl_partition_time__create(table, &time, err));
    TL_TRY(text_row(table, partition, n_chain, &texts, err));
    TL_TRY(tl_partition_time__of(time, texts, &out->local_ms, &out->known, err));
    return out->known ? is_regular(table, partition, n_chain, out->local_ms, &out->regular, err) : TL_OK;
}

bool tl_chain__between(const tl_chain_time *anchor, const tl_chain_time *t, const tl_chain_time *to, int32_t n_chain)
{
    if (!t->known || !t->regular)
        return false;
    int64_t day = day_of(t->local_ms);
    if (n_chain == 1)
        return day > day_of(anchor->local_ms) && t->local_ms <= to->local_ms;
    return day >= day_of(anchor->local_ms) && day <= day_of(to->local_ms);
}
