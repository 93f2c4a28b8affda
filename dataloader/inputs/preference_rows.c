/* A prompt and what follows it are one text, whose tokens are cut where those of the prompt end. */
#include "dataloader/inputs/preference_rows.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "dataloader/chat/chat_template.h"
#include "dataloader/inputs/token_streams.h"
#include "engine/base/arena.h"
#include "engine/base/config/settings.h"

/* ---- what ends a completion ---- */

/* eos_token of the files beside the tokenizer; NULL: they name none. free(). */
static cse_status end_of_model(const char *model, char **end)
{
    json_t *tokens;
    CSE_TRY(cse_special_tokens_of_model(model, &tokens));
    const char *text = json_string_value(json_object_get(tokens, "eos_token"));
    *end = text != NULL ? cse_strdup(text) : NULL;
    json_decref(tokens);
    return CSE_OK;
}

/* What Llama, GPT-2 and their kin end a text with. */
static char *known_end(const cse_tokenizer *tokenizer)
{
    static const char *const names[] = { "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>",
                                         NULL };
    for (int i = 0; names[i] != NULL; i++)
        if (cse_tokenizer_find(tokenizer, names[i]) >= 0)
            return cse_strdup(names[i]);
    return NULL;
}

static cse_status find_end(cse_preference_rows *rows, const cse_settings *settings)
{
    const char *given = cse_settings_has(settings, "end_of_text")
                            ? cse_settings_text(settings, "end_of_text")
                            : NULL;
    rows->end_token = -1;
    if (given != NULL && strcmp(given, "none") == 0)
        return CSE_OK;
    if (given != NULL)
        rows->end = cse_strdup(given);
    else
        CSE_TRY(end_of_model(cse_settings_text(settings, "tokenizer"), &rows->end));
    if (rows->end == NULL)
        rows->end = known_end(rows->tokenizer);
    if (rows->end == NULL)
        return cse_fail(CSE_CONFIG,
                        "data loader: it is not known what ends a completion: the files beside the "
                        "tokenizer name no eos_token, and it has none of <|endoftext|>, "
                        "<|end_of_text|>, </s> and <eos>; give end_of_text, a token or none");
    rows->end_token = cse_tokenizer_find(rows->tokenizer, rows->end);
    return rows->end_token >= 0
               ? CSE_OK
               : cse_fail(CSE_CONFIG,
                          "data loader: %s: end_of_text: the tokenizer has no token \"%.80s\": "
                          "accepted are its tokens and none",
                          cse_settings_origin(settings, "end_of_text"), rows->end);
}

cse_status cse_preference_rows_open(cse_preference_rows *rows, const cse_settings *settings)
{
    rows->time = cse_settings_integer(settings, "max_sequence_length");
    rows->keeps_end = strcmp(cse_settings_text(settings, "truncation_mode"), "keep_end") == 0;
    CSE_TRY(cse_tokenizer_load(cse_settings_text(settings, "tokenizer"), &rows->tokenizer));
    rows->encoder = cse_encoder_new(rows->tokenizer);
    CSE_TRY(find_end(rows, settings));
    rows->filling = rows->end_token >= 0 ? rows->end_token : 0;
    return CSE_OK;
}

void cse_preference_rows_clear(cse_preference_rows *rows)
{
    cse_encoder_close(&rows->encoder);
    cse_tokenizer_close(&rows->tokenizer);
    free(rows->end);
    free(rows->prompt.ids);
    rows->end = NULL;
    rows->prompt.ids = NULL;
}

/* ---- tokens ---- */

static cse_status encode(const cse_preference_rows *rows, const char *text, bool is_chat,
                         cse_token_ids *ids)
{
    ids->count = 0;
    const cse_given_text texts[2] = { { text, strlen(text) } };
    return is_chat ? cse_encode(rows->encoder, text, texts[0].size, ids)
                   : cse_encode_whole(rows->encoder, texts, ids);
}

cse_status cse_preference_prompt(cse_preference_rows *rows, const char *prompt, bool is_chat)
{
    return encode(rows, prompt, is_chat, &rows->prompt);
}

cse_status cse_preference_completion(cse_preference_rows *rows, const char *whole, bool is_chat,
                                     cse_completion *completion)
{
    CSE_TRY(encode(rows, whole, is_chat, &completion->whole));
    size_t shared = 0;
    while (shared < rows->prompt.count && shared < completion->whole.count &&
           rows->prompt.ids[shared] == completion->whole.ids[shared])
        shared++;
    completion->prompt = shared;
    return CSE_OK;
}

/* ---- rows ---- */

/* Token t of the prompt of one text with the completion of another behind it. */
static int32_t token_at(const cse_completion *prompt, const cse_completion *completion, size_t t)
{
    return t < prompt->prompt ? prompt->whole.ids[t]
                              : completion->whole.ids[completion->prompt + t - prompt->prompt];
}

cse_status cse_preference_put(cse_preference_rows *rows, const cse_completion *prompt,
                              const cse_completion *completion, int32_t *const outputs[3])
{
    const size_t time = (size_t)rows->time;
    const size_t all = prompt->prompt + completion->whole.count - completion->prompt;
    const size_t first = rows->keeps_end && all > time ? all - time : 0;
    const size_t count = all - first < time ? all - first : time;
    size_t learned = 0;
    for (size_t t = 0; t < time; t++) {
        const bool has_label = t + 1 < count && first + t + 1 >= prompt->prompt;
        outputs[CSE_INPUT_IDS_STREAM][t] =
            t < count ? token_at(prompt, completion, first + t) : rows->filling;
        outputs[CSE_MASK_STREAM][t] = t < count;
        outputs[CSE_LABELS_STREAM][t] =
            has_label ? token_at(prompt, completion, first + t + 1) : CSE_IGNORED_LABEL;
        learned += has_label;
    }
    if (learned > 0)
        return CSE_OK;
    rows->fault = CSE_PREFERENCE_LONG;
    return cse_fail(CSE_DATA,
                    "no token of a completion is left within max_sequence_length, which is %zu, "
                    "behind a prompt of %zu",
                    time, prompt->prompt);
}
