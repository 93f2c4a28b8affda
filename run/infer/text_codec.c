/* A tokenizer's tokens, bytes, or numbers. */
#include "run/infer/text_codec.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dataloader/tokenizer/tokenizer.h"
#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "engine/formats/checkpoint/file_bytes.h"
#include "engine/formats/weights/side_files.h"
#include "engine/formats/weights/tokenizer/own_tokenizer.h"

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

/* The tokenizer in a file of weights, by way of a file in memory. *codec: NULL, there is none. */
static cse_status open_own(const char *weights, cse_text_codec **codec)
{
    char path[64];
    cse_tokenizer_files files;
    *codec = NULL;
    CSE_TRY(cse_own_tokenizer(weights, &files));
    if (files.json == NULL)
        return CSE_OK;
    const int memory = memfd_create("tokenizer.json", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
    cse_status status = memory >= 0 && cse_write_at(memory, files.json, strlen(files.json), 0) == 0
                            ? cse_text_codec_open(path, codec)
                            : cse_fail(CSE_TEMPORARY, "%s: no memory for its tokenizer: %s",
                                       weights, strerror(errno));
    if (memory >= 0)
        close(memory);
    cse_tokenizer_files_clear(&files);
    return status;
}

/* The first of the places that holds files of a tokenizer; NULL: none does. */
static const char *find_files(const cse_text_codec_places *places, char side_files[PATH_MAX])
{
    if (places->given != NULL)
        return places->given;
    if (places->weights != NULL && cse_tokenizer_is_in(places->weights))
        return places->weights;
    if (places->model_dir == NULL || cse_tokenizer_is_in(places->model_dir))
        return places->model_dir;
    return snprintf(side_files, PATH_MAX, "%s/" CSE_SIDE_FILES_FOLDER, places->model_dir) <
                       PATH_MAX &&
                   cse_tokenizer_is_in(side_files)
               ? side_files
               : NULL;
}

cse_status cse_text_codec_find(const cse_text_codec_places *places, int64_t vocabulary,
                               cse_text_codec **codec)
{
    char side_files[PATH_MAX];
    *codec = NULL;
    if (places->given == NULL && places->weights != NULL)
        CSE_TRY(open_own(places->weights, codec));
    if (*codec != NULL)
        return check_vocabulary(places->weights, *codec, vocabulary);
    const char *path = find_files(places, side_files);
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
            (long long)vocabulary, places->model_dir != NULL ? places->model_dir : ".");
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

int32_t cse_text_codec_token(const cse_text_codec *codec, const char *content)
{
    return codec->tokenizer != NULL ? cse_tokenizer_find(codec->tokenizer, content) : -1;
}

/* What GPT-2, Llama and their kin end a text with. */
int32_t cse_text_codec_end(const cse_text_codec *codec)
{
    static const char *const names[] = { "<|endoftext|>", "<|end_of_text|>", "</s>", NULL };
    int32_t token = -1;
    for (int i = 0; names[i] != NULL && token < 0; i++)
        token = cse_text_codec_token(codec, names[i]);
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

cse_status cse_text_codec_encode_whole(cse_text_codec *codec, const char *text, size_t bytes,
                                       int32_t **tokens, int64_t *count)
{
    cse_token_ids ids = { 0 };
    if (codec->of_numbers || codec->tokenizer == NULL)
        return cse_text_codec_encode(codec, text, bytes, tokens, count);
    cse_status status =
        cse_encode_whole(codec->encoder, (cse_given_text[2]){ { text, bytes } }, &ids);
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
