/* What hosts without data are told of them: a host that has opened a data loader keeps what is
 * to be said of it, and says it to each that asks. Who asks does so again until there is an answer,
 * so nothing has to be remembered of a connection or a host that is lost. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "engine/base/clock.h"
#include "workers/group/host_group.h"
#include "workers/group/host_group_state.h"

#define MILLISECONDS INT64_C(1000000)
#define START_NS (120000 * MILLISECONDS)
#define AGAIN_NS (50 * MILLISECONDS)
#define WAIT_NS (5 * MILLISECONDS)

enum { MOST_LOADERS = 1024, LEAST_ROOM = 4096 };

cse_status cse_host_group_send(group *g, int host, const cse_host_message *message)
{
    g->sent.size = 0;
    CSE_TRY(cse_host_message_encode(message, &g->sent));
    return g->link->send(g->state, host, g->sent.data, g->sent.size, NULL, 0);
}

void cse_host_group_wake(group *g)
{
    eventfd_write(g->wake, 1);
}

bool cse_host_group_has_data(const group *g)
{
    return cse_hosts_have_data(&g->options.data_hosts, g->options.host);
}

cse_status cse_host_group_check_data(const group *g, const cse_host_set *lost)
{
    if (cse_host_group_has_data(g))
        return CSE_OK;
    for (int h = 0; h < g->options.host_count; h++)
        if (cse_hosts_have_data(&g->options.data_hosts, h) && !cse_hosts_have(lost, h))
            return CSE_OK;
    return cse_fail(CSE_UNAVAILABLE, "no host that has the data is left; "
                                     "backend.cluster_config.data_hosts says which have them");
}

/* ---- a host with data ---- */

void cse_host_group_tell_data(group *g, int number, const char *text)
{
    if (number < 0 || number >= MOST_LOADERS)
        return;
    pthread_mutex_lock(&g->lock);
    while (g->data_count <= number) {
        CSE_GROW(g->data_told, g->data_count, g->data_capacity);
        g->data_told[g->data_count++] = NULL;
    }
    free(g->data_told[number]);
    /* One that fits into no message is told as an empty one: who asks is not to wait for it. */
    g->data_told[number] =
        cse_strdup(strlen(text) <= CSE_HOST_MESSAGE_MAX_BYTES - LEAST_ROOM ? text : "");
    pthread_mutex_unlock(&g->lock);
}

static void answer(group *g, int host, int64_t number)
{
    cse_host_message message = { .kind = CSE_HOST_DATA };
    if (number >= g->data_count || g->data_told[number] == NULL)
        return; /* it asks again */
    message.data.number = number;
    message.data.text = g->data_told[number];
    cse_host_group_send(g, host, &message);
}

/* ---- a host without data ---- */

void cse_host_group_ask_again(group *g)
{
    cse_host_message message = { .kind = CSE_HOST_DATA_WANTED };
    const int64_t now_ns = cse_clock_ns();
    if (g->data_asked < 0 || g->data_answer != NULL || now_ns - g->data_asked_ns < AGAIN_NS)
        return;
    g->data_asked_ns = now_ns;
    message.data_wanted.number = g->data_asked;
    for (int h = 0; h < g->options.host_count; h++)
        if (h != g->options.host && cse_hosts_have_data(&g->options.data_hosts, h) &&
            cse_members_are_connected(g->members, h))
            cse_host_group_send(g, h, &message);
}

bool cse_host_group_take_data(group *g, int host, const cse_host_message *message)
{
    if (message->kind == CSE_HOST_DATA_WANTED) {
        answer(g, host, message->data_wanted.number);
        return true;
    }
    if (message->kind != CSE_HOST_DATA)
        return false;
    if (cse_hosts_have_data(&g->options.data_hosts, host) &&
        message->data.number == g->data_asked && g->data_answer == NULL)
        g->data_answer = cse_strdup(message->data.text);
    return true;
}

cse_status cse_host_group_ask_data(group *g, int number, int (*stops)(void *self), void *self,
                                   char **text)
{
    const int64_t begun_ns = cse_clock_ns();
    cse_status status = CSE_OK;
    *text = NULL;
    pthread_mutex_lock(&g->lock);
    g->data_asked = number;
    g->data_asked_ns = 0;
    pthread_mutex_unlock(&g->lock);
    cse_host_group_wake(g);
    while (*text == NULL && status == CSE_OK) {
        if (stops(self) != 0)
            status = cse_fail(CSE_INTERRUPTED, "stopped on request before the first step");
        pthread_mutex_lock(&g->lock);
        const cse_host_set lost = cse_members_lost(g->members);
        if (status == CSE_OK)
            status = cse_host_group_check_data(g, &lost);
        if (status == CSE_OK)
            status = cse_host_group_check_start(g, cse_clock_ns() - begun_ns);
        if (status == CSE_OK && g->data_answer != NULL) {
            *text = g->data_answer;
            g->data_answer = NULL;
        }
        pthread_mutex_unlock(&g->lock);
        if (*text == NULL && status == CSE_OK)
            cse_sleep_ns(WAIT_NS);
    }
    pthread_mutex_lock(&g->lock);
    g->data_asked = -1;
    free(g->data_answer);
    g->data_answer = NULL;
    pthread_mutex_unlock(&g->lock);
    if (status == CSE_OK && **text == '\0') {
        free(*text);
        *text = NULL;
        status = cse_fail(CSE_DATA,
                          "what a host with data has to say of them fits into no message "
                          "of %d bytes: give fewer, larger files",
                          CSE_HOST_MESSAGE_MAX_BYTES);
    }
    return status;
}

void cse_host_group_free_data(group *g)
{
    for (int i = 0; i < g->data_count; i++)
        free(g->data_told[i]);
    free(g->data_told);
    free(g->data_answer);
}

/* A run starts with all hosts that were asked for; one that is missing is a mistake to be told. */
cse_status cse_host_group_check_start(group *g, int64_t waited_ns)
{
    if (!cse_host_group_leads(g) || g->has_begun)
        return CSE_OK;
    for (int h = 0; h < g->options.host_count; h++) {
        const cse_member_state state = cse_members_state(g->members, h);
        if (state == CSE_MEMBER_LOST && !g->options.may_lack_hosts)
            return cse_fail(CSE_UNAVAILABLE, "host %s does not take part: %s", g->options.names[h],
                            cse_members_why(g->members, h));
        if (state == CSE_MEMBER_EXPECTED && waited_ns > START_NS && g->options.may_lack_hosts)
            cse_members_gone(g->members, h, "its agent has not connected");
        else if (state == CSE_MEMBER_EXPECTED && waited_ns > START_NS)
            return cse_fail(CSE_UNAVAILABLE,
                            "host %s: its agent has not connected to %s within %lld s",
                            g->options.names[h], g->options.addresses[g->options.host],
                            (long long)(START_NS / (1000 * MILLISECONDS)));
    }
    return CSE_OK;
}

bool cse_host_group_leads(const cse_host_group *g)
{
    return cse_members_leader(g->members) == g->options.host;
}
