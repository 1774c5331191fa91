/*
 * Scripts: variables, and the split into statements.
 *
 * `;` ends a statement outside strings, quoted names, comments and statement sets (EXECUTE or EXPLAIN STATEMENT SET BEGIN … END and
 * BEGIN STATEMENT SET; … END). A set ends at the END that begins a statement of it: END inside is CASE's.
 */
#include <strings.h>

#include "sql/sql.h"

#define SCRIPT_BYTES_MAX (16 << 20)

struct tl_sql_script {
    char *text; /* variables replaced; each `;` that ends a statement becomes NUL */
    size_t bytes;
    size_t at;
    int32_t line;
};

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_word_char(char c)
{
    return is_name_start(c) || (c >= '0' && c <= '9') || c == '$' || (unsigned char)c >= 0x80;
}

static int32_t count_lines(const char *from, const char *to)
{
    int32_t lines = 0;
    for (; from < to; from++)
        lines += *from == '\n';
    return lines;
}

/* ---- variables ---- */

/** Length of a `${NAME}` at `p`, 0 if there is none. */
static size_t variable_bytes(const char *p, const char *end)
{
    if (end - p < 4 || p[0] != '$' || p[1] != '{' || !is_name_start(p[2]))
        return 0;
    const char *q = p + 3;
    while (q < end && (is_name_start(*q) || (*q >= '0' && *q <= '9')))
        q++;
    return q < end && *q == '}' ? (size_t)(q - p) + 1 : 0;
}

static tl_status replace_variables(const char *text, size_t bytes, const tl_options *vars, tl_buf *out, tl_error *err)
{
    const char *end = text + bytes, *from = text;
    for (const char *p = text; p < end;) {
        size_t n = variable_bytes(p, end);
        if (n == 0) {
            p++;
            continue;
        }
        TL_CLEANUP(tl_freep) char *name = tl_strndup(p + 2, n - 3);
        if (name == NULL)
            return tl_nomem(err, "script");
        const char *value = vars != NULL ? tl_options_get(vars, name) : NULL;
        if (value == NULL)
            return tl_error_set(err, TL_E_INVALID, "line %d: the variable ${%s} has no value; give one with --var %s=…",
                                (int)count_lines(text, p) + 1, name, name);
        if (tl_buf_append(out, from, (size_t)(p - from)) != TL_OK || tl_buf_append_str(out, value) != TL_OK)
            return tl_nomem(err, "script");
        if (out->len > SCRIPT_BYTES_MAX)
            return tl_error_set(err, TL_E_LIMIT, "the script has more than %d bytes", SCRIPT_BYTES_MAX);
        p += n;
        from = p;
    }
    return tl_buf_append(out, from, (size_t)(end - from)) == TL_OK ? TL_OK : tl_nomem(err, "script");
}

/* ---- splitting ---- */

/** White space and comments (no hints). An unclosed comment reaches to the end. */
static const char *skip_blank(const char *p, const char *end, bool *open)
{
    while (p < end) {
        if (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n' || *p == '\f') {
            p++;
        } else if (*p == '-' && end - p >= 2 && p[1] == '-') {
            while (p < end && *p != '\n')
                p++;
        } else if (*p == '/' && end - p >= 2 && p[1] == '*' && !(end - p >= 3 && p[2] == '+')) {
            const char *q = p + 2;
            while (end - q >= 2 && !(q[0] == '*' && q[1] == '/'))
                q++;
            *open = end - q < 2;
            p = *open ? end : q + 2;
        } else {
            break;
        }
    }
    return p;
}

/** Step over one token's worth of text: quoted text as a whole, a word as a whole, else one character. */
static const char *skip_token(const char *p, const char *end, bool *open)
{
    if (*p == '\'' || *p == '`') {
        const char *q = memchr(p + 1, *p, (size_t)(end - p - 1));
        *open = q == NULL;
        return q == NULL ? end : q + 1; /* a doubled quote is two quoted texts: the same for us */
    }
    if (!is_word_char(*p))
        return p + 1;
    while (p < end && is_word_char(*p))
        p++;
    return p;
}

static bool is_word(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && strncasecmp(p, word, n) == 0 && ((size_t)(end - p) == n || !is_word_char(p[n]));
}

static bool starts_with_words(const char *p, const char *end, const char *const *words)
{
    bool open = false;
    for (; *words != NULL; words++) {
        p = skip_blank(p, end, &open);
        if (!is_word(p, end, *words))
            return false;
        p += strlen(*words);
    }
    return true;
}

/** EXPLAIN, what it is to show (CHANGELOG_MODE, …), and a statement set. */
static bool explains_set(const char *p, const char *end)
{
    static const char *const explain[] = {"EXPLAIN", NULL}, *const set[] = {"STATEMENT", "SET", "BEGIN", NULL};
    bool open = false, found = false;
    if (!starts_with_words(p, end, explain))
        return false;
    for (int words = 0; words < 12 && !found && (p = skip_blank(p, end, &open)) < end && *p != ';'; words++) {
        p = skip_token(p, end, &open);
        found = starts_with_words(p, end, set);
    }
    return found;
}

/** The `;` that ends the statement at `p`, or `end`. *open: a string, comment, name or statement set is not closed. */
static const char *find_end(const char *p, const char *end, bool *open)
{
    static const char *const execute[] = {"EXECUTE", "STATEMENT", "SET", "BEGIN", NULL};
    static const char *const begin[] = {"BEGIN", "STATEMENT", "SET", NULL};
    bool is_begin = starts_with_words(p, end, begin);
    bool in_set = is_begin || starts_with_words(p, end, execute) || explains_set(p, end);
    bool unclosed = false, at_start = false, saw_begin = false;
    while ((p = skip_blank(p, end, &unclosed)) < end) {
        if (*p == ';' && !in_set)
            break;
        if (*p == ';') {
            at_start = true;
            p++;
            continue;
        }
        if (in_set && at_start && is_word(p, end, "END")) {
            in_set = false;
        } else if (in_set && !is_begin && !saw_begin && is_word(p, end, "BEGIN")) {
            saw_begin = true;
            at_start = true; /* an empty set: BEGIN END */
            p = skip_token(p, end, &unclosed);
            continue;
        }
        at_start = false;
        p = skip_token(p, end, &unclosed);
    }
    *open = unclosed || in_set;
    return p;
}

tl_status tl_sql_script_create(const char *text, size_t bytes, const tl_options *vars, tl_sql_script **out, tl_error *err)
{
    if (bytes > SCRIPT_BYTES_MAX)
        return tl_error_set(err, TL_E_LIMIT, "the script has %zu bytes; at most %d can be taken", bytes, SCRIPT_BYTES_MAX);
    if (bytes != 0 && memchr(text, '\0', bytes) != NULL)
        return tl_error_set(err, TL_E_INVALID, "the script has a NUL byte in it; is it text?");
    TL_CLEANUP(tl_buf_deinit) tl_buf buf = {0};
    TL_TRY(replace_variables(text, bytes, vars, &buf, err));
    tl_sql_script *script = tl_calloc(1, sizeof *script);
    if (script == NULL)
        return tl_nomem(err, "script");
    script->bytes = buf.len;
    script->line = 1;
    if (tl_buf_steal_str(&buf, &script->text) != TL_OK) {
        tl_free(script);
        return tl_nomem(err, "script");
    }
    *out = script;
    return TL_OK;
}

void tl_sql_script_free(tl_sql_script *script)
{
    if (script == NULL)
        return;
    tl_free(script->text);
    tl_free(script);
}

tl_status tl_sql_script_next(tl_sql_script *script, const char **text, int32_t *line, tl_error *err)
{
    char *end = script->text + script->bytes;
    bool open = false;
    for (;;) {
        char *at = script->text + script->at;
        char *from = (char *)skip_blank(at, end, &open);
        script->line += count_lines(at, from);
        script->at = (size_t)(from - script->text);
        if (open)
            return tl_error_set(err, TL_E_INVALID, "line %d: a comment has no end", (int)script->line);
        if (from == end) {
            *text = NULL;
            *line = script->line;
            return TL_OK;
        }
        char *to = (char *)find_end(from, end, &open);
        if (open)
            return tl_error_set(err, TL_E_INVALID, "line %d: the statement that begins here has no end: a string, a quoted name, a comment or a "
                                "statement set is not closed", (int)script->line);
        *text = from;
        *line = script->line;
        script->line += count_lines(from, to);
        script->at = (size_t)(to - script->text) + (to < end);
        *to = '\0';
        if (to != from) /* `;;` is nothing */
            return TL_OK;
    }
}

bool tl_sql_is_complete(const char *text, size_t bytes)
{
    const char *p = text, *end = text + bytes;
    bool open = false, any = false;
    while ((p = skip_blank(p, end, &open)) < end) {
        const char *to = find_end(p, end, &open);
        if (open || to == end)
            return false;
        any = true;
        p = to + 1;
    }
    return any && !open;
}
