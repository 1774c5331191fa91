#include "cli/line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HISTORY_MAX 1000

#ifdef TL_READLINE
#include <readline/history.h>
#include <readline/readline.h>

static tidelake_session *completed_session;
static char history_path[4096];

/* readline asks with state 0, 1, … until NULL. */
static char *next_word(const char *prefix, int state)
{
    static char *words;
    static char *at;
    if (state == 0) {
        tidelake_free(words);
        words = at = NULL;
        if (tidelake_session_complete(completed_session, prefix, &words, NULL) != TL_OK)
            return NULL;
        at = words;
    }
    if (at == NULL || *at == '\0')
        return NULL;
    char *word = strdup(at);
    at += strlen(at) + 1;
    return word;
}

static char **complete(const char *text, int start, int end)
{
    (void)start;
    (void)end;
    rl_attempted_completion_over = 1; /* no file names */
    return rl_completion_matches(text, next_word);
}

void cli_line_open(tidelake_session *session)
{
    completed_session = session;
    rl_readline_name = "tidelake";
    rl_attempted_completion_function = complete;
    rl_basic_word_break_characters = " \t\n\"'`(),;=<>";
    const char *home = getenv("HOME");
    if (home != NULL) {
        snprintf(history_path, sizeof history_path, "%s/.tidelake_history", home);
        read_history(history_path); /* none yet is fine */
    }
    stifle_history(HISTORY_MAX);
}

char *cli_line_read(const char *prompt)
{
    return readline(prompt);
}

void cli_line_remember(const char *statement)
{
    /* One entry a statement: line ends become spaces, so that the history file has one line each. */
    char *flat = strdup(statement);
    if (flat == NULL)
        return;
    for (char *p = flat; *p != '\0'; p++)
        if (*p == '\n')
            *p = ' ';
    add_history(flat);
    free(flat);
}

void cli_line_close(void)
{
    if (*history_path != '\0')
        (void)write_history(history_path); /* a history that cannot be saved is no reason to fail */
    completed_session = NULL;
}

#else

void cli_line_open(tidelake_session *session)
{
    (void)session;
}

char *cli_line_read(const char *prompt)
{
    fputs(prompt, stdout);
    fflush(stdout);
    char *line = NULL;
    size_t cap = 0;
    ssize_t len = getline(&line, &cap, stdin);
    if (len < 0) {
        free(line);
        return NULL;
    }
    while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
        line[--len] = '\0';
    return line;
}

void cli_line_remember(const char *statement)
{
    (void)statement;
}

void cli_line_close(void) {}

#endif
