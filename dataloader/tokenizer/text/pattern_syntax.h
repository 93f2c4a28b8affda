/* Regular expressions in Oniguruma's syntax, which files of tokenizers have, become PCRE2's. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_PATTERN_SYNTAX_H
#define CSE_DATALOADER_TOKENIZER_TEXT_PATTERN_SYNTAX_H

#include "engine/base/text.h"

enum { CSE_PATTERN_MOST_BYTES = 8192 };

/* CSE_DATA for what the two take for different things. */
cse_status cse_pattern_translate(const char *pattern, cse_text *to);

#endif
