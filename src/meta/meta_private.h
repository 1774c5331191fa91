/* Helpers shared by the files of meta/. */
#ifndef TL_META_PRIVATE_H
#define TL_META_PRIVATE_H

#include "meta/meta.h"

/** Largest JSON metadata file and manifest that is read. */
#define TL_META_JSON_BYTES_MAX ((int64_t)64 << 20)
#define TL_META_MANIFEST_BYTES_MAX ((int64_t)1 << 30)

/* ---- JSON members; each error names the key ---- */

/** Integer; absent or null: `absent`, if that is not TL_ABSENT or `required` is false. */
tl_status tl_meta__json_int(const tl_json *object, const char *key, bool required, int64_t absent, int64_t *out, tl_error *err);
/** String as tl_strdup'ed text; absent or null: NULL unless required. No NUL inside. */
tl_status tl_meta__json_str(const tl_json *object, const char *key, bool required, char **out, tl_error *err);
/** Object of scalars as options; absent or null: none. */
tl_status tl_meta__json_options(const tl_json *object, const char *key, tl_options *out, tl_error *err);
/** Array of strings; absent or null: none. Freed with tl_names_free(). */
tl_status tl_meta__json_names(const tl_json *object, const char *key, char ***out, int32_t *n, tl_error *err);
tl_status tl_meta__parse_object(tl_arena *arena, tl_bytes_view json, const tl_json **out, tl_error *err);
void tl_meta__write_options(tl_json_writer *w, const tl_options *options);
/** The writer's text as bytes, or its error; ends the writer. */
tl_status tl_meta__json_finish(tl_json_writer *w, tl_bytes *out, tl_error *err);

/* ---- numbered files ---- */

/** N of files PREFIX-N in a folder, ascending; names that do not parse are left out. tl_free. */
tl_status tl_meta__list_ids(tl_fs *fs, const tl_paths *paths, const char *dir, const char *prefix, int64_t **ids, size_t *n,
                            tl_error *err);
/** Decimal digits only, without overflow. */
bool tl_meta__parse_id(const char *text, int64_t *out);
/** Names that become part of a path: not empty, no separators, not "." or "..", no NUL or control characters. */
tl_status tl_meta__check_name(const char *kind, const char *name, tl_status status, tl_error *err);

/* ---- manifests ---- */

/** Room for one more meta at list->items[list->n], to be filled before n is raised. */
tl_status tl_meta__list_slot(tl_manifest_list *list, tl_manifest_meta **out, tl_error *err);
tl_status tl_meta__partition_stats(const tl_manifest_entry *entries, size_t n, const tl_type *partition_type,
                                   tl_simple_stats *out, tl_error *err);
/** out->min and out->max from columns of two rows, the bounds. */
tl_status tl_meta__encode_bounds(tl_column *const *bounds, int32_t n, tl_simple_stats *out, tl_error *err);

#endif
