/* What a causal language model says of a text: how likely it is, and what would follow it. */
#ifndef CSE_RUN_INFER_TEXT_PREDICTION_H
#define CSE_RUN_INFER_TEXT_PREDICTION_H

#include "csengine/train.h"
#include "run/infer/text_codec.h"

typedef struct cse_text_predictor cse_text_predictor;

/* Passes are compiled when a text needs them. Model and codec stay the caller's. */
cse_text_predictor *cse_text_predictor_new(cse_model *model, cse_text_codec *codec);
void cse_text_predictor_destroy(cse_text_predictor **predictor);

typedef struct cse_text_prediction {
    int64_t tokens;        /* of the text */
    double log_likelihood; /* natural, of all tokens but the first */
    const float *logits;   /* [vocabulary] of the token after the last, until the next call */
    int64_t vocabulary;
} cse_text_prediction;

/* Of a text that is longer than the model's sequences the last tokens decide what follows. Fails
 * with CSE_DATA for a text without tokens, and with CSE_SHAPE or CSE_USAGE where the model is no
 * causal language model. */
cse_status cse_text_predict(cse_text_predictor *predictor, const char *text, size_t bytes,
                            cse_text_prediction *prediction);

#endif
