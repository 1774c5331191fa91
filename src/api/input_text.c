/* What JSON lines and CSV share: lines of a file or of standard input, and the batch that is being built. */
#include "api/input_private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/utf8.h"

tl_status tl_input__text_open(tidelake_input *in, text_input *text, tl_error *err)
{
    bool is_stdin = strcmp(in->path, "-") == 0;
    text->file = is_stdin ? stdin : fopen(in->path, "re");
    if (text->file == NULL)
        return tl_error_errno(err, errno, "could not open '%s'", in->path);
    struct stat stat;
    if (fstat(fileno(text->file), &stat) == 0 && S_ISDIR(stat.st_mode))
        return tl_error_set(err, TL_E_INVALID, "'%s' is a folder: give a file", in->path);
    if (!is_stdin && fseeko(text->file, 0, SEEK_END) == 0) {
        in->bytes_total = ftello(text->file);
        if (fseeko(text->file, 0, SEEK_SET) != 0)
            return tl_error_errno(err, errno, "cannot go back to the start of '%s'", in->path);
    }
    text->line_end = "";
    text->builders = tl_calloc((size_t)in->type->n_fields + 1, sizeof(tl_builder *));
    text->kinds = tl_alloc(INPUT_BATCH_ROWS);
    if (text->builders == NULL || text->kinds == NULL)
        return tl_nomem(err, "input");
    for (int32_t c = 0; c < in->type->n_fields; c++)
        TL_TRY(tl_builder_create(in->type->fields[c].type, &text->builders[c], err));
    return TL_OK;
}

void tl_input__text_close(const tidelake_input *in, text_input *text)
{
    for (int32_t c = 0; text->builders != NULL && c < in->type->n_fields; c++)
        tl_builder_free(text->builders[c]);
    tl_free(text->builders);
    tl_free(text->kinds);
    if (text->file != NULL && text->file != stdin)
        fclose(text->file);
    free(text->line); /* getline's own */
}

tl_status tl_input__read_line(tidelake_input *in, text_input *text, bool *end, tl_error *err)
{
    errno = 0;
    ssize_t n = getline(&text->line, &text->line_cap, text->file);
    if (n < 0 && (ferror(text->file) != 0 || errno != 0))
        return tl_error_errno(err, errno, "could not read %s", in->name);
    *end = n < 0;
    if (n < 0)
        return TL_OK;
    text->line_number++;
    in->bytes_done += n;
    size_t len = (size_t)n;
    if (len > INPUT_RECORD_BYTES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "%s, line %lld has %zu bytes, more than the limit of %zu", in->name,
                            (long long)text->line_number, len, INPUT_RECORD_BYTES_MAX);
    text->line_end = "";
    if (text->line[len - 1] == '\n') {
        bool crlf = len > 1 && text->line[len - 2] == '\r';
        text->line_end = crlf ? "\r\n" : "\n";
        len -= crlf ? 2 : 1;
    }
    text->line[len] = '\0';
    text->line_len = len;
    /* Some editors begin a file with a byte order mark. */
    if (text->line_number == 1 && len >= 3 && memcmp(text->line, "\xef\xbb\xbf", 3) == 0) {
        memmove(text->line, text->line + 3, len - 3 + 1);
        text->line_len -= 3;
    }
    if (!tl_utf8_valid((tl_bytes_view){(const uint8_t *)text->line, text->line_len}))
        return tl_error_set(err, TL_E_INVALID, "the text is not UTF-8");
    return TL_OK;
}

tl_status tl_input__set_kind(text_input *text, tl_bytes_view kind, tl_error *err)
{
    uint8_t *out = &text->kinds[text->n_rows];
    if (!tl_row_kind_parse(kind, out))
        return tl_error_set(err, TL_E_INVALID, INPUT_KIND_COLUMN " is '%.*s', not one of +I, -U, +U, -D",
                            (int)TL_MIN(kind.len, 100), (const char *)kind.data);
    text->any_kind |= *out != TL_KIND_INSERT;
    return TL_OK;
}

static tl_status finish_batch(const tidelake_input *in, text_input *text, tl_batch **out, tl_error *err)
{
    TL_CLEANUP(tl_batch_freep) tl_batch *batch = NULL;
    TL_TRY(tl_batch_create(in->type, text->n_rows, &batch, err));
    for (int32_t c = 0; c < in->type->n_fields; c++)
        TL_TRY(tl_builder_finish(text->builders[c], &batch->cols[c], err));
    if (text->any_kind) {
        batch->row_kind = tl_memdup(text->kinds, (size_t)text->n_rows);
        if (batch->row_kind == NULL)
            return tl_nomem(err, "row kinds");
        text->any_kind = false;
    }
    text->n_rows = 0;
    *out = TL_STEAL(batch);
    return TL_OK;
}

tl_status tl_input__text_next(tidelake_input *in, text_input *text,
                              tl_status (*add_row)(tidelake_input *in, text_record *record, tl_error *err), tl_batch **out,
                              bool *commit_after, tl_error *err)
{
    text_record record = TEXT_ROW;
    while (record == TEXT_ROW && text->n_rows < INPUT_BATCH_ROWS) {
        text->kinds[text->n_rows] = TL_KIND_INSERT;
        tl_status status = add_row(in, &record, err);
        if (status != TL_OK)
            return tl_error_wrap(err, status, "%s, line %lld", in->name, (long long)text->line_number);
        if (record == TEXT_ROW) {
            text->n_rows++;
            text->row_since_commit = true;
        } else if (record == TEXT_BLANK && !text->row_since_commit) {
            record = TEXT_ROW; /* blank lines before the first row ask for nothing */
        }
    }
    if (record == TEXT_BLANK) {
        *commit_after = true;
        text->row_since_commit = false;
    }
    if (text->n_rows == 0 && !*commit_after) {
        *out = NULL;
        return TL_OK;
    }
    return finish_batch(in, text, out, err);
}
