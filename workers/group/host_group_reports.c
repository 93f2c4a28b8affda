/* What a leader knows of the other hosts, for reports: their state, and what they say of their
 * processes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/group/host_group.h"
#include "workers/group/host_group_state.h"

void cse_host_group_take_report(group *g, int host, const cse_host_message *message)
{
    if (cse_members_leader(g->members) != g->options.host ||
        strlen(message->report.json) > CSE_HOST_REPORT_BYTES)
        return;
    free(g->reports[host]);
    g->reports[host] = strdup(message->report.json);
    g->reports_ns[host] = cse_clock_ns();
}

void cse_host_group_tell_report(group *g)
{
    const int leader = cse_members_leader(g->members);
    cse_host_message message = { .kind = CSE_HOST_REPORT };
    message.report.json = g->report;
    if (g->report == NULL || leader == g->options.host ||
        !cse_members_are_connected(g->members, leader) ||
        cse_host_group_send(g, leader, &message) != CSE_OK)
        return;
    free(g->report);
    g->report = NULL;
}

void cse_host_group_look(cse_host_group *g, int host, cse_host_view *view)
{
    pthread_mutex_lock(&g->lock);
    *view = (cse_host_view){ .name = g->options.names[host],
                             .state = cse_members_state(g->members, host),
                             .connected = cse_members_are_connected(g->members, host),
                             .steps_done = host == g->options.host
                                               ? g->steps_done
                                               : cse_members_steps_of(g->members, host) };
    snprintf(view->why, sizeof view->why, "%s", cse_members_why(g->members, host));
    pthread_mutex_unlock(&g->lock);
}

char *cse_host_group_reported(cse_host_group *g, int host, int64_t *age_ns)
{
    pthread_mutex_lock(&g->lock);
    char *report = g->reports[host] != NULL ? strdup(g->reports[host]) : NULL;
    *age_ns = cse_clock_ns() - g->reports_ns[host];
    pthread_mutex_unlock(&g->lock);
    return report;
}

void cse_host_group_report(cse_host_group *g, const char *json)
{
    const size_t bytes = strlen(json);
    pthread_mutex_lock(&g->lock);
    if (bytes <= CSE_HOST_REPORT_BYTES) {
        free(g->report);
        g->report = strdup(json);
    } else if (!g->left_out) {
        g->left_out = true;
        cse_log_line(CSE_LOG_WARNING,
                     "the report of this host's processes has %zu bytes, more than %d: the "
                     "topology shows an older one, or none",
                     bytes, CSE_HOST_REPORT_BYTES);
    }
    pthread_mutex_unlock(&g->lock);
}
