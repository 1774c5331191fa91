/* KEY=VALUE words of a benchmark's command line, and its one way to end on an error. */
#ifndef TL_BENCH_WORDS_H
#define TL_BENCH_WORDS_H

#include <stdint.h>

#include <tidelake/tidelake.h>

/** The error of a thread's last call: hand it to every call, and the call's status to check(). */
extern _Thread_local tl_error err;

/** `all` ends with NULL and stays the caller's; `program` begins messages. */
void words_init(const char *program, char **all);
/** Value of the word KEY=…, else `otherwise`. */
const char *arg(const char *key, const char *otherwise);
int64_t number(const char *key, int64_t otherwise);
/** Which of the names the word has; none of them ends the program. Without the word: the first. */
int one_of(const char *key, const char *const names[], int n);
/** Ends the program with the error's text unless `status` is TL_OK. */
void check(tl_status status);

#endif
