/* Text to the tokens of a model's vocabulary, and back. */
#ifndef CSE_RUN_INFER_TEXT_CODEC_H
#define CSE_RUN_INFER_TEXT_CODEC_H

#include "csengine/status.h"
#include "engine/base/text.h"

typedef struct cse_text_codec cse_text_codec;

/* Tokens of a model over bytes: token i is byte i. */
cse_text_codec *cse_text_codec_of_bytes(void);
/* Texts are the numbers of tokens, separated by blanks or commas. */
cse_text_codec *cse_text_codec_of_numbers(void);
/* Those of a tokenizer (dataloader/tokenizer/tokenizer.h), a file or a folder. */
cse_status cse_text_codec_open(const char *path, cse_text_codec **codec);
/* Where a tokenizer is looked for, in this order; each may be NULL. */
typedef struct cse_text_codec_places {
    const char *given;     /* a file or a folder that somebody named */
    const char *weights;   /* those of the model: a folder, or a file that may hold a tokenizer */
    const char *model_dir; /* a folder; also its folder side_files */
} cse_text_codec_places;
/* For a model with `vocabulary` tokens (0: not known); bytes where there is no tokenizer. CSE_USAGE
 * where there is none and the model's tokens are no bytes, or where the tokenizer has more tokens
 * than the model. */
cse_status cse_text_codec_find(const cse_text_codec_places *places, int64_t vocabulary,
                               cse_text_codec **codec);
void cse_text_codec_close(cse_text_codec **codec);

/* Tokens 0 to this one - 1. */
int64_t cse_text_codec_vocabulary(const cse_text_codec *codec);

/* *tokens is the caller's (free). */
cse_status cse_text_codec_encode(cse_text_codec *codec, const char *text, size_t bytes,
                                 int32_t **tokens, int64_t *count);
/* Likewise with the special tokens that the tokenizer puts around a text. */
cse_status cse_text_codec_encode_whole(cse_text_codec *codec, const char *text, size_t bytes,
                                       int32_t **tokens, int64_t *count);
/* The token that ends a text; -1: none. */
int32_t cse_text_codec_end(const cse_text_codec *codec);
/* The token with this content; -1: there is none. */
int32_t cse_text_codec_token(const cse_text_codec *codec, const char *content);

/* Adds the bytes that a token adds to those before it. */
cse_status cse_text_codec_decode(const cse_text_codec *codec, int32_t token, cse_text *text);

#endif
