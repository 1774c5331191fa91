/* Finding and loading libduckdb. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sql/duck_api.h"
#include "sql/sql.h"

#define LIBRARY "libduckdb.so"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static duck_api api;
static bool tried, loaded;
static char reason[1024]; /* why it is not there */

static void *open_at(const char *folder, const char *file)
{
    char path[2048];
    int n = folder != NULL ? snprintf(path, sizeof path, "%s/%s", folder, file) : snprintf(path, sizeof path, "%s", file);
    if (n < 0 || (size_t)n >= sizeof path)
        return NULL;
    if (strchr(path, '/') != NULL && access(path, R_OK) != 0) {
        snprintf(reason, sizeof reason, "%.900s: %s", path, strerror(errno));
        return NULL;
    }
    /* Its symbols stay its own: it brings copies of libraries that we have too. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();
        snprintf(reason, sizeof reason, "%.900s", why != NULL ? why : path);
    }
    return library;
}

static void *open_beside_program(void)
{
    char path[1024];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return NULL;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return NULL;
    *slash = '\0';
    void *library = open_at(path, LIBRARY);
    return library != NULL ? library : open_at(path, "../lib/" LIBRARY);
}

static void *open_in_cache(void)
{
    char path[1024];
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache != NULL && cache[0] != '\0')
        snprintf(path, sizeof path, "%s/tidelake/duckdb", cache);
    else if (home != NULL)
        snprintf(path, sizeof path, "%s/.cache/tidelake/duckdb", home);
    else
        return NULL;
    return open_at(path, LIBRARY);
}

static void *find_library(void)
{
    const char *file = getenv("TIDELAKE_DUCKDB"), *folder = getenv("TL_DUCKDB_DIR");
    if (file != NULL && file[0] != '\0')
        return open_at(NULL, file); /* named: no other will do */
    void *library = folder != NULL && folder[0] != '\0' ? open_at(folder, LIBRARY) : NULL;
    if (library == NULL)
        library = open_beside_program();
    if (library == NULL)
        library = open_in_cache();
#ifdef TL_DUCKDB_DEFAULT
    if (library == NULL)
        library = open_at(NULL, TL_DUCKDB_DEFAULT);
#endif
    return library != NULL ? library : open_at(NULL, LIBRARY);
}

static bool find_functions(void *library)
{
#define DUCK_FIND(RESULT, NAME, ARGS)                                                                                            \
    {                                                                                                                            \
        void *symbol = dlsym(library, "duckdb_" #NAME);                                                                          \
        if (symbol == NULL) {                                                                                                    \
            snprintf(reason, sizeof reason, "the library has no function duckdb_" #NAME);                                        \
            return false;                                                                                                        \
        }                                                                                                                        \
        memcpy(&api.NAME, &symbol, sizeof symbol);                                                                               \
    }
    DUCK_FUNCTIONS(DUCK_FIND)
#undef DUCK_FIND
    return true;
}

static void load(void)
{
    tried = true;
    void *library = find_library();
    loaded = library != NULL && find_functions(library);
}

tl_status duck_load(const duck_api **out, tl_error *err)
{
    pthread_mutex_lock(&lock);
    if (!tried)
        load();
    pthread_mutex_unlock(&lock);
    if (!loaded)
        return tl_error_set(err, TL_E_UNSUPPORTED, "joins, aggregates, sorts and windows of batch queries need libduckdb, which could not be loaded (%s); "
                            "script/fetch-duckdb brings it, TIDELAKE_DUCKDB can name the file", reason);
    *out = &api;
    return TL_OK;
}

bool tl_sql_engine_available(char text[256])
{
    const duck_api *found;
    tl_error err = {0};
    if (duck_load(&found, &err) == TL_OK)
        snprintf(text, 256, "DuckDB %s", found->library_version());
    else
        snprintf(text, 256, "%.255s", err.message);
    return loaded;
}
