/* Which tokens end a text: what the weights say, else what tokenizers of their kind use. */
#ifndef CSE_RUN_INFER_END_TOKENS_H
#define CSE_RUN_INFER_END_TOKENS_H

#include "csengine/train.h"
#include "run/infer/text_codec.h"

enum { CSE_MOST_END_TOKENS = 64 };

typedef struct cse_end_tokens {
    int32_t tokens[CSE_MOST_END_TOKENS];
    int64_t count;
} cse_end_tokens;

/* Of a model with an encoder its setting eos_token_id; else eos_token_id of generation_config.json,
 * or of config.json, as the weights at `path` keep them; else the tokenizer's end of a text.
 * `of_turns`: the tokens besides by which templates of chats end a turn, where the tokenizer has
 * them. CSE_DATA: eos_token_id is neither a number nor a list of numbers. */
cse_status cse_end_tokens_find(const cse_model *model, const cse_text_codec *codec,
                               const char *path, bool of_turns, cse_end_tokens *ends);

#endif
