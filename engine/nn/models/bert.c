/* bert: an encoder that learns to fill in masked tokens and to tell whether one sentence follows
 * the other (Devlin et al. 2019); without the latter it is RoBERTa's (Liu et al. 2019). */
#include "engine/nn/models/bert_pretraining.h"

static const cse_setting settings[] = {
    CSE_BERT_SETTINGS("50257", "512", "null", "null", "false"),
    CSE_BERT_PRETRAINING_SETTINGS,
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    CSE_TRY(cse_refuse_unsupported(settings, s));
    return cse_bert_pretraining_build(model, s, -1);
}

const cse_model_descriptor cse_model_bert = {
    .name = "bert",
    .summary = "encoder of text that learns to fill in tokens, of the BERT kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_bert_pretraining),
    .build = build,
    .forward = cse_bert_pretraining_forward,
    .loss = cse_bert_pretraining_loss,
};
