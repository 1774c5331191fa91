/*
 * What expiry, tags, consumers and rollbacks leave: everything that a snapshot or tag still needs is there, reads as before, and
 * (once nothing but the latest is kept) hardly anything else lies around.
 */
#include "table_support.h"

#define PUSH_MAX 200

/* ---- counts and ages ---- */

static size_t snapshots(tl_table *table, int64_t *first, int64_t *last)
{
    int64_t *ids = NULL;
    size_t n = 0;
    tl_error err;
    assert_ok(tl_snapshot_list(table->fs, &table->paths, &ids, &n, &err), &err);
    *first = n > 0 ? ids[0] : 0;
    *last = n > 0 ? ids[n - 1] : 0;
    tl_free(ids);
    return n;
}

static void expire(tl_table *table, int64_t retain_min, int64_t retain_max, int64_t age, int32_t wanted)
{
    tl_expire_spec spec = {.retain_max = retain_max, .retain_min = retain_min, .older_than_ms = age};
    int32_t expired = -1;
    tl_error err;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL); /* a snapshot of this very millisecond is not older than it */
    assert_ok(tl_table_expire(table, &spec, &expired, &err), &err);
    assert_int_equal(expired, wanted);
}

static void put_many(tl_table *table, int n)
{
    for (int i = 0; i < n; i++) {
        char line[64];
        snprintf(line, sizeof line, "{'k':%d,'v':'%d'}", i % 3, i);
        put(table, line);
    }
}

static void counts_and_ages_say_what_expires(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,write-only=true");
    tl_table *table = open_table(&l, "t");
    int64_t first, last;
    put_many(table, 10);
    assert_int_equal(snapshots(table, &first, &last), 10);
    expire(table, 10, 20, 0, 0);              /* at least 10 stay */
    expire(table, 1, 20, 3600 * 1000, 0);     /* all are young */
    expire(table, 1, 8, 3600 * 1000, 2);      /* at most 8, however young */
    expire(table, 5, 20, 0, 3);               /* old enough, but 5 stay */
    assert_int_equal(snapshots(table, &first, &last), 5);
    assert_int_equal(first, 6);
    assert_int_equal(last, 10);
    assert_rows(&l, "t", NULL, "{'k':0,'v':'9'}\n{'k':1,'v':'7'}\n{'k':2,'v':'8'}");
    assert_rows(&l, "t", "scan.snapshot-id=6", "{'k':0,'v':'3'}\n{'k':1,'v':'4'}\n{'k':2,'v':'5'}");
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void expiry_follows_each_commit_unless_the_table_is_write_only(void **state)
{
    (void)state;
    lake l = memory_lake();
    int64_t first, last;
    for (int write_only = 0; write_only < 2; write_only++) {
        char name[] = {(char)('a' + write_only), 0}, options[128];
        snprintf(options, sizeof options, "snapshot.num-retained.min=1,snapshot.num-retained.max=3,bucket=1,write-only=%s",
                 write_only ? "true" : "false");
        create(&l, name, "k INT NOT NULL, v STRING", "k", NULL, options);
        tl_table *table = open_table(&l, name);
        put_many(table, 9);
        assert_int_equal(snapshots(table, &first, &last), write_only ? 9 : 3);
        tl_table_free(table);
    }
    close_lake(&l);
}

static void a_consumer_holds_back_expiry(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,write-only=true");
    tl_table *table = open_table(&l, "t");
    tl_error err;
    int64_t first, last;
    put_many(table, 8);
    assert_ok(tl_table_consumer_set(table, "slow", 4, &err), &err);
    expire(table, 1, 1, 0, 3);
    snapshots(table, &first, &last);
    assert_int_equal(first, 4);
    assert_ok(tl_table_consumer_delete(table, "slow", &err), &err);
    expire(table, 1, 1, 0, 4);
    tl_table_free(table);
    close_lake(&l);
}

static void a_tag_keeps_its_rows_after_its_snapshot_expired(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1,num-sorted-run.compaction-trigger=2");
    tl_table *table = open_table(&l, "t");
    tl_error err;
    put_many(table, 4);
    assert_ok(tl_table_create_tag(table, "kept", 0, TL_ABSENT, &err), &err);
    for (int i = 0; i < 5; i++)
        put_as(table, NULL, TL_COMMIT_BATCH, "{'k':7,'v':'later'}", /* full= */ true);
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    int32_t expired = 0;
    assert_ok(tl_table_expire(table, &spec, &expired, &err), &err);
    assert_true(expired > 0);
    assert_rows(&l, "t", "scan.tag-name=kept", "{'k':0,'v':'3'}\n{'k':1,'v':'1'}\n{'k':2,'v':'2'}");
    size_t with_tag = files_with(l.fs, "/bucket-0/");
    assert_ok(tl_table_delete_tag(table, "kept", &err), &err);
    assert_true(files_with(l.fs, "/bucket-0/") < with_tag);
    assert_int_equal(files_with(l.fs, "/bucket-0/"), 1);
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void a_rollback_makes_the_past_the_present(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_error err;
    int64_t first, last;
    put_many(table, 5);
    assert_ok(tl_table_create_tag(table, "three", 3, TL_ABSENT, &err), &err);
    assert_ok(tl_table_create_tag(table, "five", 5, TL_ABSENT, &err), &err);
    assert_ok(tl_table_rollback(table, 4, NULL, &err), &err);
    snapshots(table, &first, &last);
    assert_int_equal(last, 4);
    assert_rows(&l, "t", NULL, "{'k':0,'v':'3'}\n{'k':1,'v':'1'}\n{'k':2,'v':'2'}");
    assert_int_not_equal(tl_table_rollback(table, 0, "five", &err), TL_OK); /* younger tags go with the snapshots */
    assert_ok(tl_table_rollback(table, 0, "three", &err), &err);
    assert_rows(&l, "t", NULL, "{'k':0,'v':'0'}\n{'k':1,'v':'1'}\n{'k':2,'v':'2'}");
    put(table, "{'k':5,'v':'new'}");
    snapshots(table, &first, &last);
    assert_int_equal(last, 4);
    assert_sound(table);
    tl_table_free(table);
    close_lake(&l);
}

static void tags_are_renamed_and_refused_where_they_make_no_sense(void **state)
{
    (void)state;
    lake l = memory_lake();
    create(&l, "t", "k INT NOT NULL, v STRING", "k", NULL, "bucket=1");
    tl_table *table = open_table(&l, "t");
    tl_error err;
    assert_int_not_equal(tl_table_create_tag(table, "early", 0, TL_ABSENT, &err), TL_OK);
    put_many(table, 2);
    assert_ok(tl_table_create_tag(table, "a", 1, TL_ABSENT, &err), &err);
    assert_int_equal(tl_table_create_tag(table, "a", 2, TL_ABSENT, &err), TL_E_EXISTS);
    assert_int_not_equal(tl_table_create_tag(table, "../x", 1, TL_ABSENT, &err), TL_OK);
    assert_int_not_equal(tl_table_create_tag(table, "x", 99, TL_ABSENT, &err), TL_OK);
    assert_ok(tl_table_rename_tag(table, "a", "b", &err), &err);
    assert_rows(&l, "t", "scan.tag-name=b", "{'k':0,'v':'0'}");
    tl_table_free(table);
    close_lake(&l);
}

/* ---- random histories ---- */

/* What a snapshot or tag showed when it was made. */
typedef struct memory {
    int64_t id;
    char *rows;
    char *tag; /* NULL: none */
    bool gone;
} memory;

typedef struct history {
    lake l;
    tl_table *table;
    memory seen[PUSH_MAX];
    size_t n;
    char *changes[4 * PUSH_MAX]; /* of each snapshot, as its stream told them; NULL: none */
    int64_t followed;            /* up to this one */
    int tags;
    bool may_roll_back;
    bool rolled_back; /* which leaves the files of what is gone, as in the reference */
    uint64_t rng;
} history;

static char *rows_at(history *h, const char *option, const char *value)
{
    char text[128];
    snprintf(text, sizeof text, "%s=%s", option, value);
    tl_table *table = open_with(&h->l, "t", text);
    char *rows = read_where(table, NULL);
    tl_table_free(table);
    return rows;
}

static void remember(history *h, const char *tag)
{
    tl_snapshot *snap = latest_of(h->table);
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)snap->id);
    assert_true(h->n < PUSH_MAX);
    h->seen[h->n++] = (memory){snap->id, rows_at(h, "scan.snapshot-id", id), tag == NULL ? NULL : strdup(tag), false};
    tl_snapshot_free(snap);
}

static void check_memory(history *h, memory *m, int64_t first, int64_t last)
{
    if (m->gone || (m->tag == NULL && (m->id < first || m->id > last)))
        return;
    char id[32];
    snprintf(id, sizeof id, "%lld", (long long)m->id);
    char *now = m->tag != NULL ? rows_at(h, "scan.tag-name", m->tag) : rows_at(h, "scan.snapshot-id", id);
    assert_string_equal(now, m->rows);
    free(now);
}

/* What the stream tells from here on. */
static void note_changes(history *h)
{
    int64_t id;
    bool full;
    follower f = follow(&h->l, NULL, h->followed + 1);
    for (char *text; (text = next_changes(&f, &id, &full)) != NULL;) {
        assert_true(id < 4 * PUSH_MAX);
        h->changes[id] = text;
    }
    h->followed = tl_stream_scan_position(f.scan) - 1;
    unfollow(&f);
}

/* Changes that can still be read are what they were; where changelogs are kept for good, all of them are. */
static void check_changes(history *h)
{
    int64_t id, told = 0;
    bool full;
    follower f = follow(&h->l, "scan.mode=from-snapshot,scan.snapshot-id=1", 0);
    for (char *text; (text = next_changes(&f, &id, &full)) != NULL; told++) {
        assert_non_null(h->changes[id]);
        assert_string_equal(text, h->changes[id]);
        free(text);
    }
    unfollow(&f);
    const char *max = tl_table_option(h->table, "changelog.num-retained.max");
    for (size_t i = 0; i < TL_ARRAY_LEN(h->changes) && max != NULL && strcmp(max, "1000") == 0; i++)
        told -= h->changes[i] != NULL;
    if (max != NULL && strcmp(max, "1000") == 0)
        assert_int_equal(told, 0);
}

static void check_all(history *h)
{
    int64_t first, last;
    check_changes(h);
    snapshots(h->table, &first, &last);
    for (size_t i = 0; i < h->n; i++)
        check_memory(h, &h->seen[i], first, last);
    assert_sound(h->table);
}

static void write_some(history *h)
{
    char lines[1024] = "";
    int n = 1 + (int)(test_random(&h->rng) % 6);
    for (int i = 0; i < n; i++) {
        char line[96];
        bool gone = test_random(&h->rng) % 5 == 0;
        snprintf(line, sizeof line, "{'_kind':'%s','p':%d,'k':%d,'v':'%d'}\n", gone ? "-D" : "+I", (int)(test_random(&h->rng) % 3),
                 (int)(test_random(&h->rng) % 9), (int)(test_random(&h->rng) % 1000));
        strcat(lines, line);
    }
    put_as(h->table, NULL, TL_COMMIT_BATCH, lines, test_random(&h->rng) % 3 == 0);
}

static void tag_some(history *h)
{
    char tag[32];
    tl_error err;
    snprintf(tag, sizeof tag, "tag-%d", h->tags++);
    assert_ok(tl_table_create_tag(h->table, tag, 0, TL_ABSENT, &err), &err);
    remember(h, tag);
}

static void untag_some(history *h)
{
    size_t at = test_random(&h->rng) % (h->n + 1);
    tl_error err;
    if (at == h->n || h->seen[at].tag == NULL || h->seen[at].gone)
        return;
    assert_ok(tl_table_delete_tag(h->table, h->seen[at].tag, &err), &err);
    h->seen[at].gone = true;
}

static void roll_back(history *h)
{
    int64_t first, last;
    tl_error err;
    snapshots(h->table, &first, &last);
    int64_t to = first + (int64_t)(test_random(&h->rng) % (uint64_t)(last - first + 1));
    assert_ok(tl_table_rollback(h->table, to, NULL, &err), &err);
    h->rolled_back = true;
    for (size_t i = 0; i < h->n; i++)
        h->seen[i].gone |= h->seen[i].id > to;
    for (size_t i = (size_t)to + 1; i < TL_ARRAY_LEN(h->changes); i++) {
        free(h->changes[i]);
        h->changes[i] = NULL;
    }
    h->followed = TL_MIN(h->followed, to);
}

static void step(history *h)
{
    tl_error err;
    tl_commit_result result;
    switch (test_random(&h->rng) % 12) {
    case 0:
        tag_some(h);
        break;
    case 1:
        untag_some(h);
        break;
    case 2: {
        tl_expire_spec spec = {.retain_max = 1 + (int64_t)(test_random(&h->rng) % 6), .retain_min = 1, .older_than_ms = 0};
        int32_t expired;
        assert_ok(tl_table_expire(h->table, &spec, &expired, &err), &err);
        break;
    }
    case 3:
        assert_ok(tl_table_compact(h->table, NULL, true, NULL, &result, &err), &err);
        break;
    case 4: {
        tl_options spec = options_of("p=1");
        assert_ok(tl_table_drop_partitions(h->table, &spec, 1, &err), &err);
        tl_options_deinit(&spec);
        break;
    }
    case 5:
        if (h->may_roll_back)
            roll_back(h);
        break;
    default:
        write_some(h);
        remember(h, NULL);
    }
}

/* With one snapshot and no tags, only its files are left. */
static void check_leftovers(history *h)
{
    tl_error err;
    tl_expire_spec spec = {.retain_max = 1, .retain_min = 1, .older_than_ms = 0};
    int32_t expired;
    for (size_t i = 0; i < h->n; i++) {
        if (h->seen[i].tag != NULL && !h->seen[i].gone)
            assert_ok(tl_table_delete_tag(h->table, h->seen[i].tag, &err), &err);
    }
    /* Where changes outlive their snapshots, what the last one deleted would be kept: a snapshot that deletes nothing. */
    tl_table_free(h->table);
    h->table = open_with(&h->l, "t", "write-only=true");
    put(h->table, "{'p':0,'k':0,'v':'last'}");
    assert_ok(tl_table_expire(h->table, &spec, &expired, &err), &err);
    assert_ok(tl_table_delete_changelogs(h->table, &expired, &err), &err);
    tl_snapshot *snap = latest_of(h->table);
    tl_scan scan;
    tl_entries live = {0};
    tl_manifest_list manifests = {0};
    tl_scan_init(&scan, TL_SCAN_ALL, snap);
    assert_ok(tl_table__scan(h->table, &scan, &live, &err), &err);
    assert_ok(tl_table__manifests(h->table, snap, TL_SCAN_ALL, &manifests, &err), &err);
    assert_int_equal(files_with(h->l.fs, "/data-"), live.n);
    assert_int_equal(files_with(h->l.fs, "/manifest-list-"), 2 + (snap->changelog_manifest_list != NULL));
    assert_int_equal(files_with(h->l.fs, "/manifest/manifest-") - files_with(h->l.fs, "/manifest-list-"),
                     manifests.n + (snap->changelog_record_count > 0));
    tl_manifest_list_deinit(&manifests);
    tl_entries_deinit(&live);
    tl_snapshot_free(snap);
}

static void run_history(const char *options, uint64_t seed)
{
    history h = {.l = memory_lake(), .may_roll_back = seed % 3 == 0, .rng = seed};
    create(&h.l, "t", "p INT NOT NULL, k INT NOT NULL, v STRING", "p,k", "p", options);
    h.table = open_table(&h.l, "t");
    write_some(&h);
    remember(&h, NULL);
    note_changes(&h); /* before a step may expire them */
    for (int i = 0; i < 60; i++) {
        step(&h);
        note_changes(&h);
        if (i % 5 == 4)
            check_all(&h);
    }
    check_all(&h);
    if (!h.rolled_back)
        check_leftovers(&h);
    for (size_t i = 0; i < h.n; i++) {
        free(h.seen[i].rows);
        free(h.seen[i].tag);
    }
    for (size_t i = 0; i < TL_ARRAY_LEN(h.changes); i++)
        free(h.changes[i]);
    tl_table_free(h.table);
    close_lake(&h.l);
}

static void whatever_happens_what_is_still_named_reads_as_before(void **state)
{
    (void)state;
    static const char *const options[] = {
        "bucket=1,manifest.merge-min-count=3",
        "bucket=2,changelog-producer=input,num-sorted-run.compaction-trigger=2",
        "bucket=1,changelog-producer=full-compaction,manifest.merge-min-count=2",
        "bucket=1,changelog-producer=lookup,manifest.full-compaction-threshold-size=1b",
        "bucket=1,snapshot.num-retained.min=2,snapshot.num-retained.max=4",
        "bucket=1,changelog.num-retained.max=1000,snapshot.num-retained.max=999,num-sorted-run.compaction-trigger=2",
        "bucket=1,changelog-producer=lookup,changelog.num-retained.max=1000,snapshot.num-retained.max=999,changelog.time-retained=1h",
        "bucket=1,changelog.num-retained.max=9,snapshot.num-retained.max=3,snapshot.num-retained.min=1,changelog.time-retained=2h",
        "bucket=1,changelog-producer=input,changelog.num-retained.max=9,snapshot.num-retained.max=3,snapshot.num-retained.min=1",
    };
    uint64_t seed = test_seed(3);
    for (size_t i = 0; i < TL_ARRAY_LEN(options); i++) {
        for (uint64_t round = 0; round < 2; round++)
            run_history(options[i], seed * 1000 + i * 10 + round);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_ages_say_what_expires),
        cmocka_unit_test(expiry_follows_each_commit_unless_the_table_is_write_only),
        cmocka_unit_test(a_consumer_holds_back_expiry),
        cmocka_unit_test(a_tag_keeps_its_rows_after_its_snapshot_expired),
        cmocka_unit_test(a_rollback_makes_the_past_the_present),
        cmocka_unit_test(tags_are_renamed_and_refused_where_they_make_no_sense),
        cmocka_unit_test(whatever_happens_what_is_still_named_reads_as_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
