/* A line is formatted, and then made printable as a whole. */
#include "cli/terminal/printing.h"

#include <stdarg.h>
#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

static void print_formatted(FILE *out, const char *format, va_list arguments)
{
    char *given = NULL;
    const int length = vasprintf(&given, format, arguments);
    if (length < 0)
        return;
    const size_t whole = cse_text_printable(given, NULL, 0);
    char *printable = cse_malloc(whole + 1);
    cse_text_printable(given, printable, whole + 1);
    fputs(printable, out);
    free(printable);
    free(given);
}

void cse_print(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_formatted(stdout, format, arguments);
    va_end(arguments);
}

void cse_print_to(FILE *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_formatted(out, format, arguments);
    va_end(arguments);
}
