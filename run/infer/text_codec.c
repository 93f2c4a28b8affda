/* Bytes are their own tokens. */
#include "run/infer/text_codec.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"

enum { BYTES = 256 };

struct cse_text_codec {
    int64_t vocabulary;
};

cse_text_codec *cse_text_codec_of_bytes(void)
{
    cse_text_codec *codec = cse_calloc(1, sizeof *codec);
    codec->vocabulary = BYTES;
    return codec;
}

void cse_text_codec_close(cse_text_codec **codec)
{
    free(*codec);
    *codec = NULL;
}

int64_t cse_text_codec_vocabulary(const cse_text_codec *codec)
{
    return codec->vocabulary;
}

cse_status cse_text_codec_encode(cse_text_codec *codec, const char *text, size_t bytes,
                                 int32_t **tokens, int64_t *count)
{
    (void)codec;
    *tokens = cse_calloc(bytes + 1, sizeof **tokens);
    for (size_t i = 0; i < bytes; i++)
        (*tokens)[i] = (unsigned char)text[i];
    *count = (int64_t)bytes;
    return CSE_OK;
}

cse_status cse_text_codec_decode(const cse_text_codec *codec, int32_t token, cse_text *text)
{
    if (token < 0 || token >= codec->vocabulary)
        return cse_fail(CSE_DATA, "token %d stands for no text", (int)token);
    const char byte = (char)token;
    cse_text_add_bytes(text, &byte, 1);
    return CSE_OK;
}
