/* The output of a running job: text, with one live line on a terminal, or JSON lines (--json). JSON
 * has no NaN and infinity, so such a loss is null, with its bits in a further member. */
#ifndef CSE_CLI_PROGRESS_H
#define CSE_CLI_PROGRESS_H

#include <stdio.h>

#include "engine/base/diagnostics.h"
#include "run/job/job.h"

typedef struct cse_progress {
    FILE *out;
    bool json;
    bool live;          /* a terminal: step lines replace each other */
    bool line_is_open;  /* the live line has no line end yet */
    int64_t batch_size; /* of the training data, for TimeRemaining; 0: unknown */
    bool has_rate;
    double rate; /* smoothed samples/s */
} cse_progress;

/* Shows one event; a new loop restarts the smoothing of the rate. */
void cse_progress_event(cse_progress *progress, const cse_job_event *event);

/* Prints the end of a job that could not be prepared, with its errors, as JSON. */
void cse_progress_not_begun(cse_progress *progress, const cse_diagnostics *diagnostics);

/* Shows the job's end; `status` is what the job returned. */
void cse_progress_end(cse_progress *progress, cse_job_mode mode, cse_status status,
                      const cse_job_result *result);

/* "0:08:09" in `text`, which is returned. */
const char *cse_duration_text(double seconds, char *text, size_t size);

#endif
