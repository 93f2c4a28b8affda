/* The help texts, read from the descriptors of the commands. */
#include "cli/help.h"

#include <string.h>

#include "cli/command_line.h"
#include "engine/config/settings.h"

static int widest_option(const cse_command *command)
{
    size_t widest = strlen("--help");
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++) {
        size_t width = 2 + strlen(o->name) + (o->argument != NULL ? 1 + strlen(o->argument) : 0);
        widest = width > widest ? width : widest;
    }
    return (int)widest;
}

/* An option's help: its own text, or that of its setting with the accepted values. */
static void print_doc(const cse_option *option, FILE *out, void (*print)(const char *, FILE *))
{
    const cse_setting *setting = option->doc == NULL ? cse_config_setting_find(option->path) : NULL;
    print(setting != NULL ? setting->doc : option->doc, out);
    if (setting == NULL || setting->choices == NULL || strchr(setting->choices, '|') == NULL)
        return;
    cse_text accepted = { 0 };
    cse_text_add(&accepted, ": ");
    cse_setting_describe(setting, &accepted);
    print(accepted.data, out);
    cse_text_clear(&accepted);
}

static void print_plain(const char *text, FILE *out)
{
    fputs(text, out);
}

void cse_print_help(FILE *out)
{
    fprintf(out,
            "csengine - trains models with ahead-of-time compiled steps, on several processes\n\n"
            "usage: csengine COMMAND [ARGUMENTS] [--OPTIONS]\n\ncommands:\n");
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        if (!(*c)->hidden)
            fprintf(out, "  %-15s  %s\n", (*c)->name, (*c)->summary);
    fprintf(out, "\n  csengine COMMAND --help  shows a command's arguments and options\n"
                 "  csengine --version       shows the version\n\n"
                 "Exit codes: 0 success, 1 the job failed, 64 usage error, 65 invalid data, 66 no\n"
                 "such input, 69 service unavailable, 70 internal error, 73 cannot create output,\n"
                 "74 input/output error, 75 temporary failure, 77 permission denied, 78 invalid\n"
                 "configuration, 130 interrupted.\n");
}

void cse_print_command_help(const cse_command *command, FILE *out)
{
    int width = widest_option(command);
    fprintf(out, "csengine %s - %s\n\nusage: csengine %s%s%s%s\n", command->name, command->summary,
            command->name, *command->arguments != '\0' ? " " : "", command->arguments,
            command->options != NULL ? " [--OPTIONS]" : "");
    if (command->doc != NULL)
        fprintf(out, "\n%s\n", command->doc);
    fprintf(out, "\noptions (- and _ are the same in names):\n");
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++) {
        char name[80], letter = cse_option_letter(command, o);
        snprintf(name, sizeof name, "--%s%s%s", o->name, o->argument != NULL ? " " : "",
                 o->argument != NULL ? o->argument : "");
        fprintf(out, "  %-*s  ", width, name);
        print_doc(o, out, print_plain);
        if (letter != '\0')
            fprintf(out, " (-%c)", letter);
        fputc('\n', out);
    }
    fprintf(out, "  %-*s  show this text\n", width, "--help");
}

/* roff reads a dash as a hyphen and a leading point or quote as a macro. */
static void print_roff(const char *text, FILE *out)
{
    for (const char *c = text; *c != '\0'; c++) {
        bool line_begins = c == text || c[-1] == '\n';
        if (line_begins && (*c == '.' || *c == '\''))
            fputs("\\&", out);
        if (*c == '-')
            fputs("\\-", out);
        else if (*c == '\\')
            fputs("\\e", out);
        else
            fputc(*c, out);
    }
}

static void print_man_command(const cse_command *command, FILE *out)
{
    fprintf(out, ".SS ");
    print_roff(command->name, out);
    fputc(' ', out);
    print_roff(command->arguments, out);
    fputc('\n', out);
    print_roff(command->summary, out);
    fprintf(out, ".\n");
    if (command->doc != NULL) {
        fprintf(out, ".PP\n");
        print_roff(command->doc, out);
        fputc('\n', out);
    }
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++) {
        fprintf(out, ".TP\n.BR \\-\\-");
        print_roff(o->name, out);
        if (o->argument != NULL)
            fprintf(out, " \" \" \\fI%s\\fR", o->argument);
        fputc('\n', out);
        print_doc(o, out, print_roff);
        if (cse_option_letter(command, o) != '\0')
            fprintf(out, " (\\-%c)", cse_option_letter(command, o));
        fputc('\n', out);
    }
}

void cse_print_man(FILE *out)
{
    fprintf(
        out,
        ".\\\" Written by csengine --print-man from the table of commands.\n"
        ".TH CSENGINE 1 \"\" \"csengine\" \"User Commands\"\n.SH NAME\n"
        "csengine \\- trains models with ahead\\-of\\-time compiled steps, on several processes\n"
        ".SH SYNOPSIS\n.B csengine\n.I COMMAND\n[\\fIARGUMENTS\\fR] [\\fB\\-\\-OPTIONS\\fR]\n"
        ".SH COMMANDS\nIn names of options \\- and _ are the same.\n");
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        if (!(*c)->hidden)
            print_man_command(*c, out);
    fprintf(out, ".SH EXIT STATUS\n");
    static const struct {
        int code;
        const char *text;
    } rows[] = {
#define CSE_HELP_ROW(status, exit_code, retryable, text) { exit_code, text },
        CSE_STATUS_TABLE(CSE_HELP_ROW)
#undef CSE_HELP_ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(out, ".TP\n.B %d\n%s\n", rows[i].code, rows[i].text);
    fprintf(out, ".SH ENVIRONMENT\n.TP\n.B CSE_DISABLE\npasses to switch off, separated by commas\n"
                 ".TP\n.B CSE_SERVER\naddress of the server that the commands of jobs talk to\n"
                 ".TP\n.B CSE_TOKEN_FILE\nfile with its token\n"
                 ".TP\n.B NO_COLOR\nnot empty: no colour\n");
}

static void print_words(const char *words, FILE *out)
{
    for (const char *c = words; *c != '\0'; c++)
        fputc(*c == '|' ? ' ' : *c, out);
}

static void print_completion_command(const cse_command *command, FILE *out)
{
    fprintf(out, "        %s)\n            options=\"", command->name);
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++)
        fprintf(out, "--%s ", o->name);
    fprintf(out, "--help\"\n            words=\"");
    if (command->words != NULL)
        print_words(command->words, out);
    fprintf(out, "\"\n            ;;\n");
}

void cse_print_completion(FILE *out)
{
    fprintf(out, "# bash completion of csengine; written by csengine --print-completion.\n"
                 "_csengine()\n{\n"
                 "    local current=${COMP_WORDS[COMP_CWORD]} options= words=\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                 "        COMPREPLY=($(compgen -W \"");
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        if (!(*c)->hidden)
            fprintf(out, "%s ", (*c)->name);
    fprintf(out, "--help --version\" -- \"$current\"))\n        return\n    fi\n"
                 "    case ${COMP_WORDS[1]} in\n");
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        if (!(*c)->hidden)
            print_completion_command(*c, out);
    fprintf(out, "    esac\n"
                 "    if [[ $current == -* ]]; then\n"
                 "        COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
                 "    elif [ \"$COMP_CWORD\" -eq 2 ] && [ -n \"$words\" ]; then\n"
                 "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                 "    else\n"
                 "        COMPREPLY=($(compgen -f -- \"$current\"))\n"
                 "    fi\n}\ncomplete -o filenames -F _csengine csengine\n");
}
