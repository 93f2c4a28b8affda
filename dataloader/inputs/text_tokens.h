/* Texts that a tokenizer turns into samples of tokens, what input functions of them share: a text
 * is cut to sequence_length tokens or filled up. */
#ifndef CSE_DATALOADER_INPUTS_TEXT_TOKENS_H
#define CSE_DATALOADER_INPUTS_TEXT_TOKENS_H

#include "dataloader/inputs/token_streams.h"
#include "dataloader/tokenizer/tokenizer.h"

#define CSE_END_OF_TEXT_SETTING                                                                \
    {                                                                                          \
        .name = "end_of_text", .type = CSE_SETTING_TEXT, .default_value = "\"<|endoftext|>\"", \
        .doc = "token behind each text, and in filled places; none: nothing, and token 0"      \
    }

typedef struct cse_text_tokens {
    cse_tokenizer *tokenizer; /* NULL: it is not open */
    cse_encoder *encoder;
    cse_token_ids ids; /* of the text at hand */
    int64_t time;
    int32_t end; /* behind a text; -1: nothing */
} cse_text_tokens;

/* By the settings tokenizer, sequence_length and end_of_text. Clear it also after a failure. */
cse_status cse_text_tokens_open(cse_text_tokens *texts, const cse_settings *settings);
void cse_text_tokens_clear(cse_text_tokens *texts);

/* Adds to the text at hand, which begins where ids.count is 0. */
cse_status cse_text_tokens_add(cse_text_tokens *texts, const char *text, size_t bytes);
/* Writes it as sample `place` of the streams of cse_describe_tokens with a mask; tokens before
 * `learned_from`, and filled places, have no label and the mask 0. */
void cse_text_tokens_put(const cse_text_tokens *texts, int64_t learned_from, void *const outputs[],
                         int64_t place);

#endif
