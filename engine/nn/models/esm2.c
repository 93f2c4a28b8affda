/* esm2: an encoder of protein sequences that learns to fill in masked amino acids (Lin et al. 2023,
 * "Evolutionary-scale prediction of atomic-level protein structure with a language model"): BERT
 * with norms first, rotary positions, and token dropout. */
#include "engine/nn/models/bert_pretraining.h"

static const cse_setting settings[] = {
    CSE_BERT_SETTINGS("50257", "512", "null", "null", "true"),
    CSE_BERT_PRETRAINING_SETTINGS,
    CSE_BERT_ROW("token_dropout", BOOL, "false",
                 "the embeddings of masked tokens are 0, and those of the others are scaled by "
                 "0.88 / the share of tokens that are not masked"),
    CSE_BERT_RANGE("mask_token_id", INTEGER, "null", 0, 1 << 24,
                   "the mask token; needed by token_dropout"),
    { .name = NULL },
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    const bool drops = cse_settings_bool(s, "token_dropout");
    CSE_TRY(cse_refuse_unsupported(settings, s));
    if (drops && !cse_settings_has(s, "mask_token_id"))
        return cse_fail(CSE_CONFIG, "token_dropout (%s) needs mask_token_id",
                        cse_settings_origin(s, "token_dropout"));
    return cse_bert_pretraining_build(
        model, s, drops ? (int32_t)cse_settings_integer(s, "mask_token_id") : -1);
}

const cse_model_descriptor cse_model_esm2 = {
    .name = "esm2",
    .summary = "encoder of protein sequences that learns to fill in amino acids, of the ESM-2 kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_bert_pretraining),
    .build = build,
    .forward = cse_bert_pretraining_forward,
    .loss = cse_bert_pretraining_loss,
};
