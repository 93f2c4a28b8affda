/* Words of a command line: splitting of a setting, and quoting for a remote shell.
 *
 * A setting is split once, here, by rules of its own; no shell of this host ever reads it, so
 * nothing in it is expanded. What a remote shell must read (ssh hands over one text) is quoted so
 * that the shell makes exactly the same words of it. */
#ifndef CSE_WORKERS_HOST_LAUNCHERS_WORDS_H
#define CSE_WORKERS_HOST_LAUNCHERS_WORDS_H

#include "csengine/status.h"
#include "engine/base/arena.h"

typedef struct cse_words {
    const char **items; /* in the arena; NULL-terminated, as an argument vector */
    int count, capacity;
} cse_words;

enum { CSE_MAX_WORDS = 4096, CSE_WORDS_TEXT_BYTES = 64 << 10 };

void cse_words_add(cse_words *words, cse_arena *arena, const char *word);
void cse_words_add_all(cse_words *words, cse_arena *arena, const char *const *more);

/* Adds the words of `text`: separated by blanks; '...' keeps all, "..." keeps all but \" and \\, a
 * backslash outside of quotes keeps the next character. Nothing else has a meaning. CSE_CONFIG when
 * a quote is not closed or the text is too long. `text` may be NULL. */
cse_status cse_words_split(cse_words *words, cse_arena *arena, const char *text);

/* `text` with each `mark` replaced. */
const char *cse_words_replace(cse_arena *arena, const char *text, const char *mark,
                              const char *replacement);

/* One text of which a shell makes `words` again: words of letters, digits and _@%+=:,./- stand as
 * they are, others in '...'. CSE_CONFIG when a word has a control character: shells differ in what
 * they make of these. */
cse_status cse_words_quote(cse_arena *arena, const char *const *words, const char **text);

#endif
