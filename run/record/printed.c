/* A stream of fopencookie, which glibc allows to take the place of `stdout`. */
#include "run/record/printed.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

enum { MOST_BYTES = 2000 };

struct cse_printed {
    FILE *stream, *usual; /* usual: stdout while a closure runs; else NULL */
    size_t size;
    char text[MOST_BYTES + 1];
};

#ifdef __GLIBC__
static ssize_t pass_on(void *self, const char *bytes, size_t size)
{
    cse_printed *printed = self;
    const size_t room = MOST_BYTES - printed->size, kept = size < room ? size : room;
    memcpy(printed->text + printed->size, bytes, kept);
    printed->size += kept;
    if (printed->usual != NULL)
        fwrite(bytes, 1, size, printed->usual);
    return (ssize_t)size;
}

cse_printed *cse_printed_new(void)
{
    cse_printed *printed = cse_calloc(1, sizeof *printed);
    printed->stream = fopencookie(printed, "w", (cookie_io_functions_t){ .write = pass_on });
    if (printed->stream != NULL)
        setvbuf(printed->stream, NULL, _IOLBF, BUFSIZ);
    else
        cse_printed_destroy(&printed);
    return printed;
}

void cse_printed_begin(cse_printed *printed)
{
    if (printed == NULL || printed->usual != NULL)
        return;
    printed->size = 0;
    printed->usual = stdout;
    stdout = printed->stream;
}

const char *cse_printed_end(cse_printed *printed)
{
    if (printed == NULL || printed->usual == NULL)
        return "";
    fflush(printed->stream);
    if (stdout == printed->stream) /* the closure may have put another one in its place */
        stdout = printed->usual;
    printed->usual = NULL;
    if (printed->size > 0 && printed->text[printed->size - 1] == '\n')
        printed->size--;
    printed->text[printed->size] = '\0';
    return printed->text;
}
#else
cse_printed *cse_printed_new(void)
{
    return NULL;
}

void cse_printed_begin(cse_printed *printed)
{
    (void)printed;
}

const char *cse_printed_end(cse_printed *printed)
{
    (void)printed;
    return "";
}
#endif

void cse_printed_destroy(cse_printed **printed)
{
    if (*printed == NULL)
        return;
    if ((*printed)->stream != NULL)
        fclose((*printed)->stream);
    free(*printed);
    *printed = NULL;
}
