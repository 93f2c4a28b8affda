/* Everything but the environment and the exit codes stands in the descriptors of the commands. */
#include "cli/arguments/manual.h"

#include <string.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/help.h"

/* roff reads a dash as a hyphen, and a point or quote that begins a line as a macro. In the
 * argument of a macro a quote is written \(dq. */
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
        else if (*c == '"')
            fputs("\\(dq", out);
        else if (*c == '`')
            fputs("\\(ga", out);
        else
            fputc(*c, out);
    }
}

/* An entry of a list: a bold name, and its text. */
static void print_entry(const char *name, const char *text, FILE *out)
{
    fprintf(out, ".TP\n.B \"");
    print_roff(name, out);
    fprintf(out, "\"\n");
    print_roff(text, out);
    fputc('\n', out);
}

static void print_options(const cse_command *command, FILE *out)
{
    for (const cse_option *o = command->options; o != NULL && o->name != NULL; o++) {
        const char letter = cse_option_letter(command, o);
        cse_text text = { 0 };
        cse_option_help(o, &text);
        fprintf(out, ".TP\n");
        if (letter != '\0')
            fprintf(out, "\\fB\\-%c\\fR, ", letter);
        fprintf(out, "\\fB\\-\\-");
        print_roff(o->name, out);
        fprintf(out, "\\fR");
        if (o->argument != NULL) {
            fprintf(out, " \\fI");
            print_roff(o->argument, out);
            fprintf(out, "\\fR");
        }
        fputc('\n', out);
        print_roff(text.data, out);
        fputc('\n', out);
        cse_text_clear(&text);
    }
}

static void print_command(const cse_command *command, FILE *out)
{
    fprintf(out, ".SS \"");
    print_roff(command->name, out);
    if (*command->arguments != '\0')
        fputc(' ', out);
    print_roff(command->arguments, out);
    fprintf(out, "\"\n");
    print_roff(command->summary, out);
    fprintf(out, ".\n");
    if (command->doc != NULL) {
        fprintf(out, ".PP\n");
        print_roff(command->doc, out);
        fputc('\n', out);
    }
    print_options(command, out);
}

static void print_commands(FILE *out)
{
    fprintf(out, ".SH COMMANDS\nIn names of options \\- and _ are the same.\n");
    for (int group = CSE_GROUP_NONE + 1; group < CSE_GROUPS; group++) {
        fprintf(out, ".PP\nCommands to %s:\n", cse_command_group_name((cse_command_group)group));
        for (const cse_command *const *c = cse_commands; *c != NULL; c++)
            if (!(*c)->hidden && (int)(*c)->group == group)
                print_command(*c, out);
    }
}

static void print_examples(FILE *out)
{
    fprintf(out, ".SH EXAMPLES\n");
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        for (const cse_command_note *n = (*c)->examples; n != NULL && n->text != NULL; n++) {
            cse_text line = { 0 };
            cse_text_add(&line, "csengine %s", n->text);
            print_entry(line.data, n->doc, out);
            cse_text_clear(&line);
        }
}

static void print_files(FILE *out)
{
    fprintf(out, ".SH FILES\n");
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        for (const cse_command_note *n = (*c)->files; n != NULL && n->text != NULL; n++)
            print_entry(n->text, n->doc, out);
}

static void print_environment(FILE *out)
{
    static const cse_command_note rows[] = {
        { "CSE_CC", "the C compiler of compiled steps" },
        { "CSE_DASHBOARD", "0: start shows no dashboard" },
        { "CSE_CLUSTER_DEFAULTS",
          "a file of mount_dirs and python_paths, added to those of a configuration" },
        { "CSE_DISABLE", "passes to switch off, separated by commas" },
        { "CSE_SERVER", "address of the server that the commands of jobs talk to" },
        { "CSE_TOKEN_FILE", "file with its token" },
        { "CSENGINE_PYTHON", "the Python whose pyarrow or duckdb reads Parquet; default python3" },
        { "CSENGINE_RUN_NAME", "name of the run in its store; default: that of the model" },
        { "FORCE_COLOR", "not empty: colour also where the output is no terminal" },
        { "NO_COLOR", "not empty: no colour" },
        { "TERM", "dumb: no colour and no line that is drawn again" },
        { "TMPDIR", "directory of temporary files; default /tmp" },
        { "XDG_CACHE_HOME",
          "csengine/tables in it keeps what was read of Parquet; default ~/.cache" },
        { "XDG_RUNTIME_DIR", "where the address of the server that was started last stands" },
    };
    fprintf(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        print_entry(rows[i].text, rows[i].doc, out);
}

/* One entry for each code; several statuses may share one. */
static void print_exit_codes(FILE *out)
{
    static const struct {
        int code;
        const char *text;
    } rows[] = {
#define CSE_MANUAL_ROW(status, exit_code, retryable, text) { exit_code, text },
        CSE_STATUS_TABLE(CSE_MANUAL_ROW)
#undef CSE_MANUAL_ROW
    };
    fprintf(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (i > 0 && rows[i].code == rows[i - 1].code)
            fprintf(out, "; %s", rows[i].text);
        else
            fprintf(out, "%s.TP\n.B %d\n%s", i > 0 ? "\n" : "", rows[i].code, rows[i].text);
    }
    fputc('\n', out);
}

void cse_print_man(FILE *out)
{
    fprintf(
        out,
        ".\\\" Written by csengine --print-man from the table of commands.\n"
        ".TH CSENGINE 1 \"\" \"csengine\" \"User Commands\"\n.SH NAME\n"
        "csengine \\- trains models with ahead\\-of\\-time compiled steps, on several processes\n"
        ".SH SYNOPSIS\n.B csengine\n.I COMMAND\n[\\fIARGUMENTS\\fR] [\\fB\\-\\-OPTIONS\\fR]\n"
        ".SH DESCRIPTION\nTrains, evaluates and observes the models of YAML configurations, and\n"
        "serves a dashboard and a REST API. csengine COMMAND \\-\\-help shows one command.\n");
    print_commands(out);
    print_exit_codes(out);
    print_environment(out);
    print_files(out);
    print_examples(out);
}
