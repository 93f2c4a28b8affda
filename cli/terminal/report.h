/* How a command ends: one clear message on stderr, and the exit code of its status. */
#ifndef CSE_CLI_TERMINAL_REPORT_H
#define CSE_CLI_TERMINAL_REPORT_H

#include "csengine/status.h"
#include "engine/base/diagnostics.h"

/* Prints the stored message for a status that is not CSE_OK; returns the exit code. */
int cse_report(cse_status status);
/* The same with every error of a configuration, one per line; the first is the message. */
int cse_report_diagnostics(cse_status status, const cse_diagnostics *diagnostics);

/* Whether `stream` (1 stdout, 2 stderr) is a terminal, and whether it may be coloured there. */
bool cse_is_terminal(int stream);
bool cse_may_colour(int stream);

#endif
