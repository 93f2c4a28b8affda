/* The regular expressions that cut text into words before pairs are merged.
 *
 * Files of tokenizers have them in the syntax of Oniguruma. PCRE2 agrees with it on what these
 * patterns use, but for the characters that classes such as \s and \p{L} hold, which are written
 * out (character_classes.h); syntax that differs otherwise is refused. */
#ifndef CSE_DATALOADER_TOKENIZER_SPLIT_PATTERN_H
#define CSE_DATALOADER_TOKENIZER_SPLIT_PATTERN_H

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

/* The first match from `from` on in UTF-8 text that was checked: 1 and its range, 0 for none, -1
 * where the limit of steps was reached. A match is not empty. */
int cse_split_next(const cse_split_pattern *split, cse_split_matcher *matcher, const char *text,
                   size_t size, size_t range[2]);

#endif
