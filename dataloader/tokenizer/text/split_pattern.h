/* The regular expressions that cut text into words before pairs are merged.
 *
 * Files of tokenizers have them in the syntax of Oniguruma. PCRE2 agrees with it on what these
 * patterns use, but for the characters that classes such as \s and \p{L} hold, which are written
 * out (pattern_syntax.h); syntax that differs otherwise is refused. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_SPLIT_PATTERN_H
#define CSE_DATALOADER_TOKENIZER_TEXT_SPLIT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "csengine/status.h"

typedef struct cse_split_pattern cse_split_pattern;

/* GPT-2's, which the pre-tokenizer ByteLevel has. */
extern const char cse_gpt2_split[];

/* `literal`: the pattern is text to be found as it is. CSE_DATA with what is not accepted. */
cse_status cse_split_pattern_new(const char *pattern, bool literal, cse_split_pattern **split);
void cse_split_pattern_destroy(cse_split_pattern **split);

/* Memory of one thread for matches of any pattern. */
typedef struct cse_split_matcher cse_split_matcher;
cse_split_matcher *cse_split_matcher_new(void);
void cse_split_matcher_destroy(cse_split_matcher **matcher);

/* A walk over the matches of a text that was checked to be UTF-8; set `text` and `size`. */
typedef struct cse_split_search {
    const char *text;
    size_t size;
    size_t from, last; /* where the next search begins; where the last match ended */
    bool has_last;
} cse_split_search;

/* The next match: 1 and its range, 0 for none, -1 where the limit of steps was reached. A match may
 * be empty, but not at the end of the one before. */
int cse_split_next(const cse_split_pattern *split, cse_split_matcher *matcher,
                   cse_split_search *search, size_t range[2]);

#endif
