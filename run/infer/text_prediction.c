/* The tokens' likelihoods come from scorers, the next token from the pass over a prompt. */
#include "run/infer/text_prediction.h"

#include <stdlib.h>

#include "engine/base/arena.h"
#include "run/infer/language_model.h"
#include "run/infer/likelihood.h"
#include "run/infer/token_decoder.h"

struct cse_text_predictor {
    cse_model *model;
    cse_text_codec *codec;
    cse_likelihoods *likelihoods;
    cse_token_decoder *decoder;
    int64_t prompt_tokens; /* that the decoder takes */
};

cse_text_predictor *cse_text_predictor_new(cse_model *model, cse_text_codec *codec)
{
    cse_text_predictor *predictor = cse_calloc(1, sizeof *predictor);
    predictor->model = model;
    predictor->codec = codec;
    predictor->likelihoods = cse_likelihoods_new(model);
    return predictor;
}

void cse_text_predictor_destroy(cse_text_predictor **predictor)
{
    cse_text_predictor *old = *predictor;
    *predictor = NULL;
    if (old == NULL)
        return;
    cse_likelihoods_destroy(&old->likelihoods);
    cse_token_decoder_destroy(&old->decoder);
    free(old);
}

static cse_status read_prompt(cse_text_predictor *p, const int32_t *tokens, int64_t count)
{
    const int64_t longest = cse_likelihoods_longest(p->likelihoods);
    const int64_t left_out = count > longest ? count - longest : 0;
    const int64_t length = cse_compiled_length(count - left_out, longest);
    if (p->decoder == NULL || length > p->prompt_tokens) {
        cse_token_decoder_destroy(&p->decoder);
        const cse_token_decoder_sizes sizes = { .prompt_tokens = length,
                                                .max_tokens = length,
                                                .longest = length };
        CSE_TRY(cse_token_decoder_new(p->model, &sizes, &p->decoder));
        p->prompt_tokens = length;
    }
    return cse_token_decoder_begin(p->decoder, tokens + left_out, count - left_out);
}

cse_status cse_text_predict(cse_text_predictor *p, const char *text, size_t bytes,
                            cse_text_prediction *prediction)
{
    int32_t *tokens = NULL;
    *prediction = (cse_text_prediction){ .tokens = 0 };
    cse_status status = cse_text_codec_encode(p->codec, text, bytes, &tokens, &prediction->tokens);
    if (status == CSE_OK && prediction->tokens == 0)
        status = cse_fail(CSE_DATA, "the text is empty; accepted are texts of at least one token");
    if (status == CSE_OK)
        status = read_prompt(p, tokens, prediction->tokens);
    if (status == CSE_OK)
        status = cse_log_likelihood_of_all(p->likelihoods, tokens, prediction->tokens,
                                           &prediction->log_likelihood);
    if (status == CSE_OK) {
        prediction->logits = cse_token_decoder_logits(p->decoder);
        prediction->vocabulary = cse_token_decoder_vocabulary(p->decoder);
    }
    free(tokens);
    return status;
}
