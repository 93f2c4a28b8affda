/* What bert and esm2 share: an encoder with the heads and losses of pre-training. */
#ifndef CSE_MODELS_BERT_PRETRAINING_H
#define CSE_MODELS_BERT_PRETRAINING_H

#include "engine/nn/models/bert_encoder.h"

typedef struct cse_bert_pretraining {
    cse_bert_encoder encoder;
    cse_linear_layer transform, sentence; /* sentence.weight NULL: not learned */
    cse_norm_layer transform_norm;
    cse_state *output, *output_bias; /* NULL: the word embeddings; NULL: none */
} cse_bert_pretraining;

/* A model's `build`, `forward` and `loss`, whose own data is a cse_bert_pretraining.
 * `dropped_token`: as in cse_bert_options. */
cse_status cse_bert_pretraining_build(cse_model *model, const cse_settings *settings,
                                      int32_t dropped_token);
cse_tensor *cse_bert_pretraining_forward(cse_model *model, cse_tensor *input);
cse_tensor *cse_bert_pretraining_loss(cse_model *model, cse_step *step, cse_tensor **predictions);

/* ---- the losses, as tests call them without a step's inputs ---- */

typedef struct cse_bert_targets {
    cse_tensor *labels;        /* int32 [batch, count], tokens; below 0: none */
    cse_tensor *positions;     /* of these in the sample, int32 [batch, count]; NULL: all */
    cse_tensor *mask;          /* [batch, count], 1 where a label counts; NULL: all */
    cse_tensor *scale;         /* mlm_loss_scale, in place of mlm_loss_weight; NULL: none */
    cse_tensor *next_sentence; /* int32 [batch] */
} cse_bert_targets;

/* The sum of the losses over the batch; `predictions` receives the logits of the tokens. */
cse_tensor *cse_bert_losses(cse_model *model, const cse_bert_inputs *inputs,
                            const cse_bert_targets *targets, cse_tensor **predictions);

/* ---- settings ---- */

/* Besides the encoder's. */
#define CSE_BERT_PRETRAINING_SETTINGS                                                  \
    CSE_BERT_RANGE("pad_token_id", INTEGER, "0", 0, 1 << 24,                           \
                   "padding, whose embedding is not trained"),                         \
        CSE_ALIAS_SETTING("embedding_pad_token_id", "pad_token_id"),                   \
        CSE_BERT_ROW("share_embedding_weights", BOOL, "true",                          \
                     "the word embeddings are also the weight of the logits"),         \
        CSE_BERT_CHOICE("mlm_nonlinearity", "null", CSE_ACTIVATION_NAMES,              \
                        "before the logits of tokens; null: encoder_nonlinearity"),    \
        CSE_BERT_ROW("use_ffn_bias_in_mlm", BOOL, "true",                              \
                     "bias of the layer before these logits"),                         \
        CSE_BERT_ROW("use_output_bias_in_mlm", BOOL, "true", "bias of these logits"),  \
        CSE_BERT_ROW("mlm_loss_weight", NUMBER, "1", "factor of the loss of tokens"),  \
        CSE_BERT_CHOICE("mlm_loss_scaling", "batch_size", "batch_size|num_masked",     \
                        "the sum of the losses of tokens is divided by the number of " \
                        "samples, or by that of labels, as transformers does"),        \
        CSE_BERT_RANGE("label_smoothing", NUMBER, "0", 0, 1,                           \
                       "of the loss of tokens, while training"),                       \
        CSE_BERT_ROW("disable_nsp", BOOL, "false", "without the loss of sentences"),   \
        CSE_BERT_RANGE("num_classes", INTEGER, "2", 2, 2, "of the loss of sentences"), \
        CSE_UNSUPPORTED_SETTING("add_pooling_layer", "true", "disable_nsp sets it")

#endif
