/* Which part of a campaign a check program takes; see part.py. */
#ifndef CSE_TESTS_SUPPORT_PART_H
#define CSE_TESTS_SUPPORT_PART_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of the part of `parts` that CSE_TEST_PART chooses, which is printed; -1: all. */
static inline int part_of(int parts, const char *what)
{
    const char *text = getenv("CSE_TEST_PART");
    if (text == NULL || *text == '\0')
        text = "0";
    if (strcmp(text, "all") == 0)
        return -1;
    if (strspn(text, "0123456789") != strlen(text)) {
        fprintf(stderr, "CSE_TEST_PART=%s: accepted is a number from 0 on, or all\n", text);
        exit(64);
    }
    const int part = (int)(strtoull(text, NULL, 10) % (unsigned)parts);
    printf("%s: part %d of %d (CSE_TEST_PART=%d repeats it, all takes every part)\n", what, part,
           parts, part);
    return part;
}

#endif
