/*
 * The lexer: text to tokens, with line and position (1-based, in bytes) for messages.
 *
 * Names are folded nowhere: Flink compares them as they are written. Key words are found in any case. `/ * +` opens a hint,
 * inside which `* /` is a token.
 */
#include <ctype.h>
#include <stdlib.h>
#include <strings.h>

#include "sql/parser_private.h"

#include "grammar.h"

typedef struct keyword {
    const char *word;
    int code;
} keyword;

#define KEYWORD(W) {#W, TK_##W}
static const keyword keywords[] = {
    /* sorted */
    KEYWORD(ABSENT), KEYWORD(ADD), KEYWORD(AFTER), KEYWORD(ALL), KEYWORD(ALTER), KEYWORD(ANALYZE), KEYWORD(AND),
    KEYWORD(ANY), KEYWORD(ARRAY), KEYWORD(AS), KEYWORD(ASC), KEYWORD(ASYMMETRIC), KEYWORD(BEGIN), KEYWORD(BETWEEN),
    KEYWORD(BOTH), KEYWORD(BY), KEYWORD(CALL), KEYWORD(CASCADE), KEYWORD(CASE), KEYWORD(CAST), KEYWORD(CATALOG),
    KEYWORD(CATALOGS), KEYWORD(CEIL), KEYWORD(CEILING), KEYWORD(CHANGELOG_MODE), KEYWORD(COLUMN), KEYWORD(COLUMNS),
    KEYWORD(COMMENT), KEYWORD(CONDITIONAL), KEYWORD(CONSTRAINT), KEYWORD(CONSTRAINTS), KEYWORD(CREATE),
    KEYWORD(CROSS), KEYWORD(CUBE), KEYWORD(CURRENT), KEYWORD(DATABASE), KEYWORD(DATABASES), KEYWORD(DATE),
    KEYWORD(DAY), KEYWORD(DEFAULT), KEYWORD(DELETE), KEYWORD(DESC), KEYWORD(DESCRIBE), KEYWORD(DESCRIPTOR),
    KEYWORD(DISTINCT), KEYWORD(DISTRIBUTION), KEYWORD(DROP), KEYWORD(ELSE), KEYWORD(EMPTY), KEYWORD(END),
    KEYWORD(ENFORCED), KEYWORD(ERROR), KEYWORD(ESCAPE), KEYWORD(ESTIMATED_COST), KEYWORD(EXCEPT), KEYWORD(EXCLUDING),
    KEYWORD(EXECUTE), KEYWORD(EXISTS), KEYWORD(EXPLAIN), KEYWORD(EXTENDED), KEYWORD(EXTRACT), KEYWORD(FALSE),
    KEYWORD(FETCH), KEYWORD(FILTER), KEYWORD(FIRST), KEYWORD(FLOOR), KEYWORD(FOLLOWING), KEYWORD(FOR), KEYWORD(FROM),
    KEYWORD(FULL), KEYWORD(FUNCTION), KEYWORD(FUNCTIONS), KEYWORD(GENERATED), KEYWORD(GROUP), KEYWORD(HAVING),
    KEYWORD(HOUR), KEYWORD(IF), KEYWORD(ILIKE), KEYWORD(IN), KEYWORD(INCLUDING), KEYWORD(INNER), KEYWORD(INSERT),
    KEYWORD(INTERSECT), KEYWORD(INTERVAL), KEYWORD(INTO), KEYWORD(IS), KEYWORD(JARS), KEYWORD(JOBS), KEYWORD(JOIN),
    KEYWORD(JSON), KEYWORD(JSON_ARRAY), KEYWORD(JSON_ARRAYAGG), KEYWORD(JSON_EXECUTION_PLAN), KEYWORD(JSON_EXISTS),
    KEYWORD(JSON_OBJECT), KEYWORD(JSON_OBJECTAGG), KEYWORD(JSON_QUERY), KEYWORD(JSON_VALUE), KEYWORD(KEY),
    KEYWORD(LAST), KEYWORD(LATERAL), KEYWORD(LEADING), KEYWORD(LEFT), KEYWORD(LIKE), KEYWORD(LIMIT),
    KEYWORD(LOCAL), KEYWORD(MAP), KEYWORD(METADATA), KEYWORD(MINUTE), KEYWORD(MODIFY), KEYWORD(MODULES),
    KEYWORD(MONTH), KEYWORD(MULTISET), KEYWORD(NATURAL), KEYWORD(NEXT), KEYWORD(NOT), KEYWORD(NULL), KEYWORD(NULLS),
    KEYWORD(OBJECT), KEYWORD(OF), KEYWORD(OFFSET), KEYWORD(ON), KEYWORD(ONLY), KEYWORD(OPTIONS), KEYWORD(OR),
    KEYWORD(ORDER), KEYWORD(ORDINALITY), KEYWORD(OUTER), KEYWORD(OVER), KEYWORD(OVERLAPS), KEYWORD(OVERLAY),
    KEYWORD(OVERWRITE), KEYWORD(OVERWRITING), KEYWORD(PARTITION), KEYWORD(PARTITIONED), KEYWORD(PARTITIONS),
    KEYWORD(PLACING), KEYWORD(PLAN), KEYWORD(PLAN_ADVICE), KEYWORD(POSITION), KEYWORD(PRECEDING), KEYWORD(PRECISION),
    KEYWORD(PRIMARY), KEYWORD(PROCEDURES), KEYWORD(QUALIFY), KEYWORD(RANGE), KEYWORD(RENAME), KEYWORD(REPLACE),
    KEYWORD(RESET), KEYWORD(RESTRICT), KEYWORD(RETURNING), KEYWORD(RIGHT), KEYWORD(ROLLUP), KEYWORD(ROW),
    KEYWORD(ROWS), KEYWORD(SCALAR), KEYWORD(SECOND), KEYWORD(SELECT), KEYWORD(SET), KEYWORD(SHOW), KEYWORD(SIMILAR),
    KEYWORD(SOME), KEYWORD(STATEMENT), KEYWORD(SUBSTRING), KEYWORD(SYMMETRIC), KEYWORD(SYSTEM), KEYWORD(SYSTEM_TIME),
    KEYWORD(TABLE), KEYWORD(TABLES), KEYWORD(TEMPORARY), KEYWORD(THEN), KEYWORD(TIME), KEYWORD(TIMESTAMP),
    KEYWORD(TO), KEYWORD(TRAILING), KEYWORD(TRIM), KEYWORD(TRUE), KEYWORD(TRUNCATE), KEYWORD(TRY_CAST),
    KEYWORD(UNBOUNDED), KEYWORD(UNCONDITIONAL), KEYWORD(UNION), KEYWORD(UNKNOWN), KEYWORD(UNNEST),
    KEYWORD(UPDATE), KEYWORD(USE), KEYWORD(USER), KEYWORD(USING), KEYWORD(VALUE), KEYWORD(VALUES), KEYWORD(VARYING),
    KEYWORD(VIEW), KEYWORD(VIEWS), KEYWORD(VIRTUAL), KEYWORD(WATERMARK), KEYWORD(WATERMARKS), KEYWORD(WHEN),
    KEYWORD(WHERE), KEYWORD(WINDOW), KEYWORD(WITH), KEYWORD(WITHIN), KEYWORD(WITHOUT), KEYWORD(WRAPPER),
    KEYWORD(YEAR), KEYWORD(ZONE),
};
#undef KEYWORD
#define KEYWORD_BYTES_MAX 24

const char *tl_sql__keyword(size_t i)
{
    return i < TL_ARRAY_LEN(keywords) ? keywords[i].word : NULL;
}

const char *tl_sql__token_name(int code)
{
    static const keyword signs[] = {
        {"a name", TK_ID},   {"a string", TK_STRING}, {"a number", TK_NUMBER}, {"'('", TK_LP},        {"')'", TK_RP}, {"','", TK_COMMA},
        {"';'", TK_SEMI},    {"'='", TK_EQ},          {"'.'", TK_DOT},         {"'['", TK_LBRACKET},  {"']'", TK_RBRACKET},
        {"'>'", TK_GT},      {"'<'", TK_LT},          {"'*'", TK_STAR},        {"'*/'", TK_HINT_END}, {"'=>'", TK_ARROW},
    };
    for (size_t i = 0; i < TL_ARRAY_LEN(signs); i++)
        if (signs[i].code == code)
            return signs[i].word;
    for (size_t i = 0; i < TL_ARRAY_LEN(keywords); i++)
        if (keywords[i].code == code)
            return keywords[i].word;
    return NULL;
}

static int compare_keyword(const void *key, const void *entry)
{
    return strcmp(key, ((const keyword *)entry)->word);
}

static int find_keyword(const char *word, size_t bytes)
{
    char upper[KEYWORD_BYTES_MAX + 1];
    if (bytes > KEYWORD_BYTES_MAX)
        return TK_ID;
    for (size_t i = 0; i < bytes; i++)
        upper[i] = (char)(word[i] >= 'a' && word[i] <= 'z' ? word[i] - 'a' + 'A' : word[i]);
    upper[bytes] = '\0';
    const keyword *found = bsearch(upper, keywords, TL_ARRAY_LEN(keywords), sizeof keywords[0], compare_keyword);
    return found != NULL ? found->code : TK_ID;
}

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_part(char c)
{
    return is_name_start(c) || is_digit(c) || c == '$';
}

static char peek(const tl_lexer *l, size_t ahead)
{
    return (size_t)(l->end - l->at) > ahead ? l->at[ahead] : '\0';
}

static int32_t position_of(const tl_lexer *l, const char *p)
{
    return (int32_t)(p - l->line_start) + 1;
}

static void advance(tl_lexer *l)
{
    if (*l->at++ == '\n') {
        l->line++;
        l->line_start = l->at;
    }
}

/** White space and comments; stops before a hint. */
static tl_status skip_blank(tl_lexer *l, tl_error *err)
{
    while (l->at < l->end) {
        char c = *l->at;
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f') {
            advance(l);
        } else if (c == '-' && peek(l, 1) == '-') {
            while (l->at < l->end && *l->at != '\n')
                l->at++;
        } else if (c == '/' && peek(l, 1) == '*' && peek(l, 2) != '+') {
            int32_t line = l->line, position = position_of(l, l->at);
            l->at += 2;
            while (l->at < l->end && !(*l->at == '*' && peek(l, 1) == '/'))
                advance(l);
            if (l->at >= l->end)
                return tl_error_set(err, TL_E_INVALID, "line %d:%d: comment has no end", (int)line, (int)position);
            l->at += 2;
        } else {
            break;
        }
    }
    return TL_OK;
}

/** Quoted text from `at` (the quote) on, doubled quotes undone. */
static tl_status lex_quoted(tl_lexer *l, char quote, tl_sql_token *out, tl_error *err)
{
    int32_t line = l->line, position = position_of(l, l->at);
    const char *from = ++l->at;
    size_t doubled = 0;
    for (;;) {
        while (l->at < l->end && *l->at != quote)
            advance(l);
        if (l->at >= l->end)
            return tl_error_set(err, TL_E_INVALID, "line %d:%d: %s has no end", (int)line, (int)position, quote == '`' ? "quoted name" : "string");
        if (peek(l, 1) != quote)
            break;
        doubled++;
        l->at += 2;
    }
    size_t bytes = (size_t)(l->at - from) - doubled;
    char *text = tl_arena_alloc(l->arena, bytes + 1);
    if (text == NULL)
        return tl_nomem(err, "SQL text");
    size_t n = 0;
    for (const char *p = from; p < l->at; p++) {
        text[n++] = *p;
        if (*p == quote)
            p++;
    }
    text[bytes] = '\0';
    l->at++;
    out->text = text;
    out->count = (int32_t)bytes;
    return TL_OK;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/** x'4142': the digits become bytes. */
static tl_status unhex(tl_sql_token *token, tl_error *err)
{
    char *bytes = (char *)(uintptr_t)token->text; /* our own copy */
    if (token->count % 2 != 0)
        return tl_error_set(err, TL_E_INVALID, "line %d:%d: hexadecimal string has an odd number of digits", (int)token->line, (int)token->position);
    for (int32_t i = 0; i < token->count; i += 2) {
        int high = hex_digit(bytes[i]), low = hex_digit(bytes[i + 1]);
        if (high < 0 || low < 0)
            return tl_error_set(err, TL_E_INVALID, "line %d:%d: hexadecimal string has a digit that is none", (int)token->line, (int)token->position);
        bytes[i / 2] = (char)(high << 4 | low);
    }
    token->count /= 2;
    bytes[token->count] = '\0';
    return TL_OK;
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xC0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xE0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3F));
        out[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3F));
    out[2] = (char)(0x80 | (c >> 6 & 0x3F));
    out[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

/** U&'\00e9' (four digits after `escape`); surrogate pairs become one character. */
static tl_status unescape_unicode(tl_lexer *l, tl_sql_token *token, char escape, tl_error *err)
{
    char *out = tl_arena_alloc(l->arena, (size_t)token->count + 1);
    if (out == NULL)
        return tl_nomem(err, "SQL text");
    size_t n = 0;
    const char *p = token->text, *end = token->text + token->count;
    uint32_t high = 0;
    while (p < end) {
        if (*p != escape) {
            out[n++] = *p++;
            continue;
        }
        if (end - p >= 2 && p[1] == escape) {
            out[n++] = escape;
            p += 2;
            continue;
        }
        uint32_t c = 0;
        for (int i = 1; i <= 4; i++) {
            int digit = end - p > i ? hex_digit(p[i]) : -1;
            if (digit < 0)
                return tl_error_set(err, TL_E_INVALID, "line %d:%d: Unicode escape needs four hexadecimal digits", (int)token->line, (int)token->position);
            c = c << 4 | (uint32_t)digit;
        }
        p += 5;
        if (c >= 0xD800 && c < 0xDC00 && high == 0) {
            high = c;
            continue;
        }
        if (high != 0 && c >= 0xDC00 && c < 0xE000)
            c = 0x10000 + ((high - 0xD800) << 10) + (c - 0xDC00);
        else if (high != 0 || (c >= 0xD800 && c < 0xE000))
            return tl_error_set(err, TL_E_INVALID, "line %d:%d: Unicode escape is half of a pair", (int)token->line, (int)token->position);
        high = 0;
        n += put_utf8(out + n, c); /* at most 4 bytes for 5 of input */
    }
    if (high != 0)
        return tl_error_set(err, TL_E_INVALID, "line %d:%d: Unicode escape is half of a pair", (int)token->line, (int)token->position);
    out[n] = '\0';
    token->text = out;
    token->count = (int32_t)n;
    return TL_OK;
}

static tl_status lex_unicode(tl_lexer *l, tl_sql_token *out, tl_error *err)
{
    char escape = '\\';
    l->at += 2;
    TL_TRY(lex_quoted(l, '\'', out, err));
    tl_lexer saved = *l;
    TL_TRY(skip_blank(l, err));
    if ((size_t)(l->end - l->at) >= 11 && strncasecmp(l->at, "UESCAPE", 7) == 0 && !is_name_part(l->at[7])) {
        l->at += 7;
        TL_TRY(skip_blank(l, err));
        tl_sql_token e = {.line = out->line, .position = out->position};
        if (peek(l, 0) != '\'')
            return tl_error_set(err, TL_E_INVALID, "line %d:%d: UESCAPE needs a string", (int)out->line, (int)out->position);
        TL_TRY(lex_quoted(l, '\'', &e, err));
        if (e.count != 1)
            return tl_error_set(err, TL_E_INVALID, "line %d:%d: UESCAPE needs one character", (int)out->line, (int)out->position);
        escape = e.text[0];
    } else {
        *l = saved;
    }
    out->code = TK_STRING;
    return unescape_unicode(l, out, escape, err);
}

static tl_status lex_number(tl_lexer *l, tl_sql_token *out, tl_error *err)
{
    const char *from = l->at;
    while (is_digit(peek(l, 0)))
        l->at++;
    if (peek(l, 0) == '.') {
        l->at++;
        while (is_digit(peek(l, 0)))
            l->at++;
    }
    if (peek(l, 0) == 'e' || peek(l, 0) == 'E') {
        size_t sign = peek(l, 1) == '+' || peek(l, 1) == '-' ? 1 : 0;
        if (is_digit(peek(l, 1 + sign))) {
            l->at += 1 + sign;
            while (is_digit(peek(l, 0)))
                l->at++;
        }
    }
    if (is_name_start(peek(l, 0)))
        return tl_error_set(err, TL_E_INVALID, "line %d:%d: number '%.*s' goes on with a letter", (int)out->line, (int)out->position,
                            (int)TL_MIN(l->at - from, 40), from);
    out->code = TK_NUMBER;
    out->text = tl_arena_strndup(l->arena, from, (size_t)(l->at - from));
    return out->text != NULL ? TL_OK : tl_nomem(err, "SQL text");
}

/** `GROUPING SETS` is one token, so that GROUPING(…) stays a function. */
static bool followed_by_sets(const tl_lexer *l)
{
    tl_lexer ahead = *l;
    if (skip_blank(&ahead, NULL) != TL_OK || ahead.end - ahead.at < 4)
        return false;
    if (strncasecmp(ahead.at, "SETS", 4) != 0 || is_name_part(peek(&ahead, 4)))
        return false;
    return true;
}

/**
 * Words that mean something before `(` or a string alone are names elsewhere: the grammar cannot look that far ahead.
 * Returns the character that must follow, 0 for other words.
 */
static char needed_after(int code)
{
    switch (code) {
    case TK_CEIL:
    case TK_CEILING:
    case TK_CUBE:
    case TK_DESCRIPTOR:
    case TK_EXTRACT:
    case TK_FLOOR:
    case TK_JSON_ARRAY:
    case TK_JSON_ARRAYAGG:
    case TK_JSON_EXISTS:
    case TK_JSON_OBJECT:
    case TK_JSON_OBJECTAGG:
    case TK_JSON_QUERY:
    case TK_JSON_VALUE:
    case TK_OVERLAY:
    case TK_POSITION:
    case TK_ROLLUP:
    case TK_SUBSTRING:
    case TK_TRIM:
    case TK_TRY_CAST:
    case TK_UNNEST:
        return '(';
    case TK_DATE:
    case TK_TIME:
    case TK_TIMESTAMP:
        return '\'';
    default:
        return '\0';
    }
}

static char next_character(const tl_lexer *l)
{
    tl_lexer ahead = *l;
    return skip_blank(&ahead, NULL) == TL_OK ? peek(&ahead, 0) : '\0';
}

static tl_status lex_word(tl_lexer *l, tl_sql_token *out, tl_error *err)
{
    const char *from = l->at;
    while (l->at < l->end && is_name_part(*l->at))
        l->at++;
    size_t bytes = (size_t)(l->at - from);
    out->text = tl_arena_strndup(l->arena, from, bytes);
    if (out->text == NULL)
        return tl_nomem(err, "SQL text");
    out->code = find_keyword(from, bytes);
    if (out->code == TK_ID && bytes == 8 && strncasecmp(from, "GROUPING", 8) == 0 && followed_by_sets(l)) {
        TL_TRY(skip_blank(l, err));
        l->at += 4;
        out->code = TK_GROUPING_SETS;
    }
    char needed = needed_after(out->code);
    char next = needed != '\0' ? next_character(l) : '\0';
    if (next != needed && !(out->code == TK_TIME && (next == 'Z' || next == 'z'))) /* … WITH LOCAL TIME ZONE */
        out->code = TK_ID;
    return TL_OK;
}

static int lex_sign(tl_lexer *l)
{
    char c = *l->at, d = peek(l, 1);
    int two = c == '<' && d == '>'   ? TK_NE
              : c == '!' && d == '=' ? TK_NE
              : c == '<' && d == '=' ? TK_LE
              : c == '>' && d == '=' ? TK_GE
              : c == '=' && d == '>' ? TK_ARROW
              : c == '|' && d == '|' ? TK_CONCAT
                                     : 0;
    if (two != 0) {
        l->at += 2;
        return two;
    }
    if (l->in_hint && c == '*' && d == '/') {
        l->at += 2;
        l->in_hint = false;
        return TK_HINT_END;
    }
    if (c == '/' && d == '*' && peek(l, 2) == '+') {
        l->at += 3;
        l->in_hint = true;
        return TK_HINT;
    }
    static const char signs[] = "=<>+-*/%()[],.;";
    static const int codes[] = {TK_EQ, TK_LT, TK_GT,       TK_PLUS,     TK_MINUS, TK_STAR, TK_SLASH, TK_PERCENT,
                                TK_LP, TK_RP, TK_LBRACKET, TK_RBRACKET, TK_COMMA, TK_DOT,  TK_SEMI};
    const char *found = c != '\0' ? strchr(signs, c) : NULL;
    if (found == NULL)
        return 0;
    l->at++;
    return codes[found - signs];
}

static tl_status lex_token(tl_lexer *l, tl_sql_token *out, tl_error *err)
{
    char c = *l->at, d = peek(l, 1);
    if (c == '\'') {
        out->code = TK_STRING;
        return lex_quoted(l, '\'', out, err);
    }
    if (c == '`') {
        out->code = TK_ID;
        TL_TRY(lex_quoted(l, '`', out, err));
        if (out->count == 0 || (int32_t)strlen(out->text) != out->count)
            return tl_error_set(err, TL_E_INVALID, "line %d:%d: quoted name is empty or has a NUL in it", (int)out->line, (int)out->position);
        return TL_OK;
    }
    if ((c == 'x' || c == 'X') && d == '\'') {
        l->at++;
        out->code = TK_BYTES;
        TL_TRY(lex_quoted(l, '\'', out, err));
        return unhex(out, err);
    }
    if ((c == 'u' || c == 'U') && d == '&' && peek(l, 2) == '\'')
        return lex_unicode(l, out, err);
    if (c == '_' && (size_t)(l->end - l->at) > 5 && strncasecmp(l->at, "_UTF8'", 6) == 0) {
        l->at += 5;
        out->code = TK_STRING;
        return lex_quoted(l, '\'', out, err);
    }
    if (is_digit(c) || (c == '.' && is_digit(d)))
        return lex_number(l, out, err);
    if (is_name_start(c))
        return lex_word(l, out, err);
    out->code = lex_sign(l);
    if (out->code != 0)
        return TL_OK;
    if (c == '"')
        return tl_error_set(err, TL_E_INVALID, "line %d:%d: '\"' begins nothing: strings stand in '…', names in `…`", (int)out->line, (int)out->position);
    if (c >= 0x20 && c < 0x7F)
        return tl_error_set(err, TL_E_INVALID, "line %d:%d: unexpected character '%c'", (int)out->line, (int)out->position, c);
    return tl_error_set(err, TL_E_INVALID, "line %d:%d: unexpected byte 0x%02X", (int)out->line, (int)out->position, (unsigned)(unsigned char)c);
}

tl_status tl_sql__lex(tl_lexer *l, tl_sql_token *out, tl_error *err)
{
    TL_TRY(skip_blank(l, err));
    *out = (tl_sql_token){.line = l->line, .position = position_of(l, l->at), .from = l->at, .to = l->at};
    if (l->at >= l->end)
        return TL_OK;
    TL_TRY(lex_token(l, out, err));
    out->to = l->at;
    return TL_OK;
}
