/* How texts are cut into words before byte pair encoding: GGUF has a name for each way, which
 * stands for the patterns that a tokenizer.json spells out. */
#ifndef CSE_WEIGHTS_PRE_TOKENIZERS_H
#define CSE_WEIGHTS_PRE_TOKENIZERS_H

#include <jansson.h>
#include <stdbool.h>

#include "engine/base/text.h"

typedef struct cse_pre_tokenizer {
    json_t *normalizer, *pre_tokenizer; /* as in a tokenizer.json; json_decref() */
    bool whole_words;                   /* a word that is a token is not merged */
    bool begins_text;                   /* a text begins with a token, unless a fact says else */
} cse_pre_tokenizer;

/* By the name in GGUF; false: it is not known. */
bool cse_pre_tokenizer_named(const char *name, cse_pre_tokenizer *found);
/* "a, b, ...": the names that are known. */
void cse_pre_tokenizer_names(cse_text *names);
/* The name for what a tokenizer.json has; NULL: GGUF has none. */
typedef struct cse_tokenizer_ways {
    const json_t *pre_tokenizer;
    bool whole_words, composes; /* composes: its normalizer has NFC */
} cse_tokenizer_ways;
const char *cse_pre_tokenizer_name_of(const cse_tokenizer_ways *wanted);

#endif
