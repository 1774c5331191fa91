/*
 * Interval partitioning (Java: org.apache.paimon.mergetree.compact.IntervalPartition).
 *
 * Files sorted by their smallest key are cut into sections wherever a file starts beyond the largest key so far. Inside a
 * section each file joins the run whose last file ends first, if that end lies before the file's start; else it opens a new
 * run. That needs no more runs than the deepest overlap.
 */
#include "lsm/lsm_private.h"

#include <stdlib.h>

#include "types/binary_row.h"

static tl_status read_keys(const tl_type *key_type, tl_data_file *const *files, size_t n, tl_builder **builders, tl_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const tl_bytes *rows[] = {&files[i]->min_key, &files[i]->max_key};
        for (size_t r = 0; r < TL_ARRAY_LEN(rows); r++) {
            tl_status status = tl_binary_row_read(tl_bytes_view_of(*rows[r]), key_type, /* with_arity= */ true, builders, err);
            TL_TRY(tl_error_wrap(err, status, "data file '%s': %s", files[i]->name, r == 0 ? "_MIN_KEY" : "_MAX_KEY"));
        }
    }
    return TL_OK;
}

/* Ranges of files in terms of these columns. */
static tl_status range_keys(const tl_type *key_type, tl_data_file *const *files, size_t n, tl_keys **out, tl_error *err)
{
    size_t n_cols = (size_t)key_type->n_fields;
    tl_builder **builders = tl_calloc(n_cols + 1, sizeof(*builders));
    tl_column **cols = tl_calloc(n_cols + 1, sizeof(*cols));
    tl_status status = TL_OK;
    if (builders == NULL || cols == NULL) {
        status = tl_nomem(err, "keys of files");
        goto out;
    }
    for (size_t c = 0; c < n_cols; c++)
        TL_TRY_GOTO(tl_builder_create(key_type->fields[c].type, &builders[c], err));
    TL_TRY_GOTO(read_keys(key_type, files, n, builders, err));
    for (size_t c = 0; c < n_cols; c++)
        TL_TRY_GOTO(tl_builder_finish(builders[c], &cols[c], err));
    TL_TRY_GOTO(tl_keys_create((const tl_column *const *)cols, (int32_t)n_cols, (int64_t)n * 2, out, err));
out:
    for (size_t c = 0; c < n_cols && builders != NULL; c++)
        tl_builder_free(builders[c]);
    for (size_t c = 0; c < n_cols && cols != NULL; c++)
        tl_column_unref(cols[c]);
    tl_free(builders);
    tl_free(cols);
    return status;
}

tl_status tl_lsm__file_keys(const tl_lsm_config *config, tl_data_file *const *files, size_t n, tl_keys **out, tl_error *err)
{
    return range_keys(config->layout->key_type, files, n, out, err);
}

/* ---- order of files ---- */

/* Positions in `order` sorted by (smallest, largest key): a merge sort, since qsort() has no context. */
typedef struct file_order {
    const tl_keys *keys;
    uint32_t *order;
    uint32_t *scratch;
} file_order;

static int compare_files(const tl_keys *keys, uint32_t a, uint32_t b)
{
    int c = tl_keys_compare(keys, 2 * (int64_t)a, keys, 2 * (int64_t)b);
    return c != 0 ? c : tl_keys_compare(keys, 2 * (int64_t)a + 1, keys, 2 * (int64_t)b + 1);
}

/* Bottom-up and stable, as Java's List.sort(). */
static void sort_files(const file_order *o, size_t n)
{
    uint32_t *from = o->order, *to = o->scratch;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t lo = 0; lo < n; lo += 2 * width) {
            size_t mid = TL_MIN(lo + width, n), hi = TL_MIN(lo + 2 * width, n), i = lo, j = mid;
            for (size_t k = lo; k < hi; k++)
                to[k] = i < mid && (j >= hi || compare_files(o->keys, from[i], from[j]) <= 0) ? from[i++] : from[j++];
        }
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != o->order)
        memcpy(o->order, from, n * sizeof(*from));
}

static tl_status order_files(const tl_keys *keys, size_t n, uint32_t **out, tl_error *err)
{
    uint32_t *order = tl_alloc((n + 1) * sizeof(*order));
    uint32_t *scratch = tl_alloc((n + 1) * sizeof(*scratch));
    if (order == NULL || scratch == NULL) {
        tl_free(order);
        tl_free(scratch);
        return tl_nomem(err, "order of files");
    }
    for (size_t i = 0; i < n; i++)
        order[i] = (uint32_t)i;
    sort_files(&(file_order){keys, order, scratch}, n);
    tl_free(scratch);
    *out = order;
    return TL_OK;
}

tl_status tl_lsm__sort_run(const tl_lsm_config *config, tl_file_list *files, tl_error *err)
{
    tl_keys *keys = NULL;
    uint32_t *order = NULL;
    tl_data_file **sorted = NULL;
    tl_status status = TL_OK;
    if (files->n < 2)
        return TL_OK;
    TL_TRY_GOTO(tl_lsm__file_keys(config, files->items, files->n, &keys, err));
    TL_TRY_GOTO(order_files(keys, files->n, &order, err));
    for (size_t i = 1; i < files->n; i++) {
        if (tl_keys_compare(keys, 2 * (int64_t)order[i], keys, 2 * (int64_t)order[i - 1] + 1) <= 0) {
            status = tl_error_set(err, TL_E_CORRUPT, "level %d: key ranges of data files '%s' and '%s' overlap",
                                  files->items[0]->level, files->items[order[i - 1]]->name, files->items[order[i]]->name);
            goto out;
        }
    }
    sorted = tl_alloc(files->n * sizeof(*sorted));
    if (sorted == NULL) {
        status = tl_nomem(err, "order of files");
        goto out;
    }
    for (size_t i = 0; i < files->n; i++)
        sorted[i] = files->items[order[i]];
    memcpy(files->items, sorted, files->n * sizeof(*sorted));
out:
    tl_free(sorted);
    tl_free(order);
    tl_keys_free(keys);
    return status;
}

/* ---- sections ---- */

/* The runs of the section being built, as a binary heap by the largest key of their last file. */
typedef struct run_heap {
    const tl_keys *keys;
    uint32_t *runs; /* index of the run in the section */
    uint32_t *last; /* index of the run's last file in `files` */
    size_t n;
} run_heap;

static bool ends_before(const run_heap *h, size_t a, size_t b)
{
    return tl_keys_compare(h->keys, 2 * (int64_t)h->last[a] + 1, h->keys, 2 * (int64_t)h->last[b] + 1) < 0;
}

static void heap_swap(run_heap *h, size_t a, size_t b)
{
    uint32_t run = h->runs[a], last = h->last[a];
    h->runs[a] = h->runs[b];
    h->last[a] = h->last[b];
    h->runs[b] = run;
    h->last[b] = last;
}

static void heap_sift_down(run_heap *h)
{
    for (size_t i = 0;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < h->n; child++) {
            if (ends_before(h, child, least))
                least = child;
        }
        if (least == i)
            return;
        heap_swap(h, i, least);
        i = least;
    }
}

static void heap_push(run_heap *h, uint32_t run, uint32_t file)
{
    size_t i = h->n++;
    h->runs[i] = run;
    h->last[i] = file;
    for (; i > 0 && ends_before(h, i, (i - 1) / 2); i = (i - 1) / 2)
        heap_swap(h, i, (i - 1) / 2);
}

static tl_status section_add_run(tl_section *section, uint32_t *run, tl_error *err)
{
    /* Doubling: sections have few runs, but hostile metadata may have many. */
    if ((section->n_runs & (section->n_runs - 1)) == 0) {
        size_t cap = section->n_runs == 0 ? 1 : section->n_runs * 2;
        tl_file_list *runs = tl_realloc(section->runs, cap * sizeof(*runs));
        if (runs == NULL)
            return tl_nomem(err, "sections");
        section->runs = runs;
    }
    section->runs[section->n_runs] = (tl_file_list){NULL, 0, 0};
    *run = (uint32_t)section->n_runs++;
    return TL_OK;
}

static tl_status section_fill(tl_section *section, run_heap *heap, tl_data_file *const *files, const uint32_t *order, size_t n,
                              tl_error *err)
{
    heap->n = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t run = 0;
        if (heap->n > 0 && tl_keys_compare(heap->keys, 2 * (int64_t)order[i], heap->keys, 2 * (int64_t)heap->last[0] + 1) > 0) {
            run = heap->runs[0];
            heap->last[0] = order[i];
            heap_sift_down(heap);
        } else {
            TL_TRY(section_add_run(section, &run, err));
            heap_push(heap, run, order[i]);
        }
        TL_TRY(tl_file_list_add(&section->runs[run], files[order[i]], err));
    }
    return TL_OK;
}

/* End (exclusive) of the section that starts at `from`. */
static size_t section_end(const tl_keys *keys, const uint32_t *order, size_t from, size_t n)
{
    int64_t bound = 2 * (int64_t)order[from] + 1;
    size_t i = from + 1;
    for (; i < n && tl_keys_compare(keys, 2 * (int64_t)order[i], keys, bound) <= 0; i++) {
        int64_t end = 2 * (int64_t)order[i] + 1;
        if (tl_keys_compare(keys, end, keys, bound) > 0)
            bound = end;
    }
    return i;
}

static tl_status partition_files(const tl_keys *keys, const uint32_t *order, tl_data_file *const *files, size_t n,
                                 tl_section **sections, size_t *n_sections, tl_error *err)
{
    run_heap heap = {keys, tl_alloc((n + 1) * sizeof(uint32_t)), tl_alloc((n + 1) * sizeof(uint32_t)), 0};
    tl_status status = heap.runs == NULL || heap.last == NULL ? tl_nomem(err, "sections") : TL_OK;
    for (size_t from = 0; from < n && status == TL_OK;) {
        size_t end = section_end(keys, order, from, n);
        (*sections)[*n_sections] = (tl_section){NULL, 0};
        status = section_fill(&(*sections)[(*n_sections)++], &heap, files, order + from, end - from, err);
        from = end;
    }
    tl_free(heap.runs);
    tl_free(heap.last);
    return status;
}

tl_status tl_lsm__sections_by(const tl_type *range_type, tl_data_file *const *files, size_t n_files, tl_section **out, size_t *n, tl_error *err)
{
    tl_keys *keys = NULL;
    uint32_t *order = NULL;
    tl_section *sections = NULL;
    size_t n_sections = 0;
    tl_status status = TL_OK;
    if (n_files > UINT32_MAX / 2)
        return tl_error_set(err, TL_E_LIMIT, "bucket has %zu files", n_files);
    TL_TRY_GOTO(range_keys(range_type, files, n_files, &keys, err));
    TL_TRY_GOTO(order_files(keys, n_files, &order, err));
    sections = tl_calloc(n_files + 1, sizeof(*sections));
    if (sections == NULL) {
        status = tl_nomem(err, "sections");
        goto out;
    }
    TL_TRY_GOTO(partition_files(keys, order, files, n_files, &sections, &n_sections, err));
    *out = TL_STEAL(sections);
    *n = n_sections;
    n_sections = 0;
out:
    if (sections != NULL)
        tl_sections_free(sections, n_sections);
    tl_free(order);
    tl_keys_free(keys);
    return status;
}

void tl_sections_free(tl_section *sections, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < sections[i].n_runs; r++)
            tl_file_list_deinit(&sections[i].runs[r]);
        tl_free(sections[i].runs);
    }
    tl_free(sections);
}

/* Files sorted by other columns (pk-clustering-override) have no key ranges; above level 0 a key is live in one file only. */
static tl_status sections_of_clustered(tl_data_file *const *files, size_t n_files, tl_section **out, size_t *n, tl_error *err)
{
    tl_section *sections = tl_calloc(n_files + 1, sizeof(*sections));
    tl_status status = sections == NULL ? tl_nomem(err, "sections") : TL_OK;
    size_t made = 0;
    for (size_t i = 0; i < n_files && status == TL_OK; i++) {
        sections[i].runs = tl_calloc(1, sizeof(*sections[i].runs));
        made += sections[i].runs != NULL;
        sections[i].n_runs = sections[i].runs != NULL;
        status = sections[i].runs == NULL ? tl_nomem(err, "sections") : tl_file_list_add(&sections[i].runs[0], files[i], err);
    }
    if (status != TL_OK) {
        tl_sections_free(sections, made);
        return status;
    }
    *out = sections;
    *n = n_files;
    return TL_OK;
}

tl_status tl_sections(const tl_lsm_config *config, tl_data_file *const *files, size_t n_files, tl_section **out, size_t *n,
                      tl_error *err)
{
    size_t clustered = 0;
    for (size_t i = 0; i < n_files; i++)
        clustered += tl_lsm_is_clustered(config, files[i]);
    if (clustered == 0)
        return tl_lsm__sections_by(config->layout->key_type, files, n_files, out, n, err);
    if (clustered < n_files)
        return tl_error_set(err, TL_E_UNSUPPORTED, "not supported: merging files of level 0 with files that are sorted by other columns than the key "
                            "('pk-clustering-override')");
    return sections_of_clustered(files, n_files, out, n, err);
}
