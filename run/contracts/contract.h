/* What a plugin of each kind must do beyond having its members, as checks that run in this process:
 * the samples that its descriptor brings, with the values that they state, and what holds for all
 * of a kind (gradients of ops are finite differences, samples of data are the same in any order).
 *
 * `csengine check-plugin` runs them on a user's library, the tests on what is built in. Each check
 * is told as it ends; a check that fails does not keep the next from running. */
#ifndef CSE_RUN_CONTRACTS_CONTRACT_H
#define CSE_RUN_CONTRACTS_CONTRACT_H

#include "csengine/csengine.h"

typedef struct cse_contract cse_contract;

struct cse_contract {
    const char *kind, *plugin; /* that is being checked */
    const char *folder;        /* the checks may write files there */
    /* The check that ended, and its status; a failure's message is the last failure's. */
    void (*told)(const cse_contract *contract, const char *check, cse_status status);
    /* The samples of a descriptor that lie elsewhere; NULL, or NULL from it: its own are taken. */
    const void *(*samples_of)(const void *descriptor);
    void *self;
    int checks, failures;
};

/* Tells the end of a check, whose name is formatted. */
void cse_contract_tell(cse_contract *contract, cse_status status, const char *check, ...)
    CSE_PRINTF(3, 4);

/* All checks of a plugin. Optimizers, schedules, metrics and models are made by name: those of a
 * library must be known (cse_plugin_load). No session may be open. */
void cse_contract_check(cse_contract *contract, const char *kind, const void *descriptor);

/* The samples of a descriptor, whose own are `own`; NULL: there are none. */
const void *cse_contract_samples(const cse_contract *contract, const void *descriptor,
                                 const void *own);

/* Each kind's. */
typedef void cse_contract_of_kind(cse_contract *contract, const void *descriptor);
cse_contract_of_kind cse_contract_of_callback, cse_contract_of_input, cse_contract_of_logger,
    cse_contract_of_metric, cse_contract_of_model, cse_contract_of_op, cse_contract_of_optimizer,
    cse_contract_of_schedule;

/* The rows of a table of settings: each has a name, a line of documentation and a default that its
 * own type accepts. */
cse_status cse_contract_settings(const cse_setting *table, const char *subject);
/* `status` is a failure whose message contains `part`. */
cse_status cse_contract_refused(cse_status status, const char *part);
/* `text` with each $folder replaced by the contract's folder. */
const char *cse_contract_text(const cse_contract *contract, const char *text, char *to,
                              size_t size);

#endif
