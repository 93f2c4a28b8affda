/* A tokenizer that was read, on any text: numbers that it has, or a message. */
#ifndef CSE_TESTS_FUZZ_TOKENIZED_TEXT_H
#define CSE_TESTS_FUZZ_TOKENIZED_TEXT_H

#include <stdlib.h>

#include "dataloader/tokenizer/tokenizer.h"

/* Each number is a token's; a pattern of the decoder may take too many steps. */
static inline void fuzz_decode(const cse_tokenizer *tokenizer, const cse_token_ids *ids)
{
    cse_text back = { 0 };
    size_t size;
    for (size_t i = 0; i < ids->count; i++)
        if (cse_tokenizer_token_view(tokenizer, ids->ids[i], &size) == NULL)
            abort();
    if (cse_decode(tokenizer, ids->ids, ids->count, &back) != CSE_OK &&
        *cse_error_message() == '\0')
        abort();
    if (ids->count > 0)
        cse_decode_within(tokenizer, ids->ids[0], &back);
    cse_text_clear(&back);
}

static inline void fuzz_encode(const cse_tokenizer *tokenizer, const char *text, size_t size,
                               bool with_places)
{
    cse_token_ids ids = { .with_places = with_places };
    cse_encoder *encoder = cse_encoder_new(tokenizer);
    const cse_given_text texts[] = { { text, size }, { with_places ? text : NULL, size } };
    if (cse_encode_whole(encoder, texts, &ids) == CSE_OK)
        fuzz_decode(tokenizer, &ids);
    else if (*cse_error_message() == '\0')
        abort();
    cse_encoder_close(&encoder);
    free(ids.ids);
    free(ids.places);
}

static inline void fuzz_tokenizer(const cse_tokenizer *tokenizer, const char *text, size_t size)
{
    fuzz_encode(tokenizer, text, size, false);
    fuzz_encode(tokenizer, text, size, true);
}

#endif
