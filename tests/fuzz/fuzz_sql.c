/* Scripts: splitting, lexer, grammar and binder. Statements that would touch files are only parsed: no catalog can be made. */
#include <stdlib.h>

#include "sql/sql.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STATEMENTS_MAX 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tl_options vars = {0};
    tl_sql_script *script = NULL;
    tl_sql_session *session = NULL;
    tl_fs *fs;
    if (tl_fs_memory(&fs, NULL) != TL_OK)
        abort();
    tl_sql_session_options options = {.fs = fs, .streaming = true};
    (void)tl_sql_is_complete((const char *)data, size); /* only reads */
    if (tl_options_set(&vars, "WAREHOUSE", "/w") != TL_OK || tl_options_set(&vars, "DATA", "/d") != TL_OK ||
        tl_sql_session_create(&options, &session, NULL) != TL_OK)
        abort();
    if (tl_sql_script_create((const char *)data, size, &vars, &script, NULL) == TL_OK) {
        const char *text;
        int32_t line;
        for (int n = 0; n < STATEMENTS_MAX && tl_sql_script_next(script, &text, &line, NULL) == TL_OK && text != NULL; n++) {
            tl_sql_stmt *stmt = NULL;
            tl_error err;
            if (tl_sql_prepare(session, text, line, &stmt, &err) == TL_OK && stmt->kind == TL_SQL_COMMAND) {
                tl_reader *reader = NULL;
                (void)tl_sql_execute(session, stmt, &reader, &err); /* in the memory file system; refusing is fine */
                tl_reader_free(reader);
            }
            tl_sql_stmt_free(stmt);
        }
    }
    tl_sql_script_free(script);
    tl_sql_session_free(session);
    tl_options_deinit(&vars);
    tl_fs_unref(fs);
    return 0;
}
