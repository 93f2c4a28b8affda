/* Ctrl-C and SIGTERM for a command that looks between its parts whether it is to end. */
#ifndef CSE_CLI_TERMINAL_STOP_SIGNAL_H
#define CSE_CLI_TERMINAL_STOP_SIGNAL_H

#include <stdbool.h>

/* From here on both signals are noted. Reads that wait are interrupted. */
void cse_stop_signal_note(void);
bool cse_stop_signal_came(void);
/* How often Ctrl-C came; SIGTERM counts as a second one. */
int cse_stop_signal_count(void);
/* What came is done with. */
void cse_stop_signal_forget(void);

#endif
