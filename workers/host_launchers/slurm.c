/* The command as a step of its own in the allocation of Slurm that this process runs in.
 *
 * A step for each host, so that no agent's end touches another: srun would end the other tasks of a
 * step (--kill-on-bad-exit), or the allocation (without --no-kill). --overlap and --mem=0 let the
 * step use what the leader's own step and others hold already, --cpu-bind=none all processors of
 * the allocation on that host, which the agent shares out by itself. --immediate has srun give up
 * instead of waiting for ever for a host that is down. */
#include <stdlib.h>
#include <string.h>

#include "workers/host_launchers/host_launcher.h"
#include "workers/host_launchers/words.h"

static const char *const fixed_options[] = {
    "--nodes=1",
    "--ntasks=1",
    "--overlap",
    "--no-kill",
    "--kill-on-bad-exit=0",
    "--mem=0",
    "--cpu-bind=none",
    "--mpi=none",
    "--input=0",
    "--immediate=60",
    "--job-name=csengine-agent",
    NULL,
};

static cse_status slurm_arguments(const cse_host_launch *launch, cse_arena *arena,
                                  const char *const **arguments)
{
    const char *job = getenv("SLURM_JOB_ID");
    if (job == NULL || *job == 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "host launcher slurm: this process is in no allocation (SLURM_JOB_ID is "
                        "not set); start it by sbatch or salloc, or use the launcher ssh");
    if (strchr(launch->host, ':') != NULL)
        return cse_fail(CSE_CONFIG,
                        "host launcher slurm: \"%s\" is no name of a node; give it as sinfo does",
                        launch->host);
    cse_words words = { 0 };
    cse_words_add(&words, arena, "srun");
    cse_words_add_all(&words, arena, fixed_options);
    const char *options = launch->options != NULL ? launch->options : "";
    CSE_TRY(
        cse_words_split(&words, arena, cse_words_replace(arena, options, "{host}", launch->host)));
    cse_words_add(&words, arena, cse_arena_printf(arena, "--nodelist=%s", launch->host));
    cse_words_add_all(&words, arena, launch->command);
    *arguments = words.items;
    return CSE_OK;
}

/* A signal to srun ends the step: SIGTERM has Slurm kill it a moment later.
 *
 * srun gives 128 + N for a task that signal N ended, and 1 when it could not start the step or lost
 * its node; an agent that failed gives 1, too, and the lease says which it was. */
static bool slurm_proves_end(cse_exit how)
{
    return how.signal == 0 && how.code >= 0 && how.code != 1;
}

const cse_host_launcher cse_host_launcher_slurm = {
    .name = "slurm",
    .summary = "a step of the present allocation of Slurm, by srun",
    .leader_loss =
        "the command stays when the leader's process ends, and its input closes; it stays, and its "
        "input stays open, when srun or its host is lost, until Slurm ends the job of a lost batch "
        "script",
    .arguments = slurm_arguments,
    .proves_end = slurm_proves_end,
};
