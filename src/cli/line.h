/* Line editing of the shell: readline where the build has it, plain lines otherwise. */
#ifndef TL_CLI_LINE_H
#define TL_CLI_LINE_H

#include <tidelake/tidelake.h>

/** Load the history (~/.tidelake_history) and complete words from the session. */
void cli_line_open(tidelake_session *session);
/** A line without its end, NULL at the end of the input; free(). */
char *cli_line_read(const char *prompt);
/** Put a statement into the history. */
void cli_line_remember(const char *statement);
/** Save the history. */
void cli_line_close(void);

#endif
