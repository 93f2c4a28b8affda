/* ComputeNorm: the norms of parameters and gradients, of the whole model and of each layer.
 *
 * model_wise_params_norm      of the weights that the step began with
 * model_wise_grad_norm        of the gradients, unscaled and before clipping
 * per_layer_grad_norm/layer_i of the gradients of layer i
 * Layers are numbered in the order of the model; a layer is what stands before the first number of
 * a parameter's name, and that number ("layers.3.attention.weight" is of layers.3), or the module
 * of a parameter without one. Norms are 2-norms, computed once a step in float32. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/arena.h"
#include "run/job/callbacks.h"

typedef struct compute_norm {
    bool parameters, gradients, layers;
} compute_norm;

static cse_status setup(const cse_settings *settings, cse_callback_host *host, void **self)
{
    (void)host;
    compute_norm *c = cse_calloc(1, sizeof *c);
    *c = (compute_norm){ .parameters = cse_settings_bool(settings, "params_norm"),
                         .gradients = cse_settings_bool(settings, "grad_norm"),
                         .layers = cse_settings_bool(settings, "per_layer_grad_norm") };
    *self = c;
    return CSE_OK;
}

/* The sum of the squares of all elements, in float32. */
static cse_tensor *squares(cse_tensor *x)
{
    return cse_sum_all(cse_square(cse_cast(x, CSE_FLOAT32)));
}

static cse_tensor *plus(cse_tensor *sum, cse_tensor *term)
{
    return sum == NULL ? term : cse_add(sum, term);
}

/* The length of the name of the layer that a parameter belongs to. */
static size_t layer_length(const char *name)
{
    for (const char *word = name; word != NULL; word = strchr(word, '.')) {
        word += *word == '.';
        size_t digits = strspn(word, "0123456789");
        if (digits > 0 && (word[digits] == '.' || word[digits] == '\0'))
            return (size_t)(word - name) + digits;
    }
    const char *last = strrchr(name, '.');
    return last != NULL ? (size_t)(last - name) : strlen(name);
}

static bool same_layer(const char *a, const char *b)
{
    const size_t length = layer_length(a);
    return length == layer_length(b) && strncmp(a, b, length) == 0;
}

/* Parameters of a layer need not follow each other. */
static void trace_layers(const cse_callback_trace *t, cse_tensor *const *each)
{
    int layer = 0;
    for (int i = 0; i < t->count; i++) {
        char name[64];
        const char *first = cse_state_name_view(t->states[i]);
        bool begins = true;
        for (int k = 0; k < i && begins; k++)
            begins = !same_layer(first, cse_state_name_view(t->states[k]));
        if (!begins)
            continue;
        cse_tensor *sum = each[i];
        for (int k = i + 1; k < t->count; k++)
            if (same_layer(first, cse_state_name_view(t->states[k])))
                sum = cse_add(sum, each[k]);
        snprintf(name, sizeof name, "per_layer_grad_norm/layer_%d", layer++);
        cse_callback_fetch(t, name, cse_sqrt(sum));
    }
}

static void trace(void *self, const cse_callback_trace *t)
{
    const compute_norm *c = self;
    cse_tensor **each = cse_calloc((size_t)t->count + 1, sizeof *each), *sum = NULL;
    for (int i = 0; i < t->count && c->parameters; i++)
        sum = plus(sum, squares(t->values[i]));
    if (sum != NULL)
        cse_callback_fetch(t, "model_wise_params_norm", cse_sqrt(sum));
    sum = NULL;
    for (int i = 0; i < t->count && (c->gradients || c->layers); i++) {
        each[i] = squares(t->gradients[i]);
        sum = plus(sum, each[i]);
    }
    if (c->gradients && sum != NULL)
        cse_callback_fetch(t, "model_wise_grad_norm", cse_sqrt(sum));
    if (c->layers)
        trace_layers(t, each);
    free(each);
}

static const cse_setting settings[] = {
    { .name = "params_norm",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "model_wise_params_norm" },
    { .name = "grad_norm",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "model_wise_grad_norm" },
    { .name = "per_layer_grad_norm",
      .type = CSE_SETTING_BOOL,
      .default_value = "true",
      .doc = "per_layer_grad_norm/layer_0, ..." },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_compute_norm = {
    .name = "ComputeNorm",
    .summary = "records the norms of parameters and gradients, of the model and of each layer",
    .settings = settings,
    .setup = setup,
    .finalize = free,
    .trace = trace,
};
