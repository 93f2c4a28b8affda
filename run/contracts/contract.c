/* The kinds that have checks. */
#include "run/contracts/contract.h"

#include <string.h>

static const struct {
    const char *kind;
    cse_contract_of_kind *check;
} kinds[] = {
    { "callback", cse_contract_of_callback },   { "input", cse_contract_of_input },
    { "logger", cse_contract_of_logger },       { "metric", cse_contract_of_metric },
    { "model", cse_contract_of_model },         { "op", cse_contract_of_op },
    { "optimizer", cse_contract_of_optimizer }, { "schedule", cse_contract_of_schedule },
};

void cse_contract_check(cse_contract *contract, const char *kind, const void *descriptor)
{
    contract->kind = kind;
    contract->plugin = *(const char *const *)descriptor;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            kinds[i].check(contract, descriptor);
}
