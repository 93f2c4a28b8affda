/* A process writes its run store itself, without a thread, so that each of its turns is whole. */
#include "tests/support/simulation/job_host.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "store/database.h"
#include "store/run_lock.h"
#include "store/states.h"
#include "tests/support/simulation/disk.h"
#include "tests/support/temporary_folder.h"

enum { FIRST_PID = 5000000 /* beyond those of the system */, CREATED = 0, RUNS = 3 };

job_host host;

/* ---- its run store ---- */

static void tell(host_process *p, cse_run_state from, cse_run_state to, const char *reason)
{
    cse_text rows = { 0 };
    char number[24];
    const int64_t seq = cse_database_integer(p->database, "SELECT max(seq) FROM transitions") + 1;
    snprintf(number, sizeof number, "%lld", (long long)p->attempt);
    cse_row_add(&rows, CSE_ROW_TRANSITION, seq, cse_unix_ms(),
                from == CSE_RUN_NONE ? NULL : cse_run_state_name(from), cse_run_state_name(to),
                reason, "", p->attempt);
    cse_row_add(&rows, CSE_ROW_RUN, "attempt", number);
    if (cse_database_write(p->database, &rows) != CSE_OK)
        abort();
    cse_text_clear(&rows);
}

static cse_run_state state_of(host_process *p)
{
    char text[32];
    cse_database_text(p->database, "SELECT to_state FROM transitions ORDER BY seq DESC LIMIT 1",
                      text, sizeof text);
    return cse_run_state_of(text);
}

/* False: another process has the lock. */
static bool open_store(host_process *p)
{
    if (cse_run_lock_take(p->model_dir, &p->lock) != CSE_OK)
        return false;
    if (cse_database_open(p->model_dir, &p->database) != CSE_OK)
        abort();
    p->attempt = cse_database_integer(
        p->database, "SELECT CAST(value AS INTEGER) FROM run WHERE key = 'attempt'");
    const cse_run_state last = state_of(p);
    if (last != CSE_RUN_NONE && !cse_run_state_is_terminal(last))
        tell(p, last, CSE_RUN_FAILED, "INTERRUPTED");
    p->attempt++;
    tell(p, CSE_RUN_NONE, CSE_RUN_COMPILING, "");
    return true;
}

/* ---- its end ---- */

static void remove_facts(const host_process *p)
{
    char path[HOST_PATH_BYTES + 32];
    snprintf(path, sizeof path, "%s/%lld", host.folder, (long long)p->pid);
    temporary_folder_remove(path);
}

static void end(host_process *p, int how)
{
    cse_database_close(&p->database);
    cse_run_lock_release(&p->lock);
    p->ended = true;
    p->how = how;
    remove_facts(p);
}

/* By itself: with a terminal state and the exit code that belongs to it. */
static void finish(host_process *p, cse_run_state to, const char *reason, int code)
{
    if (p->database != NULL && cse_run_state_may_follow(state_of(p), to))
        tell(p, state_of(p), to, reason);
    end(p, code << 8);
}

/* ---- its turns ---- */

static void fail(host_process *p)
{
    static const cse_run_reason reasons[] = { CSE_REASON_CONFIG, CSE_REASON_NO_RESOURCES,
                                              CSE_REASON_STORAGE, CSE_REASON_PEER_LOST };
    const cse_run_reason reason = reasons[host.draw(4)];
    finish(p, CSE_RUN_FAILED, cse_run_reason_name(reason), cse_run_reason_exit_code(reason));
}

static void obey(host_process *p)
{
    if (p->asked == SIGINT && p->database != NULL && state_of(p) != CSE_RUN_CANCELLING &&
        host.draw(2) == 0)
        tell(p, state_of(p), CSE_RUN_CANCELLING, "");
    else if (p->database == NULL)
        end(p, p->asked);
    else
        finish(p, CSE_RUN_CANCELLED, "", 130);
}

static void advance(host_process *p)
{
    static const cse_run_state states[] = { CSE_RUN_COMPILING, CSE_RUN_STARTING, CSE_RUN_RUNNING };
    if (p->stage == CREATED) {
        if (!open_store(p)) {
            finish(p, CSE_RUN_FAILED, "NO_RESOURCES", 75);
            return;
        }
    } else if (p->stage < RUNS) {
        tell(p, states[p->stage - 1], states[p->stage], "");
    } else if (host.draw(3) != 0) {
        return; /* steps */
    } else {
        finish(p, CSE_RUN_SUCCEEDED, "", 0);
        return;
    }
    p->stage++;
}

static void act(host_process *p)
{
    if (!host.quiet && host.draw(12) == 0) {
        host.deaths++;
        end(p, host.draw(2) == 0 ? SIGKILL : SIGSEGV);
    } else if (p->asked != 0 && !p->ignores_signals) {
        obey(p);
    } else if (!host.quiet && host.draw(14) == 0) {
        fail(p);
    } else if (host.quiet || host.draw(10) != 0) {
        advance(p);
    }
}

void host_turn(void)
{
    const disk_faults faults = disk_fault; /* those are of the server */
    host_process *chosen = NULL;
    unsigned seen = 0;
    disk_fault = (disk_faults){ .fails_at = -1, .short_at = -1 };
    for (int i = 0; i < host.count; i++)
        if (!host.processes[i].ended && host.draw(++seen) == 0)
            chosen = &host.processes[i];
    if (chosen != NULL)
        act(chosen);
    disk_fault = faults;
}

int host_living(const char *model_dir)
{
    int living = 0;
    for (int i = 0; i < host.count; i++)
        living += !host.processes[i].ended &&
                  (model_dir[0] == '\0' || strcmp(host.processes[i].model_dir, model_dir) == 0);
    return living;
}

void host_begin(const char *folder)
{
    for (int i = 0; i < host.count; i++)
        if (!host.processes[i].ended)
            end(&host.processes[i], SIGKILL);
    host.count = 0;
    host.unreachable = host.quiet = false;
    snprintf(host.folder, sizeof host.folder, "%s", folder);
}

/* ---- in place of the system's ---- */

static void write_facts(const host_process *p, char *const words[])
{
    char path[HOST_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/%lld", host.folder, (long long)p->pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%lld/stat", host.folder, (long long)p->pid);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        abort();
    fprintf(file, "%lld (a job) S 1 %lld %lld 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %lld\n",
            (long long)p->pid, (long long)p->pid, (long long)p->pid, (long long)p->pid * 10);
    fclose(file);
    snprintf(path, sizeof path, "%s/%lld/cmdline", host.folder, (long long)p->pid);
    file = fopen(path, "we");
    for (int i = 0; file != NULL && words[i] != NULL; i++)
        fwrite(words[i], 1, strlen(words[i]) + 1, file);
    if (file != NULL)
        fclose(file);
}

int host_spawn(pid_t *pid, char *const words[])
{
    if (host.unreachable || host.count == HOST_PROCESSES || (!host.quiet && host.draw(25) == 0))
        return EAGAIN;
    host_process *p = &host.processes[host.count];
    *p = (host_process){ .pid = FIRST_PID + host.count, .lock = CSE_NO_RUN_LOCK };
    snprintf(p->model_dir, sizeof p->model_dir, "%.*s", (int)(strrchr(words[2], '/') - words[2]),
             words[2]);
    p->ignores_signals = host.draw(8) == 0;
    host.count++;
    host.starts++;
    write_facts(p, words);
    *pid = (pid_t)p->pid;
    host.on_start(p);
    return 0;
}

static host_process *process_of(pid_t pid)
{
    return pid >= FIRST_PID && pid < FIRST_PID + host.count ? &host.processes[pid - FIRST_PID]
                                                            : NULL;
}

int host_kill(pid_t pid, int number)
{
    host_process *p = process_of(pid);
    const disk_faults faults = disk_fault;
    if (p == NULL || p->ended || host.unreachable) {
        errno = ESRCH;
        return -1;
    }
    disk_fault = (disk_faults){ .fails_at = -1, .short_at = -1 };
    if (number == SIGKILL)
        end(p, SIGKILL);
    else
        p->asked = number;
    disk_fault = faults;
    return 0;
}

pid_t host_wait(pid_t pid, int *how)
{
    const host_process *p = process_of(pid);
    if (p == NULL || !p->ended)
        return 0;
    *how = p->how;
    return pid;
}
