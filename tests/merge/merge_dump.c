/*
 * merge_dump SCHEMA.json ROWS.jsonl: what a table would hold after these rows, each batch (they end at a blank line) being one
 * commit that is flushed as one sorted run, read without compaction. Input and output are those of the reference's command
 * (create, write --compact none, read), so that a script can compare the two; see random_against_reference.py.
 */
#include <stdio.h>
#include <stdlib.h>

#include "merge/merge.h"
#include "types/text.h"

typedef struct dump {
    tl_arena arena;
    tl_error err;
    const tl_type *type;
    tl_options options;
    int32_t key_idx[16];
    int32_t n_keys;
    tl_merge_engine *engine;
    tl_builder *builders[256];
    tl_buf kinds;
    tl_reader *runs[64];
    int32_t n_runs;
    int64_t seq;
} dump;

static void check(dump *d, tl_status status)
{
    if (status == TL_OK)
        return;
    fprintf(stderr, "%s\n", d->err.message);
    exit(1);
}

static char *read_file(const char *path, size_t *len)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(2);
    }
    tl_buf buf = {0};
    char chunk[65536];
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        if (tl_buf_append(&buf, chunk, n) != TL_OK)
            exit(2);
    fclose(file);
    *len = buf.len;
    char *text = NULL;
    return tl_buf_steal_str(&buf, &text) == TL_OK ? text : NULL;
}

static const tl_json *parse(dump *d, const char *text, size_t len)
{
    const tl_json *json = NULL;
    check(d, tl_json_parse(&d->arena, (tl_bytes_view){(const uint8_t *)text, len}, &json, &d->err));
    return json;
}

static void load_schema(dump *d, const char *path)
{
    size_t len;
    char *text = read_file(path, &len);
    const tl_json *root = parse(d, text, len);
    tl_field fields[256] = {{0}};
    int32_t n = 0;
    for (const tl_json *c = tl_json_get(root, "columns")->child; c != NULL; c = c->next, n++) {
        fields[n].name = tl_json_strdup(&d->arena, tl_json_get(c, "name"));
        check(d, tl_type_from_json(tl_json_get(c, "type"), &fields[n].type, &d->err));
    }
    check(d, tl_type_create_row(false, fields, n, &d->type, &d->err));
    for (const tl_json *k = tl_json_get(root, "primaryKeys")->child; k != NULL; k = k->next)
        d->key_idx[d->n_keys++] = tl_type_field_index(d->type, tl_json_strdup(&d->arena, k));
    for (const tl_json *o = tl_json_get(root, "options")->child; o != NULL; o = o->next)
        check(d, tl_options_set(&d->options, tl_arena_strndup(&d->arena, (const char *)o->key.data, o->key.len),
                                tl_json_strdup(&d->arena, o)));
    check(d, tl_merge_validate(d->type, d->key_idx, d->n_keys, &d->options, &d->err));
    check(d, tl_merge_engine_create(d->type, d->key_idx, d->n_keys, &d->options, &d->engine, &d->err));
    for (int32_t c = 0; c < n; c++)
        check(d, tl_builder_create(d->type->fields[c].type, &d->builders[c], &d->err));
}

static void add_row(dump *d, const char *line, size_t len)
{
    const tl_json *row = parse(d, line, len), *kind_json = tl_json_get(row, "_kind");
    uint8_t kind = TL_KIND_INSERT;
    if (kind_json != NULL)
        tl_row_kind_parse(kind_json->text, &kind);
    const char *ignore = tl_options_get(&d->options, "ignore-delete");
    if (ignore != NULL && strcmp(ignore, "true") == 0 && tl_kind_is_retract(kind))
        return;
    for (int32_t c = 0; c < d->type->n_fields; c++)
        check(d,
              tl_text_read_json(tl_json_get(row, d->type->fields[c].name), d->type->fields[c].type, d->builders[c], &d->err));
    check(d, tl_buf_append_byte(&d->kinds, kind));
}

static void flush(dump *d)
{
    int64_t n = (int64_t)d->kinds.len;
    tl_batch *batch = NULL, *merged = NULL, **batches = tl_alloc(sizeof(tl_batch *));
    if (n == 0 || batches == NULL)
        return;
    check(d, tl_batch_create(d->type, n, &batch, &d->err));
    for (int32_t c = 0; c < d->type->n_fields; c++)
        check(d, tl_builder_finish(d->builders[c], &batch->cols[c], &d->err));
    batch->row_kind = tl_buf_steal(&d->kinds).data;
    batch->seq = tl_alloc((size_t)n * sizeof *batch->seq);
    for (int64_t i = 0; i < n; i++)
        batch->seq[i] = d->seq++;
    tl_groups groups = {.sources = (const tl_batch *const *)&batch, .n_sources = 1};
    tl_rowref *refs = NULL;
    uint32_t *starts = NULL;
    check(d,
          tl_merge_sort_groups(d->engine, d->key_idx, d->n_keys, groups.sources, 1, &refs, &starts, &groups.n_groups, &d->err));
    groups.refs = refs;
    groups.starts = starts;
    check(d, tl_merge_groups(d->engine, &groups, /* always_call= */ false, &merged, &d->err));
    batches[0] = merged;
    check(d, tl_reader_from_batches(d->type, batches, 1, &d->runs[d->n_runs++], &d->err));
    tl_batch_free(batch);
    tl_free(refs);
    tl_free(starts);
}

static void print_all(dump *d)
{
    tl_merge_input inputs[64];
    for (int32_t r = 0; r < d->n_runs; r++)
        inputs[r] = (tl_merge_input){.reader = d->runs[r]};
    tl_merge_spec spec = {
        .engine = d->engine, .key_idx = d->key_idx, .n_keys = d->n_keys, .drop_deletes = true, .batch_rows = 7};
    tl_reader *reader = NULL;
    check(d, tl_merge_open(d->type, &spec, inputs, d->n_runs, &reader, &d->err));
    for (;;) {
        tl_batch *batch = NULL;
        check(d, tl_reader_next(reader, &batch, &d->err));
        if (batch == NULL)
            break;
        tl_buf out = {0};
        check(d, tl_text_append_json_lines(&out, batch, 0, batch->n_rows, false, false));
        fwrite(out.data, 1, out.len, stdout);
        tl_buf_deinit(&out);
        tl_batch_free(batch);
    }
    tl_reader_free(reader);
}

int main(int argc, char **argv)
{
    static dump d;
    if (argc != 3) {
        fprintf(stderr, "usage: merge_dump SCHEMA.json ROWS.jsonl\n");
        return 2;
    }
    load_schema(&d, argv[1]);
    size_t len;
    char *text = read_file(argv[2], &len);
    for (size_t from = 0; from < len;) {
        size_t end = from;
        while (end < len && text[end] != '\n')
            end++;
        if (end == from)
            flush(&d);
        else
            add_row(&d, text + from, end - from);
        from = end + 1;
    }
    flush(&d);
    print_all(&d);
    return 0;
}
