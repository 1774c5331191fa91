/*
 * The one table of options: every key that the reference knows (Java: CoreOptions of 1.4.2), in its order, with what it does
 * here. Parsing, validation, the refusal of what is not there, and the reference page of options come from it.
 *
 * EFFECT: does what it does in the reference. NO_EFFECT: accepted and kept, nothing changes (tuning of machinery that works
 * differently here, or engine options). REFUSED: a value other than the default needs a feature that is not there.
 */
#include "table/table_private.h"

#include <pthread.h>
#include <strings.h>

#include "base/parse.h"

#define E TL_OPTION_EFFECT
#define N TL_OPTION_NO_EFFECT
#define R TL_OPTION_REFUSED

static const tl_option_def options[] = {
    /* key, type, default, effect, description, immutable, older keys */
    {"type", "enum", "table", R, "Kind of table: `table`, `materialized-table`, which is stored as any other, or `format-table`, a folder of files without snapshots (docs/format-tables.md).", false, NULL},
    {"bucket", "integer", "-1", E, "Number of buckets of a partition; -1 on a table without primary key: no buckets.", false, NULL},
    {"bucket-key", "string", NULL, E, "Columns that decide the bucket; the primary key without partition columns if unset.", true, NULL},
    {"bucket-append-ordered", "boolean", "true", E, "Keep the order of rows inside a bucket of an append table.", false, NULL},
    {"bucket-function.type", "enum", "default", E, "How a bucket is computed: default, mod or hive.", true, NULL},
    {"data-file.external-paths", "string", NULL, E, "Folders outside the table for new data files, `file:/…`. Dropping the table removes its files there; cleaning of orphans goes there unless another table of the catalog does.", false, NULL},
    {"data-file.external-paths.strategy", "enum", "none", E, "How an external folder is chosen.", false, NULL},
    {"data-file.external-paths.specific-fs", "string", NULL, E, "File system scheme for the strategy specific-fs.", false, NULL},
    {"data-file.external-paths.weights", "string", NULL, E, "Weights of external folders for the strategy weight-robin.", false, NULL},
    {"compaction.force-rewrite-all-files", "boolean", "false", E, "A full compaction rewrites files that it could have moved.", false, NULL},
    {"path", "string", NULL, N, "Folder of the table; set when it is opened.", false, NULL},
    {"branch", "string", "main", E, "Branch of the table that a read or a write means, as `TABLE$branch_NAME`; not for tables to keep.", false, NULL},
    {"chain-table.enabled", "boolean", "false", E, "Table that is chained from snapshot and delta branches (docs/chain-tables.md).", false, NULL},
    {"scan.fallback-snapshot-branch", "string", NULL, E, "Branch that holds snapshots of a chain table.", false, NULL},
    {"scan.fallback-delta-branch", "string", NULL, E, "Branch that holds deltas of a chain table.", false, NULL},
    {"chain-table.chain-partition-keys", "string", NULL, E,
     "Last partition columns, along which a chain table is chained; those before them are groups with chains of their own. Unset: all.", false, NULL},
    {"file.format", "string", "parquet", E, "Format of data files.", false, NULL},
    {"file.compression.per.level", "map", NULL, E, "Compression by level, `0:lz4,1:zstd`.", false, NULL},
    {"file.format.per.level", "map", NULL, E, "Format by level, `0:avro,3:parquet`.", false, NULL},
    {"file.compression", "string", "zstd", E, "Compression of data files.", false, NULL},
    {"file.compression.zstd-level", "integer", "1", E, "Level of zstd for data files and manifests. Unset, small files of level 0 that the next compaction rewrites are not entropy-coded.", false, NULL},
    {"data-file.prefix", "string", "data-", E, "How names of data files begin.", false, NULL},
    {"data-file.path-directory", "string", NULL, E, "Folder in the table that holds the data files.", true, NULL},
    {"changelog-file.prefix", "string", "changelog-", E, "How names of changelog files begin.", false, NULL},
    {"changelog-file.format", "string", NULL, E, "Format of changelog files; file.format if unset.", false, NULL},
    {"changelog-file.compression", "string", NULL, E, "Compression of changelog files; file.compression if unset.", false, NULL},
    {"changelog-file.stats-mode", "string", NULL, E, "Statistics of changelog files; metadata.stats-mode if unset.", false, NULL},
    {"file.suffix.include.compression", "boolean", "false", E, "Put the compression into names of data files.", false, NULL},
    {"file.block-size", "memory size", NULL, E, "Size of a row group of a data file.", false, NULL},
    {"csv.field-delimiter", "string", ",", E, "What stands between the cells of a csv file; also `field-delimiter`, `seq`.", false, NULL},
    {"csv.line-delimiter", "string", "\\n", E, "What ends a line of a csv file; also `lineSep`.", false, NULL},
    {"csv.quote-character", "string", "\"", E, "What stands around a cell of a csv file; also `quote`.", false, NULL},
    {"csv.escape-character", "string", "\\", E, "What stands before a quote within a cell of a csv file; also `escape`.", false, NULL},
    {"csv.include-header", "boolean", "false", E, "The first line of a csv file names the columns; also `header`.", false, NULL},
    {"csv.null-literal", "string", "", E, "What NULL is in a csv file; also `nullvalue`.", false, NULL},
    {"csv.mode", "enum", "permissive", E, "A malformed cell of a csv file: it and the cells behind it are NULL (permissive), the row is left out (dropmalformed), or an error (failfast); also `mode`.", false, NULL},
    {"json.ignore-parse-errors", "boolean", "false", E, "Malformed lines of a json file are left out, malformed values are NULL.", false, NULL},
    {"json.line-delimiter", "string", "\\n", E, "What ends a line of a json file.", false, NULL},
    {"json.map-null-key-mode", "enum", "fail", N, "NULL as a key of a map; the reference's writer fails whatever it says, and so does this one.", false, NULL},
    {"json.map-null-key-literal", "string", "null", N, "Text of such a key.", false, NULL},
    {"text.line-delimiter", "string", "\\n", E, "What ends a line of a text file; also `lineSep`.", false, NULL},
    {"file-index.in-manifest-threshold", "memory size", "500 b", E, "Up to this size a file index lies in the manifest, else beside its data file.", false, NULL},
    {"file-index.read.enabled", "boolean", "true", E, "Ask file indexes which rows can pass a filter.", false, NULL},
    {"variant.shreddingSchema", "string", NULL, N, "Counts as `parquet.variant.shreddingSchema` alone: the schema into which variants are shredded.", false, NULL},
    {"variant.inferShreddingSchema", "boolean", "false", E, "Find a shredding schema in the first rows of each Parquet file; no effect with `variant.shreddingSchema`.", false, NULL},
    {"variant.shredding.maxSchemaWidth", "integer", "300", E, "Most fields of an inferred shredding schema.", false, NULL},
    {"variant.shredding.maxSchemaDepth", "integer", "50", E, "Most levels of an inferred shredding schema.", false, NULL},
    {"variant.shredding.minFieldCardinalityRatio", "double", "0.1", E, "Share of rows that must have a field to shred it.", false, NULL},
    {"variant.shredding.maxInferBufferRow", "integer", "4096", E, "Rows looked at to infer a shredding schema.", false, NULL},
    {"manifest.format", "string", "avro", E, "Format of manifests: avro is written; others are refused.", false, NULL},
    {"manifest.compression", "string", "zstd", E, "Compression of manifests and manifest lists.", false, NULL},
    {"manifest.target-file-size", "memory size", "8 mb", E, "Size at which a new manifest is begun, and up to which manifests are merged.", false, NULL},
    {"manifest.full-compaction-threshold-size", "memory size", "16 mb", E, "Size of changed manifests at which all are rewritten.", false, NULL},
    {"manifest.merge-min-count", "integer", "30", E, "Number of small manifests that are merged into one.", false, NULL},
    {"upsert-key", "string", NULL, N, "Key by which an engine upserts into an append table.", false, NULL},
    {"partition.default-name", "string", "__DEFAULT_PARTITION__", E, "Folder of partitions whose value is null or blank.", false, NULL},
    {"partition.legacy-name", "boolean", "true", E, "Partition folders show internal values (days, milliseconds) as older releases do.", false, NULL},
    {"snapshot.num-retained.min", "integer", "10", E, "Fewest snapshots to keep.", false, NULL},
    {"snapshot.num-retained.max", "integer", "2147483647", E, "Most snapshots to keep.", false, NULL},
    {"snapshot.time-retained", "duration", "1 h", E, "How long a snapshot is kept.", false, NULL},
    {"changelog.num-retained.min", "integer", NULL, E, "Fewest changelogs to keep; that of snapshots if unset. Above it changelogs outlive their snapshots.", false, NULL},
    {"changelog.num-retained.max", "integer", NULL, E, "Most changelogs to keep; that of snapshots if unset. Above it changelogs outlive their snapshots.", false, NULL},
    {"changelog.time-retained", "duration", NULL, E, "How long a changelog is kept; that of snapshots if unset. Above it changelogs outlive their snapshots.", false, NULL},
    {"snapshot.expire.execution-mode", "enum", "sync", N, "Expire in the committing thread or beside it; always in it.", false, NULL},
    {"snapshot.expire.limit", "integer", "50", E, "Most snapshots that one expiry removes.", false, NULL},
    {"snapshot.clean-empty-directories", "boolean", "false", E, "Expiry removes bucket and partition folders that became empty.", false, "snapshot.expire.clean-empty-directories"},
    {"continuous.discovery-interval", "duration", "10 s", E, "How often a streaming read looks for a new snapshot.", false, NULL},
    {"scan.max-splits-per-task", "integer", "10", N, "Splits that an engine's task holds at once.", false, NULL},
    {"merge-engine", "enum", "deduplicate", E, "How rows of one key become one: deduplicate, partial-update, aggregation, first-row.", true, NULL},
    {"ignore-delete", "boolean", "false", E, "Leave -D and -U rows out.", false, "first-row.ignore-delete,deduplicate.ignore-delete,partial-update.ignore-delete"},
    {"ignore-update-before", "boolean", "false", E, "Leave -U rows out.", false, NULL},
    {"sort-engine", "enum", "loser-tree", N, "Algorithm of the merge; always a loser tree.", false, NULL},
    {"sort-spill-threshold", "integer", NULL, N, "Number of readers above which a merge spills.", false, NULL},
    {"sort-spill-buffer-size", "memory size", "64 mb", N, "Buffer of a spilling sort.", false, NULL},
    {"spill-compression", "string", "zstd", N, "Compression of spilled data.", false, NULL},
    {"spill-compression.zstd-level", "integer", "1", N, "Level of zstd for spilled data.", false, NULL},
    {"write-only", "boolean", "false", E, "Neither compact nor expire; a job of its own does that.", false, "write.compaction-skip"},
    {"source.split.target-size", "memory size", "128 mb", E, "Size up to which files are packed into one split.", false, NULL},
    {"source.split.open-file-cost", "memory size", "4 mb", E, "Least size that a file counts with when it is packed.", false, NULL},
    {"write-buffer-size", "memory size", "192 mb", E, "Memory of a writer's buffers, over all its buckets (the reference: 256 mb, which hold fewer rows).", false, NULL},
    {"write-buffer-spill.max-disk-size", "memory size", NULL, N, "Most disk space that spilled buffers may take.", false, NULL},
    {"write-buffer-spillable", "boolean", "true", E, "A full write buffer goes to local disk before it becomes files.", false, NULL},
    {"write-buffer-for-append", "boolean", "false", N, "Buffer rows of append tables.", false, NULL},
    {"write-max-writers-to-spill", "integer", "10", N, "Number of open append writers at which they begin to buffer.", false, NULL},
    {"local-sort.max-num-file-handles", "integer", "128", N, "Most files that an external sort opens at once.", false, NULL},
    {"page-size", "memory size", "64 kb", N, "Memory page of buffers.", false, NULL},
    {"cache-page-size", "memory size", "64 kb", N, "Page of the look-up cache.", false, NULL},
    {"target-file-size", "memory size", NULL, E, "Size at which a new data file is begun: 128 mb with a primary key, else 256 mb.", false, NULL},
    {"blob.target-file-size", "memory size", NULL, E, "Size at which a new blob file is begun; 'target-file-size' if unset.", false, NULL},
    {"blob.split-by-file-size", "boolean", "true", E, "Count blob files' sizes when splits are packed.", false, NULL},
    {"num-sorted-run.compaction-trigger", "integer", "5", E, "Number of sorted runs at which a compaction starts. If unset, files below 32 KiB that no commit waits for gather up to the stop trigger.", false, NULL},
    {"num-sorted-run.stop-trigger", "integer", NULL, E, "Number of sorted runs at which writing waits; the trigger plus 3 if unset.", false, NULL},
    {"num-levels", "integer", NULL, E, "Number of levels; the trigger plus 1 if unset.", false, NULL},
    {"commit.force-compact", "boolean", "false", E, "Compact before every commit.", false, NULL},
    {"commit.timeout", "duration", NULL, E, "How long a commit is retried.", false, NULL},
    {"commit.max-retries", "integer", "10", E, "How often a commit that met another one is retried.", false, NULL},
    {"commit.min-retry-wait", "duration", "10 ms", E, "First pause between retries of a commit.", false, NULL},
    {"commit.max-retry-wait", "duration", "10 s", E, "Longest pause between retries of a commit.", false, NULL},
    {"compaction.max-size-amplification-percent", "integer", "200", E, "Size above the last run, in percent of it, at which everything is compacted.", false, NULL},
    {"compaction.force-up-level-0", "boolean", "false", E, "Compactions always take all files of level 0.", false, NULL},
    {"compaction.size-ratio", "integer", "1", E, "Percent by which the next run may be larger to be taken along.", false, NULL},
    {"compaction.offpeak.start.hour", "integer", "-1", E, "Hour from which the off-peak ratio counts.", false, NULL},
    {"compaction.offpeak.end.hour", "integer", "-1", E, "Hour up to which the off-peak ratio counts.", false, NULL},
    {"compaction.offpeak-ratio", "integer", "0", E, "Percent added to the size ratio at off-peak hours.", false, NULL},
    {"compaction.optimization-interval", "duration", NULL, E, "How often a full compaction is made whatever the sizes.", false, NULL},
    {"compaction.total-size-threshold", "memory size", NULL, E, "Below this size of a bucket a full compaction is made.", false, NULL},
    {"compaction.incremental-size-threshold", "memory size", NULL, E, "Size below the top level at which a full compaction is made.", false, NULL},
    {"compaction.min.file-num", "integer", "5", E, "Small files of an append table that are compacted together.", false, NULL},
    {"compaction.file-num-limit", "integer", "100000", N, "Most files that a compaction plan looks at.", false, NULL},
    {"compaction.delete-ratio-threshold", "double", "0.2", E, "Share of deleted rows at which an append file is rewritten.", false, NULL},
    {"changelog-producer", "enum", "none", E, "Where changelog files come from: none, input, lookup, full-compaction.", false, NULL},
    {"changelog-producer.row-deduplicate", "boolean", "false", E, "Leave out -U and +U of equal rows.", false, NULL},
    {"changelog-producer.row-deduplicate-ignore-fields", "string", NULL, E, "Columns not compared by row-deduplicate.", false, NULL},
    {"table-read.sequence-number.enabled", "boolean", "false", E, "Show the sequence number in $audit_log and $binlog.", false, NULL},
    {"key-value.sequence_number.enabled", "boolean", "false", R, "Read the sequence number as a column.", false, NULL},
    {"sequence.field", "string", NULL, E, "Columns that order rows of one key.", false, NULL},
    {"sequence.field.sort-order", "enum", "ascending", E, "Direction of sequence.field.", false, NULL},
    {"aggregation.remove-record-on-delete", "boolean", "false", E, "A -D removes the row of an aggregation table.", true, NULL},
    {"partial-update.remove-record-on-delete", "boolean", "false", E, "A -D removes the row of a partial-update table.", true, NULL},
    {"partial-update.remove-record-on-sequence-group", "string", NULL, E, "Sequence groups whose -D removes the row.", true, NULL},
    {"rowkind.field", "string", NULL, E, "Column that holds the row kind.", true, NULL},
    {"scan.mode", "enum", "default", E, "Where a read starts.", false, "log.scan"},
    {"scan.timestamp", "string", NULL, E, "Time to start from or to travel to, as text in local time.", false, NULL},
    {"scan.timestamp-millis", "long", NULL, E, "Time to start from or to travel to, in milliseconds.", false, "log.scan.timestamp-millis"},
    {"scan.watermark", "long", NULL, E, "Travel to the first snapshot with at least this watermark.", false, NULL},
    {"scan.file-creation-time-millis", "long", NULL, E, "Read only files made at this time or later.", false, NULL},
    {"scan.creation-time-millis", "long", NULL, E, "Start from the snapshot of this time, or else by the files' times.", false, NULL},
    {"scan.snapshot-id", "long", NULL, E, "Snapshot to start from or to travel to.", false, NULL},
    {"scan.tag-name", "string", NULL, E, "Tag to travel to.", false, NULL},
    {"scan.version", "string", NULL, E, "Tag, watermark-N or snapshot to travel to.", false, NULL},
    {"scan.bounded.watermark", "long", NULL, E, "Watermark after which a streaming read ends.", false, NULL},
    {"scan.manifest.parallelism", "integer", NULL, N, "Threads that read manifests.", false, NULL},
    {"streaming.read.snapshot.delay", "duration", NULL, E, "Age that a snapshot must have before a streaming read takes it.", false, NULL},
    {"scan.ignore-corrupt-files", "boolean", "false", E, "Leave out what cannot be read of a data file, with a warning; compactions do so, too. Not with data evolution.", false, NULL},
    {"scan.ignore-lost-files", "boolean", "false", E, "Leave out data files that are missing, with a warning; compactions do so, too. Not with data evolution.", false, NULL},
    {"auto-create", "boolean", "false", N, "An engine makes the table's folder.", false, NULL},
    {"streaming-read-overwrite", "boolean", "false", E, "A streaming read also shows what overwrites change.", false, NULL},
    {"streaming-read-append-overwrite", "boolean", "false", E, "A streaming read of an append table shows what overwrites add.", false, NULL},
    {"dynamic-partition-overwrite", "boolean", "true", E, "An overwrite replaces only partitions that get data.", false, NULL},
    {"partition.expiration-strategy", "string", "values-time", E, "What a partition's age is counted from: values-time (partition.timestamp-*) or update-time (its newest file).", false, NULL},
    {"partition.expiration-time", "duration", NULL, E, "Age at which a partition is dropped.", false, NULL},
    {"partition.expiration-check-interval", "duration", "1 h", E, "How often partitions are looked at for expiry.", false, NULL},
    {"partition.expiration-max-num", "integer", "100", E, "Most partitions that one expiry drops.", false, NULL},
    {"partition.expiration-batch-size", "integer", NULL, E, "Partitions that one commit of an expiry drops.", false, NULL},
    {"partition.timestamp-formatter", "string", NULL, E, "Format of the time in partition values.", false, NULL},
    {"partition.timestamp-pattern", "string", NULL, E, "How partition columns make up a time.", false, NULL},
    {"partition.timestamp-format.strict", "boolean", "false", R, "Refuse partitions whose value is no time.", false, NULL},
    {"partition.end-input-to-done", "boolean", "false", E, "Mark partitions done at the end of an INSERT in batch.", false, NULL},
    {"scan.partitions", "string", NULL, E, "Partitions that a batch query reads: `a=1,b=2;a=3,b=4`, `max_pt()`, `max_two_pt()`; look-ups: the last two.", false, NULL},
    {"scan.plan-sort-partition", "boolean", "false", E, "Sort splits by partition.", false, NULL},
    {"primary-key", "string", NULL, E, "Primary key, instead of the DDL's.", true, NULL},
    {"partition", "string", NULL, E, "Partition columns, instead of the DDL's.", true, NULL},
    {"lookup.hash-load-factor", "float", "0.75", N, "Load of look-up hash files.", false, NULL},
    {"lookup.cache-file-retention", "duration", "1 h", N, "How long look-up files are kept on local disk.", false, NULL},
    {"lookup.cache-max-disk-size", "memory size", NULL, N, "Most disk space of look-up files.", false, NULL},
    {"lookup.cache-spill-compression", "string", "zstd", N, "Compression of look-up files.", false, NULL},
    {"lookup.cache-max-memory-size", "memory size", "256 mb", N, "Memory of the look-up cache.", false, NULL},
    {"lookup.cache.high-priority-pool-ratio", "double", "0.25", N, "Share of the look-up cache for index and filter blocks.", false, NULL},
    {"lookup.cache.bloom.filter.enabled", "boolean", "true", N, "Bloom filters in look-up files.", false, NULL},
    {"lookup.cache.bloom.filter.fpp", "double", "0.05", N, "False positives of look-up bloom filters.", false, NULL},
    {"lookup.remote-file.enabled", "boolean", "false", N, "Store look-up files beside the data files: those of other writers are kept and removed with them, none are made.", false, NULL},
    {"lookup.remote-file.level-threshold", "integer", "-2147483648", N, "Level from which look-up files are stored.", false, NULL},
    {"read.batch-size", "integer", "1024", N, "Rows that a reader decodes at once.", false, NULL},
    {"write.batch-size", "integer", "1024", N, "Rows that a writer encodes at once.", false, "orc.write.batch-size"},
    {"write.batch-memory", "memory size", "128 mb", N, "Memory of a writer's batch.", false, NULL},
    {"consumer-id", "string", NULL, E, "Consumer whose progress a streaming read keeps in the table.", false, NULL},
    {"full-compaction.delta-commits", "integer", NULL, E, "Number of commits after which a streaming writer compacts everything.", false, NULL},
    {"stream-scan-mode", "enum", "none", R, "Special streaming scans of engines.", false, NULL},
    {"batch-scan-mode", "enum", "none", N, "Special batch scans of engines.", false, NULL},
    {"consumer.expiration-time", "duration", NULL, E, "Age at which a consumer that does not move is removed.", false, NULL},
    {"consumer.mode", "enum", "exactly-once", N, "How exactly a consumer keeps its progress.", false, NULL},
    {"consumer.ignore-progress", "boolean", "false", E, "Start as the options say although the consumer has progress.", false, NULL},
    {"consumer.changelog-only", "boolean", "false", E, "Consumers keep changelogs from expiry, not snapshots.", false, NULL},
    {"dynamic-bucket.target-row-num", "long", "2000000", E, "Rows of a dynamic bucket.", false, NULL},
    {"dynamic-bucket.initial-buckets", "integer", NULL, E, "Dynamic buckets to begin with.", true, NULL},
    {"dynamic-bucket.max-buckets", "integer", "-1", E, "Most dynamic buckets of a partition.", false, NULL},
    {"dynamic-bucket.assigner-parallelism", "integer", NULL, N, "Assigners of dynamic buckets.", false, NULL},
    {"incremental-between", "string", NULL, E, "Read what changed between two snapshots or tags, `a,b`.", false, NULL},
    {"incremental-between-scan-mode", "enum", "auto", E, "Where the changes are taken from: auto, delta, changelog, diff.", false, NULL},
    {"incremental-between-timestamp", "string", NULL, E, "Read what changed between two times.", false, NULL},
    {"incremental-to-auto-tag", "string", NULL, E, "Read what changed from the automatic tag before this one up to it; nothing if either is not there.", false, NULL},
    {"incremental-between-tag-to-snapshot", "boolean", "false", E, "Take the tags of incremental-between as their snapshots.", false, NULL},
    {"end-input.check-partition-expire", "boolean", "false", E, "Expire partitions at the end of an INSERT in batch.", false, NULL},
    {"metadata.stats-mode", "string", "truncate(16)", E, "Statistics of columns: none, counts, truncate(n), full.", false, NULL},
    {"metadata.stats-mode.per.level", "map", NULL, E, "Statistics by level.", false, NULL},
    {"metadata.stats-dense-store", "boolean", "true", E, "Leave columns without statistics out of manifests.", false, NULL},
    {"metadata.stats-keep-first-n-columns", "integer", "-1", E, "Statistics of the first columns only.", false, NULL},
    {"commit.callbacks", "string", "", R, "Classes called after a commit.", false, NULL},
    {"commit.callback.#.param", "string", NULL, N, "Parameter of a commit callback.", false, NULL},
    {"tag.callbacks", "string", "", R, "Classes called after a tag.", false, NULL},
    {"tag.callback.#.param", "string", NULL, N, "Parameter of a tag callback.", false, NULL},
    {"partition.idle-time-to-done", "duration", NULL, E, "A streaming job marks partitions done after nothing came for so long.", false, NULL},
    {"partition.time-interval", "duration", NULL, E, "How long the time lasts that a partition stands for: it is not marked done before.", false, NULL},
    {"partition.mark-done-action.mode", "enum", "process-time", E, "Idle time is counted by the clock (process-time) or by the job's watermark (watermark).", false, NULL},
    {"partition.mark-done.recover-from-state", "boolean", "true", E, "A job that is started again marks the partitions, too, that waited when it ended.", false, NULL},
    {"partition.mark-done-action", "string", "success-file", E, "What marking a partition done does: success-file (a file _SUCCESS in its folder); others are refused.", false, NULL},
    {"partition.mark-done-action.custom.class", "string", NULL, N, "Class that marks a partition done.", false, NULL},
    {"partition.mark-done-action.http.url", "string", NULL, N, "Address called to mark a partition done.", false, NULL},
    {"partition.mark-done-action.http.params", "string", NULL, N, "What is sent to mark a partition done.", false, NULL},
    {"partition.sink-strategy", "enum", "none", N, "How an engine spreads rows of partitions over writers.", false, NULL},
    {"metastore.partitioned-table", "boolean", "false", N, "Register partitions in a metastore.", false, NULL},
    {"metastore.tag-to-partition", "string", NULL, N, "Show tags as partitions in a metastore.", false, NULL},
    {"metastore.tag-to-partition.preview", "enum", "none", N, "Show tags to come as partitions.", false, NULL},
    {"tag.automatic-creation", "enum", "none", E, "Make tags by the clock, the watermark or after a batch.", false, NULL},
    {"tag.create-success-file", "boolean", "false", E, "Write a success file for each tag.", false, NULL},
    {"tag.creation-period", "enum", "daily", E, "Period of automatic tags.", false, NULL},
    {"tag.creation-delay", "duration", "0 ms", E, "Wait after a period before its tag is made.", false, NULL},
    {"tag.period-formatter", "enum", "with_dashes", E, "How automatic tags are named.", false, NULL},
    {"tag.creation-period-duration", "duration", NULL, E, "Period of automatic tags as a duration.", false, NULL},
    {"tag.num-retained-max", "integer", NULL, E, "Most automatic tags to keep.", false, NULL},
    {"tag.default-time-retained", "duration", NULL, E, "How long a new tag is kept.", false, NULL},
    {"tag.time-expire-enabled", "boolean", "true", E, "Remove tags whose time is over.", false, NULL},
    {"tag.automatic-completion", "boolean", "false", E, "Make automatic tags that were missed.", false, NULL},
    {"tag.batch.customized-name", "string", NULL, E, "Name of the tag after a batch.", false, NULL},
    {"snapshot.watermark-idle-timeout", "duration", NULL, N, "Idle time after which a source does not hold the watermark back.", false, NULL},
    {"parquet.enable.dictionary", "integer", NULL, E, "Dictionary encoding of Parquet columns.", false, NULL},
    {"sink.watermark-time-zone", "string", "UTC", E, "Zone of watermarks for automatic tags.", false, NULL},
    {"sink.process-time-zone", "string", NULL, E, "Zone of the clock for automatic tags.", false, NULL},
    {"local-merge-buffer-size", "memory size", NULL, N, "Buffer that merges rows before they are sent to writers.", false, NULL},
    {"cross-partition-upsert.index-ttl", "duration", NULL, E, "How long the cross-partition index keeps a key.", false, NULL},
    {"cross-partition-upsert.bootstrap-parallelism", "integer", "10", N, "Threads that load the cross-partition index.", false, NULL},
    {"zorder.var-length-contribution", "integer", "8", E, "Bytes of a string that count in a z-order.", false, NULL},
    {"file-reader-async-threshold", "memory size", "10 mb", N, "Size from which a file is read ahead.", false, NULL},
    {"commit.force-create-snapshot", "boolean", "false", E, "Make a snapshot although nothing changed.", false, NULL},
    {"deletion-vectors.enabled", "boolean", "false", E, "Mark deleted rows in deletion vectors.", false, NULL},
    {"deletion-vectors.modifiable", "boolean", "false", E, "deletion-vectors.enabled may be changed.", false, NULL},
    {"deletion-vector.index-file.target-size", "memory size", "2 mb", E, "Size of a file of deletion vectors.", false, NULL},
    {"deletion-vectors.bitmap64", "boolean", "false", E, "Deletion vectors with 64-bit positions.", false, NULL},
    {"delete.force-produce-changelog", "boolean", "false", N, "An engine's DELETE produces a changelog.", false, NULL},
    {"sort-compaction.range-strategy", "enum", "size", N, "How a sorting compaction cuts ranges.", false, NULL},
    {"sort-compaction.local-sample.magnification", "integer", "1000", N, "Samples of a sorting compaction.", false, NULL},
    {"record-level.expire-time", "duration", NULL, E, "Age at which compactions drop a row, counted from record-level.time-field; reads show it until then.", false, NULL},
    {"record-level.time-field", "string", NULL, E, "Column that a row's age is counted from: INT or BIGINT seconds since 1970, BIGINT milliseconds (from 10^12 on) or TIMESTAMP.", false, NULL},
    {"fields.default-aggregate-function", "string", NULL, E, "Aggregate function of columns that name none.", false, NULL},
    {"commit.user-prefix", "string", NULL, E, "How a random commit user begins.", false, NULL},
    {"force-lookup", "boolean", "false", E, "Merge as with the lookup changelog producer, without changelog.", true, NULL},
    {"lookup-wait", "boolean", "true", E, "A commit waits for the compaction that makes its changelog.", false, "changelog-producer.lookup-wait"},
    {"lookup-compact", "enum", "radical", E, "How eagerly level 0 is compacted in lookup mode.", false, NULL},
    {"lookup-compact.max-interval", "integer", NULL, E, "Most compaction rounds that the gentle mode lets pass.", false, NULL},
    {"file-operation.thread-num", "integer", NULL, N, "Threads that remove files.", false, "delete-file.thread-num"},
    {"scan.fallback-branch", "string", NULL, E, "Branch that partitions are read from if the table lacks them.", false, NULL},
    {"scan.primary-branch", "string", NULL, E, "Branch that is read first.", false, NULL},
    {"async-file-write", "boolean", "true", N, "Write files in a thread of their own.", false, NULL},
    {"manifest.delete-file-drop-stats", "boolean", "false", N, "Leave statistics out of DELETE entries.", false, NULL},
    {"data-file.thin-mode", "boolean", "false", E, "Leave the copies of key columns out of data files.", false, NULL},
    {"partition.idle-time-to-report-statistic", "duration", "0 ms", N, "Idle time after which a partition's statistics are reported.", false, NULL},
    {"query-auth.enabled", "boolean", "false", R, "Ask the catalog what a user may read.", false, NULL},
    {"materialized-table.definition-query", "string", NULL, N, "Query of a materialized table.", false, NULL},
    {"materialized-table.interval-freshness", "string", NULL, N, "Freshness of a materialized table.", false, NULL},
    {"materialized-table.interval-freshness.time-unit", "enum", NULL, N, "Unit of that freshness.", false, NULL},
    {"materialized-table.logical-refresh-mode", "enum", NULL, N, "Refresh mode asked for.", false, NULL},
    {"materialized-table.refresh-mode", "enum", NULL, N, "Refresh mode in use.", false, NULL},
    {"materialized-table.refresh-status", "enum", NULL, N, "State of the refresh.", false, NULL},
    {"materialized-table.refresh-handler-description", "string", NULL, N, "What refreshes it.", false, NULL},
    {"materialized-table.refresh-handler-bytes", "string", NULL, N, "Serialised handle of what refreshes it.", false, NULL},
    {"alter-column-null-to-not-null.disabled", "boolean", "true", E, "A nullable column cannot become NOT NULL.", false, NULL},
    {"disable-explicit-type-casting", "boolean", "false", E, "Column types change only where an implicit cast exists.", false, NULL},
    {"add-column-before-partition", "boolean", "false", E, "New columns go before the first partition column.", false, NULL},
    {"commit.strict-mode.last-safe-snapshot", "long", NULL, E, "Snapshot after which other users' commits make this one fail.", false, NULL},
    {"clustering.columns", "string", NULL, E, "Columns to cluster by.", false, "sink.clustering.by-columns"},
    {"clustering.strategy", "string", "auto", E, "Curve to cluster along.", false, "sink.clustering.strategy"},
    {"clustering.incremental", "boolean", "false", E, "Compactions sort the rows of an append table by 'clustering.columns'; in tables with buckets (and 'bucket-append-ordered' = false) those of writers, too.", false, NULL},
    {"clustering.history-partition.limit", "integer", "5", N, "Old partitions that one clustering takes.", false, NULL},
    {"clustering.history-partition.idle-to-full-sort", "duration", NULL, N, "Idle time after which an old partition is sorted.", false, NULL},
    {"clustering.incremental.optimize-write", "boolean", "false", N, "Cluster while writing.", false, NULL},
    {"clustering.incremental.mode", "enum", "global_sort", N, "How incremental clustering sorts.", false, NULL},
    {"row-tracking.enabled", "boolean", "false", E, "Give every row an id that it keeps, and the number of the snapshot that wrote it.", true, NULL},
    {"data-evolution.enabled", "boolean", "false", E, "Files that hold some columns of rows of other files; needs 'row-tracking.enabled'.", true, NULL},
    {"snapshot.ignore-empty-commit", "boolean", NULL, E, "A commit without changes makes no snapshot.", false, NULL},
    {"index-file-in-data-file-dir", "boolean", "false", E, "Index files lie beside the data files.", true, NULL},
    {"global-index.external-path", "string", NULL, N, "Folder of global indexes.", false, NULL},
    {"global-index.column-update-action", "enum", "throw_error", N, "What an update of an indexed column does.", false, NULL},
    {"lookup.merge-buffer-size", "memory size", "8 mb", N, "Memory of one key's records in lookup mode.", false, NULL},
    {"lookup.merge-records-threshold", "integer", "1024", N, "Records of one key kept in memory in lookup mode.", false, NULL},
    {"format-table.implementation", "enum", "paimon", N, "Who reads a format table.", false, NULL},
    {"format-table.partition-path-only-value", "boolean", "false", E, "Partition folders of format tables are values only.", false, NULL},
    {"format-table.file.compression", "string", NULL, E, "Compression of new files of format tables; `file.compression` goes before it. Without both: snappy (parquet), zstd (orc), none.", false, NULL},
    {"format-table.commit-hive-sync-url", "string", NULL, N, "Metastore told of format table commits.", false, NULL},
    {"blob-field", "string", NULL, E, "BYTES columns that CREATE TABLE makes blobs, comma-separated.", false, NULL},
    {"blob-descriptor-field", "string", NULL, E, "BLOB columns of which data files keep descriptors (file, offset, length), comma-separated (docs/blobs.md).", true, "blob.stored-descriptor-fields"},
    {"blob-as-descriptor", "boolean", "false", E, "Read blobs as descriptors (file, offset, length).", false, NULL},
    {"blob-external-storage-path", "string", NULL, E, "Folder outside the table for the bytes of 'blob-external-storage-field'. Nothing here ever removes a file of it.", true, NULL},
    {"blob-external-storage-field", "string", NULL, E, "Those columns of 'blob-descriptor-field' whose bytes are written to 'blob-external-storage-path'.", true, NULL},
    {TL_BLOB_PATHS_OPTION, "string", NULL, E, "Folders, comma-separated, whose files descriptors of blobs may name, beyond the table's own folder. Counts where a command or a hint gives it; tables do not keep it. (Not in the reference.)", false, NULL},
    {"commit.discard-duplicate-files", "boolean", "false", E, "An append leaves out files that are there already.", false, NULL},
    {"postpone.batch-write-fixed-bucket", "boolean", "true", E, "SQL in batch gives rows of postponed tables real buckets at once (docs/postponed-buckets.md).", false, NULL},
    {"postpone.batch-write-fixed-bucket.max-parallelism", "integer", "2048", E, "Most buckets that SQL in batch gives a new partition of a postponed table.", false, NULL},
    {"postpone.default-bucket-num", "integer", "1", E, "Buckets of a new partition of a postpone table.", false, NULL},
    {"global-index.row-count-per-shard", "long", "100000", N, "Rows of a global index shard.", false, NULL},
    {"global-index.build.max-shard", "integer", "32", N, "Most shards of a global index.", false, NULL},
    {"global-index.build.max-parallelism", "integer", "4096", N, "Most tasks that build a global index.", false, NULL},
    {"global-index.enabled", "boolean", "true", N, "Use global indexes when reading.", false, NULL},
    {"global-index.thread-num", "integer", NULL, N, "Threads that read a global index.", false, NULL},
    {"overwrite-upgrade", "boolean", "true", E, "Files of an overwrite without overlaps go to the top level at once.", false, NULL},
    {"visibility-callback.enabled", "boolean", "false", N, "Wait after a commit until rows are visible.", false, NULL},
    {"visibility-callback.timeout", "duration", "30 min", N, "Longest such wait.", false, NULL},
    {"visibility-callback.check-interval", "duration", "10 s", N, "How often visibility is looked at.", false, NULL},
    {"vector.file.format", "string", NULL, E, "VECTOR columns have files of their own, of this format (`avro`, `json`); needs data evolution (docs/vectors.md).", false, NULL},
    {"vector-field", "string", NULL, E, "ARRAY columns that CREATE TABLE makes vectors, comma-separated; of the length `field.NAME.vector-dim`.", false, NULL},
    {"vector.target-file-size", "memory size", NULL, E, "Size at which a new file of VECTOR columns is begun; ten times `target-file-size` if unset.", false, NULL},
    {"pk-clustering-override", "boolean", "false", E, "Files above level 0 of a primary-key table are sorted by 'clustering.columns' instead of the key; needs deletion vectors.", true, NULL},
};

#undef E
#undef N
#undef R

const tl_option_def *tl_option_all(size_t *n)
{
    *n = TL_ARRAY_LEN(options);
    return options;
}

/* Numbers of options plus one by the hash of their keys, at most half full; a commit looks some 50 options up. */
#define OPTION_SLOTS 1024
_Static_assert(TL_ARRAY_LEN(options) <= OPTION_SLOTS / 2, "more slots are needed");
static uint16_t option_slots[OPTION_SLOTS];
static pthread_once_t option_slots_once = PTHREAD_ONCE_INIT;

/* The slot of a key, or the empty one where it would be. */
static uint16_t *option_slot(const char *key)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *p = key; *p != 0; p++)
        hash = (hash ^ (uint8_t)*p) * 16777619u;
    uint16_t *slot = &option_slots[hash % OPTION_SLOTS];
    while (*slot != 0 && strcmp(options[*slot - 1].key, key) != 0)
        slot = slot + 1 == option_slots + OPTION_SLOTS ? option_slots : slot + 1;
    return slot;
}

static void fill_option_slots(void)
{
    for (size_t i = TL_ARRAY_LEN(options); i-- > 0;)
        *option_slot(options[i].key) = (uint16_t)(i + 1);
}

const tl_option_def *tl_option_find(const char *key)
{
    (void)pthread_once(&option_slots_once, fill_option_slots);
    uint16_t found = *option_slot(key);
    return found == 0 ? NULL : &options[found - 1];
}

/* Java's fall-back keys: an older key counts as long as the current one is not set. */
tl_status tl_table__canonical_options(tl_options *opts)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(options); i++) {
        const char *older = options[i].older_keys;
        if (older == NULL || tl_options_get(opts, options[i].key) != NULL)
            continue;
        for (tl_bytes_view piece; tl_list_next(&older, &piece);) {
            char *key = tl_strndup((const char *)piece.data, piece.len);
            if (key == NULL)
                return TL_E_NOMEM;
            const char *value = tl_options_get(opts, key);
            tl_free(key);
            if (value != NULL) {
                TL_TRY(tl_options_set(opts, options[i].key, value));
                break;
            }
        }
    }
    return TL_OK;
}

static bool is_default(const tl_option_def *def, const char *value)
{
    if (def->default_value == NULL)
        return false;
    return strcasecmp(def->default_value, value) == 0;
}

/* What a refused option stands for, by the beginning of its key: the name that a user finds in the list of features. */
static const struct {
    const char *key;
    const char *feature;
} features[] = {
    {"data-evolution.", "data evolution"},
    {"commit.callbacks", "commit callbacks"},
    {"tag.callbacks", "tag callbacks"},
    {"query-auth.", "query authorisation"},
    {"stream-scan-mode", "special streaming scans"},
};

static const char *feature_of(const tl_option_def *def)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(features); i++) {
        if (strncmp(def->key, features[i].key, strlen(features[i].key)) == 0)
            return features[i].feature;
    }
    return "this option";
}

bool tl_table__knows_type(const char *type)
{
    static const char *const known[] = {"table", "materialized-table", "format-table"};
    for (size_t i = 0; i < TL_ARRAY_LEN(known); i++) {
        if (strcasecmp(type, known[i]) == 0)
            return true;
    }
    return false;
}

tl_status tl_table__refuse_options(const tl_options *opts, tl_error *err)
{
    for (size_t i = 0; i < opts->count; i++) {
        const tl_option_def *def = tl_option_find(opts->keys[i]);
        bool known_type = strcmp(opts->keys[i], "type") == 0 && tl_table__knows_type(opts->values[i]);
        if (def == NULL || def->effect != TL_OPTION_REFUSED || is_default(def, opts->values[i]) || known_type)
            continue;
        return tl_error_set(err, TL_E_UNSUPPORTED, "not supported: %s (option '%s' = '%s')", feature_of(def), def->key, opts->values[i]);
    }
    return TL_OK;
}

const char *tl_table__option_or_default(const tl_options *opts, const char *key)
{
    const char *value = tl_options_get(opts, key);
    if (value != NULL)
        return value;
    const tl_option_def *def = tl_option_find(key);
    return def == NULL ? NULL : def->default_value;
}

bool tl_table__option_bool(const tl_options *opts, const char *key)
{
    const char *value = tl_table__option_or_default(opts, key);
    return value != NULL && strcasecmp(value, "true") == 0;
}

tl_status tl_table__option_int(const tl_options *opts, const char *key, int64_t absent, int64_t *out, tl_error *err)
{
    const char *value = tl_table__option_or_default(opts, key);
    if (value == NULL) {
        *out = absent;
        return TL_OK;
    }
    const tl_option_def *def = tl_option_find(key);
    tl_status status;
    if (def != NULL && strcmp(def->type, "duration") == 0)
        status = tl_parse_duration_ms(value, out, err);
    else if (def != NULL && strcmp(def->type, "memory size") == 0)
        status = tl_parse_memory_bytes(value, out, err);
    else
        status = tl_parse_int(value, INT64_MIN, INT64_MAX, out, err);
    return tl_error_wrap(err, status, "option '%s'", key);
}
