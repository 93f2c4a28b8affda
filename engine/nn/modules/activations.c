/* Activations by name, those of feed-forward networks with a gate among them, and dropout. */
#include <string.h>

#include "csengine/modules.h"
#include "engine/graph/trace/trace.h"

typedef cse_tensor *activation(cse_tensor *x);

static cse_tensor *leaky_relu(cse_tensor *x)
{
    return cse_leaky_relu(x, 0.01);
}

static cse_tensor *gelu(cse_tensor *x)
{
    return cse_gelu(x, false);
}

static cse_tensor *gelu_by_tanh(cse_tensor *x)
{
    return cse_gelu(x, true);
}

/* x * sigmoid(1.702 x) (Hendrycks, Gimpel 2016). */
static cse_tensor *quick_gelu(cse_tensor *x)
{
    return cse_mul(x, cse_sigmoid(cse_scale(x, 1.702)));
}

static cse_tensor *squared_gelu(cse_tensor *x)
{
    return cse_square(cse_gelu(x, false));
}

static cse_tensor *squared_relu(cse_tensor *x)
{
    return cse_square(cse_relu(x));
}

static cse_tensor *mish(cse_tensor *x)
{
    return cse_mul(x, cse_tanh(cse_softplus(x)));
}

static cse_tensor *identity(cse_tensor *x)
{
    return x;
}

static cse_tensor *relu6(cse_tensor *x)
{
    return cse_clamp(x, 0, 6);
}

typedef struct named {
    const char *name;
    activation *function;
} named;

/* gelu_new and gelu_fast are two ways to write the same function of x. */
static const named plain[] = {
    { "relu", cse_relu },
    { "leaky_relu", leaky_relu },
    { "silu", cse_silu },
    { "swish", cse_silu },
    { "gelu", gelu },
    { "gelu_tanh", gelu_by_tanh },
    { "gelu_new", gelu_by_tanh },
    { "gelu_fast", gelu_by_tanh },
    { "quick_gelu", quick_gelu },
    { "squared_gelu", squared_gelu },
    { "squared_relu", squared_relu },
    { "mish", mish },
    { "linear", identity },
    { "sigmoid", cse_sigmoid },
    { "tanh", cse_tanh },
    { "relu6", relu6 },
    { NULL, NULL },
};

static const named gates[] = {
    { "liglu", identity }, { "geglu", gelu },      { "geglu_tanh", gelu_by_tanh },
    { "reglu", cse_relu }, { "swiglu", cse_silu }, { NULL, NULL },
};

static activation *find(const named *rows, const char *name)
{
    while (rows->name != NULL && strcmp(rows->name, name) != 0)
        rows++;
    return rows->function;
}

cse_tensor *cse_activate(const char *name, cse_tensor *x)
{
    activation *function = find(plain, name);
    return function != NULL ? function(x)
                            : cse_trace_fail(CSE_CONFIG,
                                             "there is no activation '%s' without a "
                                             "gate; accepted: " CSE_ACTIVATION_NAMES,
                                             name);
}

bool cse_activation_is_same(const char *one, const char *other)
{
    return find(plain, one) != NULL && find(plain, one) == find(plain, other);
}

bool cse_activation_is_gated(const char *name)
{
    return find(gates, name) != NULL;
}

cse_tensor *cse_activate_gated(const char *name, cse_tensor *x, cse_tensor *gate)
{
    activation *function = find(gates, name);
    return function != NULL ? cse_mul(function(gate), x)
                            : cse_trace_fail(CSE_CONFIG,
                                             "there is no activation '%s' with a gate; "
                                             "accepted: " CSE_GATED_ACTIVATION_NAMES,
                                             name);
}

cse_tensor *cse_apply_dropout(const cse_model *model, double probability, cse_tensor *x,
                              const char *stream)
{
    return probability > 0 && cse_is_training(model) ? cse_dropout(x, probability, stream) : x;
}
