/*
 * Which runs to compact: universal compaction (Java: UniversalCompaction, EarlyFullCompaction, ForceUpLevel0Compaction,
 * OffPeakHours). Runs come newest first, so a pick is always a prefix of them, and older data stays below newer data.
 */
#include "lsm/lsm_private.h"

#include <time.h>

void tl_lsm__picker_init(tl_lsm__picker *picker, const tl_lsm_config *config, int32_t bucket)
{
    double turns = 0.6180339887 * ((double)bucket + 1); /* the golden ratio's: any number of buckets is spread evenly */
    *picker = (tl_lsm__picker){.config = config, .last_full_ms = TL_ABSENT, .fresh = -1, .spread = turns - (double)(int64_t)turns};
}

static int64_t sum_bytes(const tl_lsm__run *runs, size_t n)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += runs[i].bytes;
    return bytes;
}

static tl_lsm__pick pick_all(tl_lsm__picker *picker, int32_t max_level, size_t n)
{
    picker->last_full_ms = tl_clock_now_ms(picker->config->clock);
    return (tl_lsm__pick){n, max_level};
}

/* Full compaction by time or size, before anything else. */
static tl_lsm__pick pick_early_full(tl_lsm__picker *picker, int32_t max_level, const tl_lsm__run *runs, size_t n)
{
    const tl_lsm_config *c = picker->config;
    if (n == 1)
        return (tl_lsm__pick){0, 0};
    if (c->optimization_interval_ms >= 0) {
        int64_t now = tl_clock_now_ms(c->clock);
        if (picker->last_full_ms == TL_ABSENT || now - picker->last_full_ms > c->optimization_interval_ms)
            return pick_all(picker, max_level, n);
    }
    if (c->total_size_threshold >= 0 && sum_bytes(runs, n) < c->total_size_threshold)
        return pick_all(picker, max_level, n);
    if (c->incremental_size_threshold >= 0) {
        int64_t bytes = 0;
        for (size_t i = 0; i < n; i++)
            bytes += runs[i].level != max_level ? runs[i].bytes : 0;
        if (bytes > c->incremental_size_threshold)
            return pick_all(picker, max_level, n);
    }
    return (tl_lsm__pick){0, 0};
}

static int32_t offpeak_ratio(const tl_lsm_config *c)
{
    if (c->offpeak_start_hour == -1 || c->offpeak_end_hour == -1 || c->offpeak_start_hour == c->offpeak_end_hour)
        return 0;
    time_t now = (time_t)(tl_clock_now_ms(c->clock) / 1000);
    struct tm local;
    if (localtime_r(&now, &local) == NULL)
        return 0;
    int hour = local.tm_hour;
    bool offpeak = c->offpeak_start_hour <= c->offpeak_end_hour ? c->offpeak_start_hour <= hour && hour < c->offpeak_end_hour
                                                                : hour < c->offpeak_end_hour || c->offpeak_start_hour <= hour;
    return offpeak ? c->offpeak_ratio : 0;
}

/* Output level of the first `count` runs. Level 0 is never written to: then runs are taken in up to one of a level above. */
static tl_lsm__pick make_pick(tl_lsm__picker *picker, int32_t max_level, const tl_lsm__run *runs, size_t n, size_t count)
{
    int32_t level = count == n ? max_level : TL_MAX(0, runs[count].level - 1);
    while (level == 0 && count < n)
        level = runs[count++].level;
    if (count == n)
        return pick_all(picker, max_level, n);
    return (tl_lsm__pick){count, level};
}

/* Take runs in as long as what is there, enlarged by the ratio, is not smaller than the next one. */
static size_t extend_by_ratio(const tl_lsm_config *c, const tl_lsm__run *runs, size_t n, size_t count)
{
    int64_t bytes = sum_bytes(runs, count);
    double percent = 100.0 + c->size_ratio + offpeak_ratio(c);
    for (; count < n; count++) {
        if ((double)bytes * percent / 100.0 < (double)runs[count].bytes)
            break;
        bytes += runs[count].bytes;
    }
    return count;
}

static bool too_amplified(const tl_lsm_config *c, const tl_lsm__run *runs, size_t n)
{
    /* In 128 bits: the sizes are another's. */
    return (tl_i128)sum_bytes(runs, n - 1) * 100 > (tl_i128)c->max_size_amplification_percent * runs[n - 1].bytes;
}

/*
 * Commits of a few rows would be compacted two files at a time, once every other commit and bucket. Where no commit waits for the
 * result, runs beyond the trigger are allowed anyhow, up to where writing stops: as long as the files of level 0 are small,
 * they gather up to there and are compacted together. A trigger that somebody has set is kept to. 200 commits of 1,000 rows:
 * 180 compactions instead of 408, which write 49 instead of 62 MB.
 */
#define SMALL_FILE_BYTES (32 << 10)

static bool can_wait(const tl_lsm__picker *picker, const tl_lsm__run *runs, size_t n)
{
    const tl_lsm_config *c = picker->config;
    size_t most = (size_t)TL_MIN(c->stop_trigger, (int64_t)c->compaction_trigger + 3), fresh = 0;
    if (!picker->patient || !c->trigger_is_default || c->need_lookup || c->force_up_level0 || n >= most)
        return false;
    while (fresh < n && runs[fresh].level == 0)
        fresh++;
    return sum_bytes(runs, fresh) < (int64_t)fresh * SMALL_FILE_BYTES;
}

/*
 * A full compaction that is not due by the rules, but gives back a good part of the oldest run. By size amplification alone (200%) a
 * table under updates comes to three times its live bytes before that, and all buckets do so with the same commit, which keeps the old
 * files of all of them until snapshots expire. Bytes written are about the same or fewer, since partial compactions are done in
 * its stead. Where nobody has asked for another shape, and full compactions mean nothing more than that.
 */
#define STALE_BYTES_MIN (1 << 20) /* less is not worth a thought */
#define STALE_SHARE_MIN 0.25      /* of the oldest run; twice that in the last bucket */

static bool may_give_back(const tl_lsm_config *c)
{
    return c->shape_is_default && !c->need_lookup && !c->force_up_level0 && c->changelog_producer != TL_CHANGELOG_FULL_COMPACTION;
}

bool tl_lsm__wants_stale(const tl_lsm__picker *picker)
{
    return picker->fresh < 0 && may_give_back(picker->config);
}

static bool gives_back(const tl_lsm__picker *picker, int32_t max_level, const tl_lsm__run *runs, size_t n)
{
    if (!may_give_back(picker->config) || runs[n - 1].level != max_level)
        return false;
    int64_t stale = tl_lsm__stale_bytes(picker, runs, n);
    return stale >= STALE_BYTES_MIN && (double)stale > STALE_SHARE_MIN * (1 + picker->spread) * (double)runs[n - 1].bytes;
}

static tl_lsm__pick pick_universal(tl_lsm__picker *picker, int32_t max_level, const tl_lsm__run *runs, size_t n)
{
    const tl_lsm_config *c = picker->config;
    size_t trigger = (size_t)TL_MAX(c->compaction_trigger, 0);
    if (c->optimization_interval_ms >= 0 || c->total_size_threshold >= 0 || c->incremental_size_threshold >= 0) {
        tl_lsm__pick pick = pick_early_full(picker, max_level, runs, n);
        if (pick.n_runs > 0)
            return pick;
    }
    if (n < trigger || n == 0 || can_wait(picker, runs, n))
        return (tl_lsm__pick){0, 0};
    if (too_amplified(c, runs, n) || gives_back(picker, max_level, runs, n))
        return pick_all(picker, max_level, n);
    size_t count = extend_by_ratio(c, runs, n, 1);
    if (count <= 1 && n > trigger)
        count = extend_by_ratio(c, runs, n, TL_MIN(n - trigger + 1, n));
    return count > 1 ? make_pick(picker, max_level, runs, n, count) : (tl_lsm__pick){0, 0};
}

tl_lsm__pick tl_lsm__picker_universal(tl_lsm__picker *picker, int32_t n_levels, const tl_lsm__run *runs, size_t n)
{
    return pick_universal(picker, n_levels - 1, runs, n);
}

static tl_lsm__pick pick_level0(tl_lsm__picker *picker, int32_t max_level, const tl_lsm__run *runs, size_t n)
{
    size_t count = 0;
    while (count < n && runs[count].level == 0)
        count++;
    if (count == 0)
        return (tl_lsm__pick){0, 0};
    return make_pick(picker, max_level, runs, n, extend_by_ratio(picker->config, runs, n, count));
}

tl_lsm__pick tl_lsm__picker_pick(tl_lsm__picker *picker, int32_t n_levels, const tl_lsm__run *runs, size_t n)
{
    const tl_lsm_config *c = picker->config;
    tl_lsm__pick pick = pick_universal(picker, n_levels - 1, runs, n);
    if (pick.n_runs > 0 || !(c->need_lookup || c->force_up_level0))
        return pick;
    if (!c->need_lookup || c->lookup_compact_max_interval == 0)
        return pick_level0(picker, n_levels - 1, runs, n);
    if (++picker->triggers < c->lookup_compact_max_interval)
        return (tl_lsm__pick){0, 0};
    picker->triggers = 0;
    return pick_level0(picker, n_levels - 1, runs, n);
}
