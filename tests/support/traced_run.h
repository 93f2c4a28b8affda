/* A step function of the session, traced, planned and run by the interpreter in this process: no
 * cluster and no compiler. Fails the running test when something fails. */
#ifndef CSE_TESTS_SUPPORT_TRACED_RUN_H
#define CSE_TESTS_SUPPORT_TRACED_RUN_H

#include "dataloader/input.h"
#include "run/session/session.h"
#include "tests/support/straight_run.h"

typedef struct traced_run {
    cse_dataloader *loader;
    cse_step *step;
    cse_executable *executable;
    straight_run run;
    unsigned char **inputs; /* one for each microbatch */
} traced_run;

/* A csv file with the columns c0, c1, ... and `label`, removed by table_file_remove; and the data
 * loader's section that reads it in order. */
typedef struct table_file {
    char path[64], yaml[512];
} table_file;

/* `rows` x `columns` features; labels NULL: all 0. The stream of labels is `targets` (float32)
 * unless `classes` is above 0. */
typedef struct table_content {
    const double *features;
    const int *labels;
    int rows, columns, classes, batch_size, micro_batch_size;
} table_content;
void table_file_write(table_file *file, const table_content *content);
void table_file_remove(const table_file *file);

/* Opens a session with seed 1. */
void open_session(void);

void traced_run_open(traced_run *traced, const char *yaml, cse_step_function *function, void *self);
/* The same by compiled code, which is kept under `compile_dir`. */
void traced_run_open_compiled(traced_run *traced, const char *yaml, cse_step_function *function,
                              void *self, const char *compile_dir);
void traced_run_step(traced_run *traced);
void traced_run_close(traced_run *traced);

/* Values of a state before the next step. */
float *traced_floats(const traced_run *traced, const char *name);
int32_t traced_int(const traced_run *traced, const char *name);

/* Traces a step that must fail and returns the message. */
const char *traced_failure(const char *yaml, cse_step_function *function, void *self);

#endif
