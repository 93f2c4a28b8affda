/* Reading numbers and words from the command line. */
#include "cli/arguments/option_values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/check_word.h"
#include "cli/arguments/command_line.h"
#include "engine/base/arena.h"

cse_status cse_option_number(const cse_command_line *line, const char *name, const double range[2],
                             double *value)
{
    const char *given = cse_option_value(line, name);
    char *end = NULL;
    if (given == NULL)
        return CSE_OK;
    double number = strtod(given, &end);
    if (end == given || *end != '\0' || !(number >= range[0] && number <= range[1]))
        return cse_fail(CSE_USAGE, "%s: --%s %s: accepted: a number from %.15g to %.15g",
                        line->command->name, name, given, range[0], range[1]);
    *value = number;
    return CSE_OK;
}

cse_status cse_option_integer(const cse_command_line *line, const char *name,
                              const int64_t range[2], int64_t *value)
{
    const char *given = cse_option_value(line, name);
    char *end = NULL;
    if (given == NULL)
        return CSE_OK;
    long long number = strtoll(given, &end, 10);
    if (end == given || *end != '\0' || number < range[0] || number > range[1])
        return cse_fail(CSE_USAGE, "%s: --%s %s: accepted: an integer from %lld to %lld",
                        line->command->name, name, given, (long long)range[0], (long long)range[1]);
    *value = number;
    return CSE_OK;
}

cse_status cse_option_word(const cse_command_line *line, const char *name,
                           const char *const *accepted, const char **value)
{
    char what[128];
    const char *given = cse_option_value(line, name);
    if (given == NULL)
        return CSE_OK;
    snprintf(what, sizeof what, "%s: --%s", line->command->name, name);
    CSE_TRY(cse_check_word(what, given, accepted));
    *value = given;
    return CSE_OK;
}

const char **cse_option_all_values(const cse_command_line *line, const char *name)
{
    int count = 0;
    const char **values = cse_calloc((size_t)line->option_count + 1, sizeof *values);
    for (int i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].option->name, name) == 0)
            values[count++] = line->options[i].value;
    return values;
}
