/* A tokenizer's tokens, bytes, or numbers. */
#include "run/infer/text_codec.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"

enum { BYTES = 256 };

struct cse_text_codec {
    bool of_numbers;
    cse_tokenizer *tokenizer; /* NULL: bytes, or numbers */
    cse_encoder *encoder;
};

cse_text_codec *cse_text_codec_of_bytes(void)
{
    return cse_calloc(1, sizeof(cse_text_codec));
}

cse_text_codec *cse_text_codec_of_numbers(void)
{
    cse_text_codec *codec = cse_text_codec_of_bytes();
    codec->of_numbers = true;
    return codec;
}

cse_status cse_text_codec_open(const char *path, cse_text_codec **codec)
{
    cse_tokenizer *tokenizer = NULL;
    *codec = NULL;
    CSE_TRY(cse_tokenizer_load(path, &tokenizer));
    *codec = cse_text_codec_of_bytes();
    (*codec)->tokenizer = tokenizer;
    (*codec)->encoder = cse_encoder_new(tokenizer);
    return CSE_OK;
}

static cse_status check_vocabulary(const char *path, const cse_text_codec *codec,
                                   int64_t vocabulary)
{
    const int64_t tokens = cse_text_codec_vocabulary(codec);
    return vocabulary == 0 || tokens <= vocabulary
               ? CSE_OK
               : cse_fail(CSE_USAGE,
                          "%s: has %lld tokens, but the model knows %lld: give the tokenizer that "
                          "it was trained with",
                          path, (long long)tokens, (long long)vocabulary);
}

cse_status cse_text_codec_find(const char *path, const char *model_dir, int64_t vocabulary,
                               cse_text_codec **codec)
{
    if (path == NULL && cse_tokenizer_is_in(model_dir))
        path = model_dir;
    *codec = NULL;
    if (path != NULL) {
        CSE_TRY(cse_text_codec_open(path, codec));
        return check_vocabulary(path, *codec, vocabulary);
    }
    if (vocabulary > BYTES)
        return cse_fail_at(
            &(cse_error){ .status = CSE_USAGE,
                          .hint = "give --tokenizer FILE, a tokenizer.json or a "
                                  "folder that holds one" },
            "the model knows %lld tokens, which are no bytes, and there is no %s/tokenizer.json",
            (long long)vocabulary, model_dir);
    *codec = cse_text_codec_of_bytes();
    return CSE_OK;
}

void cse_text_codec_close(cse_text_codec **codec)
{
    cse_text_codec *old = *codec;
    *codec = NULL;
    if (old == NULL)
        return;
    if (old->encoder != NULL)
        cse_encoder_close(&old->encoder);
    if (old->tokenizer != NULL)
        cse_tokenizer_close(&old->tokenizer);
    free(old);
}

int64_t cse_text_codec_vocabulary(const cse_text_codec *codec)
{
    return codec->of_numbers          ? INT32_MAX
           : codec->tokenizer != NULL ? cse_tokenizer_vocab_size(codec->tokenizer)
                                      : BYTES;
}

/* What GPT-2, Llama and their kin end a text with. */
int32_t cse_text_codec_end(const cse_text_codec *codec)
{
    static const char *const names[] = { "<|endoftext|>", "<|end_of_text|>", "</s>", NULL };
    int32_t token = -1;
    for (int i = 0; codec->tokenizer != NULL && names[i] != NULL && token < 0; i++)
        token = cse_tokenizer_find(codec->tokenizer, names[i]);
    return token;
}

static cse_status encode_bytes(const char *text, size_t bytes, int32_t **tokens, int64_t *count)
{
    *tokens = cse_calloc(bytes + 1, sizeof **tokens);
    for (size_t i = 0; i < bytes; i++)
        (*tokens)[i] = (unsigned char)text[i];
    *count = (int64_t)bytes;
    return CSE_OK;
}

static cse_status encode_numbers(const char *text, int32_t **tokens, int64_t *count)
{
    const char *at = text + strspn(text, " ,\t\n");
    *tokens = cse_calloc(strlen(text) + 1, sizeof **tokens);
    while (*at != '\0') {
        char *end;
        const long long number = strtoll(at, &end, 10);
        if (end == at || number < 0 || number > INT32_MAX)
            return cse_fail(CSE_USAGE,
                            "\"%.20s\" is no number of a token: give whole numbers, "
                            "separated by blanks or commas",
                            at);
        (*tokens)[(*count)++] = (int32_t)number;
        at = end + strspn(end, " ,\t\n");
    }
    return CSE_OK;
}

cse_status cse_text_codec_encode(cse_text_codec *codec, const char *text, size_t bytes,
                                 int32_t **tokens, int64_t *count)
{
    cse_token_ids ids = { 0 };
    *tokens = NULL;
    *count = 0;
    if (codec->of_numbers)
        return encode_numbers(text, tokens, count);
    if (codec->tokenizer == NULL)
        return encode_bytes(text, bytes, tokens, count);
    cse_status status = cse_encode(codec->encoder, text, bytes, &ids);
    *tokens = ids.ids;
    *count = (int64_t)ids.count;
    return status;
}

cse_status cse_text_codec_decode(const cse_text_codec *codec, int32_t token, cse_text *text)
{
    if (codec->tokenizer != NULL)
        return cse_decode_within(codec->tokenizer, token, text);
    if (codec->of_numbers) {
        cse_text_add(text, " %d", (int)token);
        return CSE_OK;
    }
    if (token < 0 || token >= BYTES)
        return cse_fail(CSE_DATA, "token %d stands for no text", (int)token);
    const char byte = (char)token;
    cse_text_add_bytes(text, &byte, 1);
    return CSE_OK;
}
