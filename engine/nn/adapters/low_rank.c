/* The factors beside a linear layer. */
#include <math.h>
#include <string.h>

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

bool cse_low_rank_is_on(const cse_low_rank *factors)
{
    return factors != NULL && !factors->model->adapter->off;
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

/* ---- the model without them ---- */

void cse_adapters_off(cse_model *model)
{
    cse_adapter *adapter = model != NULL ? model->adapter : NULL;
    if (adapter == NULL) {
        cse_trace_fail(CSE_USAGE, "a trace without adapters: the model has none");
        return;
    }
    if (adapter->off)
        cse_trace_fail(CSE_USAGE, "a trace without adapters: they are off already");
    else if (adapter->given->also_trained != NULL ||
             strcmp(cse_settings_text(adapter->given->settings, "bias"), "none") != 0)
        cse_trace_fail(CSE_USAGE,
                       "a trace without adapters: adapter %s trains parameters of the model itself "
                       "(modules_to_save, bias), whose earlier values are not kept",
                       adapter->given->name);
    adapter->off = true;
}

void cse_adapters_on(cse_model *model)
{
    if (model != NULL && model->adapter != NULL)
        model->adapter->off = false;
}
