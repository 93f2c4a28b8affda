/* Sparsity of updates that a program writes itself.
 *
 * It is held by an optimizer without a rule, so that the choice of parameters, the masks and the
 * clock are the same as with an optimizer of the engine. The program masks what it updates. */
#include "csengine/sparsity.h"

#include "csengine/generated/ops.h"
#include "engine/graph/trace/trace.h"
#include "engine/nn/network.h"
#include "engine/nn/update/sparsity.h"

struct cse_sparsity {
    cse_optimizer optimizer;
};

static const cse_optimizer_descriptor no_rule = {
    .name = "of the program",
};

cse_sparsity *cse_sparsity_new(cse_state *const parameters[], int count, const char *settings)
{
    cse_network *network = cse_network_open_view("cse_sparsity_new");
    if (network == NULL)
        return NULL;
    cse_yaml_node *tree = cse_network_text("cse_sparsity_new", "sparsity", settings);
    if (tree == NULL)
        return NULL;
    cse_sparsity *sparsity = cse_arena_alloc(network->arena, sizeof *sparsity);
    cse_optimizer *optimizer = &sparsity->optimizer;
    *optimizer = (cse_optimizer){ .descriptor = &no_rule };
    for (int i = 0; i < count; i++) {
        if (parameters[i] == NULL) {
            cse_network_fail(cse_fail(CSE_USAGE, "cse_sparsity_new: parameter %d is NULL", i));
            return NULL;
        }
        CSE_GROW(optimizer->optimized, optimizer->count, optimizer->capacity);
        optimizer->optimized[optimizer->count++] = (cse_optimized){ .parameter = parameters[i] };
    }
    CSE_GROW(network->optimizers, network->optimizer_count, network->optimizer_capacity);
    network->optimizers[network->optimizer_count] = optimizer;
    cse_configured_sparsity(optimizer, tree);
    network->optimizer_count++; /* it is released in any case */
    return network->error == CSE_OK ? sparsity : NULL;
}

void cse_sparsity_step(cse_sparsity *sparsity, cse_tensor *finite, cse_tensor *gradients[],
                       cse_tensor *kept[])
{
    const cse_network *network = cse_network_tracing_view("cse_sparsity_step");
    if (network == NULL)
        return;
    if (sparsity == NULL) {
        cse_trace_fail(CSE_USAGE, "cse_sparsity_step: there is no sparsity");
        return;
    }
    const cse_optimizer *optimizer = &sparsity->optimizer;
    const cse_sparsity_clock clock = cse_sparsity_clock_read(optimizer, finite);
    cse_sparsity_mask_gradients(optimizer, gradients);
    for (int i = 0; i < optimizer->count; i++) {
        kept[i] = NULL;
        if (gradients[i] == NULL || cse_trace_is_poison(gradients[i]))
            continue;
        kept[i] = cse_sparsity_next_mask(&clock, optimizer, optimizer->optimized[i].parameter,
                                         &gradients[i]);
        gradients[i] = cse_sparsity_apply(kept[i], gradients[i]);
    }
    cse_sparsity_clock_move(optimizer, &clock);
}
