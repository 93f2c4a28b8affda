/* The command as a child process of this one: several agents on one machine, for tests and for
 * machines that are cut into parts. The host's name is a label alone.
 *
 * The child leads a process group of its own; a signal reaches it and all that it started in it. */
#include "workers/host_launchers/host_launcher.h"
#include "workers/host_launchers/words.h"

static cse_status local_arguments(const cse_host_launch *launch, cse_arena *arena,
                                  const char *const **arguments)
{
    if (launch->options != NULL && *launch->options != 0)
        return cse_fail(CSE_CONFIG, "host launcher local: it takes no options, not \"%s\"",
                        launch->options);
    cse_words words = { 0 };
    cse_words_add_all(&words, arena, launch->command);
    *arguments = words.items;
    return CSE_OK;
}

static bool local_proves_end(cse_exit how)
{
    (void)how;
    return true;
}

const cse_host_launcher cse_host_launcher_local = {
    .name = "local",
    .summary = "processes on this host, each with a process group of its own",
    .leader_loss = "the command stays; its input pipe closes",
    .arguments = local_arguments,
    .proves_end = local_proves_end,
};
