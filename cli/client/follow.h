/* Following a job to its end: states, log lines, checkpoints and progress as they happen. */
#ifndef CSE_CLI_CLIENT_FOLLOW_H
#define CSE_CLI_CLIENT_FOLLOW_H

#include "cli/client/client.h"

typedef struct cse_follow_options {
    const char *id;
    bool json; /* each event as a line of JSON, as the API sends it */
    /* Follows only log lines: the query of the stream, and the last line that was shown. NULL: all
     * events from the beginning. */
    const char *logs_path;
    int64_t last_line;
} cse_follow_options;

/* Returns CSE_OK when the job SUCCEEDED, CSE_FAILED with its reason when it ended otherwise, and
 * CSE_INTERRUPTED at Ctrl-C, which leaves the job running. */
cse_status cse_follow_job(cse_client *api, const cse_follow_options *options);

/* Prints a log line of the API as text. */
void cse_print_log_line(const json_t *line);

/* Whether a state is SUCCEEDED, FAILED or CANCELLED. */
bool cse_state_is_final(const char *state);
/* CSE_OK for SUCCEEDED; otherwise a failure with the job's state and reason. */
cse_status cse_job_end_status(const json_t *job);

#endif
