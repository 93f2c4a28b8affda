/* The factors beside a linear layer. */
#include <math.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/adapters/adapter.h"
#include "engine/nn/handles.h"

/* A of a layer, or the one that its module has already. */
static cse_state *declare_a(cse_model *model, cse_adapter *adapter, const char *layer,
                            cse_shape shape)
{
    bool is_part = false;
    const cse_adapted_layer names = cse_adapter_layer(adapter, layer, &is_part);
    const double bound = 1 / sqrt((double)shape.dims[1]);
    for (int i = 0; i < adapter->shared_count && is_part; i++)
        if (strcmp(adapter->shared[i].theirs, names.theirs) == 0)
            return adapter->shared[i].a;
    cse_state *a = cse_model_adapter_parameter(
        model, cse_adapter_factor_name(adapter->arena, adapter->given, layer, CSE_FACTOR_A), shape,
        (cse_initializer){ CSE_INIT_UNIFORM, -bound, bound }, adapter->given->is_active);
    if (!is_part)
        return a;
    CSE_GROW(adapter->shared, adapter->shared_count, adapter->shared_capacity);
    adapter->shared[adapter->shared_count++] = (cse_shared_factor){ names.theirs, a };
    return a;
}

static cse_low_rank *declare_one(cse_model *model, cse_adapter *adapter, const char *layer,
                                 int64_t in, int64_t out)
{
    bool is_part = false;
    const cse_adapter_settings *given = adapter->given;
    const cse_adapted_layer names = cse_adapter_layer(adapter, layer, &is_part);
    const int64_t rank = cse_adapter_rank(given, names);
    cse_low_rank *factors = cse_arena_alloc(adapter->arena, sizeof *factors);
    *factors = (cse_low_rank){ .model = model,
                               .scale = cse_adapter_scale(given, names),
                               .dropout = cse_settings_number(given->settings, "lora_dropout") };
    factors->a = declare_a(model, adapter, layer, cse_shape_of(rank, in));
    factors->b = cse_model_adapter_parameter(
        model, cse_adapter_factor_name(adapter->arena, given, layer, CSE_FACTOR_B),
        cse_shape_of(out, rank), (cse_initializer){ CSE_INIT_CONSTANT, 0, 0 }, given->is_active);
    const double ratio = cse_settings_number(given->settings, "loraplus_lr_ratio");
    if (ratio != 1)
        cse_parameter_rate(factors->b, ratio);
    if (given->use_dora)
        factors->magnitude = cse_magnitude_declare(model, adapter, layer, out);
    return factors;
}

const cse_low_rank *cse_adapter_declare(cse_model *model, const char *layer, int64_t in,
                                        int64_t out)
{
    const cse_low_rank *first = NULL;
    const cse_low_rank **last = &first;
    for (cse_adapter *adapter = model->adapter; adapter != NULL; adapter = adapter->next) {
        if (!cse_adapter_meets(adapter, layer))
            continue;
        cse_low_rank *factors = declare_one(model, adapter, layer, in, out);
        if (!adapter->given->is_active)
            continue;
        *last = factors;
        last = &factors->next;
    }
    return first;
}

bool cse_low_rank_is_on(const cse_low_rank *factors)
{
    return factors != NULL && !factors->model->adapter->off;
}

static cse_tensor *apply_one(const cse_low_rank *factors, cse_tensor *x)
{
    cse_tensor *low = NULL;
    if (factors->dropout > 0 && cse_is_training(factors->model))
        x = cse_dropout(x, factors->dropout, "input");
    cse_tensor *a = cse_read(factors->a);
    low = cse_linear(x, a, NULL);
    cse_tensor *b = cse_read(factors->b);
    return cse_scale(cse_linear(low, b, NULL), factors->scale);
}

cse_tensor *cse_low_rank_apply(const cse_low_rank *factors, cse_tensor *x)
{
    cse_tensor *sum = NULL;
    CSE_SCOPE(NULL, "lora")
    {
        sum = apply_one(factors, x);
    }
    for (factors = factors->next; factors != NULL; factors = factors->next) {
        cse_tensor *low = NULL;
        CSE_SCOPE(NULL, "lora")
        {
            low = apply_one(factors, x);
        }
        sum = cse_add(sum, low);
    }
    return sum;
}

/* ---- the model without them ---- */

/* The first active adapter that trains parameters of the model itself; NULL: none does. */
static const cse_adapter *that_changes_the_model(const cse_adapter *adapter)
{
    while (adapter != NULL &&
           (!adapter->given->is_active ||
            (adapter->given->also_trained == NULL &&
             strcmp(cse_settings_text(adapter->given->settings, "bias"), "none") == 0)))
        adapter = adapter->next;
    return adapter;
}

void cse_adapters_off(cse_model *model)
{
    cse_adapter *adapter = model != NULL ? model->adapter : NULL;
    const cse_adapter *changes = that_changes_the_model(adapter);
    if (adapter == NULL) {
        cse_trace_fail(CSE_USAGE, "a trace without adapters: the model has none");
        return;
    }
    if (adapter->off)
        cse_trace_fail(CSE_USAGE, "a trace without adapters: they are off already");
    else if (changes != NULL)
        cse_trace_fail(CSE_USAGE,
                       "a trace without adapters: adapter %s trains parameters of the model itself "
                       "(modules_to_save, bias), whose earlier values are not kept",
                       changes->given->name);
    adapter->off = true;
}

void cse_adapters_on(cse_model *model)
{
    if (model != NULL && model->adapter != NULL)
        model->adapter->off = false;
}
