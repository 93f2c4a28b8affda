/* The network of the process: which one is open, its first failure, settings in its memory. */
#include "engine/nn/network.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/config/settings.h"
#include "engine/base/error.h"
#include "engine/nn/owner.h"

static cse_network *the_network;

void cse_network_open(cse_network *network)
{
    the_network = network;
    cse_network_take();
}

void cse_network_close(void)
{
    the_network = NULL;
    cse_network_let_go();
}

cse_network *cse_network_open_view(const char *caller)
{
    if (cse_network_check_owner(caller) != CSE_OK)
        return NULL;
    if (the_network == NULL)
        cse_fail(CSE_USAGE, "%s: no session is open; call cse_configure first", caller);
    return the_network;
}

cse_network *cse_network_traced_view(void)
{
    return the_network != NULL && the_network->traced != NULL ? the_network : NULL;
}

cse_network *cse_network_tracing_view(const char *caller)
{
    cse_network *network = cse_network_open_view(caller);
    if (network == NULL || network->traced != NULL)
        return network;
    cse_network_fail(cse_fail(CSE_USAGE,
                              "%s: no step is being traced; this call belongs in a step function, "
                              "which cse_run calls (outside of steps states have cse_state_get and "
                              "cse_state_set)",
                              caller));
    return NULL;
}

cse_status cse_network_fail(cse_status status)
{
    if (the_network != NULL && the_network->error == CSE_OK) {
        the_network->error = status;
        the_network->failure = cse_error_copy(cse_error_last());
        the_network->failure->status = status;
    }
    return status;
}

cse_status cse_network_status(const char *caller)
{
    const cse_network *network = cse_network_open_view(caller);
    if (network == NULL)
        return CSE_USAGE;
    return network->error == CSE_OK ? CSE_OK : cse_fail_again(network->failure);
}

cse_status cse_network_parse(const char *subject, const char *yaml, cse_yaml_node **tree)
{
    size_t size = yaml != NULL ? strlen(yaml) : 0;
    cse_status status = cse_yaml_parse(the_network->arena, "", yaml, size, tree);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", subject);
}

cse_yaml_node *cse_network_text(const char *caller, const char *subject, const char *yaml)
{
    cse_yaml_node *tree = NULL;
    if (cse_network_open_view(caller) == NULL)
        return NULL;
    cse_status status = cse_network_parse(subject, yaml, &tree);
    if (status != CSE_OK)
        cse_network_fail(status);
    return status == CSE_OK ? tree : NULL;
}

cse_status cse_network_check(const cse_setting *table, const char *subject, cse_yaml_node *tree,
                             const cse_settings **settings)
{
    cse_arena *arena = the_network->arena;
    const cse_settings_expected expected = { .table = table,
                                             .subject = cse_arena_string(arena, subject) };
    cse_settings *checked = NULL;
    CSE_TRY(cse_settings_check(arena, &expected, tree, &checked));
    *settings = checked;
    return CSE_OK;
}
