/*
 * The procedures: names, arguments and what they do, for CALL and for whoever makes commands or forms of them. One table; whatever lists
 * procedures reads it.
 */
#include "sql/procedures.h"

#include <string.h>
#include <strings.h>

#include "sql/sql.h"

/* clang-format off: texts stand here as they are printed. */
static const tl_procedure procedures[] = {
    {"create_tag", {"*table", "*tag", "snapshot_id", "time_retained"}, tl_proc__create_tag, "keep a snapshot under a name"},
    {"delete_tag", {"*table", "*tag"}, tl_proc__delete_tag, "remove tags"},
    {"rename_tag", {"*table", "*tag", "*target_tag"}, tl_proc__rename_tag, "give a tag another name"},
    {"replace_tag", {"*table", "*tag", "snapshot_id", "time_retained"}, tl_proc__replace_tag, "let a tag keep another snapshot"},
    {"create_tag_from_timestamp", {"*table", "*tag", "*timestamp", "time_retained"}, tl_proc__create_tag_from_timestamp,
     "tag the first snapshot since a time"},
    {"create_tag_from_watermark", {"*table", "*tag", "*watermark", "time_retained"}, tl_proc__create_tag_from_watermark,
     "tag the first snapshot whose watermark is not below one"},
    {"expire_tags", {"*table", "older_than"}, tl_proc__expire_tags, "delete the tags whose time is over"},
    {"trigger_tag_automatic_creation", {"*table"}, tl_proc__trigger_tags, "make the automatic tags that are due"},
    {"rollback_to", {"*table", "tag", "snapshot_id"}, tl_proc__rollback_to, "go back to an earlier snapshot or tag"},
    {"rollback_to_timestamp", {"*table", "*timestamp"}, tl_proc__rollback_to_timestamp, "go back to the last snapshot until a time"},
    {"rollback_to_watermark", {"*table", "*watermark"}, tl_proc__rollback_to_watermark, "go back to the last snapshot whose watermark is not above one"},
    {"create_branch", {"*table", "*branch", "tag"}, tl_proc__create_branch, "make a branch"},
    {"delete_branch", {"*table", "*branch"}, tl_proc__delete_branch, "remove a branch"},
    {"rename_branch", {"*table", "*from_branch", "*to_branch"}, tl_proc__rename_branch, "give a branch another name"},
    {"fast_forward", {"*table", "*branch"}, tl_proc__fast_forward, "make the table what a branch of it is"},
    {"clone",
     {"database", "table", "catalog_conf", "target_database", "target_table", "target_catalog_conf", "parallelism", "where", "included_tables",
      "excluded_tables", "prefer_file_format", "clone_from", "meta_only", "clone_if_exists"},
     tl_proc__clone_tables, "copy tables to another warehouse"},
    {"migrate_table", {"*connector", "*source_table", "*target_table", "options", "parallelism", "delete_origin"}, tl_proc__migrate_table,
     "make the files of a folder a table's"},
    {"compact", {"*table", "partitions", "order_strategy", "order_by", "options", "where", "partition_idle_time", "compact_strategy"}, tl_proc__compact,
     "merge files, or sort the rows of an append table"},
    {"compact_database",
     {"including_databases", "mode", "including_tables", "excluding_tables", "table_options", "partition_idle_time", "compact_strategy"},
     tl_proc__compact_database, "merge the files of many tables, one after the other"},
    {"compact_manifest", {"*table", "options"}, tl_proc__compact_manifest, "bring small manifests together"},
    {"rescale", {"*table", "bucket_num", "partition", "scan_parallelism", "sink_parallelism"}, tl_proc__rescale,
     "write a partition, or all, again with another number of buckets"},
    {"purge_files", {"*table"}, tl_proc__purge_files, "remove everything of a table but its schemas: rows, history, tags, branches"},
    {"remove_unexisting_files", {"*table", "dry_run", "parallelism"}, tl_proc__remove_unexisting_files, "take data files that are gone out of a table"},
    {"remove_unexisting_manifests", {"*tableId"}, tl_proc__remove_unexisting_manifests, "take manifests that are gone out of a table"},
    {"expire_snapshots", {"*table", "retain_max", "retain_min", "older_than", "max_deletes", "options"}, tl_proc__expire_snapshots,
     "remove old snapshots, as the table's options say where nothing else is said"},
    {"expire_changelogs", {"*table", "retain_max", "retain_min", "older_than", "max_deletes", "delete_all"}, tl_proc__expire_changelogs,
     "remove changelogs that outlived their snapshots"},
    {"expire_partitions",
     {"*table", "expiration_time", "timestamp_formatter",
      "timestamp_pattern", "expire_strategy",
      "max_expires", "options"},
     tl_proc__expire_partitions, "remove the partitions whose time is over"},
    {"drop_partition", {"*table", "*partitions"}, tl_proc__drop_partition, "remove partitions"},
    {"rewrite_file_index", {"*table", "partitions"}, tl_proc__rewrite_file_index, "make file indexes what the options ask for"},
    {"merge_into",
     {"*target_table", "target_alias", "source_sqls", "*source_table", "*merge_condition", "matched_upsert_condition", "matched_upsert_setting",
      "not_matched_insert_condition", "not_matched_insert_values", "matched_delete_condition", "not_matched_by_source_upsert_condition",
      "not_matched_by_source_upsert_setting", "not_matched_by_source_delete_condition"},
     tl_proc__merge_into, "change, delete and add rows by those of a source, in one commit"},
    {"data_evolution_merge_into",
     {"*target_table", "target_alias", "source_sqls", "*source_table", "*merge_condition", "*matched_update_set", "sink_parallelism"},
     tl_proc__data_evolution_merge_into, "change columns of a table with data evolution by the rows of a source"},
    {"reset_consumer", {"*table", "*consumer_id", "next_snapshot_id"}, tl_proc__reset_consumer, "set, or forget, where a streaming reader goes on"},
    {"clear_consumers", {"*table", "including_consumers", "excluding_consumers"}, tl_proc__clear_consumers, "forget the streaming readers of some names"},
    {"alter_column_default_value", {"*table", "*column", "default_value"}, tl_proc__alter_column_default_value,
     "set, or take away, what a column holds where nothing is given"},
    {"mark_partition_done", {"*table", "*partitions"}, tl_proc__mark_partition_done, "tell others that partitions are complete"},
    {"remove_orphan_files", {"*table", "older_than", "dry_run", "parallelism", "mode"}, tl_proc__remove_orphan_files,
     "remove files that nothing refers to; tells how many, and their bytes"},
};

/* What arguments are, whatever the procedure. A flag has no value. */
static const struct {
    const char *name, *value, *help;
    const char *option; /* of the table, which it sets for the call; NULL: none */
} arguments[] = {
    {"branch", "NAME", "the branch", NULL},
    {"bucket_num", "N", "the number of buckets (default: the table's option bucket)", NULL},
    {"column", "NAME", "the column; dots for nested fields", NULL},
    {"compact_strategy", "full|minor", "everything into one sorted run per bucket (the default), or what is due", NULL},
    {"consumer_id", "ID", "the streaming reader", NULL},
    {"default_value", "VALUE", "the new default (without one: there is none any more)", NULL},
    {"delete_all", "", "all of them, whatever readers have seen", NULL},
    {"dry_run", "", "only tell what would be done", NULL},
    {"excluding_consumers", "REGEX", "but not those whose whole name matches", NULL},
    {"excluding_tables", "REGEX", "but not those whose DB.TABLE matches as a whole", NULL},
    {"expiration_time", "TIME", "how old they are: '30 d'", "partition.expiration-time"},
    {"expire_strategy", "STRATEGY", "by the values of the partition, or by its update time", "partition.expiration-strategy"},
    {"from_branch", "NAME", "the branch", NULL},
    {"including_consumers", "REGEX", "those whose whole name matches (default: all)", NULL},
    {"including_databases", "REGEX", "databases whose whole name matches (default: all)", NULL},
    {"including_tables", "REGEX", "tables whose DB.TABLE matches as a whole (default: all)", NULL},
    {"matched_delete_condition", "CONDITION", "which rows that have a partner in the source go", NULL},
    {"matched_update_set", "LIST", "what the columns of rows with a partner become: 'a = s.x, b = 1'", NULL},
    {"matched_upsert_condition", "CONDITION", "which rows that have a partner change (default: all)", NULL},
    {"matched_upsert_setting", "LIST", "what their columns become: 'a = s.x, b = 1', or '*'", NULL},
    {"max_expires", "N", "at most N partitions", "partition.expiration-max-num"},
    {"max_deletes", "N", "remove at most N at once", NULL},
    {"merge_condition", "CONDITION", "which rows of target and source are partners", NULL},
    {"mode", "MODE", "taken, and does nothing here", NULL},
    {"next_snapshot_id", "N", "the snapshot that it reads next (without one it is forgotten)", NULL},
    {"not_matched_by_source_delete_condition", "CONDITION", "which rows without a partner in the source go", NULL},
    {"not_matched_by_source_upsert_condition", "CONDITION", "which rows without a partner change (default: all)", NULL},
    {"not_matched_by_source_upsert_setting", "LIST", "what their columns become: 'a = 1'", NULL},
    {"not_matched_insert_condition", "CONDITION", "which rows of the source without a partner come (default: all)", NULL},
    {"not_matched_insert_values", "LIST", "what they are: a value for each column, or '*'", NULL},
    {"older_than", "TIMESTAMP", "only what is older: '2024-05-01 00:00:00'", NULL},
    {"options", "LIST", "options of the table for this call: key=value, parted by commas", NULL},
    {"parallelism", "N", "taken, and does nothing here: there is one process", NULL},
    {"partition", "PARTITION", "only this partition: a=1,b=2", NULL},
    {"partition_idle_time", "TIME", "only partitions whose newest file is that old: '1 d'", NULL},
    {"partitions", "LIST", "the partitions: 'a=1,b=2;a=3,b=4'", NULL},
    {"retain_max", "N", "keep at most N", NULL},
    {"retain_min", "N", "keep at least N", NULL},
    {"scan_parallelism", "N", "taken, and does nothing here: there is one process", NULL},
    {"sink_parallelism", "N", "taken, and does nothing here: there is one process", NULL},
    {"snapshot_id", "N", "the snapshot (default: the latest)", NULL},
    {"source_sqls", "STATEMENTS", "run first, parted by semicolons: they may make the source", NULL},
    {"source_table", "NAME", "the source: a table or view", NULL},
    {"table_options", "LIST", "options of the tables for this call: key=value, parted by commas", NULL},
    {"tag", "NAME", "the tag", NULL},
    {"target_alias", "NAME", "what conditions call the target (default: its name)", NULL},
    {"target_tag", "NAME", "its new name", NULL},
    {"time_retained", "TIME", "how long the tag is kept: '30 d' (default: for ever)", NULL},
    {"timestamp", "MS", "milliseconds since 1970", NULL},
    {"timestamp_formatter", "PATTERN", "of the time in a partition's values", "partition.timestamp-formatter"},
    {"timestamp_pattern", "PATTERN", "how a time is made of a partition's values", "partition.timestamp-pattern"},
    {"to_branch", "NAME", "its new name", NULL},
    {"watermark", "MS", "the watermark", NULL},
};
/* clang-format on */

const tl_procedure *tl_procedure__find(const char *name)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(procedures); i++) {
        if (strcasecmp(procedures[i].name, name) == 0)
            return &procedures[i];
    }
    return NULL;
}

bool tl_procedure__takes_table(const tl_procedure *p)
{
    const char *first = tl_procedure__argument(p, 0);
    return strcmp(first, "table") == 0 || strcmp(first, "target_table") == 0 || strcmp(first, "tableId") == 0;
}

const char *tl_procedure__option(const char *argument)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(arguments); i++) {
        if (strcmp(arguments[i].name, argument) == 0)
            return arguments[i].option;
    }
    return NULL;
}

bool tl_sql_procedure_at(size_t i, tl_sql_procedure *out)
{
    if (i >= TL_ARRAY_LEN(procedures))
        return false;
    const tl_procedure *p = &procedures[i];
    *out = (tl_sql_procedure){.name = p->name, .summary = p->summary, .takes_table = tl_procedure__takes_table(p)};
    while (tl_procedure__argument(p, out->n_arguments) != NULL)
        out->n_arguments++;
    return true;
}

bool tl_sql_procedure_argument(size_t i, size_t argument, tl_sql_argument *out)
{
    const char *name = i < TL_ARRAY_LEN(procedures) ? tl_procedure__argument(&procedures[i], argument) : NULL;
    if (name == NULL)
        return false;
    *out = (tl_sql_argument){.name = name, .value = "TEXT", .help = "", .required = tl_procedure__requires(&procedures[i], argument)};
    for (size_t k = 0; k < TL_ARRAY_LEN(arguments); k++) {
        if (strcmp(arguments[k].name, name) == 0) {
            out->value = arguments[k].value;
            out->help = arguments[k].help;
        }
    }
    return true;
}
