/* Chooses the lengths of the compiled passes. */
#include "run/infer/text_decoder.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "engine/base/error.h"
#include "run/infer/language_model.h"
#include "run/infer/pair_decoder.h"
#include "run/infer/token_decoder.h"

struct cse_text_decoder {
    int64_t most_tokens; /* of a prompt and its text, or of a text that begins anew */
    int32_t start;
    cse_token_decoder *one;
    cse_pair_decoder *pair; /* of a model with an encoder, in place of `one` */
};

/* The text begins with a token of its own. */
static cse_status open_pair(const cse_text_decoder_options *options, cse_text_decoder *decoder)
{
    const int64_t source = cse_longest_of_pair(options->model, false);
    const int64_t longest = cse_longest_of_pair(options->model, true);
    int64_t tokens = options->max_new_tokens;
    if (longest > 0 && options->ends_when_full && tokens > longest)
        tokens = longest;
    decoder->start = cse_pair_start_token(options->model);
    decoder->most_tokens = longest > 0 ? longest : INT64_MAX;
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
                                cse_compiled_length(tokens, longest), &decoder->pair);
}

/* For texts that come and go. */
static cse_status open_any(const cse_text_decoder_options *options, cse_text_decoder *decoder)
{
    enum { USUAL_PROMPT = 64 };
    const int64_t context = options->context, longest = cse_longest_sequence(options->model);
    const cse_token_decoder_sizes sizes = {
        .prompt_tokens = cse_compiled_length(USUAL_PROMPT, context),
        .most_prompt_tokens = context,
        .max_tokens = cse_compiled_length(context, longest),
        .longest = context,
        .sequences = options->sequences,
        .pool_tokens = options->pool_tokens,
    };
    decoder->start = -1;
    decoder->most_tokens = context;
    return cse_token_decoder_new(options->model, &sizes, &decoder->one);
}

static cse_status open_one(const cse_text_decoder_options *options, cse_text_decoder *decoder)
{
    const int64_t longest = cse_longest_sequence(options->model);
    int64_t tokens = options->longest_prompt + options->max_new_tokens;
    if (options->context > 0)
        return open_any(options, decoder);
    if (longest > 0 && options->ends_when_full && tokens > longest)
        tokens = options->longest_prompt < longest ? longest : options->longest_prompt + 1;
    if (longest > 0 && tokens > longest)
        return cse_fail_at(
            &(cse_error){ .status = CSE_DATA,
                          .hint = "give fewer max_new_tokens, or a shorter prompt" },
            "the prompt has %lld tokens and %lld more are asked for, but the model takes %lld "
            "(max_position_embeddings)",
            (long long)options->longest_prompt, (long long)(tokens - options->longest_prompt),
            (long long)longest);
    decoder->start = -1;
    decoder->most_tokens = longest > 0 ? longest : INT64_MAX;
    const cse_token_decoder_sizes sizes = {
        .prompt_tokens = cse_compiled_length(options->longest_prompt, longest),
        .max_tokens = cse_compiled_length(tokens, longest),
        .longest = tokens,
        .sequences = options->sequences,
    };
    return cse_token_decoder_new(options->model, &sizes, &decoder->one);
}

cse_status cse_text_decoder_new(const cse_text_decoder_options *options, cse_text_decoder **result)
{
    cse_text_decoder *decoder = cse_calloc(1, sizeof *decoder);
    cse_status status = cse_model_takes_pairs(options->model) ? open_pair(options, decoder)
                                                              : open_one(options, decoder);
    if (status != CSE_OK)
        cse_text_decoder_destroy(&decoder);
    *result = decoder;
    return status;
}

void cse_text_decoder_destroy(cse_text_decoder **decoder)
{
    cse_text_decoder *old = *decoder;
    *decoder = NULL;
    if (old == NULL)
        return;
    cse_token_decoder_destroy(&old->one);
    cse_pair_decoder_destroy(&old->pair);
    free(old);
}

int64_t cse_text_decoder_vocabulary(const cse_text_decoder *decoder)
{
    return decoder->pair != NULL ? cse_pair_decoder_vocabulary(decoder->pair)
                                 : cse_token_decoder_vocabulary(decoder->one);
}

int64_t cse_text_decoder_room(const cse_text_decoder *decoder, int64_t prompt_tokens)
{
    return decoder->most_tokens - (decoder->pair != NULL ? 0 : prompt_tokens);
}

int32_t cse_text_decoder_start(const cse_text_decoder *decoder)
{
    return decoder->start;
}

cse_status cse_text_decoder_begin(cse_text_decoder *decoder, const int32_t *prompt, int64_t count)
{
    return decoder->pair != NULL ? cse_pair_decoder_begin(decoder->pair, prompt, count)
                                 : cse_token_decoder_begin(decoder->one, prompt, count);
}

cse_status cse_text_decoder_append(cse_text_decoder *decoder, int32_t token)
{
    return decoder->pair != NULL ? cse_pair_decoder_append(decoder->pair, token)
                                 : cse_token_decoder_append(decoder->one, token);
}

const float *cse_text_decoder_logits(const cse_text_decoder *decoder)
{
    return decoder->pair != NULL ? cse_pair_decoder_logits(decoder->pair)
                                 : cse_token_decoder_logits(decoder->one);
}

int64_t cse_text_decoder_sequences(const cse_text_decoder *decoder)
{
    return decoder->pair != NULL ? 1 : cse_token_decoder_sequences(decoder->one);
}

cse_status cse_text_decoder_begin_at(cse_text_decoder *decoder, int64_t sequence,
                                     const int32_t *prompt, int64_t count)
{
    return decoder->pair != NULL
               ? cse_pair_decoder_begin(decoder->pair, prompt, count)
               : cse_token_decoder_begin_at(decoder->one, sequence, prompt, count);
}

cse_status cse_text_decoder_append_each(cse_text_decoder *decoder, const int32_t tokens[])
{
    return decoder->pair != NULL ? cse_pair_decoder_append(decoder->pair, tokens[0])
                                 : cse_token_decoder_append_each(decoder->one, tokens);
}

bool cse_text_decoder_take(cse_text_decoder *decoder, int64_t sequence, int64_t tokens)
{
    return decoder->pair != NULL || cse_token_decoder_take(decoder->one, sequence, tokens);
}

void cse_text_decoder_leave(cse_text_decoder *decoder, int64_t sequence)
{
    if (decoder->one != NULL)
        cse_token_decoder_leave(decoder->one, sequence);
}

void cse_text_decoder_copy(cse_text_decoder *decoder, int64_t from, int64_t to)
{
    if (decoder->one != NULL)
        cse_token_decoder_copy(decoder->one, from, to);
}

const float *cse_text_decoder_logits_of(const cse_text_decoder *decoder, int64_t sequence)
{
    return decoder->pair != NULL ? cse_pair_decoder_logits(decoder->pair)
                                 : cse_token_decoder_logits_of(decoder->one, sequence);
}

int64_t cse_text_decoder_count(const cse_text_decoder *decoder)
{
    return decoder->pair != NULL ? cse_pair_decoder_count(decoder->pair)
                                 : cse_token_decoder_count(decoder->one);
}

int64_t cse_text_decoder_kept_floats(const cse_text_decoder *decoder)
{
    return decoder->pair != NULL ? cse_pair_decoder_kept_floats(decoder->pair)
                                 : cse_token_decoder_kept_floats(decoder->one);
}

void cse_text_decoder_save(const cse_text_decoder *decoder, float *kept)
{
    if (decoder->pair != NULL)
        cse_pair_decoder_save(decoder->pair, kept);
    else
        cse_token_decoder_save(decoder->one, kept);
}

void cse_text_decoder_restore(cse_text_decoder *decoder, const float *kept, int64_t count)
{
    if (decoder->pair != NULL)
        cse_pair_decoder_restore(decoder->pair, kept, count);
    else
        cse_token_decoder_restore(decoder->one, kept, count);
}

void cse_text_decoder_cut(cse_text_decoder *decoder, int64_t count)
{
    if (decoder->one != NULL)
        cse_token_decoder_cut(decoder->one, count);
}
