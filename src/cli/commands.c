/* The table of commands: everything that help, parsing and completion know. */
#include "cli/cli.h"

#define END {NULL, CLI_FLAG, NULL, NULL}
#define OPTION_OUTPUT                                                                                                            \
    {"format", CLI_VALUE, "FORMAT", "jsonl, csv, table, arrow or parquet\n(default: table on a terminal, else jsonl)"},         \
        {"output", CLI_VALUE, "FILE", "write there instead of to standard output"}

const cli_option cli_common_options[] = {
    {"warehouse", CLI_VALUE, "DIR", "the warehouse's folder (default: $TIDELAKE_WAREHOUSE)"},
    {"option", CLI_REPEAT, "KEY=VALUE", "a table option for this command alone; may be repeated"},
    {"branch", CLI_VALUE, "NAME", "a branch of the table"},
    {"progress", CLI_FLAG, "", "show progress also where stderr is no terminal"},
    {"help", CLI_FLAG, "", "this help"},
    END,
};

static const cli_option create_options[] = {{"if-not-exists", CLI_FLAG, "", "a table that exists is no error"}, END};
static const cli_option drop_options[] = {{"if-exists", CLI_FLAG, "", "a table that is missing is no error"}, END};
static const cli_option write_options[] = {
    {"compact", CLI_VALUE, "MODE", "auto (as the table's options say, waited for), none (write-only), full"},
    {"commit-user", CLI_VALUE, "NAME", "who commits (default: a random name)"},
    {"overwrite", CLI_OPTIONAL, "PARTITION", "replace the partitions that get rows, or the one named: '{\"dt\":\"1\"}'"},
    {"stream", CLI_FLAG, "", "keep one writer over all batches"},
    {"watermark", CLI_VALUE, "MS", "watermark of the commits"},
    {"input-format", CLI_VALUE, "FORMAT", "jsonl, csv, parquet, orc or avro (default: by the file's name)"},
    {"threads", CLI_VALUE, "N", "threads for compaction beside the writer (default 0)"},
    {"columns", CLI_VALUE, "A,B", "write these columns alone (tables with data evolution)"},
    {"first-row-id", CLI_VALUE, "N", "they are columns of the rows that are there, with ids from N on"},
    END,
};
static const cli_option import_options[] = {
    {"in-place", CLI_FLAG, "", "move the files into the table instead of reading them (parquet, orc, avro)"},
    {"schema", CLI_VALUE, "SCHEMA.json", "of a table that is made, as for create; what it leaves out is found in the files"},
    {"input-format", CLI_VALUE, "FORMAT", "jsonl, csv, parquet, orc or avro (default: by the files' names)"},
    {"commit-user", CLI_VALUE, "NAME", "who commits (default: a random name)"},
    {"threads", CLI_VALUE, "N", "threads for compaction beside the writer (default 0)"},
    END,
};
static const cli_option read_options[] = {
    {"columns", CLI_VALUE, "A,B", "only these columns, in this order"},
    {"where", CLI_VALUE, "EXPR", "filter: '[\"=\",\"k\",1]', '[\"and\",[\">\",\"n\",5],[\"isNull\",\"v\"]]'"},
    {"limit", CLI_VALUE, "N", "at most N rows"},
    {"snapshot", CLI_VALUE, "N", "the table as of snapshot N"},
    {"tag", CLI_VALUE, "NAME", "the table as of a tag"},
    {"timestamp-millis", CLI_VALUE, "MS", "the table as of a time"},
    {"kinds", CLI_FLAG, "", "tell each row's kind (_kind)"},
    {"order", CLI_VALUE, "ORDER", "bytes (JSON lines sorted, the default) or scan (as they are read)"},
    {"threads", CLI_VALUE, "N", "read with N threads (default 1)"},
    {"stats", CLI_FLAG, "", "print to standard error what was read: bytes, calls, and what file indexes spared"},
    OPTION_OUTPUT,
    END,
};
static const cli_option changelog_options[] = {
    {"from", CLI_VALUE, "N", "first snapshot (default 1)"},
    {"to", CLI_VALUE, "N", "last snapshot (default: the latest)"},
    {"follow", CLI_FLAG, "", "go on with every new snapshot until interrupted"},
    OPTION_OUTPUT,
    END,
};
static const cli_option delete_options[] = {
    {"where", CLI_VALUE, "FILTER", "which rows (default: all): '[\">\",\"n\",5]'"},
    {"commit-user", CLI_VALUE, "NAME", "who commits (default: a random name)"},
    END,
};
static const cli_option compact_options[] = {
    {"full", CLI_FLAG, "", "everything into one sorted run per bucket"},
    {"order-strategy", CLI_VALUE, "ORDER", "sort the rows of an append table: order, zorder or hilbert"},
    {"order-by", CLI_VALUE, "A,B", "the columns to sort by"},
    {"partitions", CLI_VALUE, "A=1,B=2;A=3", "compact only these partitions; columns may be left out"},
    {"partition-idle-time", CLI_VALUE, "TIME", "compact only partitions whose newest file is that old: '1 d'"},
    {"partition", CLI_REPEAT, "PARTITION", "sort only this partition: '{\"dt\":\"1\"}'; may be repeated"},
    {"commit-user", CLI_VALUE, "NAME", "who commits (default: a random name)"},
    {"threads", CLI_VALUE, "N", "compact N buckets at a time (default 1)"},
    END,
};
static const cli_option analyze_options[] = {
    {"commit-user", CLI_VALUE, "NAME", "who commits (default: a random name)"},
    {"threads", CLI_VALUE, "N", "read with N threads (default 1)"},
    END,
};
static const cli_option expire_options[] = {
    {"retain-max", CLI_VALUE, "N", "keep at most N snapshots"},
    {"retain-min", CLI_VALUE, "N", "keep at least N snapshots (default 1)"},
    {"retain", CLI_VALUE, "TIME", "keep snapshots younger than this: '1 h', PT1H (default 0)"},
    {"changelog", CLI_FLAG, "", "then expire changelogs that outlived their snapshots, too"},
    {"changelog-retain-max", CLI_VALUE, "N", "keep at most N changelogs (default: as the table's options say)"},
    {"changelog-retain-min", CLI_VALUE, "N", "keep at least N changelogs (default 1 if a maximum is given)"},
    {"changelog-retain", CLI_VALUE, "TIME", "keep changelogs younger than this"},
    END,
};
static const cli_option rollback_options[] = {
    {"to-snapshot", CLI_VALUE, "N", "the snapshot to go back to"},
    {"to-tag", CLI_VALUE, "NAME", "the tag to go back to"},
    END,
};
static const cli_option tag_options[] = {
    {"snapshot", CLI_VALUE, "N", "the snapshot to tag (default: the latest)"},
    {"retain", CLI_VALUE, "TIME", "how long the tag is kept: '30 d', P30D (default: for ever)"},
    END,
};
static const cli_option branch_options[] = {{"tag", CLI_VALUE, "NAME", "begin with the table as of a tag (default: empty)"}, END};
static const cli_option commit_options[] = {{"commit-user", CLI_VALUE, "NAME", "who commits (default: a random name)"}, END};
static const cli_option clone_options[] = {
    {"where", CLI_VALUE, "FILTER", "only rows that pass (they are read and written)"},
    {"meta-only", CLI_FLAG, "", "the tables without their rows"},
    {"skip-existing", CLI_FLAG, "", "leave tables alone that are there (default: replace their rows)"},
    END,
};
static const cli_option fsck_options[] = {{"all", CLI_FLAG, "", "check every snapshot, not only the latest"},
                                          {"repair", CLI_FLAG, "", "before that, mend hints and remove files that nothing refers to"},
                                          {"orphans", CLI_FLAG, "", "only tell what --repair would do"},
                                          {"older-than", CLI_VALUE, "AGE", "leave younger files alone: a writer may be about to commit them (1 d)"},
                                          END};

static const cli_option run_options[] = {
    {"var", CLI_REPEAT, "NAME=VALUE", "replaces ${NAME} in the script; WAREHOUSE and DATA become absolute paths"},
    {"stop-after-idle", CLI_VALUE, "S", "end jobs that would run for ever when nothing was committed for S seconds\nand all input was read"},
    {"mode", CLI_VALUE, "MODE", "batch or streaming: the mode the script begins in (default batch)"},
    {"name", CLI_VALUE, "NAME", "the job's name (default: the setting pipeline.name)"},
    {"fresh", CLI_FLAG, "", "begin anew instead of behind the last commit"},
    {"quiet", CLI_FLAG, "", "no summary at the end"},
    END,
};
static const cli_option sql_options[] = {
    {"database", CLI_VALUE, "DB", "the database in use (default: default)"},
    {"threads", CLI_VALUE, "N", "threads for queries (default: all cores)"},
    OPTION_OUTPUT,
    END,
};

static const char sql_group[] = "SQL";
static const char tables_group[] = "Tables";
static const char rows_group[] = "Rows";
static const char care_group[] = "Maintenance";
static const char other_group[] = "Other";

/* clang-format off: texts stand here as they are printed. */
const cli_command cli_own_commands[] = {
    {"run", sql_group, "SCRIPT.sql", 1, 1, "run a SQL script: streaming jobs and batch statements, in Flink's dialect",
     "Streaming INSERTs read their sources, commit at each checkpoint (execution.checkpointing.interval) and go on until they end,\n"
     "are idle (--stop-after-idle) or get SIGINT or SIGTERM, on which they commit and end. A job that died is started by running\n"
     "the script again: it goes on behind its last commit, nothing is lost or doubled. '-' reads standard input.",
     "  tidelake run job.sql --var WAREHOUSE=/tmp/lake --var DATA=data --stop-after-idle 5", run_options, cmd_run},
    {"sql", sql_group, "[STATEMENT...]", 0, -1, "a shell for SQL; with statements or a pipe, just execute them",
     "The warehouse, if given, is the catalog `lake` and in use.",
     "  tidelake sql --warehouse /tmp/lake\n"
     "  tidelake sql 'SELECT COUNT(*) FROM db.t' --format csv\n"
     "  echo 'SHOW TABLES;' | tidelake sql --database db",
     sql_options, cmd_sql},
    {"create", tables_group, "DB.TABLE SCHEMA.json", 2, 2, "make a table from a schema file",
     "The file holds {\"columns\":[{\"name\",\"type\",\"comment\"?,\"default\"?}],\"primaryKeys\":[],\"partitionKeys\":[],\"options\":{}}.\n"
     "The database is made if it is missing. '-' reads standard input.",
     "  echo '{\"columns\":[{\"name\":\"id\",\"type\":\"INT\"},{\"name\":\"name\",\"type\":\"STRING\"}],\"primaryKeys\":[\"id\"],\n"
     "         \"options\":{\"bucket\":\"2\"}}' | tidelake create shop.customers - --warehouse /tmp/lake\n"
     "  tidelake create shop.orders schema.json --if-not-exists",
     create_options, cmd_create},
    {"alter", tables_group, "DB.TABLE CHANGES.json", 2, 2, "change columns, options or comments",
     "The file holds a list of changes: {\"op\":\"setOption\",\"key\",\"value\"}, removeOption, addColumn (name, type, first/after),\n"
     "dropColumn, renameColumn (to), updateType, updateNullability, updateComment, updateDefault, moveColumn, tableComment.",
     "  echo '[{\"op\":\"setOption\",\"key\":\"snapshot.num-retained.max\",\"value\":\"20\"}]' | tidelake alter db.t -\n"
     "  echo '[{\"op\":\"addColumn\",\"name\":\"note\",\"type\":\"STRING\",\"after\":\"v\"}]' | tidelake alter db.t -",
     NULL, cmd_alter},
    {"drop", tables_group, "DB.TABLE", 1, 1, "remove a table with all its data", NULL, "  tidelake drop db.t --if-exists", drop_options, cmd_drop},
    {"schema", tables_group, "DB.TABLE", 1, 1, "print a table's schema file", NULL, "  tidelake schema db.t", NULL, cmd_schema},
    {"tables", tables_group, "[DB]", 0, 1, "list the tables of the warehouse or of a database", NULL, "  tidelake tables --warehouse /tmp/lake\n  tidelake tables db", NULL,
     cmd_tables},
    {"options", tables_group, "[WORD]", 0, 1, "list the options that tables can have",
     "\"effect\" tells what the option does here: effect (it acts), none (it is accepted and means nothing), refused.",
     "  tidelake options compaction", NULL, cmd_options},

    {"write", rows_group, "DB.TABLE ROWS", 2, 2, "write rows from JSON lines, CSV, Parquet, ORC or Avro",
     "In JSON lines a blank line ends a batch; each batch is one commit. \"_kind\" tells a row's kind: +I (default), -U, +U, -D.\n"
     "CSV begins with a line of names; an empty cell is NULL. Columns are found by name in every format. '-' reads standard input.",
     "  echo '{\"k\":1,\"v\":\"a\"}' | tidelake write db.t -\n"
     "  tidelake write db.t rows.parquet\n"
     "  tidelake write db.days day.csv --overwrite '{\"dt\":\"2024-05-01\"}'",
     write_options, cmd_write},
    {"import", rows_group, "DB.TABLE PATH", 2, 2, "bring in files, or a folder of them as Hive and Spark lay them out",
     "Folders `key=value` are partition columns. A table that is missing is made: its columns are those of the files (of JSON lines and CSV\n"
     "they are found by reading them), its partition keys the folders'. All files come in by one commit. With --in-place files in Parquet,\n"
     "ORC and Avro become data files of an append table without buckets: they are moved into it, their rows are not read.",
     "  tidelake import shop.days day.csv\n"
     "  tidelake import shop.events hive/events --in-place\n"
     "  echo '{\"primaryKeys\":[\"k\"]}' | tidelake import shop.items day.csv --schema -",
     import_options, cmd_import},
    {"read", rows_group, "DB.TABLE", 1, 1, "print a table's rows, or those of a system table",
     "System tables: DB.TABLE$snapshots, $schemas, $options, $files, $manifests, $partitions, $buckets, $tags,\n"
     "$branches, $consumers, $audit_log, $binlog, $ro, $row_tracking.",
     "  tidelake read db.t --where '[\">\",\"k\",10]' --columns k,v\n"
     "  tidelake read 'db.t$snapshots'\n"
     "  tidelake read db.t --snapshot 3 --format csv\n"
     "  tidelake read db.t --format parquet --output rows.parquet",
     read_options, cmd_read},
    {"changelog", rows_group, "DB.TABLE", 1, 1, "print a table's changes, snapshot after snapshot",
     "Each line tells its snapshot and its row kind. --option scan.mode=… or consumer-id=… say where to begin instead of --from.",
     "  tidelake changelog db.t --from 5\n"
     "  tidelake changelog db.t --follow --option scan.mode=latest",
     changelog_options, cmd_changelog},
    {"files", rows_group, "DB.TABLE", 1, 1, "print the data files of the latest snapshot", NULL, "  tidelake files db.t --format table", read_options,
     cmd_files},

    {"delete", rows_group, "DB.TABLE", 1, 1, "delete rows of a table without a primary key",
     "With 'deletion-vectors.enabled' = 'true' they are marked in deletion vectors, otherwise their files are written again without them.\n"
     "Rows of a table with a primary key are deleted by writing them with \"_kind\":\"-D\".",
     "  tidelake delete db.log --where '[\"<\",\"day\",\"2024-01-01\"]'", delete_options, cmd_delete},
    {"compact", care_group, "DB.TABLE", 1, 1, "merge files: keyed tables bucket by bucket, small files of append tables",
     "With 'clustering.incremental' the files of an append table are sorted by 'clustering.columns' while they are merged, in a table with\n"
     "buckets also by those who write to it. --order-strategy sorts all rows anew, in each partition: by the columns one after the other,\n"
     "or along a curve that keeps rows together that are near in all of them. Filters on the columns then skip files.",
     "  tidelake compact db.t --full\n"
     "  tidelake compact db.days --partitions 'dt=2024-05-01;dt=2024-05-02' --partition-idle-time '1 d'\n"
     "  tidelake compact db.days --order-strategy zorder --order-by dt,k", compact_options, cmd_compact},
    {"analyze", care_group, "DB.TABLE", 1, 1, "count rows and bytes for planners ($statistics)",
     "Later snapshots keep the numbers while the schema stays.", "  tidelake analyze db.t", analyze_options, cmd_analyze},
    {"expire", care_group, "DB.TABLE", 1, 1, "remove old snapshots and the files that only they need", NULL,
     "  tidelake expire db.t --retain-max 10 --retain '1 d'", expire_options, cmd_expire},
    {"rollback", care_group, "DB.TABLE", 1, 1, "go back to an earlier snapshot or tag", NULL, "  tidelake rollback db.t --to-snapshot 7",
     rollback_options, cmd_rollback},
    {"tag create", care_group, "DB.TABLE NAME", 2, 2, "keep a snapshot under a name", NULL, "  tidelake tag create db.t monday --retain '30 d'",
     tag_options, cmd_tag_create},
    {"tag delete", care_group, "DB.TABLE NAME", 2, 2, "remove a tag", NULL, "  tidelake tag delete db.t first", NULL, cmd_tag_delete},
    {"tag rename", care_group, "DB.TABLE NAME NEW", 3, 3, "give a tag another name", NULL, "  tidelake tag rename db.t first beginning", NULL,
     cmd_tag_rename},
    {"branch create", care_group, "DB.TABLE NAME", 2, 2, "make a branch: a table of its own that shares files with this one",
     "It is read and written by the other commands with --branch NAME.", "  tidelake branch create db.t trial --tag first", branch_options,
     cmd_branch_create},
    {"branch delete", care_group, "DB.TABLE NAME", 2, 2, "remove a branch", NULL, "  tidelake branch delete db.t draft", NULL, cmd_branch_delete},
    {"branch rename", care_group, "DB.TABLE NAME NEW", 3, 3, "give a branch another name", NULL, "  tidelake branch rename db.t draft trial", NULL,
     cmd_branch_rename},
    {"branch fast-forward", care_group, "DB.TABLE NAME", 2, 2, "make the table what a branch of it is",
     "From the branch's first snapshot on the table's snapshots, schemas and tags are replaced by the branch's.",
     "  tidelake branch fast-forward db.t draft", NULL, cmd_branch_fast_forward},
    {"consumer set", care_group, "DB.TABLE ID NEXT", 3, 3, "keep snapshots from NEXT on for the streaming reader ID",
     "Expiry keeps what a consumer has not read. A reader goes on there with --option consumer-id=ID.", "  tidelake consumer set db.t report 5",
     NULL, cmd_consumer_set},
    {"consumer delete", care_group, "DB.TABLE ID", 2, 2, "forget a streaming reader", NULL, "  tidelake consumer delete db.t report", NULL,
     cmd_consumer_delete},
    {"consumer list", care_group, "DB.TABLE", 1, 1, "print the consumers and the snapshots that they read next", NULL,
     "  tidelake consumer list db.t", NULL, cmd_consumer_list},
    {"mark-partition-done", care_group, "DB.TABLE PARTITION...", 2, -1, "tell others that partitions are complete",
     "What that means is the table's option `partition.mark-done-action`: a file _SUCCESS in the partition's folder.",
     "  tidelake mark-partition-done db.days '{\"dt\":\"2024-05-01\"}'", NULL, cmd_mark_partition_done},
    {"expire-partitions", care_group, "DB.TABLE", 1, 1, "remove the partitions whose time is over",
     "Those older than the table's `partition.expiration-time`, counted as `partition.expiration-strategy` says.",
     "  tidelake expire-partitions db.days --option partition.expiration-time='30 d'", commit_options, cmd_expire_partitions},
    {"drop-partition", care_group, "DB.TABLE PARTITION...", 2, -1, "remove partitions",
     "A partition is a JSON object; one that leaves keys out names all partitions that have its values.",
     "  tidelake drop-partition db.days '{\"dt\":\"2024-05-01\"}' '{\"dt\":\"2024-05-02\"}'", commit_options, cmd_drop_partition},
    {"rewrite-file-index", care_group, "DB.TABLE [PARTITION...]", 1, -1, "make the file indexes of files what the options ask for now",
     "Entries of files change, data files stay; files that have these indexes already are left alone. Without partitions: all.",
     "  tidelake rewrite-file-index db.t", commit_options, cmd_rewrite_file_index},
    {"clone", care_group, "DB[.TABLE] WAREHOUSE [NAME]", 2, 3, "copy the latest snapshot of a table, or of each in a database, to a warehouse",
     "Files are copied as they are: buckets, levels and deletion vectors stay what they were. Older snapshots, tags and branches do not\n"
     "come along. In a table that is there the rows are replaced, of a partitioned one in the partitions that get some.",
     "  tidelake clone db.t /tmp/lake copy.t\n"
     "  tidelake clone db /tmp/other-lake\n"
     "  tidelake clone db.days /tmp/other-lake --where '[\"=\",\"dt\",\"2024-05-01\"]'",
     clone_options, cmd_clone},
    {"fsck", care_group, "DB.TABLE", 1, 1, "check a table to the bottom",
     "Reads every manifest and file; exit status 1 if there is a problem.", "  tidelake fsck db.t --all\n  tidelake fsck db.t --repair --older-than '2 d'", fsck_options, cmd_fsck},

    {"completion", other_group, "bash", 1, 1, "print a script that completes commands in the shell", NULL, "  eval \"$(tidelake completion bash)\"",
     NULL, cmd_completion},
    {"version", other_group, "", 0, 0, "print the version", NULL, "  tidelake version", NULL, cmd_version},
};
/* clang-format on */
const size_t cli_n_own_commands = sizeof cli_own_commands / sizeof cli_own_commands[0];

const cli_command *cli_commands(size_t *n)
{
    enum { PROCEDURES_MAX = 64, OWN = sizeof cli_own_commands / sizeof cli_own_commands[0] };
    static cli_command all[OWN + PROCEDURES_MAX];
    static size_t n_all;
    for (size_t i = n_all == 0 ? 0 : OWN; i < OWN; i++) {
        if (n_all == i && cli_own_commands[i].group == other_group)
            n_all += cli_procedure_commands(&all[n_all], PROCEDURES_MAX);
        all[n_all++] = cli_own_commands[i];
    }
    *n = n_all;
    return all;
}
