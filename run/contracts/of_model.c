/* A model that all of its defaults make can be built; what it computes is its own affair. */
#include "run/contracts/contract.h"

static cse_status build(const cse_model_descriptor *d)
{
    CSE_TRY(cse_configure(&(cse_configuration){ .model_dir = "/nowhere", .seed = 1 }));
    cse_model *model = cse_compile(cse_model_define(d, NULL));
    cse_status status = cse_session_status();
    if (status == CSE_OK && cse_parameter_tensors(model) == 0)
        status = cse_fail(CSE_DATA, "it has no parameter to train");
    cse_finish();
    return status;
}

static bool needs_settings(const cse_model_descriptor *d)
{
    for (const cse_setting *row = d->settings; row->name != NULL; row++)
        if (row->default_value == NULL)
            return true;
    return false;
}

void cse_contract_of_model(cse_contract *contract, const void *descriptor)
{
    const cse_model_descriptor *d = descriptor;
    cse_status status = d->summary != NULL && d->summary[0] != '\0'
                            ? cse_contract_settings(d->settings, d->name)
                            : cse_fail(CSE_DATA, "it has no summary");
    cse_contract_tell(contract, status, "is complete");
    if (!needs_settings(d))
        cse_contract_tell(contract, build(d), "is built by the defaults of its settings");
}
