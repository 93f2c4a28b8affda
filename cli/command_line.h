/* Reading a command's arguments against its table. */
#ifndef CSE_CLI_COMMAND_LINE_H
#define CSE_CLI_COMMAND_LINE_H

#include "cli/command.h"
#include "engine/base/config/config.h"

/* Borrows argv. Fails with CSE_USAGE: an option or word that is not in the table (with "did you
 * mean"), a missing value, too few or too many arguments. Release with cse_command_line_clear, also
 * after a failure. */
cse_status cse_command_line_parse(const cse_command *command, int argc, char **argv,
                                  cse_command_line *line);
void cse_command_line_clear(cse_command_line *line);

/* The last value given; NULL where the option was not. */
const char *cse_option_value(const cse_command_line *line, const char *name);
/* A switch: given and not "false". */
bool cse_option_is_on(const cse_command_line *line, const char *name);

/* The overrides from the given options: --set first, then the options with a path, which take
 * precedence. The array is the caller's (free), its texts are borrowed from `line`, except
 * those of --set, which live in the array's own memory. */
cse_status cse_command_line_overrides(const cse_command_line *line, cse_config_override **overrides,
                                      int *count);

/* The letter that stands for an option in the command's table, or '\0'. */
char cse_option_letter(const cse_command *command, const cse_option *option);

/* Whether two option names are equal, with - the same as _. */
bool cse_option_name_equal(const char *a, const char *b);

/* Fails with CSE_USAGE and suggests the nearest command. */
cse_status cse_unknown_command(const char *name);

#endif
