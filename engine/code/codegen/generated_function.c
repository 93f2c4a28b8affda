/* Functions stand in the order of their numbers. */
#include "engine/code/codegen/generated_function.h"

#include <string.h>

/* In the first line of the comment before each (emit_value.c), and behind the last one. */
static const char opening[] = "; the first of these groups:\n";
static const char closing[] = "\n/* Functions that a kind of groups does not have are 0. */";

static const char *begin_of(const char *source, int number)
{
    const char *at = strstr(source, opening);
    for (int i = 0; at != NULL && i < number; i++)
        at = strstr(at + 1, opening);
    while (at != NULL && at > source && at[-1] != '\n')
        at--;
    return at;
}

const char *cse_generated_function(const char *source, int number, size_t *size)
{
    const char *begin = begin_of(source, number);
    if (begin == NULL)
        return NULL;
    const char *end = begin_of(source, number + 1);
    if (end == NULL)
        end = strstr(begin, closing);
    *size = end != NULL ? (size_t)(end - begin) : strlen(begin);
    return begin;
}
