/* The factors beside a linear layer. */
#include <math.h>

#include "csengine/generated/ops.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/handles.h"

const cse_low_rank *cse_adapter_declare(cse_model *model, const char *layer, int64_t in,
                                        int64_t out)
{
    cse_adapter *adapter = model->adapter;
    const double bound = 1 / sqrt((double)in);
    if (adapter == NULL)
        return NULL;
    if (!cse_adapter_meets(adapter, layer))
        return NULL;
    cse_low_rank *factors = cse_arena_alloc(adapter->arena, sizeof *factors);
    *factors =
        (cse_low_rank){ .model = model,
                        .scale = adapter->given->scale,
                        .dropout = cse_settings_number(adapter->given->settings, "lora_dropout") };
    factors->a =
        cse_model_adapter_parameter(model, cse_model_text(model, "%s.lora_A.weight", layer),
                                    cse_shape_of(adapter->given->rank, in),
                                    (cse_initializer){ CSE_INIT_UNIFORM, -bound, bound });
    factors->b = cse_model_adapter_parameter(
        model, cse_model_text(model, "%s.lora_B.weight", layer),
        cse_shape_of(out, adapter->given->rank), (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 });
    const double ratio = cse_settings_number(adapter->given->settings, "loraplus_lr_ratio");
    if (ratio != 1)
        cse_parameter_rate(factors->b, ratio);
    return factors;
}

cse_tensor *cse_low_rank_apply(const cse_low_rank *factors, cse_tensor *x)
{
    cse_tensor *low = NULL;
    CSE_SCOPE(NULL, "lora")
    {
        if (factors->dropout > 0 && cse_is_training(factors->model))
            x = cse_dropout(x, factors->dropout, "input");
        cse_tensor *a = cse_read(factors->a);
        low = cse_linear(x, a, NULL);
        cse_tensor *b = cse_read(factors->b);
        low = cse_scale(cse_linear(low, b, NULL), factors->scale);
    }
    return low;
}
