/* Text to the tokens of a model's vocabulary, and back. */
#ifndef CSE_RUN_INFER_TEXT_CODEC_H
#define CSE_RUN_INFER_TEXT_CODEC_H

#include "csengine/status.h"
#include "engine/base/text.h"

typedef struct cse_text_codec cse_text_codec;

/* Tokens of a model over bytes: token i is byte i. */
cse_text_codec *cse_text_codec_of_bytes(void);
void cse_text_codec_close(cse_text_codec **codec);

/* Tokens 0 to this one - 1. */
int64_t cse_text_codec_vocabulary(const cse_text_codec *codec);

/* *tokens is the caller's (free). */
cse_status cse_text_codec_encode(cse_text_codec *codec, const char *text, size_t bytes,
                                 int32_t **tokens, int64_t *count);
/* Adds the bytes of one token. */
cse_status cse_text_codec_decode(const cse_text_codec *codec, int32_t token, cse_text *text);

#endif
