/* How deep brackets stand in a text, found without recursion and in no memory, before a parser that
 * needs both gets the text. */
#ifndef CSE_BASE_NESTING_H
#define CSE_BASE_NESTING_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cse_nesting {
    int line, column; /* of the bracket that is one too many, from 1; columns are bytes */
} cse_nesting;

/* Whether no bracket of the JSON text stands in more than `most` others. */
bool cse_nesting_json(const char *text, size_t size, int most, cse_nesting *where);

/* Whether at most `most` brackets of the YAML text may be open at once. Which ones are in quotes or
 * comments is for the parser to find out, so that a bracket counts as closed only where no quote
 * and no comment stands between it and its end: more may be counted than there are, never fewer. */
bool cse_nesting_yaml(const char *text, size_t size, int most, cse_nesting *where);

#endif
