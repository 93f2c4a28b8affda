/* Training of one parameter whose gradient in each step is prescribed: for tests of what stands
 * between a gradient and a parameter (optimizers, clipping, loss scaling). */
#ifndef CSE_RUN_CONTRACTS_PRESCRIBED_GRADIENTS_H
#define CSE_RUN_CONTRACTS_PRESCRIBED_GRADIENTS_H

#include "run/contracts/traced_run.h"

enum { CSE_PRESCRIBED_ELEMENTS = 4, CSE_PRESCRIBED_MOST_ROWS = 64 };

typedef struct cse_prescribed_gradients {
    const double (*gradients)[CSE_PRESCRIBED_ELEMENTS]; /* one row a step */
    int steps;
    int microbatches; /* each gets the step's gradient; 0: one */
    const char *optimizer, *settings;
    const char *schedule, *scaler; /* may be NULL */
    cse_clip clip;
    bool matrix;                           /* the parameter is [2, 2], else [4] */
    double start[CSE_PRESCRIBED_ELEMENTS]; /* the parameter before the first step */
} cse_prescribed_gradients;

typedef struct cse_prescribed_run {
    cse_traced_run traced;
    cse_table_file file;
    float *w; /* the parameter; its state is model.w */
    /* Handles of the session, for the traced step. */
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    cse_clip clip;
} cse_prescribed_run;

/* Opens a session and a run whose steps are made by cse_traced_run_step(&run->traced). */
cse_status cse_prescribed_run_open(cse_prescribed_run *run, const cse_prescribed_gradients *given);
/* Opens a session and makes the handles, but traces nothing; `step` is its step function. */
cse_status cse_prescribed_run_prepare(cse_prescribed_run *run,
                                      const cse_prescribed_gradients *given);
cse_step_function cse_prescribed_step;
/* Ends both, also after a failure. */
void cse_prescribed_run_close(cse_prescribed_run *run);

/* Opens a session and configures the optimizer alone: NULL where the settings are refused. Ended by
 * cse_finish. */
cse_optimizer *cse_prescribed_optimizer(const char *optimizer, const char *settings, bool matrix,
                                        cse_model **model);

#endif
