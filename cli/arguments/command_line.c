/* Options and arguments, in one pass over argv.
 *
 * "--name value", "--name=value" and, for a switch, "--name"; "-n value" and "-n" where the table
 * has a letter; "--" ends the options. */
#include "cli/arguments/command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/arguments/check_word.h"
#include "engine/base/arena.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"

enum { MOST_WORDS = 63 };

static char plain(char c)
{
    return c == '-' ? '_' : c;
}

bool cse_option_name_equal(const char *a, const char *b)
{
    while (*a != '\0' && plain(*a) == plain(*b)) {
        a++;
        b++;
    }
    return plain(*a) == plain(*b);
}

static cse_status reject_option(const cse_command *command, const char *name)
{
    enum { MOST_OPTIONS = 62 };
    const char *candidates[MOST_OPTIONS + 1];
    int count = 0;
    const cse_option *o = command->options;
    for (; o != NULL && o->name != NULL && count < MOST_OPTIONS; o++)
        candidates[count++] = o->name;
    candidates[count] = NULL;
    char *underscored = cse_strdup(name);
    for (char *c = underscored; *c != '\0'; c++)
        *c = plain(*c);
    const char *near = cse_did_you_mean(underscored, candidates);
    cse_status status =
        cse_fail(CSE_USAGE, "%s: unknown option --%.80s%s%s%s `csengine %s --help` shows all",
                 command->name, name, near != NULL ? "; did you mean --" : "",
                 near != NULL ? near : "", near != NULL ? "?" : ";", command->name);
    free(underscored);
    return status;
}

static const cse_option *find_option(const cse_command *command, const char *name)
{
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++)
        if (cse_option_name_equal(o->name, name))
            return o;
    return NULL;
}

/* Letters are written "f=follow l=label". */
char cse_option_letter(const cse_command *command, const cse_option *option)
{
    for (const char *c = command->letters; c != NULL && *c != '\0'; c += strspn(c, " ")) {
        size_t length = strcspn(c, " ");
        if (strlen(option->name) == length - 2 && strncmp(c + 2, option->name, length - 2) == 0)
            return *c;
        c += length;
    }
    return '\0';
}

/* The option name for "-f". */
static cse_status find_letter(const cse_command *command, const char *word, const char **name)
{
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++)
        if (word[1] != '\0' && word[2] == '\0' && cse_option_letter(command, o) == word[1]) {
            *name = o->name;
            return CSE_OK;
        }
    bool has_letters = command->letters != NULL;
    return cse_fail(CSE_USAGE, "%s: %s: options begin with two dashes%s%s; see csengine %s --help",
                    command->name, word, has_letters ? "; letters: " : "",
                    has_letters ? command->letters : "", command->name);
}

/* Checked before the next argument is blamed: "--set path value" lacks the equals sign. */
static cse_status check_set(const char *given)
{
    const char *equals = strchr(given, '=');
    if (equals != NULL && equals != given)
        return CSE_OK;
    return cse_fail(
        CSE_USAGE,
        "--set %s: a setting is changed by --set path=value, without spaces, as in --set "
        "loop.num_steps=100",
        given);
}

/* argv[*at] begins with a dash; advances *at over a value in the next argument. */
static cse_status parse_option(cse_command_line *line, int *at)
{
    const char *word = line->argv[*at] + 2;
    if (line->argv[*at][1] != '-')
        CSE_TRY(find_letter(line->command, line->argv[*at], &word));
    const char *equals = strchr(word, '=');
    char *name = equals != NULL ? strndup(word, (size_t)(equals - word)) : cse_strdup(word);
    const cse_option *option = find_option(line->command, name);
    cse_status status = option == NULL ? reject_option(line->command, name) : CSE_OK;
    free(name);
    CSE_TRY(status);
    const char *value = equals != NULL ? equals + 1 : "true";
    if (equals == NULL && option->argument != NULL) {
        if (*at + 1 >= line->argc)
            return cse_fail(CSE_USAGE, "%s: --%s needs a value: --%s %s (%s)", line->command->name,
                            option->name, option->name, option->argument,
                            option->doc != NULL ? option->doc
                                                : cse_config_setting_find(option->path)->doc);
        value = line->argv[++*at];
    }
    if (strcmp(option->name, "set") == 0)
        CSE_TRY(check_set(value));
    if (option->argument == NULL && strcmp(value, "true") != 0 && strcmp(value, "false") != 0)
        return cse_fail(CSE_USAGE, "%s: --%s is a switch; accepted: --%s, --%s=true, --%s=false",
                        line->command->name, option->name, option->name, option->name,
                        option->name);
    line->options[line->option_count++] = (cse_given_option){ option, value };
    return CSE_OK;
}

static cse_status check_first_word(const cse_command *command, const char *word)
{
    char *words = cse_strdup(command->words), *rest = words, what[64];
    const char *accepted[MOST_WORDS + 1] = { NULL };
    for (int count = 0; rest != NULL && count < MOST_WORDS; count++)
        accepted[count] = strsep(&rest, "|");
    snprintf(what, sizeof what, "%s: unknown word", command->name);
    cse_status status = cse_check_word(what, word, accepted);
    free(words);
    return status;
}

static cse_status check_arguments(const cse_command_line *line)
{
    const cse_command *command = line->command;
    if (command->words != NULL && line->argument_count > 0)
        CSE_TRY(check_first_word(command, line->arguments[0]));
    if (line->argument_count < command->min_arguments)
        return cse_fail(CSE_USAGE, "%s: an argument is missing; usage: csengine %s %s",
                        command->name, command->name, command->arguments);
    if (line->argument_count > command->max_arguments)
        return cse_fail(CSE_USAGE, "%s: \"%s\" is one argument too many; usage: csengine %s %s",
                        command->name, line->arguments[command->max_arguments], command->name,
                        command->arguments);
    return CSE_OK;
}

cse_status cse_command_line_parse(const cse_command *command, int argc, char **argv,
                                  cse_command_line *line)
{
    *line = (cse_command_line){ .command = command, .argc = argc, .argv = argv };
    line->arguments = cse_calloc((size_t)argc + 1, sizeof *line->arguments);
    line->options = cse_calloc((size_t)argc + 1, sizeof *line->options);
    if (command->hidden)
        return CSE_OK;
    bool options_ended = false;
    for (int i = 1; i < argc; i++) {
        if (!options_ended && strcmp(argv[i], "--") == 0)
            options_ended = true;
        else if (!options_ended && argv[i][0] == '-' && argv[i][1] != '\0')
            CSE_TRY(parse_option(line, &i));
        else
            line->arguments[line->argument_count++] = argv[i];
    }
    return check_arguments(line);
}

void cse_command_line_clear(cse_command_line *line)
{
    free(line->arguments);
    free(line->options);
    *line = (cse_command_line){ 0 };
}

const char *cse_option_value(const cse_command_line *line, const char *name)
{
    for (int i = line->option_count - 1; i >= 0; i--)
        if (strcmp(line->options[i].option->name, name) == 0)
            return line->options[i].value;
    return NULL;
}

bool cse_option_is_on(const cse_command_line *line, const char *name)
{
    const char *value = cse_option_value(line, name);
    return value != NULL && strcmp(value, "false") != 0;
}

/* Splits "path=value" of --set into `memory`, and advances `memory`. */
static void split_set(const char *given, char **memory, cse_config_override *override)
{
    const char *equals = strchr(given, '=');
    size_t length = (size_t)(equals - given);
    override->origin = *memory;
    memcpy(*memory, "--set ", 6);
    memcpy(*memory + 6, given, length);
    (*memory)[6 + length] = '\0';
    override->path = *memory + 6;
    override->value = equals + 1;
    *memory += 7 + length;
}

cse_status cse_command_line_overrides(const cse_command_line *line, cse_config_override **overrides,
                                      int *count)
{
    size_t bytes = ((size_t)line->option_count + 1) * sizeof **overrides;
    size_t text_bytes = 0;
    for (int i = 0; i < line->option_count; i++)
        text_bytes += strlen(line->options[i].value) + strlen(line->options[i].option->name) + 12;
    *overrides = cse_calloc(1, bytes + text_bytes);
    char *memory = (char *)*overrides + bytes;
    *count = 0;
    for (int i = 0; i < line->option_count; i++)
        if (strcmp(line->options[i].option->name, "set") == 0) {
            split_set(line->options[i].value, &memory, *overrides + *count);
            (*count)++;
        }
    for (int i = 0; i < line->option_count; i++) {
        const cse_option *option = line->options[i].option;
        if (option->path == NULL)
            continue;
        memcpy(memory, "--", 2);
        memcpy(memory + 2, option->name, strlen(option->name) + 1);
        const char *value = line->options[i].value;
        /* A list or a mapping is YAML; other values are taken literally. */
        bool literal = *value != '[' && *value != '{';
        cse_config_override *override = &(*overrides)[(*count)++];
        *override = (cse_config_override){ option->path, value, memory, literal };
        memory += strlen(option->name) + 3;
        if (literal && option->argument != NULL && strchr(option->argument, ',') != NULL &&
            strpbrk(value, "\"\\") == NULL) {
            *override = (cse_config_override){ option->path, memory, override->origin, false };
            const size_t room = strlen(value) + sizeof "[\"\"]";
            snprintf(memory, room, "[\"%s\"]", value);
            memory += room;
        }
    }
    return CSE_OK;
}

cse_status cse_unknown_command(const char *name)
{
    const char *accepted[MOST_WORDS + 1];
    int count = 0;
    for (const cse_command *const *c = cse_commands; *c != NULL && count < MOST_WORDS; c++)
        if (!(*c)->hidden)
            accepted[count++] = (*c)->name;
    accepted[count] = NULL;
    return cse_check_word("unknown command", name, accepted);
}
