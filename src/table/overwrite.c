/*
 * Overwriting: which live files go, and where the new ones lie. Source: format reference §16 "Overwrite"; Java:
 * FileStoreCommitImpl.overwritePartition, tryUpgrade, CommitScanner.readOverwriteChanges, PartitionPredicate.
 */
#include "table/format_table.h"

#include <strings.h>

/* ---- partition specs ---- */

void tl_partition_specs_free(tl_options *specs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tl_options_deinit(&specs[i]);
    tl_free(specs);
}

/* One column=value of `text`, the `bytes` at p, into a spec. */
static tl_status spec_column(const char *text, const char *p, size_t bytes, tl_options *spec, tl_error *err)
{
    size_t equals = strcspn(p, "=");
    if (equals >= bytes || strcmp(p + bytes, ",") == 0) /* nothing between two separators, or behind a `,` */
        return tl_error_set(err, TL_E_INVALID, "'%s' is no list of partitions (a=1,b=2;a=3,b=4)", text);
    TL_CLEANUP(tl_freep) char *key = tl_strndup(p, equals);
    TL_CLEANUP(tl_freep) char *value = tl_strndup(p + equals + 1, bytes - equals - 1);
    return key == NULL || value == NULL || tl_options_set(spec, key, value) != TL_OK ? tl_nomem(err, "partition") : TL_OK;
}

tl_status tl_partition_specs_parse(const char *text, tl_options **out, size_t *n, tl_error *err)
{
    enum { SPECS_MAX = 1000 };
    size_t most = 1, count = 0;
    tl_status status = TL_OK;
    for (const char *p = text; *p != '\0'; p++)
        most += *p == ';';
    if (most > SPECS_MAX + 1)
        return tl_error_set(err, TL_E_INVALID, "more than %d partitions at a time", SPECS_MAX);
    tl_options *specs = tl_calloc(most + 1, sizeof *specs);
    if (specs == NULL)
        return tl_nomem(err, "partition");
    for (const char *p = text; status == TL_OK && *p != '\0';) {
        size_t bytes = strcspn(p, ",;");
        status = spec_column(text, p, bytes, &specs[count], err);
        p += bytes;
        count += *p != ',';
        p += *p != '\0';
    }
    if (status != TL_OK) {
        tl_partition_specs_free(specs, most);
        return status;
    }
    *out = specs;
    *n = count;
    return TL_OK;
}

static tl_status spec_leaf(tl_table *table, const char *column, const char *text, tl_predicate **out, tl_error *err)
{
    int32_t idx = tl_type_field_index(table->partition_type, column);
    if (idx < 0)
        return tl_error_set(err, TL_E_INVALID, "'%s' is no partition column", column);
    const tl_type *type = table->partition_type->fields[idx].type;
    tl_column *literal = NULL;
    tl_status status = tl_import_value(text, table->config->partition_default_name, type, &literal, err);
    TL_TRY(tl_error_wrap(err, status, "partition column '%s'", column));
    if (!tl_col_is_null(literal, 0))
        return tl_predicate_leaf(TL_PRED_EQ, idx, literal, out, err);
    tl_column_unref(literal);
    return tl_predicate_leaf(TL_PRED_IS_NULL, idx, NULL, out, err);
}

tl_status tl_table__partition_predicate(tl_table *table, const tl_options *spec, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *all = NULL;
    for (size_t i = 0; i < spec->count; i++) {
        tl_predicate *leaf = NULL;
        TL_TRY(spec_leaf(table, spec->keys[i], spec->values[i], &leaf, err));
        tl_predicate *both = NULL;
        TL_TRY(tl_predicate_combine(TL_PRED_AND, TL_STEAL(all), leaf, &both, err));
        all = both;
    }
    *out = TL_STEAL(all);
    return TL_OK;
}

/* ---- upgrade ---- */

/* Files of one bucket that do not overlap begin their life on the top level: nothing has to be merged with them. */
static tl_status upgrade_bucket(tl_table *table, tl_entries *entries, const size_t *idx, size_t n, int32_t level, tl_error *err)
{
    TL_CLEANUP(tl_freep) const tl_manifest_entry **files = tl_calloc(n, sizeof *files);
    if (files == NULL)
        return tl_nomem(err, "overwrite");
    for (size_t i = 0; i < n; i++)
        files[i] = &entries->items[idx[i]];
    bool overlap = false;
    TL_TRY(tl_commit__overlap(table, files, n, &overlap, err));
    for (size_t i = 0; !overlap && i < n; i++) {
        tl_data_file *moved = NULL;
        TL_TRY(tl_data_file_dup(entries->items[idx[i]].file, &moved, err));
        moved->level = level;
        tl_data_file_unref(entries->items[idx[i]].file);
        entries->items[idx[i]].file = moved;
    }
    return TL_OK;
}

static bool same_bucket(const tl_manifest_entry *a, const tl_manifest_entry *b)
{
    return a->bucket == b->bucket && tl_bytes_equal(tl_bytes_view_of(a->partition), tl_bytes_view_of(b->partition));
}

tl_status tl_commit__upgrade(tl_table *table, tl_entries *entries, tl_error *err)
{
    if (table->n_keys == 0 || !tl_table__option_bool(&table->schema->options, "overwrite-upgrade"))
        return TL_OK;
    for (size_t i = 0; i < entries->n; i++) {
        if (entries->items[i].file->level > 0 || entries->items[i].bucket < 0 || entries->items[i].kind != TL_ENTRY_ADD)
            return TL_OK;
    }
    TL_CLEANUP(tl_freep) size_t *idx = tl_calloc(entries->n, sizeof *idx);
    TL_CLEANUP(tl_freep) bool *seen = tl_calloc(entries->n, sizeof *seen);
    if (idx == NULL || seen == NULL)
        return tl_nomem(err, "overwrite");
    for (size_t i = 0; i < entries->n; i++) {
        if (seen[i])
            continue;
        size_t n = 0;
        for (size_t j = i; j < entries->n; j++) {
            if (!seen[j] && same_bucket(&entries->items[i], &entries->items[j])) {
                seen[j] = true;
                idx[n++] = j;
            }
        }
        TL_TRY(upgrade_bucket(table, entries, idx, n, table->config->num_levels - 1, err));
    }
    return TL_OK;
}

/* ---- dropping partitions ---- */

tl_status tl_table_drop_partitions(tl_table *table, const tl_options *specs, size_t n_specs, tl_error *err)
{
    return tl_table_drop_partitions_as(table, NULL, specs, n_specs, err);
}

tl_status tl_table__partitions_predicate(tl_table *table, const tl_options *specs, size_t n, tl_predicate **out, tl_error *err)
{
    TL_CLEANUP(tl_predicate_freep) tl_predicate *any = NULL;
    for (size_t i = 0; i < n; i++) {
        tl_predicate *one = NULL, *both = NULL;
        TL_TRY(tl_table__partition_predicate(table, &specs[i], &one, err));
        *out = NULL;
        if (one == NULL) /* an empty spec names every partition */
            return TL_OK;
        TL_TRY(tl_predicate_combine(TL_PRED_OR, TL_STEAL(any), one, &both, err));
        any = both;
    }
    *out = TL_STEAL(any);
    return TL_OK;
}

tl_status tl_table_drop_partitions_as(tl_table *table, const char *user, const tl_options *specs, size_t n_specs, tl_error *err)
{
    char name[256];
    if (table->folder == NULL)
        TL_TRY(tl_table__require_data(table, "drop partitions", err));
    if (n_specs == 0)
        return tl_error_set(err, TL_E_INVALID, "Partitions list cannot be empty.");
    TL_CLEANUP(tl_predicate_freep) tl_predicate *any = NULL;
    TL_TRY(tl_table__partitions_predicate(table, specs, n_specs, &any, err));
    if (table->folder != NULL)
        return tl_error_wrap(err, tl_format_table__drop(table, any, err), "table %s", tl_table__full_name(table, name));
    char uuid[37];
    tl_uuid(uuid);
    tl_attempt attempt = {.table = table,
                          .user = user == NULL ? uuid : user,
                          .identifier = TL_COMMIT_BATCH,
                          .watermark = TL_ABSENT,
                          .kind = TL_COMMIT_OVERWRITE,
                          .check = true,
                          .overwrite = true,
                          .overwrite_partition = any};
    tl_changes nothing = {0};
    int64_t id = 0;
    int32_t retries = 0;
    return tl_error_wrap(err, tl_commit__try(&attempt, &nothing, &id, &retries, err), "table %s", tl_table__full_name(table, name));
}
