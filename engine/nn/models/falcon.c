/* falcon: a causal language model (Almazrouei et al. 2023), of whose blocks both parts read the
 * same input. */
#include "engine/nn/models/decoder.h"

static const cse_setting settings[] = {
    CSE_PARALLEL_DECODER_SETTINGS,
    CSE_DECODER_SETTINGS("rotary", "layernorm", "gelu", "true", "true", "0.1"),
};

static cse_status build(cse_model *model, const cse_settings *s)
{
    CSE_TRY(cse_refuse_unsupported(settings, s));
    return cse_parallel_decoder_build(model, s);
}

const cse_model_descriptor cse_model_falcon = {
    .name = "falcon",
    .summary = "causal language model of the Falcon kind",
    .settings = settings,
    .abi = CSE_MODEL_ABI,
    .self_bytes = sizeof(cse_decoder),
    .build = build,
    .forward = cse_decoder_forward,
    .loss = cse_decoder_loss,
};
