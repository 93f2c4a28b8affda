/* The contract of a host launcher: how one command is started on another host.
 *
 * What runs there is a child process here, the *client* (the ssh, srun or mpirun of that host; with
 * "local" the command itself), so one mechanism serves all launchers (host_process.h), and a
 * launcher only makes the client's arguments and reads its exit code.
 *
 * Keys and options are handed over through the command's standard input, a pipe; never in arguments
 * or the environment, which other users of a host can read. The pipe closes when the process that
 * started it closes it or ends, and with most launchers when that is lost with its host, too; who
 * must know of the latter in time keeps a lease over a connection of its own. The command ends by
 * itself then, or goes on without its leader because it was told how; no launcher does that for it.
 * Its standard output may have no reader from then on, so it ignores SIGPIPE and takes no failed
 * write there for an error. `leader_loss` says what else each launcher does in that case.
 *
 * The end of a client proves the end of the command only where `proves_end` says so: an ssh that
 * lost its connection says nothing of the other side. A lease decides such cases. */
#ifndef CSE_WORKERS_HOST_LAUNCHERS_HOST_LAUNCHER_H
#define CSE_WORKERS_HOST_LAUNCHERS_HOST_LAUNCHER_H

#include <stdbool.h>
#include <stddef.h>

#include "csengine/status.h"
#include "engine/base/arena.h"
#include "workers/launchers/launcher.h"

typedef struct cse_host_launch {
    const char *host;           /* as of cse_host_name_check, else it is refused */
    const char *const *command; /* NULL-terminated; [0]: the program's absolute path over there */
    /* "NAME=value" for the client, added to the inherited environment; NULL-terminated or NULL.
     * "local" and "exec" have it reach the command, "slurm" too; "ssh" and "mpi" do not. */
    const char *const *environment;
    /* Further arguments of the client, split as by cse_words_split, "{host}" replaced by the host's
     * name; "exec" has its template here. NULL: none. */
    const char *options;
    /* Called by cse_host_process_turn for each line, which has no line end and no control
     * characters; NULL: lines are dropped. */
    void (*on_line)(void *self, const char *host, bool is_error, const char *line);
    void *self;
} cse_host_launch;

typedef struct cse_host_launcher {
    const char *name;
    const char *summary;
    const char
        *leader_loss; /* what becomes of the command when the leader's process or host ends */

    /* The client's arguments, NULL-terminated, in `arena`; [0] is searched for in PATH. CSE_CONFIG
     * when the options or the host's name are of no use, CSE_UNAVAILABLE when this process is not
     * where the launcher can be used. The host's name is checked already. */
    cse_status (*arguments)(const cse_host_launch *launch, cse_arena *arena,
                            const char *const **arguments);
    /* Whether a client that ended so proves that the command has ended, or never began. */
    bool (*proves_end)(cse_exit how);
} cse_host_launcher;

/* The host launchers in name order, ended by NULL; written by autogen.sh. */
extern const cse_host_launcher *const cse_host_launchers[];

/* The host launcher of that name; NULL: "ssh". CSE_CONFIG when there is none. */
cse_status cse_host_launcher_select(const char *name, const cse_host_launcher **launcher);

/* Which one to use when none is named: "slurm" inside an allocation of Slurm, else "ssh". */
const char *cse_host_launcher_default(void);

#endif
