/* The help texts: lines of at most 80 columns, written from the table of commands. */
#ifndef CSE_CLI_ARGUMENTS_HELP_H
#define CSE_CLI_ARGUMENTS_HELP_H

#include <stdio.h>

#include "cli/arguments/command.h"
#include "engine/base/text.h"

void cse_print_help(FILE *out);
void cse_print_command_help(const cse_command *command, FILE *out);

/* "run", "look", ...: the heading of a group's commands. */
const char *cse_command_group_name(cse_command_group group);

/* Appends an option's help: its own, or that of its setting with the accepted values. */
void cse_option_help(const cse_option *option, cse_text *text);

#endif
