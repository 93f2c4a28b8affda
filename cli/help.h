/* Help, man page and completion, all written from the table of commands. */
#ifndef CSE_CLI_HELP_H
#define CSE_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

void cse_print_help(FILE *out);
void cse_print_command_help(const cse_command *command, FILE *out);
/* man/csengine.1, in the macros of man(7). */
void cse_print_man(FILE *out);
/* completion/csengine.bash. */
void cse_print_completion(FILE *out);

#endif
