/*
 * field_cases [--case PART] [--variant PART] [--list] FILE.case...
 *
 * Runs field cases in their variants, each in a folder of its own; a failure tells how to run it alone. TL_FIELD_ALL=1 runs the
 * whole product of the axes, otherwise formats go round so that each meets every value of the others. TL_FIELD_EVERY=N leaves out all
 * but every Nth variant, for builds in which each is dear.
 */
#include "field.h"

#include <ftw.h>
#include <unistd.h>

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static const char *variant_text(run *r)
{
    const char *text = "";
    for (int i = 0; i < r->c->n_axes; i++)
        text = tl_arena_strf(&r->arena, "%s%s%s=%s", text, i > 0 ? " " : "", r->c->axes[i].name, r->values[i]);
    return text;
}

static bool has_changelog(const field_case *c)
{
    for (int i = 0; i < c->n_options; i++)
        if (strncmp(c->options[i], "changelog-producer=", 19) == 0)
            return strcmp(c->options[i] + 19, "none") != 0 && strcmp(c->options[i] + 19, "input") != 0;
    return false;
}

/* After the last step: what the table held it holds after a full compaction, too; its changelog gives it; nothing is broken. */
static tl_status check_end(run *r)
{
    TL_TRY(field_settle(r));
    TL_TRY(field_check_fsck(r));
    if (!r->has_expected)
        return TL_OK;
    rowset expected = r->expected; /* a step begins */
    TL_TRY(field_step(r, &(step){0, NULL, "compact", "full"}));
    TL_TRY(tl_error_wrap(&r->err, field_check_everywhere(r, &expected), "after a full compaction"));
    TL_TRY(tl_error_wrap(&r->err, field_check_fsck(r), "after a full compaction"));
    return has_changelog(r->c) ? field_check_replay(r, &expected) : TL_OK;
}

static tl_status run_steps(run *r)
{
    const field_case *c = r->c;
    r->err.message[0] = '\0';
    TL_TRY(tidelake_open(r->folder, &r->lake, &r->err));
    if (c->n_steps == 0 || strcmp(c->steps[0].verb, "create") != 0)
        TL_TRY(field_create(r));
    for (int i = 0; i < c->n_steps; i++) {
        const step *s = &c->steps[i];
        tl_status status = field_step(r, s);
        if (s->fails != NULL && status == TL_OK)
            status = tl_error_set(&r->err, TL_E_CORRUPT, "must fail with '%s', but works", s->fails);
        else if (s->fails != NULL && strstr(r->err.message, s->fails) != NULL)
            status = TL_OK;
        else if (s->fails != NULL)
            status = tl_error_wrap(&r->err, status, "must fail with '%s'", s->fails);
        TL_TRY(tl_error_wrap(&r->err, status, "line %d: %s", s->line, s->verb));
    }
    for (int i = 0; i < c->n_steps; i++)
        if (strcmp(c->steps[i].verb, "end") == 0)
            return TL_OK;
    return tl_error_wrap(&r->err, check_end(r), "at the end");
}

static bool run_variant(const field_case *c, const int *picks, const char *only)
{
    /* In memory where there is such a folder: commits wait for the disk. */
    const char *place = getenv("TMPDIR");
    place = place != NULL ? place : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    run r = {.c = c};
    for (int i = 0; i < c->n_axes; i++)
        r.values[i] = c->axes[i].values[picks[i]];
    bool ok = true;
    const char *variant = variant_text(&r);
    if (only == NULL || strstr(variant, only) != NULL) {
        char *folder = tl_arena_strf(&r.arena, "%s/tidelake-field-XXXXXX", place);
        r.folder = mkdtemp(folder);
        if (r.folder == NULL) {
            perror(folder);
            exit(2);
        }
        ok = run_steps(&r) == TL_OK;
        if (!ok)
            printf("%s:%d: %s\n  in the variant '%s'\n  %s\n", c->file, c->line, c->name, variant, r.err.message);
        field_close_writers(&r);
        tidelake_session_close(r.session);
        tidelake_close(r.lake);
        if (!ok && getenv("TL_FIELD_KEEP") != NULL)
            printf("  kept: %s\n", r.folder);
        else
            nftw(r.folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    }
    tl_arena_deinit(&r.arena);
    return ok;
}

/* The next combination of values; false after the last one. Unless all are wanted, formats and buckets go round with the others. */
static bool next_variant(const field_case *c, int *picks, bool all)
{
    for (int i = c->n_axes - 1; i >= (all ? 0 : AXIS_STAGE); i--) {
        if (++picks[i] < c->axes[i].n)
            return true;
        picks[i] = 0;
    }
    return false;
}

static int run_case(const field_case *c, const char *variant, bool all, int every, int *variants)
{
    int picks[AXES_MAX] = {0}, failed = 0, turn = 0, nth = 0;
    do {
        if (nth++ % every != 0)
            continue;
        if (!all) {
            turn = 0;
            for (int i = AXIS_STAGE; i < c->n_axes; i++)
                turn += picks[i];
            picks[AXIS_FORMAT] = turn % c->axes[AXIS_FORMAT].n;
            picks[AXIS_BUCKET] = turn % c->axes[AXIS_BUCKET].n;
        }
        (*variants)++;
        if (!run_variant(c, picks, variant) && ++failed == 3)
            break; /* the others will not tell more */
    } while (next_variant(c, picks, all));
    return failed;
}

int main(int argc, char **argv)
{
    static field_case cases[256];
    tl_arena arena = {0};
    const char *only_case = NULL, *only_variant = NULL;
    bool all = getenv("TL_FIELD_ALL") != NULL, list = false;
    const char *every = getenv("TL_FIELD_EVERY");
    int n = 0, failed = 0, variants = 0, done = 0, stride = every == NULL ? 1 : TL_MAX(atoi(every), 1);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--case") == 0 && i + 1 < argc)
            only_case = argv[++i];
        else if (strcmp(argv[i], "--variant") == 0 && i + 1 < argc)
            only_variant = argv[++i];
        else if (strcmp(argv[i], "--list") == 0)
            list = true;
        else
            n += field_parse(&arena, argv[i], cases + n, 256 - n);
    }
    for (int i = 0; i < n; i++) {
        if (only_case != NULL && strstr(cases[i].name, only_case) == NULL)
            continue;
        done++;
        if (list)
            puts(cases[i].name);
        else
            failed += run_case(&cases[i], only_variant, all || only_variant != NULL, only_variant != NULL ? 1 : stride, &variants) > 0;
    }
    tl_arena_deinit(&arena);
    if (list)
        return 0;
    printf("%d cases in %d variants, %d cases failed\n", done, variants, failed);
    return failed == 0 && done > 0 ? 0 : 1;
}
