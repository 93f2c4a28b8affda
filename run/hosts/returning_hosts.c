/* One host is tried at a time, for a bounded time: a host without power does not answer at all. */
#include "run/hosts/returning_hosts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/log.h"
#include "workers/host_launchers/host_process.h"
#include "workers/hosts/host_list.h"

#define TRIAL_NS INT64_C(20000000000)

struct cse_returning_hosts {
    cse_host_change *change;
    const cse_host_launcher *launcher;
    const char *options, *program;
    char host[CSE_HOST_NAME_BYTES]; /* that is tried */
    cse_host_process *trial;        /* NULL: none */
    int64_t begun_ns;
    bool is_lost[CSE_MAX_HOSTS]; /* of the group, as it was told */
};

cse_returning_hosts *cse_returning_hosts_new(cse_host_change *change,
                                             const cse_host_launcher *launcher, const char *options,
                                             const char *program)
{
    cse_returning_hosts *returning = cse_calloc(1, sizeof *returning);
    *returning = (cse_returning_hosts){
        .change = change, .launcher = launcher, .options = options, .program = program
    };
    return returning;
}

void cse_returning_hosts_destroy(cse_returning_hosts **returning)
{
    if (*returning != NULL && (*returning)->trial != NULL)
        cse_host_process_destroy(&(*returning)->trial);
    free(*returning);
    *returning = NULL;
}

static void note_losses(cse_returning_hosts *r, cse_host_group *group, int64_t now_ns)
{
    for (int h = 0; h < cse_host_group_size(group); h++) {
        cse_host_view view;
        cse_host_group_look(group, h, &view);
        if (r->is_lost[h] || view.state != CSE_MEMBER_LOST)
            continue;
        r->is_lost[h] = true;
        const double delay = cse_host_change_lose(r->change, view.name, now_ns);
        if (delay >= 0)
            cse_log_line(CSE_LOG_WARNING,
                         "host %s is in quarantine for %.0f s; `csengine uncordon` ends it",
                         view.name, delay);
    }
}

/* Its lines are of no interest. */
static void on_line(void *self, const char *host, bool is_error, const char *line)
{
    (void)self;
    (void)host;
    (void)is_error;
    (void)line;
}

static void begin_trial(cse_returning_hosts *r, int64_t now_ns)
{
    const char *const command[] = { r->program, "--version", NULL };
    const cse_host_launch launch = {
        .host = r->host, .command = command, .options = r->options, .on_line = on_line, .self = r
    };
    r->begun_ns = now_ns;
    if (cse_host_process_start(r->launcher, &launch, &r->trial) != CSE_OK) {
        r->trial = NULL;
        cse_host_change_put_off(r->change, r->host, now_ns);
    } else {
        cse_host_process_close_input(r->trial);
    }
}

static void end_trial(cse_returning_hosts *r, bool answers, int64_t now_ns)
{
    char added[CSE_HOST_NAME_BYTES + 1];
    cse_host_process_destroy(&r->trial);
    snprintf(added, sizeof added, "+%s", r->host);
    if (!answers) {
        cse_host_change_put_off(r->change, r->host, now_ns);
    } else if (cse_host_change_ask(r->change, added) == CSE_OK) {
        cse_log_line(CSE_LOG_INFO, "host %s answers again: the run goes on with it", r->host);
    }
}

void cse_returning_hosts_turn(cse_returning_hosts *r, cse_host_group *group, int64_t now_ns)
{
    cse_host_end end;
    note_losses(r, group, now_ns);
    if (r->trial == NULL) {
        if (cse_host_change_returning(r->change, now_ns, r->host))
            begin_trial(r, now_ns);
        return;
    }
    cse_host_process_turn(r->trial);
    if (cse_host_process_gone(r->trial, &end))
        end_trial(r, end.how.signal == 0 && end.how.code == 0, now_ns);
    else if (now_ns - r->begun_ns > TRIAL_NS)
        end_trial(r, false, now_ns);
}
