/* What a tokenizer is made of, for its readers and its encoder. */
#ifndef CSE_DATALOADER_TOKENIZER_TOKENIZER_PARTS_H
#define CSE_DATALOADER_TOKENIZER_TOKENIZER_PARTS_H

#include "dataloader/tokenizer/added_tokens.h"
#include "dataloader/tokenizer/merges.h"
#include "dataloader/tokenizer/split_pattern.h"
#include "dataloader/tokenizer/tokenizer.h"
#include "dataloader/tokenizer/vocabulary.h"

enum { CSE_SPLIT_STAGES = 8 };

/* One stage of the pre-tokenizer: each piece of the stage before is cut. */
typedef struct cse_split_stage {
    cse_split_pattern *split; /* NULL: it is not cut */
    bool drops_rest;          /* what is not matched is left out, else it is a piece, too */
    bool adds_space;          /* before a piece that does not begin with one */
} cse_split_stage;

struct cse_tokenizer {
    cse_vocabulary vocabulary;
    cse_merges merges;
    cse_added_tokens before;  /* found first */
    cse_added_tokens between; /* found in what is left (those that a normalizer would change) */
    cse_split_stage stages[CSE_SPLIT_STAGES];
    int stage_count;
    int32_t token_of_byte[256]; /* -1: none */
    int32_t unknown;            /* for bytes without a token; -1: these are left out */
    bool fuses_unknown;
    bool whole_words; /* a word that is a token is not merged from its bytes */
    bool cuts_at_lines;
};

#endif
