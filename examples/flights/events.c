/*
 * flight-events: turns flights of the nycflights13 data set into three event streams, as the systems of an airport would
 * send them.
 *
 *   scheduled  changes of the flight plan's database (Debezium JSON: before, after, op): new flights, corrections, cancellations,
 *              and flights that are planned and later deleted
 *   departed   what the gates report (JSON): departure time and delay
 *   arrived    what the landing strips report (JSON): arrival delay and air time
 *
 * Events come out of order and late; some come twice; some carry a wrong value that a later event corrects. What remains
 * when all have been seen is exactly what the CSV file says. The same arguments give the same bytes, on every machine.
 *
 * usage: flight-events FLIGHTS.csv[.gz] FOLDER [--files N] [--rate EVENTS_PER_SECOND]
 *
 * FOLDER/scheduled, FOLDER/departed and FOLDER/arrived get N files each (default 40). A file appears whole: it is written
 * under a name that begins with a dot and renamed. With --rate the files appear at that pace, as from a live system.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#define FIELDS_MAX 32
#define LINE_BYTES_MAX 4096
#define NO_VALUE INT32_MIN
/* Flights that are planned and deleted again have numbers from here on. */
#define WITHDRAWN_ID_FIRST 10000000

enum { SCHEDULED, DEPARTED, ARRIVED, STREAMS };
static const char *const stream_names[STREAMS] = {"scheduled", "departed", "arrived"};

/* One flight of the data set. Times are minutes since 1970 of the local clock at the origin. */
typedef struct flight {
    int64_t id; /* its line in the file, from 1 */
    int64_t planned;
    int64_t planned_arrival;
    int32_t dep_delay; /* minutes; NO_VALUE: it never departed */
    int32_t arr_delay; /* NO_VALUE: no arrival is known */
    int32_t air_time;
    int32_t distance;
    int32_t number;
    char carrier[8];
    char tail[16]; /* "": unknown */
    char origin[8];
    char dest[8];
} flight;

typedef struct event {
    int64_t at; /* when it is sent, milliseconds */
    uint64_t order; /* breaks ties, so that the order does not depend on the sort */
    char *line;
} event;

typedef struct stream {
    event *events;
    size_t n, cap;
} stream;

static stream streams[STREAMS];
static uint64_t event_count;

static void die(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fprintf(stderr, "flight-events: ");
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* A random number that depends on flight and purpose alone (splitmix64's mixer). */
static uint64_t chance(int64_t id, uint64_t purpose)
{
    uint64_t z = (uint64_t)id * UINT64_C(0x9e3779b97f4a7c15) + purpose * UINT64_C(0xd1342543de82ef95);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static bool one_in(int64_t id, uint64_t purpose, uint64_t n)
{
    return chance(id, purpose) % n == 0;
}

/* Events travel for up to ten minutes; one in a hundred is one to three days late. */
static int64_t travel_ms(int64_t id, uint64_t purpose)
{
    int64_t ms = (int64_t)(chance(id, purpose + 100) % 600000);
    if (one_in(id, purpose + 200, 100))
        ms += 86400000 + (int64_t)(chance(id, purpose + 300) % (2 * 86400000));
    return ms;
}

static void send(int s, int64_t at_ms, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void send(int s, int64_t at_ms, const char *fmt, ...)
{
    char line[LINE_BYTES_MAX];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    stream *to = &streams[s];
    if (to->n == to->cap) {
        to->cap = to->cap == 0 ? 1024 : to->cap * 2;
        to->events = realloc(to->events, to->cap * sizeof *to->events);
        if (to->events == NULL)
            die("out of memory");
    }
    char *copy = strdup(line);
    if (copy == NULL)
        die("out of memory");
    to->events[to->n++] = (event){at_ms, event_count++, copy};
}

/* ---- text of times ---- */

static int64_t days_from_civil(int64_t y, int m, int d)
{
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* "2013-01-01 05:15:00.000" of milliseconds since 1970. */
static const char *time_text(int64_t ms, char out[32])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm);
    snprintf(out + n, 32 - n, ".%03d", (int)(ms % 1000));
    return out;
}

/* ---- the flight plan: changes of a database row ---- */

typedef struct plan_row {
    const flight *f;
    int32_t shift; /* minutes that the planned departure is off */
    bool wrong_tail;
    const char *state;
    int32_t revision;
    int64_t changed_ms;
} plan_row;

static const char *plan_text(const plan_row *row, char out[1024])
{
    char planned[32], arrival[32], changed[32], tail[32];
    int64_t shift = (int64_t)row->shift * 60000;
    if (row->wrong_tail)
        snprintf(tail, sizeof tail, "\"N0000X\"");
    else
        snprintf(tail, sizeof tail, row->f->tail[0] == '\0' ? "null" : "\"%s\"", row->f->tail);
    snprintf(out, 1024,
             "{\"flight_id\":%" PRId64 ",\"fl_date\":\"%.10s\",\"carrier\":\"%s\",\"flight\":%d,\"tailnum\":%s,\"origin\":\"%s\","
             "\"dest\":\"%s\",\"distance\":%d,\"sched_dep\":\"%s\",\"sched_arr\":\"%s\",\"state\":\"%s\",\"plan_rev\":%d,\"plan_ts\":\"%s\"}",
             row->f->id, time_text(row->f->planned * 60000, planned), row->f->carrier, row->f->number, tail, row->f->origin, row->f->dest,
             row->f->distance, time_text(row->f->planned * 60000 + shift, planned), time_text(row->f->planned_arrival * 60000 + shift, arrival),
             row->state, row->revision, time_text(row->changed_ms, changed));
    return out;
}

/* Returns when the last copy is sent. */
static int64_t send_change(const plan_row *before, const plan_row *after, const char *op, int64_t changed_ms, uint64_t purpose)
{
    char b[1024] = "null", a[1024] = "null";
    int64_t id = before != NULL ? before->f->id : after->f->id;
    if (before != NULL)
        plan_text(before, b);
    if (after != NULL)
        plan_text(after, a);
    int64_t at = changed_ms + travel_ms(id, purpose);
    send(SCHEDULED, at, "{\"before\":%s,\"after\":%s,\"op\":\"%s\"}", b, a, op);
    if (one_in(id, purpose + 400, 50)) { /* sent twice */
        at += 1000 + (int64_t)(chance(id, purpose + 500) % 3600000);
        send(SCHEDULED, at, "{\"before\":%s,\"after\":%s,\"op\":\"%s\"}", b, a, op);
    }
    return at;
}

static void plan_flight(const flight *f)
{
    int64_t day_before = f->planned * 60000 - 86400000;
    bool corrected = one_in(f->id, 1, 8), cancelled = f->dep_delay == NO_VALUE;
    plan_row row = {f, corrected ? (int32_t)(chance(f->id, 2) % 120) - 60 : 0, corrected && one_in(f->id, 3, 2), "planned", 1, day_before};
    send_change(NULL, &row, "c", row.changed_ms, 10);
    if (corrected) {
        plan_row right = {f, 0, false, "planned", 2, day_before + 3600000 * (int64_t)(1 + chance(f->id, 4) % 12)};
        send_change(&row, &right, "u", right.changed_ms, 11);
        row = right;
    }
    if (cancelled) {
        plan_row off = {f, 0, false, "cancelled", row.revision + 1, f->planned * 60000 - 3600000};
        send_change(&row, &off, "u", off.changed_ms, 12);
    }
}

/*
 * A flight that is planned and deleted before it would have left: nothing of it may remain. The deletion is the last event of
 * its flight: once a compaction has dropped the deleted row, nothing would remember that an older event must lose.
 */
static void withdraw_flight(const flight *model, int64_t id)
{
    flight f = *model;
    f.id = id;
    f.number += 5000;
    int64_t day_before = f.planned * 60000 - 86400000;
    plan_row row = {&f, 0, false, "planned", 1, day_before};
    int64_t sent = send_change(NULL, &row, "c", day_before, 10);
    plan_row last = {&f, 0, false, "planned", 2, day_before + 7200000};
    int64_t sent_last = send_change(&row, &last, "u", last.changed_ms, 11);
    last.revision = 3;
    last.changed_ms += 7200000;
    /* The deletion carries the row as it was last, with the revision and time of the deletion. */
    char text[1024];
    send(SCHEDULED, (sent > sent_last ? sent : sent_last) + 60000, "{\"before\":%s,\"after\":null,\"op\":\"d\"}", plan_text(&last, text));
}

/* ---- gates and landing strips ---- */

/*
 * One report, which may be preceded by a wrong one (with an earlier event time, so that it loses whenever it comes) and may
 * come twice.
 */
static void report(int s, const flight *f, int64_t event_ms, int32_t value, uint64_t purpose)
{
    static const char *const formats[] = {
        [DEPARTED] = "{\"flight_id\":%" PRId64 ",\"dep_delay\":%d,\"dep_time\":\"%s\",\"dep_ts\":\"%s\"}",
        [ARRIVED] = "{\"flight_id\":%" PRId64 ",\"arr_delay\":%d,\"air_time\":%s,\"arr_ts\":\"%s\"}",
    };
    char extra[32], ts[32];
    for (int wrong = one_in(f->id, purpose, 20); wrong >= 0; wrong--) {
        int64_t ms = event_ms - wrong * 30000; /* the wrong one was measured half a minute before */
        int32_t v = value + wrong * (int32_t)(7 + chance(f->id, purpose + 1) % 90);
        if (s == DEPARTED)
            time_text((f->planned + v) * 60000, extra);
        else if (f->air_time == NO_VALUE)
            strcpy(extra, "null");
        else
            snprintf(extra, sizeof extra, "%d", f->air_time);
        int64_t at = ms + travel_ms(f->id, purpose + 2 + (uint64_t)wrong);
        time_text(ms, ts);
        for (int copies = one_in(f->id, purpose + 4, 40) ? 2 : 1; copies > 0; copies--, at += 90000) {
            /* The formats are the two literals above. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            send(s, at, formats[s], f->id, v, extra, ts);
#pragma GCC diagnostic pop
        }
    }
}

static void fly(const flight *f)
{
    if (f->dep_delay == NO_VALUE)
        return;
    int64_t left = f->planned + f->dep_delay;
    report(DEPARTED, f, left * 60000, f->dep_delay, 1000);
    if (f->arr_delay != NO_VALUE)
        report(ARRIVED, f, (left + (f->air_time == NO_VALUE ? 60 : f->air_time)) * 60000, f->arr_delay, 2000);
}

/* ---- the data set ---- */

static int32_t number(const char *text)
{
    return strcmp(text, "NA") == 0 || *text == '\0' ? NO_VALUE : (int32_t)strtol(text, NULL, 10);
}

static int split(char *line, char **fields)
{
    int n = 0;
    for (char *p = line; p != NULL && n < FIELDS_MAX; n++) {
        fields[n] = p;
        p = strchr(p, ',');
        if (p != NULL)
            *p++ = '\0';
    }
    return n;
}

enum { YEAR, MONTH, DAY, SCHED_DEP, DEP_TIME, DEP_DELAY, SCHED_ARR, ARR_DELAY, CARRIER, FLIGHT, TAIL, ORIGIN, DEST, AIR_TIME, DISTANCE, COLUMNS };
static const char *const column_names[COLUMNS] = {"year",    "month",  "day",    "sched_dep_time", "dep_time", "dep_delay", "sched_arr_time", "arr_delay",
                                                  "carrier", "flight", "tailnum", "origin",        "dest",     "air_time",  "distance"};

static void copy_text(char *to, size_t room, const char *from)
{
    snprintf(to, room, "%s", strcmp(from, "NA") == 0 ? "" : from);
}

static flight parse_flight(int64_t id, char **fields, const int *at)
{
    int64_t day = days_from_civil(number(fields[at[YEAR]]), number(fields[at[MONTH]]), number(fields[at[DAY]]));
    int32_t dep = number(fields[at[SCHED_DEP]]), arr = number(fields[at[SCHED_ARR]]);
    flight f = {.id = id,
                .planned = day * 1440 + dep / 100 * 60 + dep % 100,
                .planned_arrival = day * 1440 + arr / 100 * 60 + arr % 100,
                .dep_delay = strcmp(fields[at[DEP_TIME]], "NA") == 0 ? NO_VALUE : number(fields[at[DEP_DELAY]]),
                .arr_delay = number(fields[at[ARR_DELAY]]),
                .air_time = number(fields[at[AIR_TIME]]),
                .distance = number(fields[at[DISTANCE]]),
                .number = number(fields[at[FLIGHT]])};
    if (f.planned_arrival < f.planned)
        f.planned_arrival += 1440; /* after midnight */
    copy_text(f.carrier, sizeof f.carrier, fields[at[CARRIER]]);
    copy_text(f.tail, sizeof f.tail, fields[at[TAIL]]);
    copy_text(f.origin, sizeof f.origin, fields[at[ORIGIN]]);
    copy_text(f.dest, sizeof f.dest, fields[at[DEST]]);
    return f;
}

static int64_t read_flights(const char *path)
{
    gzFile file = gzopen(path, "rb"); /* plain files are read as they are */
    if (file == NULL)
        die("could not open '%s': %s", path, strerror(errno));
    char line[LINE_BYTES_MAX];
    char *fields[FIELDS_MAX];
    int at[COLUMNS];
    int64_t n = 0, withdrawn = WITHDRAWN_ID_FIRST;
    for (bool header = true; gzgets(file, line, sizeof line) != NULL; header = false) {
        line[strcspn(line, "\r\n")] = '\0';
        int n_fields = split(line, fields);
        for (int c = 0; header && c < COLUMNS; c++) {
            at[c] = 0;
            while (at[c] < n_fields && strcmp(fields[at[c]], column_names[c]) != 0)
                at[c]++;
            if (at[c] == n_fields)
                die("'%s' has no column '%s'", path, column_names[c]);
        }
        if (header)
            continue;
        if (n_fields < COLUMNS)
            die("'%s' line %" PRId64 ": too few fields", path, n + 2);
        flight f = parse_flight(++n, fields, at);
        plan_flight(&f);
        fly(&f);
        if (one_in(n, 5, 200))
            withdraw_flight(&f, withdrawn++);
    }
    int rc;
    const char *message = gzerror(file, &rc);
    if (rc != Z_OK && rc != Z_STREAM_END)
        die("could not read '%s': %s", path, message);
    gzclose(file);
    return n;
}

/* ---- files ---- */

static int compare_events(const void *a, const void *b)
{
    const event *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static void make_dir(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        die("could not make '%s': %s", path, strerror(errno));
}

static void write_part(const char *folder, int s, long part, long parts)
{
    char temp[4096], path[4096];
    snprintf(temp, sizeof temp, "%s/%s/.part-%05ld.json", folder, stream_names[s], part);
    snprintf(path, sizeof path, "%s/%s/part-%05ld.json", folder, stream_names[s], part);
    FILE *file = fopen(temp, "w");
    if (file == NULL)
        die("could not create '%s': %s", temp, strerror(errno));
    size_t from = streams[s].n * (size_t)part / (size_t)parts, to = streams[s].n * (size_t)(part + 1) / (size_t)parts;
    for (size_t i = from; i < to; i++)
        fprintf(file, "%s\n", streams[s].events[i].line);
    if (fclose(file) != 0 || rename(temp, path) != 0)
        die("could not write '%s': %s", path, strerror(errno));
}

static void pause_for(double seconds)
{
    struct timespec ts = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&ts, &ts) != 0 && errno == EINTR) {
    }
}

int main(int argc, char **argv)
{
    const char *paths[2] = {NULL, NULL};
    int n_paths = 0;
    long files = 40, rate = 0;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--files") == 0 && has_value)
            files = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--rate") == 0 && has_value)
            rate = strtol(argv[++i], NULL, 10);
        else if (argv[i][0] != '-' && n_paths < 2)
            paths[n_paths++] = argv[i];
        else
            n_paths = 3;
    }
    if (n_paths != 2 || files < 1 || rate < 0) {
        fprintf(stderr, "usage: flight-events FLIGHTS.csv[.gz] FOLDER [--files N] [--rate EVENTS_PER_SECOND]\n");
        return 2;
    }
    int64_t flights = read_flights(paths[0]);
    make_dir(paths[1]);
    for (int s = 0; s < STREAMS; s++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", paths[1], stream_names[s]);
        make_dir(path);
        qsort(streams[s].events, streams[s].n, sizeof *streams[s].events, compare_events);
    }
    fprintf(stderr, "%" PRId64 " flights give %" PRIu64 " events: %zu scheduled, %zu departed, %zu arrived\n", flights, event_count,
            streams[SCHEDULED].n, streams[DEPARTED].n, streams[ARRIVED].n);
    for (long part = 0; part < files; part++) {
        for (int s = 0; s < STREAMS; s++)
            write_part(paths[1], s, part, files);
        if (rate > 0 && part + 1 < files)
            pause_for((double)event_count / (double)files / (double)rate);
    }
    return 0;
}
