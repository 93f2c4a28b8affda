/* Training of one parameter whose gradient in each step is prescribed: for tests of what stands
 * between a gradient and a parameter (optimizers, clipping, loss scaling). */
#ifndef CSE_TESTS_SUPPORT_PRESCRIBED_GRADIENTS_H
#define CSE_TESTS_SUPPORT_PRESCRIBED_GRADIENTS_H

#include "tests/support/traced_run.h"

enum { PRESCRIBED_ELEMENTS = 4, PRESCRIBED_MOST_ROWS = 64 };

typedef struct prescribed_gradients {
    const double (*gradients)[PRESCRIBED_ELEMENTS]; /* one row a step */
    int steps;
    int microbatches; /* each gets the step's gradient; 0: one */
    const char *optimizer, *settings;
    const char *schedule, *scaler; /* may be NULL */
    cse_clip clip;
    bool matrix;                       /* the parameter is [2, 2], else [4] */
    double start[PRESCRIBED_ELEMENTS]; /* the parameter before the first step */
} prescribed_gradients;

typedef struct prescribed_run {
    traced_run traced;
    table_file file;
    float *w; /* the parameter; its state is model.w */
    /* Handles of the session, for the traced step. */
    cse_model *model;
    cse_optimizer *optimizer;
    cse_grad_scaler *scaler;
    cse_clip clip;
} prescribed_run;

/* Opens a session and a run whose steps are made by traced_run_step(&run->traced). */
void prescribed_run_open(prescribed_run *run, const prescribed_gradients *given);
/* Ends both. */
void prescribed_run_close(prescribed_run *run);

/* Opens a session and configures the optimizer alone: NULL where the settings are refused. Ended by
 * cse_finish. */
cse_optimizer *prescribed_optimizer(const char *optimizer, const char *settings, bool matrix,
                                    cse_model **model);

/* The message of a step that cannot be traced. */
const char *prescribed_failure(const prescribed_gradients *given);

#endif
