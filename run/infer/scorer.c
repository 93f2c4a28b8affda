/* The log probability of a token is its negative cross-entropy. */
#include "run/infer/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "engine/graph/trace/trace.h"
#include "run/infer/inference.h"
#include "run/infer/language_model.h"
#include "run/session/session.h"

struct cse_scorer {
    cse_model *model;
    int64_t tokens; /* of a pass: of which the last is no input, and the first no target */
    cse_inference *inference;
    int losses, best; /* outputs */
};

static void trace(cse_inference *inference, void *self)
{
    cse_scorer *scorer = self;
    const cse_shape row = cse_shape_of(scorer->tokens - 1);
    cse_tensor *tokens = cse_inference_input(inference, &(cse_stream){ "tokens", row, CSE_INT32 });
    cse_tensor *targets =
        cse_inference_input(inference, &(cse_stream){ "targets", row, CSE_INT32 });
    cse_tensor *logits = cse_language_logits(scorer->model, tokens);
    if (cse_trace_is_poison(logits))
        return;
    logits = cse_cast(logits, CSE_FLOAT32);
    scorer->losses =
        cse_inference_output(inference, "losses", cse_cross_entropy_per_sample(logits, targets));
    scorer->best = cse_inference_output(inference, "best", cse_argmax(logits, -1));
}

cse_status cse_scorer_new(cse_model *model, int64_t tokens, cse_scorer **result)
{
    cse_scorer *scorer = cse_calloc(1, sizeof *scorer);
    *scorer = (cse_scorer){ .model = model, .tokens = tokens };
    cse_eval_mode(model);
    cse_status status = cse_inference_new(
        &(cse_inference_options){ .batch = 1, .trace = trace, .self = scorer }, &scorer->inference);
    cse_train_mode(model);
    if (status != CSE_OK)
        cse_scorer_destroy(&scorer);
    *result = scorer;
    return status;
}

void cse_scorer_destroy(cse_scorer **scorer)
{
    if (*scorer != NULL)
        cse_inference_destroy(&(*scorer)->inference);
    free(*scorer);
    *scorer = NULL;
}

int64_t cse_scorer_longest(const cse_scorer *scorer)
{
    return scorer->tokens;
}

cse_status cse_scorer_run(cse_scorer *scorer, const int32_t *tokens, int64_t count,
                          cse_token_score *scores)
{
    const int64_t scored = count - 1, places = scorer->tokens - 1;
    if (scored < 1 || scored > places)
        return cse_fail(CSE_USAGE, "scoring: %lld tokens were given; accepted: 2 to %lld",
                        (long long)count, (long long)scorer->tokens);
    int32_t *inputs = cse_inference_input_memory(scorer->inference, 0);
    int32_t *targets = cse_inference_input_memory(scorer->inference, 1);
    memset(inputs, 0, (size_t)places * sizeof *inputs);
    memset(targets, 0, (size_t)places * sizeof *targets);
    memcpy(inputs, tokens, (size_t)scored * sizeof *inputs);
    memcpy(targets, tokens + 1, (size_t)scored * sizeof *targets);
    CSE_TRY(cse_inference_run(scorer->inference));
    const float *losses = cse_inference_output_view(scorer->inference, scorer->losses, NULL, NULL);
    const int32_t *best = cse_inference_output_view(scorer->inference, scorer->best, NULL, NULL);
    for (int64_t i = 0; i < scored; i++)
        scores[i] = (cse_token_score){ -(double)losses[i], best[i] == tokens[i + 1] };
    return CSE_OK;
}
