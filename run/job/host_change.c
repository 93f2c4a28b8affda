/* Asked in one thread and taken in another, under a lock. */
#include "run/job/host_change.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/config/states_settings.h"
#include "engine/base/confinement.h"
#include "workers/host_launchers/host_launcher.h"

enum { MOST_DELAY_S = 600 };

/* What is known of a host beyond its name. */
typedef struct host_record {
    bool is_lost, is_told; /* told: that it may come back */
    int losses;
    int64_t return_ns;
} host_record;

struct cse_host_change {
    const cse_job_settings *settings;
    pthread_mutex_t lock;
    cse_host_list hosts; /* all, those that are lost too; none: there is no list yet */
    host_record records[CSE_MAX_HOSTS];
    char leader[CSE_HOST_NAME_BYTES];
    bool is_asked;
    bool cuts_states;       /* over its hosts: they are cut again over those that are left */
    cse_host_list taken[2]; /* that the environment points to: now, and before that */
    int newest;
    const cse_host_list *before; /* the environment's list before the newest one */
    bool before_of_place;
};

cse_host_change *cse_host_change_new(const cse_job_settings *settings)
{
    cse_host_change *change = cse_calloc(1, sizeof *change);
    cse_states_place states;
    change->settings = settings;
    change->cuts_states =
        cse_states_place_read(settings->states, &states) == CSE_OK && states.copies > 0;
    pthread_mutex_init(&change->lock, NULL);
    return change;
}

void cse_host_change_destroy(cse_host_change **change)
{
    if (*change != NULL)
        pthread_mutex_destroy(&(*change)->lock);
    free(*change);
    *change = NULL;
}

static int find(const cse_host_list *list, const char *name)
{
    for (int h = 0; h < list->count; h++)
        if (strcmp(list->hosts[h].name, name) == 0)
            return h;
    return -1;
}

/* ---- who is there ---- */

static void add(cse_host_change *change, const cse_host_entry *host)
{
    if (find(&change->hosts, host->name) >= 0 || change->hosts.count == CSE_MAX_HOSTS)
        return;
    change->records[change->hosts.count] = (host_record){ .losses = 0 };
    change->hosts.hosts[change->hosts.count++] = *host;
}

void cse_host_change_set_hosts(cse_host_change *change, const cse_host_list *hosts, int leader)
{
    if (change == NULL)
        return;
    pthread_mutex_lock(&change->lock);
    for (int h = 0; h < hosts->count; h++)
        add(change, &hosts->hosts[h]);
    snprintf(change->leader, sizeof change->leader, "%s", hosts->hosts[leader].name);
    pthread_mutex_unlock(&change->lock);
}

/* Doubles with each loss. */
static double put_off(const cse_host_change *change, host_record *record, int64_t now_ns)
{
    double delay = change->settings->host_settings.return_seconds;
    for (int i = 1; i < record->losses && delay < MOST_DELAY_S; i++)
        delay *= 2;
    delay = delay < MOST_DELAY_S ? delay : MOST_DELAY_S;
    record->return_ns = now_ns + (int64_t)(delay * 1e9);
    record->is_told = false;
    return delay;
}

double cse_host_change_lose(cse_host_change *change, const char *name, int64_t now_ns)
{
    double delay = -1;
    if (change == NULL)
        return delay;
    pthread_mutex_lock(&change->lock);
    const int h = find(&change->hosts, name);
    host_record *record = h >= 0 ? &change->records[h] : NULL;
    if (record != NULL && !record->is_lost) {
        record->is_lost = true;
        record->losses++;
        change->is_asked = change->is_asked || change->cuts_states;
        delay = change->settings->host_settings.return_seconds > 0 ? put_off(change, record, now_ns)
                                                                   : -1;
    }
    pthread_mutex_unlock(&change->lock);
    return delay;
}

bool cse_host_change_returning(cse_host_change *change, int64_t now_ns,
                               char name[CSE_HOST_NAME_BYTES])
{
    bool found = false;
    if (change == NULL || change->settings->host_settings.return_seconds <= 0)
        return false;
    pthread_mutex_lock(&change->lock);
    for (int h = 0; h < change->hosts.count && !found; h++) {
        host_record *record = &change->records[h];
        if (!record->is_lost || record->is_told || now_ns < record->return_ns)
            continue;
        found = record->is_told = true;
        memcpy(name, change->hosts.hosts[h].name, CSE_HOST_NAME_BYTES);
    }
    pthread_mutex_unlock(&change->lock);
    return found;
}

void cse_host_change_put_off(cse_host_change *change, const char *name, int64_t now_ns)
{
    pthread_mutex_lock(&change->lock);
    const int h = find(&change->hosts, name);
    if (h >= 0) {
        change->records[h].losses++;
        put_off(change, &change->records[h], now_ns);
    }
    pthread_mutex_unlock(&change->lock);
}

bool cse_host_change_look(cse_host_change *change, int index, cse_host_known *known)
{
    if (change == NULL)
        return false;
    pthread_mutex_lock(&change->lock);
    const bool found = index < change->hosts.count;
    if (found) {
        const host_record *record = &change->records[index];
        *known = (cse_host_known){ .is_lost = record->is_lost,
                                   .losses = record->losses,
                                   .return_ns = record->is_lost ? record->return_ns : 0 };
        memcpy(known->name, change->hosts.hosts[index].name, sizeof known->name);
    }
    pthread_mutex_unlock(&change->lock);
    return found;
}

/* ---- changes ---- */

static bool is_local(const cse_job_settings *settings)
{
    const char *name = settings->host_settings.launcher;
    return strcmp(name != NULL ? name : cse_host_launcher_default(), "local") == 0;
}

static cse_status refuse(const char *why, const char *name)
{
    return cse_fail(CSE_UNAVAILABLE, "hosts: %.100s %s", name, why);
}

static cse_status add_host(cse_host_change *change, const char *name)
{
    cse_host_list one;
    if (change->hosts.count == 0)
        return refuse("is to be added, but the run has no list of hosts yet: give all of them",
                      name);
    CSE_TRY(cse_host_list_parse(name, "--hosts", &one));
    if (change->hosts.count + one.count > CSE_MAX_HOSTS)
        return refuse("would be one host too many", name);
    for (int h = 0; h < one.count; h++) {
        add(change, &one.hosts[h]);
        change->records[find(&change->hosts, one.hosts[h].name)].is_lost = false;
    }
    return CSE_OK;
}

static cse_status remove_host(cse_host_change *change, const char *name)
{
    const int h = find(&change->hosts, name);
    if (h < 0)
        return refuse("is no host of the run", name);
    if (strcmp(name, change->leader) == 0)
        return refuse("leads the run and stays", name);
    const size_t after = (size_t)(--change->hosts.count - h);
    memmove(&change->hosts.hosts[h], &change->hosts.hosts[h + 1],
            after * sizeof change->hosts.hosts[0]);
    memmove(&change->records[h], &change->records[h + 1], after * sizeof change->records[0]);
    return CSE_OK;
}

/* The leading host stays the one in which this process runs. */
static cse_status replace_hosts(cse_host_change *change, const char *text)
{
    cse_host_list list;
    int own = 0;
    CSE_TRY(cse_host_list_parse(text, "--hosts", &list));
    if (is_local(change->settings)) {
        if (change->leader[0] != '\0' && find(&list, change->leader) != 0)
            return refuse("leads the run and stays the first of the list", change->leader);
    } else if (list.count > 1 || change->hosts.count > 0) {
        CSE_TRY(cse_host_list_own(&list, &own));
    }
    change->hosts = list;
    memset(change->records, 0, sizeof change->records);
    return CSE_OK;
}

cse_status cse_host_change_ask(cse_host_change *change, const char *hosts)
{
    cse_status status;
    const cse_confinement *own = cse_confinement_view();
    if (own != NULL && !cse_confinement_allows_hosts(own))
        return refuse("cannot be, since a confined job starts nothing on other hosts", hosts);
    pthread_mutex_lock(&change->lock);
    status = hosts[0] == '+'   ? add_host(change, hosts + 1)
             : hosts[0] == '-' ? remove_host(change, hosts + 1)
                               : replace_hosts(change, hosts);
    change->is_asked = change->is_asked || status == CSE_OK;
    pthread_mutex_unlock(&change->lock);
    return status;
}

bool cse_host_change_is_asked(cse_host_change *change)
{
    if (change == NULL)
        return false;
    pthread_mutex_lock(&change->lock);
    const bool is_asked = change->is_asked;
    pthread_mutex_unlock(&change->lock);
    return is_asked;
}

static void list_present(const cse_host_change *change, cse_host_list *list)
{
    list->count = 0;
    for (int h = 0; h < change->hosts.count; h++)
        if (!change->records[h].is_lost)
            list->hosts[list->count++] = change->hosts.hosts[h];
}

/* One host needs no others: it runs alone. */
void cse_host_change_take(cse_host_change *change, cse_job_environment *environment)
{
    change->newest = 1 - change->newest;
    cse_host_list *taken = &change->taken[change->newest];
    pthread_mutex_lock(&change->lock);
    list_present(change, taken);
    change->is_asked = false;
    pthread_mutex_unlock(&change->lock);
    change->before = environment->host_list;
    change->before_of_place = environment->hosts_of_place;
    environment->host_list = taken->count > 1 ? taken : NULL;
    environment->hosts_of_place = false;
    environment->may_lack_hosts = true;
    environment->hosts = NULL;
}

void cse_host_change_take_back(cse_host_change *change, cse_job_environment *environment)
{
    environment->host_list = change->before;
    environment->hosts_of_place = change->before_of_place;
    change->newest = 1 - change->newest;
}
