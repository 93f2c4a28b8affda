/* Callbacks: a user's own code at the events of a training, as `callbacks: [{NAME: {...}}]` lists
 * it in a configuration.
 *
 * A callback is one C file that ends with a descriptor: a name, a table of settings, and the hooks
 * that it wants, each of which may be NULL. All hooks are called in the coordinator, in one thread,
 * in the order in which the configuration lists the callbacks. The order of a run:
 *
 *   setup
 *     on_before_load_checkpoint                  a checkpoint is about to be loaded
 *     on_fit_start                               and on_validate_end for each earlier validation
 *       on_train_start                           a part of the training up to a validation
 *         trace                                  the step is traced, once a part
 *         on_train_step_end                      steps whose values are handed out (log_steps)
 *         on_save_checkpoint, on_after_save_checkpoint
 *       on_train_end
 *       on_validate_start, on_validate_end       once for each data loader
 *     on_fit_end, or on_fit_exception
 *   finalize
 *
 * What ModelZoo's callbacks do around forward, backward and optimizer step has no place here: the
 * step is compiled and runs in other processes. `trace` takes its stead: what it adds to the step
 * is computed by the step, and its values come back in on_train_step_end.
 *
 * A callback cannot change what is trained: nothing that `trace` adds may assign a state. A hook
 * that fails ends the run with its status. Training does not wait for on_train_step_end, unless it
 * takes longer than the steps do. */
#ifndef CSENGINE_CALLBACK_H
#define CSENGINE_CALLBACK_H

#include "csengine/plugin.h"
#include "csengine/train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this contract. */
enum { CSE_CALLBACK_ABI = 1 };

/* The run as its callbacks see it. */
typedef struct cse_callback_host cse_callback_host;

/* Where the run keeps its files. Borrowed. */
CSE_API const char *cse_callback_model_dir_view(const cse_callback_host *host);
/* The model that is trained: cse_parameter_at and the like. */
CSE_API cse_model *cse_callback_model_view(const cse_callback_host *host);
/* A numeric setting of the optimizer ("weight_decay"); `index` counts through a list ("betas").
 * False where the optimizer has no such setting, or no such entry, or it is null. */
CSE_API bool cse_callback_optimizer_setting(const cse_callback_host *host, const char *name,
                                            int index, double *value);
/* The optimizer's groups of parameters, from on_fit_start on (before: 1): their number, what the
 * series of a group end in (lr/NAME: its name, or its number), and settings as above, which a group
 * may have of its own. NULL and false for a group that is not there. */
CSE_API int cse_callback_group_count(const cse_callback_host *host);
CSE_API const char *cse_callback_group_name_view(const cse_callback_host *host, int group);
CSE_API bool cse_callback_group_setting(const cse_callback_host *host, int group, const char *name,
                                        int index, double *value);
/* Records a value of the whole run at a step: in the run store, and with every logger. */
CSE_API void cse_callback_log(cse_callback_host *host, const char *name, int64_t step,
                              double value);
/* A line for people: in the output and in the log of the run. */
CSE_API void cse_callback_tell(cse_callback_host *host, const char *format, ...) CSE_PRINTF(2, 3);
/* Ends the training as if its last step had been reached, once the hook returns: after the
 * validation under way, or after the step in flight, with a checkpoint. The run has succeeded.
 * `reason` is told. */
CSE_API void cse_callback_stop(cse_callback_host *host, const char *reason);
/* In `setup`: only the newest `count` checkpoints of the run stay. */
CSE_API void cse_callback_keep_checkpoints(cse_callback_host *host, int64_t count);
/* In `setup`: of a checkpoint that is named (ckpt_path), only the states whose names begin with one
 * of these words ("model", "optimizer"; ended by NULL; they must live as long as the run) are
 * loaded; the others keep their first values, and steps count from 0. */
CSE_API void cse_callback_load_only(cse_callback_host *host, const char *const *states);
/* In on_after_save_checkpoint: writes a further checkpoint, of those states alone. */
CSE_API cse_status cse_callback_save_only(cse_callback_host *host, const char *path,
                                          const char *const *states);

/* ---- what hooks are told ---- */

/* The step while it is traced, after its optimizer step. All tensors are of step level. */
typedef struct cse_callback_trace {
    cse_step *step;
    int count;                 /* parameters that are trained */
    cse_state *const *states;  /* [count] */
    cse_tensor *const *values; /* [count], before the update */
    /* [count], the mean over the global batch, unscaled, before clipping. */
    cse_tensor *const *gradients;
} cse_callback_trace;

/* Asks for a scalar of the step (float32, step level) under a name: each step's value is recorded
 * as a series of the run, each activation step's is passed to the loggers, and both can be read by
 * cse_callback_value. Inside `trace`. */
CSE_API void cse_callback_fetch(const cse_callback_trace *trace, const char *name,
                                cse_tensor *value);

/* A committed step of training. */
typedef struct cse_callback_step {
    int64_t step, last_step; /* steps done, and those that the run ends at */
    int64_t loop_last_step;  /* where this part of the training ends */
    int64_t first_step;      /* where this start of the run began */
    double loss;             /* mean over the global batch */
    int64_t batch_size;
    double seconds;                   /* of training since `first_step`, up to this step */
    double samples_per_second;        /* since the activation step before */
    double global_samples_per_second; /* since the first step of this part */
    const cse_values *values;
} cse_callback_step;

/* A named value of the step ("lr/0", "loss_scale", one of cse_callback_fetch); false: it has none.
 */
CSE_API bool cse_callback_value(const cse_callback_step *step, const char *name, double *value);

typedef struct cse_callback_metric {
    const char *name; /* "val_loss"; with several data loaders "validate_1/loss" */
    double value;
} cse_callback_metric;

/* A validation with one data loader. */
typedef struct cse_callback_validation {
    int64_t step;             /* of training: whose weights are evaluated */
    int loader, loader_count; /* which of how many data loaders, from 0 */
    int metric_count;         /* 0 in on_validate_start */
    const cse_callback_metric *metrics;
    /* It was done before this start of the run, which goes on from a later step: so that a callback
     * has the state that it had there. `loader` is not told then, and all metrics of a step are
     * given at once. */
    bool replayed;
    bool diverged; /* the training has diverged by then: no checkpoint of it is the best */
} cse_callback_validation;

typedef struct cse_callback_checkpoint {
    int64_t step;     /* of training; of one that is loaded: not known, 0 */
    const char *path; /* of the file */
} cse_callback_checkpoint;

/* ---- the descriptor ---- */

/* A sample for the contract test, which calls the hooks as a run of as many validations as
 * `val_losses` has values would: ten steps of training before each. Step s has the loss 1/s, 64
 * samples, and takes 0.1 s; its model has 676 parameters in 4 tensors, its optimizer is SGD with
 * momentum 0.9 and weight decay 0.01. A run that is stopped after any validation and resumed must
 * end at the same step. */
typedef struct cse_callback_sample {
    const char *settings; /* "{monitor: val_loss}"; NULL ends the list */
    /* Not NULL: setup or a hook fails with a message that contains this. */
    const char *refusal;
    double val_losses[8]; /* after 10, 20, 30, ... steps; the list ends at 0 */
    int64_t stops_at;     /* the step at whose validation the run is ended; 0: at none */
    /* What is logged first, as "name step value", values with 6 digits; NULL ends the list. */
    const char *logs[12];
    const char *tells;  /* part of a line that is told; NULL: not asked */
    const char *source; /* the formula, or what computed the values */
} cse_callback_sample;

typedef struct cse_callback_descriptor {
    const char *name;    /* "EarlyStopping" */
    const char *summary; /* one line */
    const cse_setting *settings;

    /* Makes the callback; `settings` live until finalize, and `*self` is the callback's own. */
    cse_status (*setup)(const cse_settings *settings, cse_callback_host *host, void **self);
    void (*finalize)(void *self);

    cse_status (*on_fit_start)(void *self, int64_t step);
    cse_status (*on_fit_end)(void *self, int64_t step);
    void (*on_fit_exception)(void *self, int64_t step, const char *message);

    cse_status (*on_train_start)(void *self, int64_t step);
    cse_status (*on_train_end)(void *self, int64_t step);
    void (*trace)(void *self, const cse_callback_trace *trace);
    cse_status (*on_train_step_end)(void *self, const cse_callback_step *step);

    cse_status (*on_validate_start)(void *self, const cse_callback_validation *validation);
    cse_status (*on_validate_end)(void *self, const cse_callback_validation *validation);

    cse_status (*on_save_checkpoint)(void *self, const cse_callback_checkpoint *checkpoint);
    cse_status (*on_after_save_checkpoint)(void *self, const cse_callback_checkpoint *checkpoint);
    cse_status (*on_before_load_checkpoint)(void *self, const cse_callback_checkpoint *checkpoint);

    const cse_callback_sample *samples; /* at least one */
} cse_callback_descriptor;

/* A row of CSE_PLUGINS. */
#define CSE_CALLBACK_PLUGIN(descriptor) \
    CSE_PLUGIN_ROW("callback", CSE_CALLBACK_ABI, const cse_callback_descriptor, descriptor)

#ifdef __cplusplus
}
#endif

#endif
