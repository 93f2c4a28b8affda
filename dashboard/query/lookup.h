/* What a name in a condition stands for, of one job. */
#ifndef CSE_DASHBOARD_QUERY_LOOKUP_H
#define CSE_DASHBOARD_QUERY_LOOKUP_H

#include <jansson.h>
#include <stdbool.h>

/* Calls `take` with each value of the name: a health has several, and so has the end of a path that
 * several settings have. False: the job has no such field, label, series or setting. */
bool cse_lookup(const char *name, const json_t *job, const json_t *values,
                void (*take)(void *self, const char *text), void *self);

/* Whether a word is part of what names the job. */
bool cse_lookup_word(const char *word, const json_t *job);

/* The names of all fields, ended by NULL. */
extern const char *const cse_lookup_fields[];

#endif
