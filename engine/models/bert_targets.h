/* The pre-training losses of bert, by which its tests call it without a step's inputs. */
#ifndef CSE_MODELS_BERT_TARGETS_H
#define CSE_MODELS_BERT_TARGETS_H

#include "engine/models/bert_encoder.h"

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

#endif
