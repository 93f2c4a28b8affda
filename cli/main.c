/* Finds the command, checks its arguments against its table, runs it. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/arguments/command_line.h"
#include "cli/arguments/help.h"
#include "cli/arguments/manual.h"
#include "cli/completion/completion_scripts.h"
#include "cli/terminal/report.h"
#include "config.h"
#include "engine/base/resource_limits.h"

static const cse_command *find_command(const char *name)
{
    for (const cse_command *const *c = cse_commands; *c != NULL; c++)
        if (cse_option_name_equal((*c)->name, name))
            return *c;
    return NULL;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

/* Options of the program itself; true when the word was one. */
static bool run_program_option(const char *word)
{
    if (strcmp(word, "--version") == 0)
        printf("csengine %s\n", PACKAGE_VERSION);
    else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        cse_print_help(stdout);
    else if (strcmp(word, "--print-man") == 0)
        cse_print_man(stdout);
    else
        return false;
    return true;
}

int main(int argc, char **argv)
{
    cse_resource_limits_begin();
    /* The only place that says so: what this program makes is its user's alone (0600, 0700). */
    umask(0077);
    if (argc < 2) {
        cse_print_help(stderr);
        return cse_status_exit_code(CSE_USAGE);
    }
    if (run_program_option(argv[1]))
        return 0;
    if (strcmp(argv[1], "--print-completion") == 0)
        return cse_report(cse_print_completion(argc > 2 ? argv[2] : "bash", stdout));
    const cse_command *command = find_command(argv[1]);
    if (command == NULL)
        return cse_report(cse_unknown_command(argv[1]));
    if (!command->hidden && asks_for_help(argc - 1, argv + 1)) {
        cse_print_command_help(command, stdout);
        return 0;
    }
    cse_command_line line;
    cse_status status = cse_command_line_parse(command, argc - 1, argv + 1, &line);
    if (status == CSE_OK && command->computes)
        status = cse_resource_limits_check_base();
    int exit_code = status == CSE_OK ? command->run(&line) : cse_report(status);
    cse_command_line_clear(&line);
    return exit_code;
}
