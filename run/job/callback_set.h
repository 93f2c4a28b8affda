/* The callbacks of a job: makes them, and calls their hooks in the order of the configuration.
 *
 * What a callback may ask of the run goes through cse_callback_host, whose functions the job (or a
 * test) gives. Every function accepts NULL for a job without callbacks. */
#ifndef CSE_RUN_JOB_CALLBACK_SET_H
#define CSE_RUN_JOB_CALLBACK_SET_H

#include "csengine/callback.h"
#include "engine/base/config/config_plugins.h"
#include "run/session/session.h"

struct cse_callback_host {
    void *self; /* of the functions */
    void (*log)(void *self, const char *name, int64_t step, double value);
    void (*tell)(void *self, const char *line);
    cse_status (*save_only)(void *self, const char *path, const char *const *states);
    const char *model_dir;
    cse_model *model;
    const cse_settings *optimizer; /* NULL: there is none */
    const cse_optimizer *trained;  /* the optimizer itself, once it is made */
    /* What the callbacks asked for. */
    bool stops;                   /* the training is to end */
    int64_t keep;                 /* checkpoints; 0: nothing was asked */
    const char *const *load_only; /* NULL: all states are loaded */
};

typedef struct cse_callback_set cse_callback_set;

/* Makes all callbacks; `host` must live as long as the set. On failure *set is NULL. */
cse_status cse_callback_set_new(const cse_config_plugin *plugins, int count,
                                cse_callback_host *host, cse_callback_set **set);
void cse_callback_set_destroy(cse_callback_set **set);

/* Whether a callback looks at validations. */
bool cse_callback_set_sees_validations(const cse_callback_set *set);

/* The hooks of csengine/callback.h. */
cse_status cse_callback_set_fit_start(cse_callback_set *set, int64_t step);
/* The run ended with `status`, and the stored error where that is not CSE_OK. */
cse_status cse_callback_set_fit_end(cse_callback_set *set, int64_t step, cse_status status);
cse_status cse_callback_set_train(cse_callback_set *set, int64_t step, bool starts);
void cse_callback_set_trace(cse_callback_set *set, cse_step *step);
cse_status cse_callback_set_step(cse_callback_set *set, const cse_callback_step *step);
cse_status cse_callback_set_validation(cse_callback_set *set,
                                       const cse_callback_validation *validation, bool starts);
typedef enum cse_checkpoint_moment {
    CSE_BEFORE_SAVING,
    CSE_AFTER_SAVING,
    CSE_BEFORE_LOADING
} cse_checkpoint_moment;
cse_status cse_callback_set_checkpoint(cse_callback_set *set, cse_checkpoint_moment moment,
                                       const cse_callback_checkpoint *checkpoint);

#endif
