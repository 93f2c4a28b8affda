/* The candidates that are offered, each once. */
#ifndef CSE_CLI_COMPLETION_CANDIDATES_H
#define CSE_CLI_COMPLETION_CANDIDATES_H

#include <stdbool.h>
#include <stdio.h>

typedef struct cse_candidates {
    FILE *out;
    const char *lead;  /* stands before each candidate: "--set=" */
    const char *begun; /* what each must begin with, without the lead */
    bool goes_on;      /* one of them ends in "=" */
    char **given;      /* to leave out repetitions */
    int given_count, given_capacity;
} cse_candidates;

/* Prints `word`, if it begins as it must; `doc` may be NULL. */
void cse_candidate(cse_candidates *candidates, const char *word, const char *doc);
/* Each of "a|b|c" behind `prefix`. */
void cse_candidate_choices(cse_candidates *candidates, const char *prefix, const char *choices);

#endif
