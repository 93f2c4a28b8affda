/* The heads of text_encoder: what is predicted from the vectors of tokens, and the losses. */
#ifndef CSE_MODELS_TEXT_HEADS_H
#define CSE_MODELS_TEXT_HEADS_H

#include "engine/nn/models/bert_encoder.h"

#define CSE_TEXT_HEAD_NAMES "base|masked|next_sentence|sequence|tokens|span|choice"

typedef enum cse_text_head {
    CSE_HEAD_BASE,          /* the vectors of tokens, or of texts by `pooling` */
    CSE_HEAD_MASKED,        /* the token at each place */
    CSE_HEAD_NEXT_SENTENCE, /* whether the second sentence follows the first */
    CSE_HEAD_SEQUENCE,      /* num_labels of a text */
    CSE_HEAD_TOKENS,        /* num_labels of each token */
    CSE_HEAD_SPAN,          /* of each token, whether an answer begins or ends there */
    CSE_HEAD_CHOICE,        /* which of several texts */
} cse_text_head;

typedef struct cse_text_encoder {
    cse_bert_encoder encoder;
    cse_text_head head;
    cse_linear_layer transform, output; /* weight NULL: none */
    cse_norm_layer transform_norm;      /* weight NULL: none */
    cse_state *table, *table_bias;      /* of the masked head; NULL: the word embeddings; none */
    const char *transform_activation;
    cse_bert_inputs inputs; /* of the forward pass that is traced */
} cse_text_encoder;

cse_text_head cse_text_head_named(const char *name);
/* Whether the encoder has a pooler, which this head reads or, with base, keeps. */
bool cse_text_head_pools(cse_text_head head, const cse_settings *settings);
void cse_text_head_build(cse_model *model, cse_text_encoder *self, const cse_settings *settings);
/* The predictions for `inputs`, of the shapes [batch, time] or, of several texts in a sample,
 * [batch, texts, time]. */
cse_tensor *cse_text_head_apply(cse_model *model, const cse_text_encoder *self,
                                const cse_bert_inputs *inputs);
/* Of a step, whose predictions these are. */
cse_tensor *cse_text_head_loss(cse_model *model, const cse_text_encoder *self, cse_step *step,
                               cse_tensor *predictions);

#endif
