/*
 * Catalogs: where databases and tables are found. File system catalog: WAREHOUSE/DB.db/TABLE (format reference §23).
 */
#ifndef TL_CATALOG_CATALOG_H
#define TL_CATALOG_CATALOG_H

#include "meta/meta.h"

typedef struct tl_catalog tl_catalog;

/** `warehouse` is a folder ("file:" in front is accepted); made if missing. */
tl_status tl_catalog_open(tl_fs *fs, const char *warehouse, tl_catalog **out, tl_error *err);
void tl_catalog_close(tl_catalog *catalog);
tl_fs *tl_catalog_fs(tl_catalog *catalog);
const char *tl_catalog_warehouse(const tl_catalog *catalog);

/** Options that the catalog was made with, `warehouse` among them: what sys.catalog_options shows. */
tl_status tl_catalog_set_options(tl_catalog *catalog, const tl_options *options, tl_error *err);
const tl_options *tl_catalog_options(const tl_catalog *catalog);
/** `sys`, the database of tables about the whole catalog (table/ makes their rows): listed nowhere, and nothing in it can be changed. */
bool tl_catalog_is_system(const char *db);
/** Names of its tables, in order; NULL at the end. */
extern const char *const tl_catalog_system_tables[];

tl_status tl_catalog_create_database(tl_catalog *catalog, const char *db, bool if_not_exists, tl_error *err);
tl_status tl_catalog_drop_database(tl_catalog *catalog, const char *db, bool if_exists, bool cascade, tl_error *err);
tl_status tl_catalog_list_databases(tl_catalog *catalog, char ***names, size_t *n, tl_error *err);
tl_status tl_catalog_list_tables(tl_catalog *catalog, const char *db, char ***names, size_t *n, tl_error *err);
tl_status tl_catalog_table_exists(tl_catalog *catalog, const char *db, const char *table, bool *out, tl_error *err);
/** The table's folder; tl_free. Names are checked: no separators, no "..", not empty. */
tl_status tl_catalog_table_path(tl_catalog *catalog, const char *db, const char *table, char **out, tl_error *err);
/** Publish schema-0 of a new table; the schema is complete and valid (table/ validates). TL_E_EXISTS. */
tl_status tl_catalog_create_table(tl_catalog *catalog, const char *db, const char *table, const tl_table_schema *schema, tl_error *err);
tl_status tl_catalog_drop_table(tl_catalog *catalog, const char *db, const char *table, bool if_exists, tl_error *err);
tl_status tl_catalog_rename_table(tl_catalog *catalog, const char *db, const char *from, const char *to, tl_error *err);

#endif
