/* Lines for people, with names, paths and messages of somebody else in them. */
#ifndef CSE_CLI_TERMINAL_PRINTING_H
#define CSE_CLI_TERMINAL_PRINTING_H

#include <stdio.h>

#include "csengine/status.h"

/* As printf and fprintf, but what is written is made printable (cse_text_printable): no text that
 * is printed can drive the terminal. */
void cse_print(const char *format, ...) CSE_PRINTF(1, 2);
void cse_print_to(FILE *out, const char *format, ...) CSE_PRINTF(2, 3);

#endif
