/* Procedures that keep whole tables up: compaction of many, of manifests; rescaling; what is lost or no longer wanted. */
#include "sql/procedures.h"

#include <string.h>
#include <strings.h>

#include "base/parse.h"

/* ---- compact_database ---- */

typedef struct many {
    tl_call *call;
    tl_catalog *lake;
    tl_name_filter databases, tables; /* tables by DB.TABLE */
    bool full;
    int64_t idle_ms; /* only partitions that are idle for that long; TL_ABSENT: all */
    size_t n; /* tables compacted */
} many;

static tl_status compact_table(const many *m, tl_table *table, tl_commit_result *result)
{
    tl_binder *b = m->call->b;
    const tl_compact_spec spec = {.full = m->full, .idle_ms = m->idle_ms};
    return m->idle_ms == TL_ABSENT ? tl_table_compact(table, NULL, m->full, b->session->pool, result, b->err)
                                   : tl_table_compact_partitions(table, NULL, &spec, b->session->pool, result, b->err);
}

static tl_status compact_one(many *m, const char *db, const char *name)
{
    tl_error *err = m->call->b->err;
    tl_table *table = NULL;
    tl_commit_result result;
    TL_TRY(tl_table_open(m->lake, db, name, &m->call->options, &table, err));
    tl_status status = tl_error_wrap(err, compact_table(m, table, &result), "table %s.%s", db, name);
    tl_table_free(table);
    m->n++;
    return status;
}

static tl_status compact_tables_of(many *m, const char *db)
{
    char **names = NULL;
    size_t n = 0;
    TL_TRY(tl_catalog_list_tables(m->lake, db, &names, &n, m->call->b->err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        bool chosen = false;
        TL_CLEANUP(tl_freep) char *full = tl_strf("%s.%s", db, names[i]);
        status = full == NULL ? tl_nomem(m->call->b->err, "table name") : tl_call__is_chosen(m->call, &m->tables, full, &chosen);
        if (status == TL_OK && chosen)
            status = compact_one(m, db, names[i]);
    }
    tl_names_free(names, n);
    return status;
}

static tl_status compact_databases(many *m)
{
    char **dbs = NULL;
    size_t n = 0;
    TL_TRY(tl_catalog_list_databases(m->lake, &dbs, &n, m->call->b->err));
    tl_status status = TL_OK;
    for (size_t i = 0; status == TL_OK && i < n; i++) {
        bool chosen = false;
        status = tl_call__is_chosen(m->call, &m->databases, dbs[i], &chosen);
        if (status == TL_OK && chosen)
            status = compact_tables_of(m, dbs[i]);
    }
    tl_names_free(dbs, n);
    if (status == TL_OK && m->n == 0)
        return BIND_ERROR(m->call->b, m->call->ast,
                          "no tables to be compacted. possible cause is that there are no tables detected after pattern matching");
    return status;
}

/* Both modes of the reference (one job for all tables, or one each) do the same here: one table after the other. */
tl_status tl_proc__compact_database(tl_call *c)
{
    const char *mode = c->args[1], *strategy = c->args[6];
    int64_t idle_ms = TL_ABSENT;
    const tl_sql_catalog *catalog = tl_sql__catalog(c->b->session, c->catalog);
    if (catalog == NULL || catalog->lake == NULL)
        return BIND_ERROR(c->b, c->ast, "catalog '%s' has no tables to compact", c->catalog);
    if (mode != NULL && strcasecmp(mode, "divided") != 0 && strcasecmp(mode, "combined") != 0)
        return BIND_ERROR(c->b, c->ast, "mode '%s' is none of divided, combined", mode);
    if (c->args[5] != NULL)
        TL_TRY(tl_error_wrap(c->b->err, tl_parse_duration_ms(c->args[5], &idle_ms, c->b->err), "partition_idle_time"));
    if (strategy != NULL && strcasecmp(strategy, "full") != 0 && strcasecmp(strategy, "minor") != 0)
        return BIND_ERROR(c->b, c->ast, "The compact strategy only supports 'full' or 'minor', but '%s' is configured.", strategy);
    if (tl_options_set(&c->options, "write-only", "false") != TL_OK)
        return tl_nomem(c->b->err, "options");
    many m = {.call = c, .lake = catalog->lake, .idle_ms = idle_ms, .full = strategy == NULL || strcasecmp(strategy, "full") == 0};
    tl_status status = tl_call__filter(c, c->args[0], NULL, &m.databases);
    if (status == TL_OK)
        status = tl_call__filter(c, c->args[2], c->args[3], &m.tables);
    if (status == TL_OK)
        status = compact_databases(&m);
    tl_name_filter_deinit(&m.databases);
    tl_name_filter_deinit(&m.tables);
    return status;
}

/* ---- of one table ---- */

tl_status tl_proc__compact_manifest(tl_call *c)
{
    c->none = "success"; /* in the reference's spelling */
    return tl_table_compact_manifests(c->table->table, NULL, c->b->err);
}

static tl_status rescale(tl_call *c, const tl_options *specs, size_t n)
{
    static const tl_options whole = {0};
    int64_t buckets;
    if (c->args[1] != NULL && strcmp(c->args[1], "-1") == 0) /* the reference writes it, and then nobody can write the table any more */
        return BIND_ERROR(c->b, c->ast, "bucket_num: a table cannot be rescaled to -1, since its option 'bucket' cannot be changed to that: copy its rows into a new table");
    TL_TRY(tl_call__integer(c, c->args[1], "bucket_num", 0, &buckets));
    if (buckets > INT16_MAX || n > 1)
        return n > 1 ? BIND_ERROR(c->b, c->ast, "rescale takes one partition (a=1,b=2)")
                     : BIND_ERROR(c->b, c->ast, "bucket_num: %lld is more than %d", (long long)buckets, INT16_MAX);
    return tl_table_rescale(c->table->table, n == 0 ? &whole : &specs[0], (int32_t)buckets, c->b->session->pool, NULL, c->b->err);
}

tl_status tl_proc__rescale(tl_call *c)
{
    return tl_call__with_partitions(c, c->args[2], rescale);
}

tl_status tl_proc__purge_files(tl_call *c)
{
    return tl_table_purge(c->table->table, c->b->err);
}

tl_status tl_proc__remove_unexisting_files(tl_call *c)
{
    bool dry = c->args[1] != NULL && strcasecmp(c->args[1], "true") == 0;
    c->none = NULL;
    return tl_table_remove_lost_files(c->table->table, dry, &c->cells, &c->n_cells, c->b->err);
}

tl_status tl_proc__remove_unexisting_manifests(tl_call *c)
{
    size_t n;
    return tl_table_remove_lost_manifests(c->table->table, &n, c->b->err);
}
