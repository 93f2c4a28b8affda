/* Chooses the lengths of the compiled passes, and goes from token to token. */
#include "run/infer/generation.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/language_model.h"
#include "run/infer/pair_decoder.h"

struct cse_generation {
    cse_generation_options options;
    int64_t most_tokens; /* of a prompt and its text */
    cse_token_decoder *decoder;
    cse_pair_decoder *pair; /* of a model with an encoder, in place of `decoder` */
    cse_sampler *sampler;
};

/* The text begins with a token of its own. */
static cse_status open_pair(cse_generation *generation)
{
    const cse_generation_options *options = &generation->options;
    const int64_t source = cse_longest_of_pair(options->model, false);
    const int64_t longest = cse_longest_of_pair(options->model, true);
    int64_t tokens = options->max_new_tokens;
    if (longest > 0 && options->ends_when_full && tokens > longest)
        tokens = longest;
    generation->most_tokens = longest > 0 ? longest : INT64_MAX;
    if (source > 0 && options->longest_prompt > source)
        return cse_fail(CSE_DATA,
                        "the prompt has %lld tokens, but the encoder takes %lld "
                        "(src_max_position_embeddings)",
                        (long long)options->longest_prompt, (long long)source);
    if (longest > 0 && tokens > longest)
        return cse_fail(CSE_DATA,
                        "%lld tokens are asked for, but the decoder writes %lld "
                        "(tgt_max_position_embeddings)",
                        (long long)tokens, (long long)longest);
    return cse_pair_decoder_new(options->model,
                                cse_compiled_length(options->longest_prompt, source),
                                cse_compiled_length(tokens, longest), &generation->pair);
}

static cse_status new_of_pair(const cse_generation_options *options, cse_generation **result)
{
    cse_generation *generation = cse_calloc(1, sizeof *generation);
    generation->options = *options;
    if (cse_pair_end_token(options->model) >= 0)
        generation->options.end_token = cse_pair_end_token(options->model);
    cse_status status = open_pair(generation);
    if (status == CSE_OK)
        generation->sampler =
            cse_sampler_new(&options->sampling, cse_pair_decoder_vocabulary(generation->pair));
    else
        cse_generation_destroy(&generation);
    *result = generation;
    return status;
}

cse_status cse_generation_new(const cse_generation_options *options, cse_generation **result)
{
    if (cse_model_takes_pairs(options->model))
        return new_of_pair(options, result);
    const int64_t longest = cse_longest_sequence(options->model);
    int64_t tokens = options->longest_prompt + options->max_new_tokens;
    if (longest > 0 && options->ends_when_full && tokens > longest)
        tokens = options->longest_prompt < longest ? longest : options->longest_prompt + 1;
    *result = NULL;
    if (longest > 0 && tokens > longest)
        return cse_fail_at(
            &(cse_error){ .status = CSE_DATA,
                          .hint = "give fewer max_new_tokens, or a shorter prompt" },
            "the prompt has %lld tokens and %lld more are asked for, but the model takes %lld "
            "(max_position_embeddings)",
            (long long)options->longest_prompt, (long long)(tokens - options->longest_prompt),
            (long long)longest);
    cse_generation *generation = cse_calloc(1, sizeof *generation);
    generation->options = *options;
    generation->most_tokens = longest > 0 ? longest : INT64_MAX;
    const cse_token_decoder_sizes sizes = {
        .prompt_tokens = cse_compiled_length(options->longest_prompt, longest),
        .max_tokens = cse_compiled_length(tokens, longest),
        .longest = tokens,
    };
    cse_status status = cse_token_decoder_new(options->model, &sizes, &generation->decoder);
    if (status == CSE_OK)
        generation->sampler =
            cse_sampler_new(&options->sampling, cse_token_decoder_vocabulary(generation->decoder));
    else
        cse_generation_destroy(&generation);
    *result = generation;
    return status;
}

void cse_generation_destroy(cse_generation **generation)
{
    cse_generation *old = *generation;
    *generation = NULL;
    if (old == NULL)
        return;
    cse_token_decoder_destroy(&old->decoder);
    cse_pair_decoder_destroy(&old->pair);
    cse_sampler_destroy(&old->sampler);
    free(old);
}

static cse_status begin(cse_generation *generation, const cse_generation_request *request)
{
    return generation->pair != NULL
               ? cse_pair_decoder_begin(generation->pair, request->prompt, request->count)
               : cse_token_decoder_begin(generation->decoder, request->prompt, request->count);
}

static cse_status append(cse_generation *generation, int32_t token)
{
    return generation->pair != NULL ? cse_pair_decoder_append(generation->pair, token)
                                    : cse_token_decoder_append(generation->decoder, token);
}

static const float *logits_of(const cse_generation *generation)
{
    return generation->pair != NULL ? cse_pair_decoder_logits(generation->pair)
                                    : cse_token_decoder_logits(generation->decoder);
}

cse_status cse_generate(cse_generation *generation, const cse_generation_request *request)
{
    const cse_generation_options *options = &generation->options;
    cse_text bytes = { 0 };
    bool goes_on = true;
    int32_t last = -1;
    cse_status status = begin(generation, request);
    const int64_t room = generation->most_tokens - (generation->pair != NULL ? 0 : request->count);
    const int64_t most = options->max_new_tokens < room ? options->max_new_tokens : room;
    for (int64_t i = 0; i < most && goes_on && status == CSE_OK; i++) {
        cse_generated_token next = { .token = last };
        if (i > 0)
            status = append(generation, last);
        if (status != CSE_OK)
            break;
        next.token = last =
            cse_sampler_draw(generation->sampler, logits_of(generation), request->number,
                             request->count + i, &next.probability);
        if (next.token == options->end_token)
            break;
        bytes.size = 0;
        status = cse_text_codec_decode(options->codec, next.token, &bytes);
        next.bytes = bytes.data;
        next.byte_count = bytes.size;
        goes_on = status == CSE_OK && request->listener(request->self, &next);
    }
    cse_text_clear(&bytes);
    return status;
}
