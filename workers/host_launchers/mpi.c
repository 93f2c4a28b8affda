/* The command by mpirun, as a job of one process: for clusters where mpirun is the way that other
 * hosts are reached (its own daemons, rsh agents, resource managers).
 *
 * The command is no MPI program and calls no MPI function, so another's end does not end it. One
 * mpirun a host, so that no agent ends another: Open MPI ends all processes of a job with the
 * first that fails. */
#include <string.h>

#include "workers/host_launchers/host_launcher.h"
#include "workers/host_launchers/words.h"

static cse_status mpi_arguments(const cse_host_launch *launch, cse_arena *arena,
                                const char *const **arguments)
{
    if (strchr(launch->host, ':') != NULL)
        return cse_fail(CSE_CONFIG,
                        "host launcher mpi: \"%s\" has a colon, behind which mpirun expects a "
                        "number of slots; give the host's name or its IPv4 address",
                        launch->host);
    cse_words words = { 0 };
    cse_words_add(&words, arena, "mpirun");
    cse_words_add(&words, arena, "--quiet");
    cse_words_add(&words, arena, "-np");
    cse_words_add(&words, arena, "1");
    cse_words_add(&words, arena, "--host");
    cse_words_add(&words, arena, launch->host);
    cse_words_add(&words, arena, "--bind-to");
    cse_words_add(&words, arena, "none");
    const char *options = launch->options != NULL ? launch->options : "";
    CSE_TRY(
        cse_words_split(&words, arena, cse_words_replace(arena, options, "{host}", launch->host)));
    cse_words_add_all(&words, arena, launch->command);
    *arguments = words.items;
    return CSE_OK;
}

/* 1 is also what mpirun gives when it cannot reach the host, or loses its daemon there. */
static bool mpi_proves_end(cse_exit how)
{
    return how.signal == 0 && how.code >= 0 && how.code != 1;
}

const cse_host_launcher cse_host_launcher_mpi = {
    .name = "mpi",
    .summary = "mpirun of Open MPI, one for each host",
    .leader_loss =
        "the command stays when the leader's process ends, and its input closes; Open MPI "
        "ends it when mpirun itself or its host is lost",
    .arguments = mpi_arguments,
    .proves_end = mpi_proves_end,
};
