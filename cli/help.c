/* Texts are broken at blanks; a column of names stands left of their texts. */
#include "cli/help.h"

#include <string.h>

#include "cli/command_line.h"
#include "engine/base/config/settings.h"

enum { COLUMNS = 80, MOST_NAME = 24 };

const char *cse_command_group_name(cse_command_group group)
{
    static const char *const names[CSE_GROUPS] = {
        [CSE_GROUP_NONE] = "",           [CSE_GROUP_RUN] = "run",
        [CSE_GROUP_LOOK] = "look",       [CSE_GROUP_STEER] = "serve and steer",
        [CSE_GROUP_MEASURE] = "measure",
    };
    return names[group];
}

void cse_option_help(const cse_option *option, cse_text *text)
{
    const cse_setting *setting = option->doc == NULL ? cse_config_setting_find(option->path) : NULL;
    cse_text_add(text, "%s", setting != NULL ? setting->doc : option->doc);
    if (setting == NULL || setting->choices == NULL || strchr(setting->choices, '|') == NULL)
        return;
    cse_text_add(text, ": ");
    cse_setting_describe(setting, text);
}

/* Prints the words of `text` from column `at` on, and continues lines at column `indent`. A word
 * that is longer than a line is not broken. */
static void print_words(FILE *out, const char *text, int at, int indent)
{
    bool first = true;
    for (text += strspn(text, " \n"); *text != '\0'; text += strspn(text, " \n")) {
        const int length = (int)strcspn(text, " \n");
        if (!first && at + 1 + length > COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        fprintf(out, "%.*s", length, text);
        at += length;
        text += length;
        first = false;
    }
    fputc('\n', out);
}

/* A name at column 2 and its text at column 4 + width; a longer name has a line of its own. */
static void print_entry(FILE *out, int width, const char *name, const char *text)
{
    const int length = (int)strlen(name);
    fprintf(out, "  %-*s", width, name);
    if (length > width)
        fprintf(out, "\n%*s", width + 4, "");
    else
        fprintf(out, "  ");
    print_words(out, text, width + 4, width + 4);
}

void cse_print_help(FILE *out)
{
    fprintf(out,
            "csengine - trains models with ahead-of-time compiled steps, on several processes\n\n"
            "usage: csengine COMMAND [ARGUMENTS] [--OPTIONS]\n");
    for (int group = CSE_GROUP_NONE + 1; group < CSE_GROUPS; group++) {
        fprintf(out, "\n%s:\n", cse_command_group_name((cse_command_group)group));
        for (const cse_command *const *c = cse_commands; *c != NULL; c++)
            if (!(*c)->hidden && (int)(*c)->group == group)
                print_entry(out, 15, (*c)->name, (*c)->summary);
    }
    fprintf(out, "\n  csengine COMMAND --help  shows a command's arguments and options\n"
                 "  csengine --version       shows the version\n\n"
                 "Exit codes: 0 success, 1 the job failed, 64 usage error, 65 invalid data, 66 no\n"
                 "such input, 69 service unavailable, 70 internal error, 73 cannot create output,\n"
                 "74 input/output error, 75 temporary failure, 77 permission denied, 78 invalid\n"
                 "configuration, 124 time limit of the run, 130 interrupted.\n");
}

static void option_name(const cse_option *option, cse_text *text)
{
    cse_text_add(text, "--%s%s%s", option->name, option->argument != NULL ? " " : "",
                 option->argument != NULL ? option->argument : "");
}

static int name_width(const cse_command *command)
{
    int width = (int)strlen("--help");
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++) {
        cse_text name = { 0 };
        option_name(o, &name);
        if ((int)name.size <= MOST_NAME && (int)name.size > width)
            width = (int)name.size;
        cse_text_clear(&name);
    }
    return width;
}

static void print_options(const cse_command *command, FILE *out)
{
    const int width = name_width(command);
    fprintf(out, "\noptions (- and _ are the same in names):\n");
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++) {
        cse_text name = { 0 }, text = { 0 };
        const char letter = cse_option_letter(command, o);
        option_name(o, &name);
        cse_option_help(o, &text);
        if (letter != '\0')
            cse_text_add(&text, " (-%c)", letter);
        print_entry(out, width, name.data, text.data);
        cse_text_clear(&name);
        cse_text_clear(&text);
    }
    print_entry(out, width, "--help", "show this text");
}

void cse_print_command_help(const cse_command *command, FILE *out)
{
    cse_text head = { 0 }, usage = { 0 };
    cse_text_add(&head, "csengine %s - %s", command->name, command->summary);
    cse_text_add(&usage, "usage: csengine %s %s%s", command->name, command->arguments,
                 command->options != NULL ? " [--OPTIONS]" : "");
    print_words(out, head.data, 0, 2);
    fputc('\n', out);
    print_words(out, usage.data, 0, 7);
    cse_text_clear(&head);
    cse_text_clear(&usage);
    if (command->doc != NULL) {
        fputc('\n', out);
        print_words(out, command->doc, 0, 0);
    }
    print_options(command, out);
    for (const cse_command_note *n = command->examples; n != NULL && n->text != NULL; n++) {
        if (n == command->examples)
            fprintf(out, "\nexamples:\n");
        fprintf(out, "  csengine ");
        print_words(out, n->text, 11, 8);
        fprintf(out, "      ");
        print_words(out, n->doc, 6, 6);
    }
}
