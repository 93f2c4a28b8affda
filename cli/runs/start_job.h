/* A prepared job that trains, as `csengine start` and `csengine fine-tune` start it. */
#ifndef CSE_CLI_RUNS_START_JOB_H
#define CSE_CLI_RUNS_START_JOB_H

#include "cli/runs/job.h"

/* The options --listen, --no_dashboard, --detach, --json and --quiet of the command line say how.
 * Returns the exit code of the process. Must be called before any thread exists. */
int cse_start_job(const cse_command_line *line, cse_prepared_job *job);

#define CSE_START_OPTIONS                                                                    \
    { "listen", "ADDRESS", NULL, "where the dashboard listens: 127.0.0.1:PORT, unix:PATH" }, \
        { "no_dashboard", NULL, NULL, "starts no dashboard, as with CSE_DASHBOARD=0" },      \
        { "detach", NULL, NULL,                                                              \
          "returns when training has started, and leaves it running in the background" },    \
        { "json", NULL, NULL, "prints JSON lines: each logged step and the result" },        \
    {                                                                                        \
        "quiet", NULL, NULL, "prints only errors and the result"                             \
    }

#endif
