/* `csengine start --launcher slurm`: a run as a batch job, for a command that waits for it as if it
 * ran here. */
#ifndef CSE_CLI_RUNS_BATCH_START_H
#define CSE_CLI_RUNS_BATCH_START_H

#include "cli/arguments/command_line.h"

#define CSE_LAUNCHER_OPTIONS                                                                     \
    { "launcher", "local|slurm", NULL,                                                           \
      "local: the run begins at once, here; slurm: as a batch job, whose output is shown until " \
      "it ends" },                                                                               \
    {                                                                                            \
        "launcher_options", "TEXT", NULL,                                                        \
            "options of sbatch, as in '--nodes=4 --time=24:00:00 --partition=long'"              \
    }

/* Whether the command line asks for a batch job; CSE_USAGE when it contradicts itself. */
cse_status cse_batch_start_wanted(const cse_command_line *line, bool *wanted);

/* Submits the run of the command line, shows its output, and returns its exit code. With --detach
 * it returns once Slurm has the job. Ctrl-C and SIGTERM once end the job with a checkpoint, twice,
 * or SIGQUIT, at once. */
int cse_batch_start(const cse_command_line *line, const char *model_dir);

#endif
