/* llama: a causal language model (Touvron et al. 2023): rotary positions, RMS norm, gated
 * feed-forward networks, no biases, heads that share keys and values. */
#include "engine/nn/models/decoder.h"

static const cse_setting settings[] = {
    CSE_DECODER_SETTINGS("rotary", "rmsnorm", "swiglu", "false", "false", "0.0"),
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    CSE_TRY(cse_refuse_unsupported(settings, s));
    return cse_decoder_build(model, s);
}

const cse_model_descriptor cse_model_llama = {
    .name = "llama",
    .summary = "causal language model of the Llama kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_decoder),
    .build = build,
    .forward = cse_decoder_forward,
    .loss = cse_decoder_loss,
};
