/* A step function of the session, traced, planned and run by the interpreter in this process: no
 * cluster and no compiler. */
#ifndef CSE_RUN_CONTRACTS_TRACED_RUN_H
#define CSE_RUN_CONTRACTS_TRACED_RUN_H

#include "dataloader/input.h"
#include "run/contracts/straight_run.h"
#include "run/session/session.h"

typedef struct cse_traced_run {
    cse_dataloader *loader;
    cse_step *step;
    cse_executable *executable;
    cse_straight_run run;
    unsigned char **inputs; /* one for each microbatch */
} cse_traced_run;

/* A csv file with the columns c0, c1, ... and `label`, removed by cse_table_file_remove; and the
 * data loader's section that reads it in order. */
typedef struct cse_table_file {
    char path[64], yaml[512];
} cse_table_file;

/* `rows` x `columns` features; labels NULL: all 0. The stream of labels is `targets` (float32)
 * unless `classes` is above 0. */
typedef struct cse_table_content {
    const double *features;
    const int *labels;
    int rows, columns, classes, batch_size, micro_batch_size;
} cse_table_content;
cse_status cse_table_file_write(cse_table_file *file, const cse_table_content *content);
void cse_table_file_remove(const cse_table_file *file);

/* Opens "{data_processor: synthetic, ...}". */
cse_status cse_loader_open(const char *yaml, uint64_t default_seed, cse_dataloader **loader);
/* Opens a session with seed 1 that leaves no files. */
cse_status cse_traced_session(void);

/* Traces and plans; begin makes the memory for its executable. Each is followed by
 * cse_traced_run_close, also after a failure. */
cse_status cse_traced_run_plan(cse_traced_run *traced, const char *yaml,
                               cse_step_function *function, void *self);
void cse_traced_run_begin(cse_traced_run *traced);
/* Both, with the interpreter. */
cse_status cse_traced_run_open(cse_traced_run *traced, const char *yaml,
                               cse_step_function *function, void *self);
cse_status cse_traced_run_step(cse_traced_run *traced);
void cse_traced_run_close(cse_traced_run *traced);

#endif
