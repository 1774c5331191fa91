/* DataFileMeta (format reference §5) and SimpleStats as owned structs. */
#include "meta/manifest_record.h"

void tl_simple_stats_deinit(tl_simple_stats *stats)
{
    tl_bytes_deinit(&stats->min);
    tl_bytes_deinit(&stats->max);
    tl_free(stats->null_counts);
    *stats = (tl_simple_stats){0};
}

tl_data_file *tl_data_file_create(void)
{
    tl_data_file *file = tl_calloc(1, sizeof *file);
    if (file == NULL)
        return NULL;
    file->creation_time_ms = TL_ABSENT;
    file->delete_rows = TL_ABSENT;
    file->file_source = -1;
    file->n_value_stats_cols = -1;
    file->first_row_id = TL_ABSENT;
    file->n_write_cols = -1;
    file->refs = 1;
    return file;
}

tl_data_file *tl_data_file_ref(const tl_data_file *file)
{
    tl_data_file *f = (tl_data_file *)file;
    __atomic_add_fetch(&f->refs, 1, __ATOMIC_RELAXED);
    return f;
}

void tl_names_free(char **names, size_t n)
{
    for (size_t i = 0; names != NULL && i < n; i++)
        tl_free(names[i]);
    tl_free(names);
}

static void free_strs(char **strs, int32_t n)
{
    tl_names_free(strs, n > 0 ? (size_t)n : 0);
}

void tl_data_file_unref(tl_data_file *file)
{
    if (file == NULL || __atomic_sub_fetch(&file->refs, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (!file->packed) {
        tl_free(file->name);
        tl_bytes_deinit(&file->min_key);
        tl_bytes_deinit(&file->max_key);
        tl_simple_stats_deinit(&file->key_stats);
        tl_simple_stats_deinit(&file->value_stats);
        free_strs(file->extra_files, file->n_extra_files);
        tl_bytes_deinit(&file->embedded_index);
        free_strs(file->value_stats_cols, file->n_value_stats_cols);
        tl_free(file->external_path);
        free_strs(file->write_cols, file->n_write_cols);
    }
    tl_free(file);
}

/* The copy functions return false if out of memory. */

static bool dup_bytes(tl_bytes from, tl_bytes *to)
{
    if (from.data == NULL)
        return true;
    *to = (tl_bytes){tl_memdup(from.data, from.len), from.len};
    return to->data != NULL;
}

static bool dup_str(const char *from, char **to)
{
    return from == NULL || (*to = tl_strdup(from)) != NULL;
}

static bool dup_strs(char *const *from, int32_t n, char ***to, int32_t *n_to)
{
    *n_to = TL_MIN(n, 0);
    if (n <= 0)
        return true;
    if ((*to = tl_calloc((size_t)n, sizeof **to)) == NULL)
        return false;
    for (; *n_to < n; ++*n_to) {
        if (!dup_str(from[*n_to], &(*to)[*n_to]))
            return false;
    }
    return true;
}

static bool dup_stats(const tl_simple_stats *from, tl_simple_stats *to)
{
    to->n = TL_MIN(from->n, 0);
    if (!dup_bytes(from->min, &to->min) || !dup_bytes(from->max, &to->max))
        return false;
    if (from->n > 0 && (to->null_counts = tl_memdup(from->null_counts, (size_t)from->n * sizeof(int64_t))) == NULL)
        return false;
    to->n = from->n;
    return true;
}

bool tl_data_file_is_blob(const tl_data_file *file)
{
    static const char extension[] = ".blob";
    size_t n = strlen(file->name), m = sizeof extension - 1;
    return n > m && strcmp(file->name + n - m, extension) == 0;
}

bool tl_data_file_is_side(const tl_data_file *file)
{
    return tl_data_file_is_blob(file) || strstr(file->name, ".vector.") != NULL; /* Java: VectorType#isVectorStoreFile */
}

bool tl_data_file_holds(const tl_data_file *file, const char *name, int32_t *hint)
{
    if (name == NULL || file->n_write_cols < 0)
        return name != NULL;
    for (int32_t k = 0; k < file->n_write_cols; k++) {
        int32_t at = (*hint + k) % file->n_write_cols;
        if (strcmp(file->write_cols[at], name) == 0) {
            *hint = at + 1;
            return true;
        }
    }
    return false;
}

tl_status tl_data_file_dup(const tl_data_file *from, tl_data_file **out, tl_error *err)
{
    tl_data_file *to = tl_data_file_create();
    if (to == NULL)
        return tl_nomem(err, "data file entry");
    to->bytes = from->bytes;
    to->rows = from->rows;
    to->min_seq = from->min_seq;
    to->max_seq = from->max_seq;
    to->schema_id = from->schema_id;
    to->level = from->level;
    to->creation_time_ms = from->creation_time_ms;
    to->delete_rows = from->delete_rows;
    to->file_source = from->file_source;
    to->first_row_id = from->first_row_id;
    to->of_anchor = from->of_anchor;
    if (!dup_str(from->name, &to->name) || !dup_bytes(from->min_key, &to->min_key) || !dup_bytes(from->max_key, &to->max_key) ||
        !dup_stats(&from->key_stats, &to->key_stats) || !dup_stats(&from->value_stats, &to->value_stats) ||
        !dup_strs(from->extra_files, from->n_extra_files, &to->extra_files, &to->n_extra_files) ||
        !dup_bytes(from->embedded_index, &to->embedded_index) ||
        !dup_strs(from->value_stats_cols, from->n_value_stats_cols, &to->value_stats_cols, &to->n_value_stats_cols) ||
        !dup_str(from->external_path, &to->external_path) ||
        !dup_strs(from->write_cols, from->n_write_cols, &to->write_cols, &to->n_write_cols)) {
        tl_data_file_unref(to);
        return tl_nomem(err, "data file entry");
    }
    *out = to;
    return TL_OK;
}
