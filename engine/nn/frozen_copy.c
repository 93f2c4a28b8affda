/* The values are copied when they are first asked for: by then the weights that a run begins with
 * are loaded. */
#include "engine/nn/frozen_copy.h"

#include <string.h>

#include "engine/base/error.h"

#define ROLE "reference"
static const char trained[] = "model.";

static void fill(cse_network *network, cse_state *state)
{
    const void *values = cse_state_values(network, state->original);
    memcpy(cse_state_own_values(state), values, cse_state_bytes(state));
}

static const cse_state_rule copy_rule = { .fill = fill };

cse_model *cse_frozen_copy(const cse_config_plugin *plugin)
{
    cse_network *network = cse_network_open_view("cse_frozen_copy");
    cse_model *copy = network != NULL ? cse_frozen_model(ROLE, plugin) : NULL;
    for (int i = 0; copy != NULL && i < copy->parameter_count; i++) {
        cse_state *state = copy->parameters[i];
        const char *name = state->name + sizeof ROLE; /* with the dot in place of the zero */
        const int original = cse_name_index_find(
            &network->state_names, cse_arena_printf(network->arena, "%s%s", trained, name));
        if (original < 0) {
            cse_network_fail(
                cse_fail(CSE_USAGE, "the model has no state '%s%s' to copy", trained, name));
            return NULL;
        }
        state->original = network->states[original];
        state->rule = &copy_rule;
    }
    return copy;
}

void cse_network_settle_copies(cse_network *network)
{
    for (int i = 0; i < network->state_count; i++)
        if (network->states[i]->original != NULL)
            cse_state_values(network, network->states[i]);
}
