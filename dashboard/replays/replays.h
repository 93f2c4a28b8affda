/* Steps of a job's past that are done again for a client: what `csengine inspect` tells of a step,
 * by a process of it.
 *
 * One is computed at a time, by one process of its run, for a bounded time, and can be ended; what
 * was found is kept for the newest of them, and the values themselves where a client asks for that,
 * in a file without a name, which ends with the server. The replay of a job in a queue may touch
 * what the job might, in a folder of its own below the queue's; it never changes the run. What it
 * compiles, and its states, stay for the next ones of the job (replay_folders.h). */
#ifndef CSE_DASHBOARD_REPLAYS_REPLAYS_H
#define CSE_DASHBOARD_REPLAYS_REPLAYS_H

#include <jansson.h>
#include <stdint.h>

#include "engine/base/confinement.h"

enum { CSE_KEPT_REPLAYS = 16, CSE_REPLAY_SECONDS = 600 };
/* Values that are kept: of one step, and of all together, where the newest stay. */
#define CSE_KEPT_STEP_BYTES (INT64_C(1) << 30)
#define CSE_KEPT_VALUES_BYTES (INT64_C(2) << 30)

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
    int64_t created_ms; /* of the job */
    int64_t step;
    /* {tensor, values, computed, microbatch, sample}, each as the option of `csengine inspect`; may
     * be NULL. {keep: true}: the values are kept as well, of states and of what is computed. */
    const json_t *options;
} cse_step_question;

/* Begins it, unless it is under way or was answered; *begun: it was now. *shown is as of
 * cse_replays_show. CSE_TEMPORARY: another one is computed; CSE_USAGE: the same step with other
 * options is. */
cse_status cse_replays_begin(cse_replays *replays, const cse_step_question *question, bool *begun,
                             json_t **shown);
/* {job, step, options, state, last_step, message, answer, kept}; NULL: nobody has asked. */
json_t *cse_replays_show(cse_replays *replays, const char *job, int64_t step);
/* Those of the job, the newest first, without their answers. */
json_t *cse_replays_list(cse_replays *replays, const char *job);
/* A file with the values that were kept (step_values.h), which the caller closes; -1: there is
 * none. */
int cse_replays_open_values(cse_replays *replays, const char *job, int64_t step);
/* Ends and forgets it; false: nobody has asked. */
bool cse_replays_end(cse_replays *replays, const char *job, int64_t step);
/* The job was removed: so are all its replays, and what they compiled. */
void cse_replays_forget(cse_replays *replays, const char *job);

#endif
