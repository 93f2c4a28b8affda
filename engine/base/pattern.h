/* Regular expressions of names, as Python's re has them (by PCRE2), which must match a name as a
 * whole, or a part of it that begins after a dot and goes to its end. The steps of one comparison
 * are limited, so that an expression of a stranger's cannot go on forever. */
#ifndef CSE_BASE_PATTERN_H
#define CSE_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cse_pattern cse_pattern;

/* NULL with the reason in `why`: the text is no regular expression. cse_pattern_destroy(). */
cse_pattern *cse_pattern_new(const char *text, char *why, size_t why_bytes);
void cse_pattern_destroy(cse_pattern **pattern);

/* Python's re.fullmatch. */
bool cse_pattern_matches(const cse_pattern *pattern, const char *name);
/* The same of the name or of an end of it behind a dot: re.match(r"(.*\.)?(TEXT)$"). */
bool cse_pattern_matches_end(const cse_pattern *pattern, const char *name);
/* Whether there is a match anywhere in the name: re.search. */
bool cse_pattern_is_in(const cse_pattern *pattern, const char *name);

#endif
