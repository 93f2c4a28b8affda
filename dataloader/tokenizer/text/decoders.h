/* How tokens become text again: a list of steps over the texts of the tokens. */
#ifndef CSE_DATALOADER_TOKENIZER_TEXT_DECODERS_H
#define CSE_DATALOADER_TOKENIZER_TEXT_DECODERS_H

#include <jansson.h>

#include "dataloader/tokenizer/text/split_pattern.h"
#include "engine/base/text.h"

typedef struct cse_decoder cse_decoder;

/* Start from a zeroed struct. */
typedef struct cse_decoders {
    cse_decoder *list;
    int count, capacity;
    bool joins_by_space; /* there is none: spaces stand between tokens */
    bool takes_bytes;    /* tokens' characters stand for bytes, which are joined */
} cse_decoders;

/* Texts one after the other, and where each ends. Start from a zeroed struct. */
typedef struct cse_token_texts {
    cse_text text;
    size_t *ends;
    size_t count, capacity;
} cse_token_texts;

/* The member "decoder" of a tokenizer.json; null is none. CSE_DATA names what is not accepted. */
cse_status cse_decoders_read(cse_decoders *decoders, const json_t *entry);
/* SentencePiece's: `drops_space`: at the begin of a text; `drops_all`: all that stand there. */
void cse_decoders_of_sentences(cse_decoders *decoders, bool drops_space, bool drops_all);
void cse_decoders_clear(cse_decoders *decoders);

/* The text behind the last one that was put grew by a token's. */
void cse_token_texts_end(cse_token_texts *texts);
void cse_token_texts_clear(cse_token_texts *texts);

/* Adds what the tokens stand for: a whole text, or, `within` one, what they add to it. */
cse_status cse_decoders_apply(const cse_decoders *decoders, cse_token_texts *texts, bool within,
                              cse_text *to);

#endif
