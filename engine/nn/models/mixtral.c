/* mixtral: the network of gpt2 under the ModelZoo's name for Mixtral (Jiang et al. 2024), whose
 * configurations say all in which it differs, the experts among it. */
#include "engine/nn/models/decoder.h"

static const cse_setting settings[] = {
    CSE_DECODER_SETTINGS("learned", "layernorm", "gelu", "true", "true", "0.1"),
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    CSE_TRY(cse_refuse_unsupported(settings, s));
    return cse_decoder_build(model, s);
}

const cse_model_descriptor cse_model_mixtral = {
    .name = "mixtral",
    .summary = "causal language model of the Mixtral kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_decoder),
    .build = build,
    .forward = cse_decoder_forward,
    .loss = cse_decoder_loss,
};
