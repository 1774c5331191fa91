/* Where rows go: a file or stdout, in the format asked for; and progress on stderr. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

static int write_file(void *ctx, const void *data, size_t bytes)
{
    FILE *file = ctx;
    if (fwrite(data, 1, bytes, file) != bytes)
        return errno == 0 ? EIO : errno;
    return fflush(file) == 0 ? 0 : errno;
}

static int64_t terminal_width(FILE *file)
{
    struct winsize size;
    if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static bool wants_colors(void)
{
    const char *no_color = getenv("NO_COLOR"); /* a habit of many programs: https://no-color.org */
    const char *term = getenv("TERM");
    return (no_color == NULL || *no_color == '\0') && term != NULL && strcmp(term, "dumb") != 0;
}

bool cli_output_open(const cli_args *args, tidelake_rows *rows, bool kinds, bool snapshots, bool sorted, bool hide_warehouse,
                     cli_output *out)
{
    *out = (cli_output){NULL, stdout};
    const char *path = cli_value(args, "output", NULL);
    if (path != NULL && (out->file = fopen(path, "we")) == NULL) {
        fprintf(stderr, "tidelake: could not create '%s': %s\n", path, strerror(errno));
        return false;
    }
    bool terminal = isatty(fileno(out->file)) == 1;
    const char *format = cli_value(args, "format", terminal ? "table" : "jsonl");
    char *warehouse = hide_warehouse ? cli_warehouse(args) : NULL;
    tidelake_printer_options options = TIDELAKE_PRINTER_INIT;
    options.format = format;
    options.kinds = kinds;
    options.snapshots = snapshots;
    options.sorted = sorted && strcmp(format, "jsonl") == 0;
    options.replace = warehouse;
    options.replacement = "WAREHOUSE";
    options.max_width = terminal ? terminal_width(out->file) : 0;
    options.colors = terminal && wants_colors();
    tl_error err;
    tl_status status = tidelake_printer_open(rows, &options, write_file, out->file, &out->printer, &err);
    free(warehouse);
    if (status != TL_OK) {
        (void)cli_fail(&err);
        if (path != NULL)
            fclose(out->file);
        return false;
    }
    return true;
}

bool cli_output_close(cli_output *out, bool ok)
{
    tl_error err;
    if (ok && tidelake_printer_finish(out->printer, &err) != TL_OK) {
        (void)cli_fail(&err);
        ok = false;
    }
    tidelake_printer_close(out->printer);
    if (out->file != stdout && fclose(out->file) != 0 && ok) {
        fprintf(stderr, "tidelake: could not write the output: %s\n", strerror(errno));
        ok = false;
    }
    return ok;
}

bool cli_print_all(tidelake_rows *rows, cli_output *out)
{
    tl_error err;
    for (;;) {
        tidelake_batch *batch;
        if (tidelake_rows_next(rows, &batch, &err) != TL_OK) {
            (void)cli_fail(&err);
            return false;
        }
        if (batch == NULL)
            return true;
        tl_status status = tidelake_printer_print(out->printer, batch, &err);
        tidelake_batch_free(batch);
        if (status != TL_OK) {
            (void)cli_fail(&err);
            return false;
        }
    }
}

/* ---- progress ---- */

static int64_t now_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void cli_progress_start(cli_progress *progress, const cli_args *args, const char *what)
{
    *progress = (cli_progress){what, now_ns(), now_ns(), isatty(STDERR_FILENO) == 1 || cli_has(args, "progress"), false};
}

void cli_progress_update(cli_progress *progress, int64_t rows, int64_t done_bytes, int64_t total_bytes)
{
    int64_t now = now_ns();
    if (!progress->on || now - progress->last_ns < (progress->shown ? 200000000 : 1000000000))
        return;
    progress->last_ns = now;
    progress->shown = true;
    double seconds = (double)(now - progress->start_ns) / 1e9;
    fprintf(stderr, "\r\033[K%s: %lld rows, %.0f rows/s", progress->what, (long long)rows, (double)rows / seconds);
    if (total_bytes > 0) {
        double part = (double)done_bytes / (double)total_bytes;
        fprintf(stderr, ", %.0f %%", 100 * part);
        if (part > 0.01)
            fprintf(stderr, ", %.0f s to go", seconds / part - seconds);
    }
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
}
