/* man/csengine.1, in the macros of man(7), written from the table of commands. */
#ifndef CSE_CLI_ARGUMENTS_MANUAL_H
#define CSE_CLI_ARGUMENTS_MANUAL_H

#include <stdio.h>

void cse_print_man(FILE *out);

#endif
