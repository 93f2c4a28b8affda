/* Compares two runs by their run stores: finds the first step, and in it the first tensor in
 * execution order, whose digests differ, and how the losses differ. */
#ifndef CSE_RUN_MEASURE_RUN_COMPARISON_H
#define CSE_RUN_MEASURE_RUN_COMPARISON_H

#include <stdbool.h>
#include <stdint.h>

#include "csengine/status.h"

enum { CSE_COMPARED_RUNS = 2 };

typedef struct cse_compared_tensor {
    char *name, *op, *dtype, *file; /* `file`: NULL where it is not known */
    int line;
    bool backward;
    unsigned char digest[8];
} cse_compared_tensor;

typedef struct cse_run_comparison {
    /* Tensors. Those that only one run has are counted: casts differ between precisions. */
    int64_t common_steps; /* with statistics in both runs, up to the first difference */
    int64_t equal_step;   /* the last of them that was equal; 0: none */
    bool differs;         /* in a tensor: at this step, these */
    int64_t step;
    cse_compared_tensor first[CSE_COMPARED_RUNS];
    int only[CSE_COMPARED_RUNS]; /* tensors that the other run lacks, at the last step compared */
    /* Losses. */
    int64_t losses, last_step; /* how many steps have one in both, and the last of them */
    int64_t first_loss_step;   /* where they differ first; 0: nowhere */
    int64_t largest_step;      /* where they differ most */
    double first_loss[CSE_COMPARED_RUNS], largest, last_loss[CSE_COMPARED_RUNS];
    bool equal; /* in all that was compared */
} cse_run_comparison;

/* Names of tensors that are compared with one another, those of the first run with those of the
 * second; NULL in the place of one that has no partner. Tensors that are not named here are
 * compared where their names are equal. */
typedef struct cse_compared_names {
    const char *const *names[CSE_COMPARED_RUNS];
    int count;
} cse_compared_names;

/* Compares the runs in two model_dirs, tensors by `pairs`, or where it is NULL by equal names.
 * CSE_NO_INPUT when they have no step in common. Release the comparison also after a failure. */
cse_status cse_run_compare(const char *const runs[CSE_COMPARED_RUNS],
                           const cse_compared_names *pairs, cse_run_comparison *comparison);
void cse_run_comparison_clear(cse_run_comparison *comparison);

#endif
