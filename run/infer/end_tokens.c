/* Looked up in the order of the header. */
#include "run/infer/end_tokens.h"

#include <jansson.h>

#include "engine/base/error.h"
#include "engine/formats/weights/open.h"
#include "run/infer/pair_decoder.h"

/* Ends of a turn in ChatML, Llama 3, Phi, Gemma, and of a text in GPT-2, Llama and their kin. */
static const char *const turn_ends[] = { "<|im_end|>",
                                         "<|eot_id|>",
                                         "<|eom_id|>",
                                         "<|end|>",
                                         "<end_of_turn>",
                                         "<|eot|>",
                                         "<|endoftext|>",
                                         "<|end_of_text|>",
                                         "</s>",
                                         "<|return|>",
                                         "<|END_OF_TURN_TOKEN|>",
                                         NULL };

static void add(cse_end_tokens *ends, int64_t token)
{
    for (int64_t i = 0; i < ends->count; i++)
        if (ends->tokens[i] == token)
            return;
    if (token >= 0 && token <= INT32_MAX && ends->count < CSE_MOST_END_TOKENS)
        ends->tokens[ends->count++] = (int32_t)token;
}

static cse_status add_said(const char *path, const json_t *said, cse_end_tokens *ends)
{
    for (size_t i = 0; json_is_array(said) && i < json_array_size(said); i++)
        CSE_TRY(add_said(path, json_array_get(said, i), ends));
    if (json_is_integer(said))
        add(ends, json_integer_value(said));
    return said == NULL || json_is_null(said) || json_is_integer(said) || json_is_array(said)
               ? CSE_OK
               : cse_fail(CSE_DATA,
                          "%s: eos_token_id is neither the number of a token nor a list of such",
                          path);
}

/* As transformers takes it: generation_config.json alone, where it says one. */
static cse_status add_of_weights(const char *path, cse_end_tokens *ends)
{
    cse_weights *weights = NULL;
    if (path == NULL || cse_weights_open_ours(path, NULL, &weights) != CSE_OK)
        return CSE_OK; /* the weights were read already: they hold nothing of this */
    json_t *origin = weights->origin != NULL ? json_loads(weights->origin, 0, NULL) : NULL;
    const json_t *said =
        json_object_get(json_object_get(origin, "generation_config"), "eos_token_id");
    if (said == NULL || json_is_null(said))
        said = json_object_get(json_object_get(origin, "config"), "eos_token_id");
    cse_status status = add_said(path, said, ends);
    json_decref(origin);
    cse_weights_close(&weights);
    return status;
}

cse_status cse_end_tokens_find(const cse_model *model, const cse_text_codec *codec,
                               const char *path, bool of_turns, cse_end_tokens *ends)
{
    ends->count = 0;
    if (cse_model_takes_pairs(model))
        add(ends, cse_pair_end_token(model));
    if (ends->count == 0)
        CSE_TRY(add_of_weights(path, ends));
    if (ends->count == 0)
        add(ends, cse_text_codec_end(codec));
    for (int i = 0; of_turns && turn_ends[i] != NULL; i++)
        add(ends, cse_text_codec_token(codec, turn_ends[i]));
    return CSE_OK;
}
