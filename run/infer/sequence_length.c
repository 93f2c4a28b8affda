/* Reads the limit where the model declares it. */
#include "run/infer/sequence_length.h"

#include <string.h>

#include "engine/config/settings.h"
#include "engine/graph/graph.h"
#include "run/session/handles.h"

enum { LEAST_TOKENS = 16 };

static int64_t declared(const cse_model *model, const char *name)
{
    const cse_setting *setting = model->descriptor->settings;
    while (setting != NULL && setting->name != NULL && strcmp(setting->name, name) != 0)
        setting++;
    return setting != NULL && setting->name != NULL && cse_settings_has(model->settings, name)
               ? cse_settings_integer(model->settings, name)
               : 0;
}

int64_t cse_longest_sequence(const cse_model *model)
{
    return declared(model, "max_position_embeddings");
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
