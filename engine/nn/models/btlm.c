/* btlm: the network of gpt2 under the ModelZoo's name for BTLM (Dey et al. 2023), whose
 * configurations say all in which it differs. */
#include "engine/nn/models/decoder.h"

static const cse_setting settings[] = {
    CSE_DECODER_SETTINGS("learned", "layernorm", "gelu", "true", "true", "0.1"),
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    CSE_TRY(cse_refuse_unsupported(settings, s));
    return cse_decoder_build(model, s);
}

const cse_model_descriptor cse_model_btlm = {
    .name = "btlm",
    .summary = "causal language model of the BTLM kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_decoder),
    .build = build,
    .forward = cse_decoder_forward,
    .loss = cse_decoder_loss,
};
