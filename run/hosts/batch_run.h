/* A run as a batch job of Slurm, for a command that waits for it as if it ran here. */
#ifndef CSE_RUN_HOSTS_BATCH_RUN_H
#define CSE_RUN_HOSTS_BATCH_RUN_H

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
cse_status cse_batch_run_wanted(const cse_command_line *line, bool *wanted);

/* Submits the run of the command line, shows its output, and returns its exit code. A job of this
 * run that Slurm has already is not submitted again, but waited for. With --detach it returns once
 * Slurm has the job. Ctrl-C and SIGTERM once end the job with a checkpoint, twice, or SIGQUIT, at
 * once. */
int cse_batch_run(const cse_command_line *line, const char *model_dir);

#endif
