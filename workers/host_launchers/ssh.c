/* The command by ssh, with keys that need no question.
 *
 * ssh hands one text to the user's shell on the host, so the command is quoted, and `exec` leaves
 * no shell behind. BatchMode has it fail instead of asking for a password or for the trust in an
 * unknown host's key; keep-alive messages have it notice within 15 s that the host is gone. Its own
 * connection (no ControlPath) means that its end is the end of this command's connection. Options
 * of the configuration stand first, since ssh takes the first value of each. */
#include "workers/host_launchers/host_launcher.h"
#include "workers/host_launchers/words.h"

static const char *const fixed_options[] = {
    "-T",
    "-e",
    "none",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=10",
    "-o",
    "ConnectionAttempts=1",
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
    "-o",
    "ControlMaster=no",
    "-o",
    "ControlPath=none",
    "-o",
    "ClearAllForwardings=yes",
    "-o",
    "ForwardAgent=no",
    "-o",
    "ForwardX11=no",
    "-o",
    "PermitLocalCommand=no",
    "-o",
    "LogLevel=ERROR",
    NULL,
};

static cse_status ssh_arguments(const cse_host_launch *launch, cse_arena *arena,
                                const char *const **arguments)
{
    cse_words words = { 0 };
    cse_words_add(&words, arena, "ssh");
    const char *quoted;
    CSE_TRY(cse_words_quote(arena, launch->command, &quoted));
    const char *options = launch->options != NULL ? launch->options : "";
    CSE_TRY(
        cse_words_split(&words, arena, cse_words_replace(arena, options, "{host}", launch->host)));
    cse_words_add_all(&words, arena, fixed_options);
    cse_words_add(&words, arena, "--");
    cse_words_add(&words, arena, launch->host);
    cse_words_add(&words, arena, cse_arena_printf(arena, "exec %s", quoted));
    *arguments = words.items;
    return CSE_OK;
}

/* 255: no connection, or a lost one. A command that a signal ended gives 255, too. */
static bool ssh_proves_end(cse_exit how)
{
    return how.signal == 0 && how.code >= 0 && how.code != 255;
}

const cse_host_launcher cse_host_launcher_ssh = {
    .name = "ssh",
    .summary = "ssh with keys that need no question",
    .leader_loss =
        "the command stays; its input closes, at once when the leader's process ends, and "
        "when sshd gives the connection up where its host is lost",
    .arguments = ssh_arguments,
    .proves_end = ssh_proves_end,
};
