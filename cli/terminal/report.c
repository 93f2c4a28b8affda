/* Prints "csengine: error: MESSAGE"; whether a retry can help is told by the exit code. */
#include "cli/terminal/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/error.h"
#include "engine/base/text.h"

bool cse_is_terminal(int stream)
{
    const char *kind = getenv("TERM");
    return isatty(stream) == 1 && (kind == NULL || strcmp(kind, "dumb") != 0);
}

bool cse_may_colour(int stream)
{
    const char *no = getenv("NO_COLOR"), *force = getenv("FORCE_COLOR");
    if (no != NULL && *no != '\0')
        return false;
    return (force != NULL && *force != '\0') || cse_is_terminal(stream);
}

/* One more error, on an indented line. */
static void print_error(const cse_error *error)
{
    char text[4096];
    cse_text lines = { 0 };
    cse_error_print(error, text, sizeof text);
    cse_text_add_indented(&lines, text);
    fprintf(stderr, "  %s\n", lines.data);
    cse_text_clear(&lines);
}

int cse_report_diagnostics(cse_status status, const cse_diagnostics *diagnostics)
{
    if (status == CSE_OK)
        return 0;
    const char *message = cse_error_message();
    bool colour = cse_may_colour(2);
    fflush(stdout);
    cse_text lines = { 0 };
    cse_text_add_indented(&lines, *message != '\0' ? message : cse_status_text(status));
    fprintf(stderr, "csengine: %serror:%s %s\n", colour ? "\033[31m" : "", colour ? "\033[0m" : "",
            lines.data);
    cse_text_clear(&lines);
    for (int i = 1; diagnostics != NULL && i < diagnostics->count; i++)
        print_error(diagnostics->errors[i]);
    if (diagnostics != NULL && diagnostics->count == CSE_MAX_DIAGNOSTICS)
        fprintf(stderr, "  there may be more: the check stops at %d\n", CSE_MAX_DIAGNOSTICS);
    return cse_status_exit_code(status);
}

int cse_report(cse_status status)
{
    return cse_report_diagnostics(status, NULL);
}
