/* The embedded engine. */
#include "sql/exec.h"

#include <stdio.h>

void tl_duck_close(tl_duck *duck)
{
    (void)duck;
}

bool tl_sql_engine_available(char text[256])
{
    snprintf(text, 256, "this build has no embedded SQL engine");
    return false;
}

tl_status tl_duck__open(tl_sql_session *session, const tl_sql_env *env, const tl_plan *plan, tl_reader **out, tl_error *err)
{
    (void)session;
    (void)env;
    (void)plan;
    (void)out;
    return tl_error_set(err, TL_E_UNSUPPORTED, "this query needs the embedded SQL engine (libduckdb), which is not there");
}
