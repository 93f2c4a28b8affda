/* Limits are those that the model's settings declare. */
#include "run/infer/language_model.h"

#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/handles.h"

enum { LEAST_TOKENS = 16 };

static bool declares(const cse_model *model, const char *name)
{
    const cse_setting *setting = model->descriptor->settings;
    while (setting != NULL && setting->name != NULL && strcmp(setting->name, name) != 0)
        setting++;
    return setting != NULL && setting->name != NULL && cse_settings_has(model->settings, name);
}

static int64_t declared(const cse_model *model, const char *name)
{
    return declares(model, name) ? cse_settings_integer(model->settings, name) : 0;
}

/* Positions that are scaled by the length of a sequence are for sequences that are longer. */
int64_t cse_longest_sequence(const cse_model *model)
{
    const int64_t longest = declared(model, "max_position_embeddings");
    const char *type = declares(model, "pos_scaling_type")
                           ? cse_settings_text(model->settings, "pos_scaling_type")
                           : NULL;
    const double factor = type != NULL && strcmp(type, "dynamic") == 0
                              ? cse_settings_number(model->settings, "pos_scaling_factor")
                              : 1;
    return factor > 1 ? (int64_t)((double)longest * factor) : longest;
}

int64_t cse_model_vocabulary(const cse_model *model)
{
    return declared(model, "vocab_size");
}

int64_t cse_compiled_length(int64_t tokens, int64_t longest)
{
    int64_t size = LEAST_TOKENS;
    while (size < tokens)
        size *= 2;
    return longest > 0 && size > longest ? longest : size;
}

cse_status cse_check_token(int32_t token, int64_t vocabulary)
{
    return token >= 0 && token < vocabulary
               ? CSE_OK
               : cse_fail(CSE_DATA, "token %d is outside of the model's vocabulary, 0 to %lld",
                          (int)token, (long long)vocabulary - 1);
}

cse_tensor *cse_language_logits(cse_model *model, cse_tensor *tokens)
{
    cse_tensor *logits = cse_forward(model, tokens);
    if (cse_trace_is_poison(logits) ||
        (logits->shape.rank == 3 && logits->shape.dims[0] == tokens->shape.dims[0] &&
         logits->shape.dims[1] == tokens->shape.dims[1]))
        return logits;
    return cse_trace_fail(CSE_SHAPE,
                          "model %s does not give logits [batch, time, vocabulary]: it is no "
                          "language model",
                          model->descriptor->name);
}
