/* A value log: whole values of tensors of a step, which one process appends to a file of its own.
 *
 * Of a tensor of REPLICA there is one run of values for each microbatch; it may be there several
 * times, with the same bits, where a microbatch was computed again. A file may end within a run, if
 * its process was killed: what is missing was written by the process that took its place. */
#ifndef CSE_EXECUTE_VALUE_LOG_H
#define CSE_EXECUTE_VALUE_LOG_H

#include "csengine/status.h"
#include "engine/graph/graph.h"

typedef struct cse_value_log cse_value_log;

enum { CSE_VALUES_OF_STEP = -1 };

/* Consecutive elements of a tensor, as float32. */
typedef struct cse_value_run {
    int64_t step;       /* counted from 1 */
    int64_t microbatch; /* CSE_VALUES_OF_STEP: of the step, as the sum of a gradient */
    int64_t tensor;     /* in graph->tracked */
    int64_t first, count;
    const float *values;
} cse_value_run;

/* A file that is there is replaced. CSE_CANNOT_CREATE. */
cse_status cse_value_log_create(const char *path, cse_value_log **log);
/* Of values of microbatches it is to have those of "3,17" alone, from 0; NULL or "": of all. */
void cse_value_log_limit(cse_value_log *log, const char *microbatches);
/* The first failure, which later runs do not follow, is that of cse_value_log_status. */
void cse_value_log_add(cse_value_log *log, const cse_value_run *run);
/* The same of values of that type. */
void cse_value_log_add_of(cse_value_log *log, const cse_value_run *run, cse_dtype dtype,
                          const void *values);
cse_status cse_value_log_status(const cse_value_log *log);
void cse_value_log_close(cse_value_log **log);

/* Calls `visit` for each run of a file, until it fails or at the end of the last whole run. Values
 * are valid during the call. CSE_DATA: the file is no value log. */
typedef cse_status cse_value_visit(void *self, const cse_value_run *run);
cse_status cse_value_log_read(const char *path, cse_value_visit *visit, void *self);
/* The same of all files of values of the run in that folder (run/execution/kept_values.h). */
cse_status cse_value_logs_read(const char *model_dir, cse_value_visit *visit, void *self);

#endif
