/*
 * What a schema must satisfy, in the order and the words of the reference. Source: Java: core SchemaValidation, api TableSchema
 * (constructor); format reference §2.
 *
 * A table of features that are not there may be created: the reference will read it. Opening it is what names the feature.
 */
#include "table/format_table.h"
#include "base/parse.h"
#include "types/java_format.h"

#include <strings.h>

#include "merge/merge.h"

typedef struct validation {
    const tl_table_schema *schema;
    const tl_type *row;
    const tl_options *opts;
} validation;

#define FAIL(...) tl_error_set(err, TL_E_INVALID, __VA_ARGS__)

static const char *const merge_engines[] = {"deduplicate", "partial-update", "aggregation", "first-row", NULL};
static const char *const changelog_producers[] = {"none", "input", "full-compaction", "lookup", NULL};
static const char *const scan_modes[] = {"default",        "latest-full",             "full",
                                         "latest",         "compacted-full",          "from-timestamp",
                                         "from-snapshot",  "from-file-creation-time", "from-creation-timestamp",
                                         "from-snapshot-full", "incremental",         NULL};
static const char *const diff_modes[] = {"auto", "delta", "changelog", "diff", NULL};
static const char *const sort_orders[] = {"ascending", "descending", NULL};
static const char *const bucket_functions[] = {"default", "mod", "hive", NULL};

static const char *const tag_modes[] = {"none", "process-time", "watermark", "batch", NULL};
static const char *const tag_periods[] = {"daily", "hourly", "two-hours", NULL};
static const char *const tag_forms[] = {"with_dashes", "without_dashes", "without_dashes_and_spaces", NULL};

static const struct {
    const char *key;
    const char *const *values;
} enums[] = {
    {"tag.automatic-creation", tag_modes}, {"tag.creation-period", tag_periods}, {"tag.period-formatter", tag_forms},
    {"merge-engine", merge_engines},       {"changelog-producer", changelog_producers},        {"scan.mode", scan_modes},
    {"incremental-between-scan-mode", diff_modes}, {"sequence.field.sort-order", sort_orders}, {"bucket-function.type", bucket_functions},
};

static tl_status check_enums(const validation *v, tl_error *err)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(enums); i++) {
        const char *value = tl_options_get(v->opts, enums[i].key);
        if (value == NULL)
            continue;
        bool known = false;
        for (const char *const *name = enums[i].values; *name != NULL; name++)
            known |= strcasecmp(*name, value) == 0;
        if (known)
            continue;
        tl_buf buf = {0};
        for (const char *const *name = enums[i].values; *name != NULL; name++)
            (void)tl_buf_appendf(&buf, "%s%s", buf.len > 0 ? ", " : "", *name); /* only a message */
        tl_status status = FAIL("Could not parse value '%s' for key '%s'. Expected one of: [%.*s]", value, enums[i].key, (int)buf.len,
                                (const char *)buf.data);
        tl_buf_deinit(&buf);
        return status;
    }
    return TL_OK;
}

/* Options whose value this build reads as a number, a size or a duration must parse. */
static tl_status check_numbers(const validation *v, tl_error *err)
{
    for (size_t i = 0; i < v->opts->count; i++) {
        const tl_option_def *def = tl_option_find(v->opts->keys[i]);
        if (def == NULL || def->effect != TL_OPTION_EFFECT)
            continue;
        bool number = strcmp(def->type, "integer") == 0 || strcmp(def->type, "long") == 0 || strcmp(def->type, "duration") == 0 ||
                      strcmp(def->type, "memory size") == 0;
        int64_t ignored;
        if (number && strncmp(def->key, "parquet.", 8) != 0)
            TL_TRY(tl_table__option_int(v->opts, def->key, 0, &ignored, err));
        if (strcmp(def->type, "boolean") == 0 && strcasecmp(v->opts->values[i], "true") != 0 && strcasecmp(v->opts->values[i], "false") != 0)
            return FAIL("Could not parse value '%s' for key '%s'. Unrecognized option for boolean: expected either true or false",
                        v->opts->values[i], def->key);
    }
    return TL_OK;
}

static bool is_set(const validation *v, const char *key)
{
    return tl_options_get(v->opts, key) != NULL;
}

static bool has_value(const validation *v, const char *key, const char *value)
{
    const char *text = tl_table__option_or_default(v->opts, key);
    return text != NULL && strcasecmp(text, value) == 0;
}

static bool is_column(const validation *v, const char *name)
{
    return tl_type_field_index(v->row, name) >= 0;
}

static bool is_blank(const char *text)
{
    return text == NULL || text[strspn(text, " \t\n\r")] == '\0';
}

static bool in_list(char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

/* "[a, b]" for messages, in a caller's buffer. */
static const char *list_text(char *const *names, int32_t n, char *out, size_t bytes)
{
    tl_buf buf = {0};
    if (tl_table__append_list(&buf, names, n) != TL_OK)
        buf.len = 0;
    snprintf(out, bytes, "%.*s", (int)buf.len, buf.data == NULL ? "" : (const char *)buf.data);
    tl_buf_deinit(&buf);
    return out;
}

#define LIST_TEXT_BYTES 512

/* ---- keys ---- */

static const char *unsupported_key_type(const tl_type *type)
{
    switch (type->kind) {
    case TL_MAP:
        return "MapType";
    case TL_ARRAY:
        return "ArrayType";
    case TL_ROW:
        return "RowType";
    case TL_MULTISET:
        return "MultisetType";
    case TL_VECTOR: /* the reference documents that it refuses them, and does not: a partition's folder has a random name there */
        return "VectorType";
    case TL_VARIANT: /* 1.4.2 does not refuse it either, and cannot write it */
        return "VariantType";
    default:
        return NULL;
    }
}

static tl_status check_key_types(const validation *v, char *const *names, size_t n, const char *what, tl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int32_t idx = tl_type_field_index(v->row, names[i]);
        if (idx < 0)
            return FAIL("Cannot find field: %s", names[i]);
        const char *bad = unsupported_key_type(v->row->fields[idx].type);
        if (bad != NULL)
            return FAIL("The type %s in %s field %s is unsupported", bad, what, names[i]);
    }
    return TL_OK;
}

static tl_status check_upsert_key(const validation *v, tl_error *err)
{
    const char *text = tl_options_get(v->opts, "upsert-key");
    if (text == NULL || *text == '\0')
        return TL_OK;
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_table__split_list(text, false, &names, &n, err));
    tl_status status = check_key_types(v, names, n, "upsert key", err);
    if (status == TL_OK && v->schema->n_primary_keys > 0)
        status = FAIL("Cannot define 'upsert-key' [%s] with 'primary-key'.", text);
    tl_names_free(names, n);
    return status;
}

/* Java: TableSchema#trimmedPrimaryKeys */
static tl_status check_trimmed(const validation *v, tl_error *err)
{
    const tl_table_schema *s = v->schema;
    if (s->n_primary_keys == 0)
        return TL_OK;
    for (int32_t i = 0; i < s->n_primary_keys; i++) {
        if (!in_list(s->partition_keys, (size_t)s->n_partition_keys, s->primary_keys[i]))
            return TL_OK;
    }
    char a[LIST_TEXT_BYTES], b[LIST_TEXT_BYTES];
    return FAIL("Primary key constraint %s should not be same with partition fields %s, this will result in only one record in a partition",
                list_text(s->primary_keys, s->n_primary_keys, a, sizeof a), list_text(s->partition_keys, s->n_partition_keys, b, sizeof b));
}

/* ---- buckets ---- */

/* Java: TableSchema#originalBucketKeys */
static tl_status check_bucket_key_list(const validation *v, char **names, size_t n, tl_error *err)
{
    const tl_table_schema *s = v->schema;
    char a[LIST_TEXT_BYTES], b[LIST_TEXT_BYTES];
    list_text(names, (int32_t)n, a, sizeof a);
    for (size_t i = 0; i < n; i++) {
        if (!is_column(v, names[i])) {
            tl_buf buf = {0};
            for (int32_t c = 0; c < v->row->n_fields; c++)
                (void)tl_buf_appendf(&buf, "%s%s", c > 0 ? ", " : "", v->row->fields[c].name); /* only a message */
            tl_status status = FAIL("Field names [%.*s] should contains all bucket keys %s.", (int)buf.len, (const char *)buf.data, a);
            tl_buf_deinit(&buf);
            return status;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (in_list(s->partition_keys, (size_t)s->n_partition_keys, names[i]))
            return FAIL("Bucket keys %s should not in partition keys %s.", a,
                        list_text(s->partition_keys, s->n_partition_keys, b, sizeof b));
    }
    for (size_t i = 0; s->n_primary_keys > 0 && i < n; i++) {
        if (!in_list(s->primary_keys, (size_t)s->n_primary_keys, names[i]))
            return FAIL("Primary keys %s should contains all bucket keys %s.", list_text(s->primary_keys, s->n_primary_keys, b, sizeof b), a);
    }
    for (size_t i = 0; i < n; i++) {
        if (unsupported_key_type(v->row->fields[tl_type_field_index(v->row, names[i])].type) != NULL)
            return FAIL("nested type can not in bucket-key, in your table these key are [%s]", names[i]);
    }
    return TL_OK;
}

static tl_status check_bucket_keys(const validation *v, tl_error *err)
{
    const char *text = tl_options_get(v->opts, "bucket-key");
    if (is_blank(text))
        return TL_OK;
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_table__split_list(text, /* trim= */ false, &names, &n, err));
    tl_status status = check_bucket_key_list(v, names, n, err);
    tl_names_free(names, n);
    return status;
}

static tl_status check_bucket(const validation *v, tl_error *err)
{
    int64_t bucket = 0;
    TL_TRY(tl_table__option_int(v->opts, "bucket", -1, &bucket, err));
    bool keyed = v->schema->n_primary_keys > 0;
    if (bucket == -1) {
        if (is_set(v, "bucket-key"))
            return FAIL("Cannot define 'bucket-key' with bucket = -1, please remove the 'bucket-key' setting or specify a bucket number.");
        if (!keyed && is_set(v, "full-compaction.delta-commits"))
            return FAIL("AppendOnlyTable of unaware or dynamic bucket does not support 'full-compaction.delta-commits'");
        return TL_OK;
    }
    if (bucket < 1 && !(keyed && bucket == -2))
        return FAIL("The number of buckets needs to be greater than 0.");
    if (bucket > INT32_MAX)
        return FAIL("The number of buckets is out of range.");
    if (!keyed && is_blank(tl_options_get(v->opts, "bucket-key")))
        return FAIL("You should define a 'bucket-key' for bucketed append mode.");
    return TL_OK;
}

/* ---- where a read starts ---- */

static tl_status exactly_one(const validation *v, const char *mode, const char *const *keys, tl_error *err)
{
    int n = 0;
    char all[LIST_TEXT_BYTES] = "";
    for (; *keys != NULL; keys++) {
        n += is_set(v, *keys);
        size_t used = strlen(all);
        snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? "," : "", *keys);
    }
    return n == 1 ? TL_OK : FAIL("must set only one key in [%s] when you use %s for scan.mode", all, mode);
}

static tl_status none_of(const validation *v, const char *legal, const char *const *keys, tl_error *err)
{
    for (; *keys != NULL; keys++) {
        if (is_set(v, *keys))
            return FAIL("[%s] must be null when you set [%s]", *keys, legal);
    }
    return TL_OK;
}

#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})

static tl_status check_startup_mode(const validation *v, tl_error *err)
{
    const char *mode = tl_table__startup_mode(v->opts);
    if (strcmp(mode, "from-timestamp") == 0) {
        TL_TRY(exactly_one(v, mode, KEYS("scan.timestamp-millis", "scan.timestamp"), err));
        return none_of(v, "scan.timestamp-millis,scan.timestamp",
                       KEYS("scan.snapshot-id", "scan.file-creation-time-millis", "scan.tag-name", "incremental-between-timestamp",
                            "incremental-between", "incremental-to-auto-tag"),
                       err);
    }
    if (strcmp(mode, "from-snapshot") == 0) {
        if (is_set(v, "scan.version")) /* the travelled version is put in its place before the reference checks */
            return TL_OK;
        TL_TRY(exactly_one(v, mode, KEYS("scan.snapshot-id", "scan.tag-name", "scan.watermark"), err));
        return none_of(v, "scan.snapshot-id,scan.tag-name",
                       KEYS("scan.timestamp-millis", "scan.timestamp", "scan.file-creation-time-millis", "incremental-between-timestamp",
                            "incremental-between", "incremental-to-auto-tag"),
                       err);
    }
    if (strcmp(mode, "incremental") == 0) {
        TL_TRY(exactly_one(v, mode, KEYS("incremental-between", "incremental-between-timestamp", "incremental-to-auto-tag"), err));
        return none_of(v, "incremental-between,incremental-between-timestamp,incremental-to-auto-tag",
                       KEYS("scan.snapshot-id", "scan.timestamp-millis", "scan.file-creation-time-millis", "scan.timestamp", "scan.tag-name"),
                       err);
    }
    if (strcmp(mode, "from-snapshot-full") == 0) {
        if (!is_set(v, "scan.snapshot-id"))
            return FAIL("scan.snapshot-id can not be null when you use %s for scan.mode", mode);
        return none_of(v, "scan.snapshot-id",
                       KEYS("scan.timestamp-millis", "scan.timestamp", "scan.file-creation-time-millis", "scan.tag-name",
                            "incremental-between-timestamp", "incremental-between", "incremental-to-auto-tag"),
                       err);
    }
    if (strcmp(mode, "from-file-creation-time") == 0) {
        if (!is_set(v, "scan.file-creation-time-millis"))
            return FAIL("scan.file-creation-time-millis can not be null when you use %s for scan.mode", mode);
        return none_of(v, "scan.file-creation-time-millis",
                       KEYS("scan.snapshot-id", "scan.timestamp-millis", "scan.tag-name", "incremental-between-timestamp",
                            "incremental-between", "incremental-to-auto-tag"),
                       err);
    }
    const char *const *keys = KEYS("scan.timestamp-millis", "scan.file-creation-time-millis", "scan.timestamp", "scan.snapshot-id",
                                   "scan.tag-name", "incremental-between-timestamp", "incremental-between", "incremental-to-auto-tag");
    for (; *keys != NULL; keys++) {
        if (is_set(v, *keys))
            return FAIL("%s must be null when you use %s for scan.mode", *keys, mode);
    }
    return TL_OK;
}

/* ---- fields.* and sequence.field ---- */

/* Keys `fields.A,B.what`: every column named must exist. */
static tl_status check_fields_prefix(const validation *v, tl_error *err)
{
    for (size_t i = 0; i < v->opts->count; i++) {
        const char *key = v->opts->keys[i];
        if (strncmp(key, "fields", 6) != 0)
            continue;
        const char *from = strchr(key, '.');
        if (from == NULL)
            continue;
        from++;
        size_t len = strcspn(from, ".");
        TL_CLEANUP(tl_freep) char *part = tl_strndup(from, len);
        if (part == NULL)
            return tl_nomem(err, "option");
        char **names = NULL;
        size_t n = 0;
        TL_TRY(tl_table__split_list(part, false, &names, &n, err));
        tl_status status = TL_OK;
        for (size_t c = 0; status == TL_OK && c < n; c++) {
            if (strcmp(names[c], "default-aggregate-function") != 0 && !is_column(v, names[c]))
                status = FAIL("Field %s can not be found in table schema.", names[c]);
        }
        tl_names_free(names, n);
        TL_TRY(status);
    }
    return TL_OK;
}

static bool cross_partition(const tl_table_schema *s)
{
    for (int32_t i = 0; s->n_primary_keys > 0 && i < s->n_partition_keys; i++) {
        if (!in_list(s->primary_keys, (size_t)s->n_primary_keys, s->partition_keys[i]))
            return true;
    }
    return false;
}

static tl_status check_sequence_columns(const validation *v, char **names, size_t n, tl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!is_column(v, names[i]))
            return FAIL("Sequence field: '%s' can not be found in table schema.", names[i]);
        if (v->row->fields[tl_type_field_index(v->row, names[i])].type->kind == TL_VECTOR)
            return FAIL("Sequence field: '%s' is a VECTOR, which has no order.", names[i]);
        TL_CLEANUP(tl_freep) char *key = tl_strf("fields.%s.aggregate-function", names[i]);
        if (key == NULL)
            return tl_nomem(err, "option");
        if (is_set(v, key))
            return FAIL("Should not define aggregation on sequence field: '%s'.", names[i]);
        if (in_list(names, i, names[i]) || in_list(names + i + 1, n - i - 1, names[i]))
            return FAIL("Sequence field '%s' is defined repeatedly.", names[i]);
    }
    if (has_value(v, "merge-engine", "first-row"))
        return FAIL("Do not support use sequence field on FIRST_ROW merge engine.");
    if (cross_partition(v->schema)) {
        char a[LIST_TEXT_BYTES], b[LIST_TEXT_BYTES];
        return FAIL("You can not use sequence.field in cross partition update case (Primary key constraint '%s' not include all partition "
                    "fields '%s').",
                    list_text(v->schema->primary_keys, v->schema->n_primary_keys, a, sizeof a),
                    list_text(v->schema->partition_keys, v->schema->n_partition_keys, b, sizeof b));
    }
    return TL_OK;
}

static tl_status check_sequence_field(const validation *v, tl_error *err)
{
    const char *text = tl_options_get(v->opts, "sequence.field");
    if (text == NULL)
        return TL_OK;
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_table__split_list(text, /* trim= */ true, &names, &n, err));
    tl_status status = check_sequence_columns(v, names, n, err);
    tl_names_free(names, n);
    return status;
}

static tl_status check_merge(const validation *v, tl_error *err)
{
    if (v->schema->n_primary_keys == 0)
        return TL_OK;
    TL_CLEANUP(tl_freep) int32_t *keys = tl_calloc((size_t)v->schema->n_primary_keys, sizeof *keys);
    if (keys == NULL)
        return tl_nomem(err, "keys");
    for (int32_t i = 0; i < v->schema->n_primary_keys; i++)
        keys[i] = tl_type_field_index(v->row, v->schema->primary_keys[i]);
    return tl_merge_validate(v->row, keys, v->schema->n_primary_keys, v->opts, err);
}

/* ---- changelogs, snapshots ---- */

static tl_status check_changelog(const validation *v, tl_error *err)
{
    bool keyed = v->schema->n_primary_keys > 0;
    if (!keyed && !has_value(v, "changelog-producer", "none"))
        return FAIL("Can not set changelog-producer on table without primary keys, please define primary keys.");
    bool computed = has_value(v, "changelog-producer", "lookup") || has_value(v, "changelog-producer", "full-compaction");
    if (computed && tl_table__option_bool(v->opts, "streaming-read-overwrite"))
        return FAIL("Cannot set streaming-read-overwrite to true when changelog producer is full-compaction or lookup because it will read "
                    "duplicated changes.");
    return TL_OK;
}

static tl_status check_retention(const validation *v, const char *kind, int64_t default_min, int64_t default_max, int64_t *min, int64_t *max,
                                 tl_error *err)
{
    char min_key[64], max_key[64];
    snprintf(min_key, sizeof min_key, "%s.num-retained.min", kind);
    snprintf(max_key, sizeof max_key, "%s.num-retained.max", kind);
    TL_TRY(tl_table__option_int(v->opts, min_key, default_min, min, err));
    TL_TRY(tl_table__option_int(v->opts, max_key, default_max, max, err));
    if (*min <= 0)
        return FAIL("%s should be at least 1", min_key);
    if (*min > *max)
        return FAIL("%s should not be larger than %s", min_key, max_key);
    return TL_OK;
}

/* ---- columns ---- */

static tl_status check_names(const validation *v, tl_error *err)
{
    static const char *const system[] = {"_VALUE_KIND", "_ROW_ID", "rowkind", "_LEVEL", "_SEQUENCE_NUMBER", NULL};
    for (int32_t i = 0; i < v->row->n_fields; i++) {
        const char *name = v->row->fields[i].name;
        for (const char *const *s = system; *s != NULL; s++) {
            if (strcmp(*s, name) == 0)
                return FAIL("Field name[%s] in schema cannot be exist in [_VALUE_KIND, _ROW_ID, rowkind, _LEVEL, _SEQUENCE_NUMBER]", name);
        }
        if (strncmp(name, "_KEY_", 5) == 0)
            return FAIL("Field name[%s] in schema cannot start with [_KEY_]", name);
    }
    return TL_OK;
}

static tl_status check_record_level(const validation *v, tl_error *err)
{
    const char *field = tl_options_get(v->opts, "record-level.time-field");
    if (field == NULL)
        return TL_OK;
    int32_t idx = tl_type_field_index(v->row, field);
    if (idx < 0)
        return FAIL("Can not find time field %s for record level expire.", field);
    tl_type_kind kind = v->row->fields[idx].type->kind;
    if (kind == TL_INT || kind == TL_BIGINT || kind == TL_TIMESTAMP || kind == TL_TIMESTAMP_LTZ)
        return TL_OK;
    tl_buf buf = {0};
    (void)tl_type_format(v->row->fields[idx].type, &buf); /* only a message */
    tl_status status = FAIL("The record level time field type should be one of INT, BIGINT, or TIMESTAMP, but field type is %.*s.",
                            (int)buf.len, (const char *)buf.data);
    tl_buf_deinit(&buf);
    return status;
}

/* ---- features ---- */

static tl_status check_deletion_vectors(const validation *v, tl_error *err)
{
    if (!tl_table__option_bool(v->opts, "deletion-vectors.enabled"))
        return TL_OK;
    if (has_value(v, "changelog-producer", "full-compaction"))
        return FAIL("Deletion vectors mode is only supported for NONE/INPUT/LOOKUP changelog producer now.");
    if (!tl_table__option_bool(v->opts, "pk-clustering-override") && has_value(v, "merge-engine", "first-row"))
        return FAIL("First row merge engine does not need deletion vectors because there is no deletion of old data in this merge engine.");
    return TL_OK;
}

/* Columns that an option names are BLOBs, and among those of `within` (NULL: no such list). Java: validateBlobDescriptorFields. */
static tl_status check_blob_list(const validation *v, const char *key, const char *within, tl_error *err)
{
    const char *list = tl_options_get(v->opts, key);
    for (tl_bytes_view name; list != NULL && tl_list_next(&list, &name);) {
        char text[256];
        snprintf(text, sizeof text, "%.*s", (int)TL_MIN(name.len, sizeof text - 1), (const char *)name.data);
        if (name.len == 0)
            continue;
        int32_t at = name.len < sizeof text ? tl_type_field_index(v->row, text) : -1;
        if (at < 0 || v->row->fields[at].type->kind != TL_BLOB)
            return FAIL("Field '%s' in '%s' must be a BLOB field in table schema.", text, key);
        if (within != NULL && !tl_list_has(tl_options_get(v->opts, within), text))
            return FAIL("Field '%s' in '%s' must also be in '%s'.", text, key, within);
    }
    return TL_OK;
}

static tl_status check_blobs(const validation *v, tl_error *err)
{
    TL_TRY(check_blob_list(v, "blob-descriptor-field", NULL, err));
    TL_TRY(check_blob_list(v, "blob-external-storage-field", "blob-descriptor-field", err));
    const char *outside = tl_options_get(v->opts, "blob-external-storage-field"), *folder = tl_options_get(v->opts, "blob-external-storage-path");
    if (outside != NULL && outside[strspn(outside, ", ")] != '\0' && (folder == NULL || *folder == '\0'))
        return FAIL("'blob-external-storage-path' must be set when 'blob-external-storage-field' is configured.");
    return TL_OK;
}

static tl_status check_row_tracking(const validation *v, tl_error *err)
{
    bool tracking = tl_table__option_bool(v->opts, "row-tracking.enabled");
    if (tracking) {
        int64_t bucket = 0;
        TL_TRY(tl_table__option_int(v->opts, "bucket", -1, &bucket, err));
        if (bucket != -1)
            return FAIL("Cannot define bucket for row tracking table, it only support bucket = -1");
        if (v->schema->n_primary_keys > 0)
            return FAIL("Cannot define primary-key for row tracking table.");
    }
    bool evolution = tl_table__option_bool(v->opts, "data-evolution.enabled");
    if (evolution && !tracking)
        return FAIL("Data evolution config must enabled with row-tracking.enabled");
    if (evolution && tl_table__option_bool(v->opts, "deletion-vectors.enabled"))
        return FAIL("Data evolution config must disabled with deletion-vectors.enabled");
    if (evolution && tl_table__option_bool(v->opts, "clustering.incremental"))
        return FAIL("Data evolution config must disabled with clustering.incremental");
    int32_t blobs = 0;
    for (int32_t i = 0; i < v->row->n_fields; i++) {
        if (v->row->fields[i].type->kind != TL_BLOB)
            continue;
        blobs++;
        if (in_list(v->schema->partition_keys, (size_t)v->schema->n_partition_keys, v->row->fields[i].name))
            return FAIL("The BLOB type column can not be part of partition keys.");
    }
    if (blobs > 0 && !evolution)
        return FAIL("Data evolution config must enabled for table with BLOB type column.");
    if (blobs > 0 && blobs == v->row->n_fields)
        return FAIL("Table with BLOB type column must have other normal columns.");
    return tl_table__validate_vectors(v->schema, evolution, err);
}

static tl_status check_clustering(const validation *v, tl_error *err)
{
    int64_t bucket;
    TL_TRY(tl_table__option_int(v->opts, "bucket", -1, &bucket, err));
    if (tl_table__option_bool(v->opts, "clustering.incremental") && v->schema->n_primary_keys > 0)
        return FAIL("Cannot define primary-key for incremental clustering table.");
    if (tl_table__option_bool(v->opts, "clustering.incremental") && bucket != -1) {
        if (tl_table__option_bool(v->opts, "bucket-append-ordered"))
            return FAIL("bucket-append-ordered must be false for incremental clustering table.");
        if (tl_table__option_bool(v->opts, "deletion-vectors.enabled"))
            return FAIL("Cannot enable deletion-vectors for incremental clustering table which bucket is not -1.");
    }
    if (tl_table__option_bool(v->opts, "table-read.sequence-number.enabled") && v->schema->n_primary_keys == 0)
        return FAIL("Cannot enable 'table-read.sequence-number.enabled' for non-primary-key table. Sequence number is only available for "
                    "primary key tables.");
    if (tl_table__option_bool(v->opts, "pk-clustering-override")) {
        if (is_blank(tl_options_get(v->opts, "clustering.columns")))
            return FAIL("Cannot support 'pk-clustering-override' mode without 'clustering.columns'.");
        if (!tl_table__option_bool(v->opts, "deletion-vectors.enabled"))
            return FAIL("Cannot support deletion-vectors disabled in 'pk-clustering-override' mode.");
    }
    return TL_OK;
}

/* The columns of the chain are the last ones of the partition's. A blank list is none. */
static tl_status check_chain_keys(const validation *v, tl_error *err)
{
    const char *list = tl_options_get(v->opts, "chain-table.chain-partition-keys");
    if (list == NULL || is_blank(list))
        return TL_OK;
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_table__split_list(list, /* trim= */ true, &names, &n, err));
    size_t n_partition = (size_t)v->schema->n_partition_keys;
    bool is_suffix = n <= n_partition;
    for (size_t i = 0; is_suffix && i < n; i++)
        is_suffix = strcmp(names[i], v->schema->partition_keys[n_partition - n + i]) == 0;
    tl_names_free(names, n);
    return is_suffix ? TL_OK
                     : FAIL("chain-table.chain-partition-keys must be a contiguous suffix of the table's partition keys, but is '%s'.", list);
}

static tl_status check_chain(const validation *v, tl_error *err)
{
    const char *type = tl_options_get(v->opts, "type");
    int64_t bucket;
    if (!tl_table__option_bool(v->opts, "chain-table.enabled"))
        return TL_OK;
    if (type != NULL && strcasecmp(type, "table") != 0)
        return FAIL("Chain table must be table type.");
    if (v->schema->n_primary_keys == 0)
        return FAIL("Primary key is required for chain table.");
    if (v->schema->n_partition_keys == 0)
        return FAIL("Chain table must be partition table.");
    TL_TRY(tl_table__option_int(v->opts, "bucket", -1, &bucket, err));
    if (bucket <= 0)
        return FAIL("Bucket number must be greater than 0 for chain table.");
    if (!has_value(v, "changelog-producer", "none") && !has_value(v, "changelog-producer", "input"))
        return FAIL("Changelog producer must be none or input for chain table.");
    if (tl_table__option_bool(v->opts, "deletion-vectors.enabled"))
        return FAIL("Chain table do not support enable deletion vector");
    if (!is_set(v, "partition.timestamp-pattern"))
        return FAIL("Partition timestamp pattern is required for chain table.");
    if (!is_set(v, "partition.timestamp-formatter"))
        return FAIL("Partition timestamp formatter is required for chain table.");
    return check_chain_keys(v, err);
}

/* The reference looks at the strategy and the format when it expires, which is after a commit: too late to tell anybody. */
static tl_status check_partition_expiry(const validation *v, tl_error *err)
{
    if (is_set(v, "partition.expiration-time") && v->schema->n_partition_keys == 0)
        return FAIL("Can not set 'partition.expiration-time' for non-partitioned table.");
    const char *format = tl_options_get(v->opts, "partition.timestamp-formatter");
    if (is_set(v, "partition.expiration-strategy") && !has_value(v, "partition.expiration-strategy", "values-time") &&
        !has_value(v, "partition.expiration-strategy", "update-time"))
        return FAIL("Unknown partitionExpireStrategy: %s", tl_options_get(v->opts, "partition.expiration-strategy"));
    if (format == NULL)
        return TL_OK;
    tl_jformat *compiled = NULL;
    tl_status status = tl_jformat_compile((tl_bytes_view){(const uint8_t *)format, strlen(format)}, /* legacy= */ false, &compiled, err);
    tl_jformat_free(compiled);
    return tl_error_wrap(err, status, "option 'partition.timestamp-formatter'");
}

static tl_status check_features(const validation *v, tl_error *err)
{
    bool keyed = v->schema->n_primary_keys > 0;
    if (!keyed && tl_table__option_bool(v->opts, "streaming-read-overwrite"))
        return FAIL("Doesn't support streaming read the changes from overwrite when the primary keys are not defined. Please use "
                    "streaming-read-append-overwrite to enable the streaming read overwrite commit for append table.");
    TL_TRY(check_partition_expiry(v, err));
    if (is_set(v, "partition.mark-done-action"))
        TL_TRY(tl_mark_done__check(v->opts, err));
    if (is_set(v, "tag.automatic-creation"))
        TL_TRY(tl_tags__check_options(v->opts, err));
    TL_TRY(check_record_level(v, err));
    if (has_value(v, "merge-engine", "first-row") && !has_value(v, "changelog-producer", "lookup") &&
        !has_value(v, "changelog-producer", "none"))
        return FAIL("Only support 'none' and 'lookup' changelog-producer on FIRST_ROW merge engine");
    const char *kind_field = tl_options_get(v->opts, "rowkind.field");
    if (kind_field != NULL && !is_column(v, kind_field))
        return FAIL("Rowkind field: '%s' can not be found in table schema.", kind_field);
    TL_TRY(check_deletion_vectors(v, err));
    TL_TRY(check_blobs(v, err));
    TL_TRY(check_row_tracking(v, err));
    TL_TRY(check_chain(v, err));
    return check_clustering(v, err);
}

tl_status tl_table__validate(const tl_table_schema *schema, tl_error *err)
{
    validation val = {.schema = schema, .row = schema->row_type, .opts = &schema->options};
    const validation *v = &val;
    TL_TRY(check_enums(v, err));
    TL_TRY(check_numbers(v, err));
    TL_TRY(check_trimmed(v, err));
    TL_TRY(check_key_types(v, schema->primary_keys, (size_t)schema->n_primary_keys, "primary key", err));
    TL_TRY(check_key_types(v, schema->partition_keys, (size_t)schema->n_partition_keys, "partition", err));
    if (tl_format_table__asked(v->opts))
        return tl_format_table__validate(schema, err);
    TL_TRY(check_upsert_key(v, err));
    TL_TRY(check_bucket(v, err));
    TL_TRY(check_bucket_keys(v, err));
    TL_TRY(check_startup_mode(v, err));
    TL_TRY(check_fields_prefix(v, err));
    TL_TRY(check_sequence_field(v, err));
    TL_TRY(check_merge(v, err));
    TL_TRY(check_changelog(v, err));
    int64_t min = 0, max = 0;
    TL_TRY(check_retention(v, "snapshot", 10, INT32_MAX, &min, &max, err));
    TL_TRY(check_retention(v, "changelog", min, max, &min, &max, err));
    TL_TRY(tl_table__validate_formats(schema, err));
    TL_TRY(check_names(v, err));
    return check_features(v, err);
}
