/* What of Flink's statements is not there, told by their words where the grammar stops: each with what to do instead. */
#include <strings.h>

#include "sql/parser_private.h"

typedef struct refusal {
    const char *words[2]; /* at the beginning of a statement; of a clause: where the parser stopped */
    const char *advice;
} refusal;

static const refusal statements[] = {
    {{"ADD", "JAR"}, "code in jars cannot be run (there is no JVM); SHOW FUNCTIONS lists what is built in"},
    {{"REMOVE", "JAR"}, "code in jars cannot be run (there is no JVM)"},
    {{"LOAD", "MODULE"}, "functions are built in: SHOW FUNCTIONS lists them"},
    {{"UNLOAD", "MODULE"}, "functions are built in: SHOW FUNCTIONS lists them"},
    {{"COMPILE", NULL}, "plans are not stored: run the INSERT itself, EXPLAIN shows its plan"},
    {{"EXECUTE", "PLAN"}, "plans are not stored: run the INSERT itself"},
    {{"STOP", "JOB"}, "jobs end with the script that runs them, or commit and end on SIGINT or SIGTERM"},
    {{"ALTER", "VIEW"}, "drop the view and create it anew"},
    {{"ALTER", "CATALOG"}, "drop the catalog and create it anew, or set options of a table with ALTER TABLE"},
    {{"ALTER", "FUNCTION"}, "functions are built in: SHOW FUNCTIONS lists them"},
    {{"CREATE", "MATERIALIZED"}, "create a table and fill it by an INSERT"},
    {{"ALTER", "MATERIALIZED"}, "create a table and fill it by an INSERT"},
    {{"DROP", "MATERIALIZED"}, "create a table and fill it by an INSERT"},
    {{"CREATE", "MODEL"}, "models are not there"},
};

static const refusal clauses[] = {
    {{"MATCH_RECOGNIZE", "("}, "write the pattern with LAG over the time attribute, or as an interval join of the table with itself"},
    {{"DISTRIBUTED", NULL}, "set the number of buckets by the option 'bucket' and their key by 'bucket-key'"},
};

static bool is_word(const tl_sql_token *token, const char *word)
{
    return word == NULL || ((size_t)(token->to - token->from) == strlen(word) && strncasecmp(token->from, word, strlen(word)) == 0);
}

static tl_status refused(const tl_sql_token *at, const refusal *r, tl_error *err)
{
    bool word = r->words[1] != NULL && strcmp(r->words[1], "(") != 0;
    return tl_error_set(err, TL_E_UNSUPPORTED, "line %d:%d: %s%s%s is not there: %s", (int)at->line, (int)at->position, r->words[0], word ? " " : "",
                        word ? r->words[1] : "", r->advice);
}

tl_status tl_sql__refusal(const tl_sql_token first[2], const tl_sql_token last[3], tl_status status, tl_error *err)
{
    for (size_t i = 0; i < TL_ARRAY_LEN(statements); i++)
        if (first[0].from != NULL && is_word(&first[0], statements[i].words[0]) && (statements[i].words[1] == NULL || first[1].from != NULL) &&
            is_word(&first[1], statements[i].words[1]))
            return refused(&first[0], &statements[i], err);
    for (size_t i = 0; i < TL_ARRAY_LEN(clauses); i++)
        for (int k = 0; k < 3; k++)
            if (last[k].from != NULL && is_word(&last[k], clauses[i].words[0]) && (clauses[i].words[1] == NULL || (k < 2 && is_word(&last[k + 1], clauses[i].words[1]))))
                return refused(&last[k], &clauses[i], err);
    return status;
}
