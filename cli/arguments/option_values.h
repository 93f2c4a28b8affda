/* The values of given options, checked. Failures are CSE_USAGE and say what is accepted. */
#ifndef CSE_CLI_ARGUMENTS_OPTION_VALUES_H
#define CSE_CLI_ARGUMENTS_OPTION_VALUES_H

#include <stdint.h>

#include "cli/arguments/command.h"

/* A number; *value stays as it is when the option was not given. */
cse_status cse_option_number(const cse_command_line *line, const char *name, const double range[2],
                             double *value);
/* The same of an integer. */
cse_status cse_option_integer(const cse_command_line *line, const char *name,
                              const int64_t range[2], int64_t *value);
/* One of the words in `accepted` (ended by NULL), which *value then points into. */
cse_status cse_option_word(const cse_command_line *line, const char *name,
                           const char *const *accepted, const char **value);
/* All values of a repeatable option, ended by NULL; the caller frees the array. */
const char **cse_option_all_values(const cse_command_line *line, const char *name);

#endif
