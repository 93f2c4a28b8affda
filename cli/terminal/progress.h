/* The output of a running job, in one of three forms. As text: the lines of the reference's
 * Trainer. On a terminal: a live line (progress_line.h), with the logged steps as shorter lines
 * above it. As JSON lines (--json): JSON has no NaN and infinity, so such a loss is null, with its
 * bits in a further member. */
#ifndef CSE_CLI_TERMINAL_PROGRESS_H
#define CSE_CLI_TERMINAL_PROGRESS_H

#include <stdio.h>

#include "cli/terminal/live_line.h"
#include "cli/terminal/progress_line.h"
#include "engine/base/diagnostics.h"
#include "run/job/job.h"

typedef struct cse_progress {
    FILE *out;
    bool json;
    bool quiet;    /* only the end is shown */
    bool terminal; /* `out` is one: logged steps fit its width */
    bool has_rate;
    double rate; /* smoothed samples/s, of the logged steps */
    /* The live line; NULL: none. What it shows is changed under its lock. */
    cse_live_line *line;
    cse_progress_state state;
    int64_t phase_ns; /* when the phase began */
    bool training;    /* the state's step is of training */
} cse_progress;

enum { CSE_PROGRESS_INTERVAL_NS = 100000000 }; /* between two events of steps for the live line */

/* Opens the live line, if `out` is a terminal and lines are wanted there. The struct must then stay
 * where it is until cse_progress_end. */
void cse_progress_start(cse_progress *progress);

/* Shows one event; a new loop restarts the smoothing of the rate. */
void cse_progress_event(cse_progress *progress, const cse_job_event *event);

/* Prints the end of a job that could not be prepared, with its errors, as JSON. */
void cse_progress_not_begun(cse_progress *progress, cse_status status,
                            const cse_diagnostics *diagnostics);

/* Closes the live line and shows the job's end; `status` is what the job returned. */
void cse_progress_end(cse_progress *progress, cse_job_mode mode, cse_status status,
                      const cse_job_result *result);

/* "0:08:09" in `text`, which is returned. */
const char *cse_duration_text(double seconds, char *text, size_t size);

#endif
