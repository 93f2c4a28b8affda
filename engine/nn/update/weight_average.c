/* The number of updates is a state, too, by which the first one copies. */
#include "engine/nn/update/weight_average.h"

#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/formats/checkpoint/checkpoint.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/update/grad_scaler.h"
#include "engine/nn/update/gradients.h"

/* Until the first update an average is the weight that training begins with. */
static void fill(cse_network *network, cse_state *state)
{
    float *values = cse_state_own_values(state);
    memcpy(values, cse_state_values(network, state->average_of), cse_state_bytes(state));
}

static const cse_state_rule average_rule = { .fill = fill };

static cse_status add_average(const cse_network *network, cse_state *parameter)
{
    cse_state *average =
        cse_network_state(&(cse_state_options){ .shape = parameter->shape, .dtype = CSE_FLOAT32 },
                          CSE_AVERAGE_PREFIX "%s", cse_short_name(parameter->name));
    if (average == NULL)
        return network->error;
    average->rule = &average_rule;
    average->average_of = parameter;
    average->of_averages = true;
    parameter->average = average;
    return CSE_OK;
}

cse_status cse_average_weights(cse_optimizer *optimizer, double decay)
{
    cse_network *network = cse_network_open_view("cse_average_weights");
    optimizer->average_decay = decay;
    for (int i = 0; i < optimizer->count; i++)
        CSE_TRY(add_average(network, optimizer->optimized[i].parameter));
    optimizer->averaged =
        cse_network_state(&(cse_state_options){ .shape = cse_scalar_shape, .dtype = CSE_INT32 },
                          CSE_AVERAGE_PREFIX "n_averaged");
    if (optimizer->averaged == NULL)
        return network->error;
    optimizer->averaged->of_averages = true;
    return CSE_OK;
}

void cse_average_weight(const cse_optimizer *optimizer, const cse_state *parameter,
                        cse_tensor *next, cse_tensor *finite)
{
    if (parameter->average == NULL || cse_trace_is_poison(next))
        return;
    cse_tensor *is_first = cse_equal(cse_read(optimizer->averaged), cse_constant_int(0));
    cse_tensor *before = cse_read(parameter->average);
    cse_tensor *moved =
        cse_add(before, cse_scale(cse_sub(next, before), 1 - optimizer->average_decay));
    cse_assign_if(finite, parameter->average, cse_where(is_first, next, moved));
}

void cse_average_count(const cse_optimizer *optimizer, cse_tensor *finite)
{
    if (optimizer->averaged != NULL)
        cse_assign_if(finite, optimizer->averaged,
                      cse_add(cse_read(optimizer->averaged), cse_constant_int(1)));
}

void cse_network_settle_averages(cse_network *network)
{
    for (int i = 0; i < network->state_count; i++)
        if (network->states[i]->average_of != NULL)
            cse_state_values(network, network->states[i]);
}
