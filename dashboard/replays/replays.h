/* Steps of a job's past that are done again for a client: what `csengine inspect` tells of a step,
 * by a process of it.
 *
 * One is computed at a time, by one process of its run, for a bounded time, and can be ended; what
 * was found is kept for the newest of them. The replay of a job in a queue may touch what the job
 * might, in a folder of its own below the queue's; it never changes the run. */
#ifndef CSE_DASHBOARD_REPLAYS_REPLAYS_H
#define CSE_DASHBOARD_REPLAYS_REPLAYS_H

#include <jansson.h>
#include <stdint.h>

#include "engine/base/confinement.h"

enum { CSE_KEPT_REPLAYS = 16, CSE_REPLAY_SECONDS = 600 };

typedef struct cse_replays cse_replays;

typedef struct cse_replays_options {
    const char *executable;
    const char *root;                   /* of the queue; NULL: a server of one run */
    const cse_confinement *confinement; /* of its jobs; borrowed */
} cse_replays_options;

cse_replays *cse_replays_new(const cse_replays_options *options);
/* Ends what is computed. */
void cse_replays_close(cse_replays **replays);

typedef struct cse_step_question {
    const char *job, *model_dir;
    int64_t step;
    /* {tensor, values, computed, microbatch, sample}, each as the option of `csengine inspect`; may
     * be NULL. */
    const json_t *options;
} cse_step_question;

/* Begins it, unless it is under way or was answered; *begun: it was now. *shown is as of
 * cse_replays_show. CSE_TEMPORARY: another one is computed; CSE_USAGE: the same step with other
 * options is. */
cse_status cse_replays_begin(cse_replays *replays, const cse_step_question *question, bool *begun,
                             json_t **shown);
/* {job, step, options, state, steps_done, message, answer}; NULL: nobody has asked. */
json_t *cse_replays_show(cse_replays *replays, const char *job, int64_t step);
/* Ends and forgets it; false: nobody has asked. */
bool cse_replays_end(cse_replays *replays, const char *job, int64_t step);

#endif
