/* A label is the token that follows. */
#include "dataloader/inputs/text_tokens.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/config/settings.h"

cse_status cse_text_tokens_open(cse_text_tokens *texts, const cse_settings *settings)
{
    const char *end = cse_settings_text(settings, "end_of_text");
    texts->time = cse_settings_integer(settings, "sequence_length");
    CSE_TRY(cse_tokenizer_load(cse_settings_text(settings, "tokenizer"), &texts->tokenizer));
    texts->encoder = cse_encoder_new(texts->tokenizer);
    texts->end = strcmp(end, "none") == 0 ? -1 : cse_tokenizer_find(texts->tokenizer, end);
    if (texts->end < 0 && strcmp(end, "none") != 0)
        return cse_fail(CSE_CONFIG,
                        "data loader: %s: end_of_text: the tokenizer has no token \"%s\": accepted "
                        "are its tokens and none",
                        cse_settings_origin(settings, "end_of_text"), end);
    return CSE_OK;
}

void cse_text_tokens_clear(cse_text_tokens *texts)
{
    cse_encoder_close(&texts->encoder);
    cse_tokenizer_close(&texts->tokenizer);
    free(texts->ids.ids);
    texts->ids.ids = NULL;
}

cse_status cse_text_tokens_add(cse_text_tokens *texts, const char *text, size_t bytes)
{
    return cse_encode(texts->encoder, text, bytes, &texts->ids);
}

/* Token t of the text, with the end behind it. */
static int32_t token_at(const cse_text_tokens *texts, int64_t t)
{
    return t < (int64_t)texts->ids.count ? texts->ids.ids[t] : texts->end < 0 ? 0 : texts->end;
}

void cse_text_tokens_put(const cse_text_tokens *texts, int64_t learned_from, void *const outputs[],
                         int64_t place)
{
    const int64_t count = (int64_t)texts->ids.count + (texts->end >= 0);
    int32_t *ids = (int32_t *)outputs[CSE_INPUT_IDS_STREAM] + place * texts->time;
    int32_t *labels = (int32_t *)outputs[CSE_LABELS_STREAM] + place * texts->time;
    int32_t *mask = (int32_t *)outputs[CSE_MASK_STREAM] + place * texts->time;
    for (int64_t t = 0; t < texts->time; t++) {
        ids[t] = token_at(texts, t);
        mask[t] = t + 1 >= learned_from && t + 1 < count;
        labels[t] = mask[t] != 0 ? token_at(texts, t + 1) : CSE_IGNORED_LABEL;
    }
}
