/* Finds the lowest precision of each layer that keeps the loss close to that in float32.
 *
 * A layer is a scope with matrix products in it. The configuration is trained in float32, and then
 * with its layers at lower and lower precision (fp32, POL 0, 1, 2), with the sums rounded bit for
 * bit as an accelerator would round them; engine/graph/precision/search.h chooses what is tried. */
#ifndef CSE_RUN_MEASURE_PRECISION_TUNING_H
#define CSE_RUN_MEASURE_PRECISION_TUNING_H

#include "engine/base/text.h"
#include "run/job/job.h"

typedef enum cse_tuning_level {
    CSE_TUNING_FP32,
    CSE_TUNING_POL_0,
    CSE_TUNING_POL_1,
    CSE_TUNING_POL_2,
    CSE_TUNING_LEVELS
} cse_tuning_level;

/* One training with some layers lowered. */
typedef struct cse_tuning_trial {
    int number;                    /* from 1 */
    int layers[CSE_TUNING_LEVELS]; /* how many at each level */
    double loss;                   /* NaN: it did not train to the end */
    double change;                 /* relative to the loss in float32 */
    bool accepted;
    double seconds; /* of wall-clock */
    int most_left;  /* trials that can follow at most */
} cse_tuning_trial;

typedef struct cse_tuning_options {
    const char *config;          /* path of CONFIG.yaml */
    const char *const *settings; /* PATH=VALUE, ended by NULL */
    const cse_job_settings *job; /* made from `config` and `settings`; its step is traced */
    double tolerance;            /* accepted change of the loss, relative to float32's */
    int64_t steps;               /* of each training */
    const char *format, *preset; /* "bfloat16", "mp2" */
    void *self;
    void (*on_start)(void *self, int layer_count, double loss_float32);
    void (*on_trial)(void *self, const cse_tuning_trial *trial);
    void (*on_step)(void *self, int64_t step); /* of the training that runs; may be NULL */
} cse_tuning_options;

/* Start from zeroes; release with cse_tuning_clear. */
typedef struct cse_tuning {
    cse_arena *arena;
    const char **layers; /* scopes, in the order of the forward pass */
    int *levels;         /* of each layer: the lowest that was accepted */
    int layer_count, layer_capacity;
    double loss_float32, loss; /* `loss`: with these levels */
    cse_tuning_trial *trials;
    int trial_count, trial_capacity;
} cse_tuning;

/* Runs the search. CSE_CONFIG when the model has no such layer, CSE_FAILED when it does not train
 * in float32, CSE_INTERRUPTED at Ctrl-C. */
cse_status cse_tuning_run(const cse_tuning_options *options, cse_tuning *tuning);
void cse_tuning_clear(cse_tuning *tuning);

/* Appends the configuration with the section `precision` replaced, and the trials as comments. */
cse_status cse_tuning_print(const cse_tuning_options *options, const cse_tuning *tuning,
                            cse_text *out);
/* The columns of a trial, and their heads. */
extern const char cse_tuning_heads[];
void cse_tuning_print_trial(const cse_tuning_trial *trial, cse_text *out);

#endif
