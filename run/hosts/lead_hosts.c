/* Ports follow from the place in the list of hosts, two for each: the agent's and the mover's. So
 * all addresses are known before any process is started. */
#include "run/hosts/lead_hosts.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "run/hosts/host_log.h"
#include "run/hosts/led_carriers.h"
#include "run/hosts/own_identity.h"
#include "run/hosts/returning_hosts.h"
#include "run/job/host_change.h"
#include "run/job/job_hosts.h"
#include "workers/control/process.h"
#include "workers/group/agent_place.h"
#include "workers/group/lead_lock.h"
#include "workers/host_launchers/host_process.h"
#include "workers/hosts/host_list.h"

enum {
    FIRST_PORT = 20000, /* below those that kernels give to clients */
    PORTS = 10000,
    ATTEMPTS = 8, /* to find ports that are free here */
    KEPT_LINES = 4,
    LINE_BYTES = 256,
};
#define END_NS INT64_C(10000000000)
#define TURN_NS INT64_C(5000000)

/* The agent of a host, as it is seen from here. */
typedef struct agent {
    cse_host_process *process; /* NULL: this host, or gone */
    char lines[KEPT_LINES][LINE_BYTES];
    int line_count;
    cse_host_log log;
} agent;

struct cse_led_hosts {
    cse_arena *arena;
    cse_host_list list;
    const cse_host_launcher *launcher;
    cse_agent_place place;
    cse_text confinement; /* of the job, for the agents */
    struct cse_job_hosts hosts;
    /* Agents are started by the thread that opens the group, and looked after by the group's, which
     * runs by then. */
    pthread_mutex_t agents_lock;
    agent agents[CSE_MAX_HOSTS];
    cse_led_carriers *carriers;     /* NULL: the link needs none */
    cse_returning_hosts *returning; /* NULL: those that are lost stay so */
    const cse_lead_taken *taken;
    int lock; /* -1: none of its own */
};
typedef struct cse_led_hosts led;

static bool may_use_hosts(void)
{
    const cse_confinement *own = cse_confinement_view();
    return own == NULL || cse_confinement_allows_hosts(own);
}

/* A confined job may start nothing on other hosts, but needs none where its place is one host: the
 * batch script of a run asks for the hosts of its place in any case. One that may is held by the
 * kernel as a whole there. */
static bool has_one_host(const cse_job_environment *environment)
{
    cse_host_list list = { .count = 0 };
    const char *variable = NULL;
    return environment->hosts_of_place &&
           cse_host_list_environment(getenv, &list, &variable) == CSE_OK && list.count == 1;
}

bool cse_leads_hosts(const cse_job_environment *environment)
{
    if (cse_confinement_view() != NULL && has_one_host(environment))
        return false;
    const cse_job_settings *s = environment->settings;
    return (environment->host_list != NULL || environment->hosts_of_place) &&
           s->mode == CSE_JOB_TRAIN && !s->session.compile_only && !s->session.validate_only;
}

/* ---- the list ---- */

static bool is_local(const led *l)
{
    return strcmp(l->launcher->name, "local") == 0;
}

static cse_status read_list(led *l, const cse_job_environment *environment)
{
    const char *variable = NULL;
    if (!environment->hosts_of_place) {
        l->list = *environment->host_list;
        return CSE_OK;
    }
    CSE_TRY(cse_host_list_environment(getenv, &l->list, &variable));
    if (variable != NULL)
        return CSE_OK;
    return cse_fail_at(&(cse_error){ .status = CSE_CONFIG,
                                     .context = "backend.cluster_config.hosts: ",
                                     .place = environment->settings->host_settings.hosts_place },
                       "auto: this process is in no job of Slurm, PBS, LSF or Open MPI; name the "
                       "hosts: --hosts a,b");
}

/* With "local" all hosts are this machine, and the first of them leads. */
static cse_status find_hosts(led *l, const cse_job_environment *environment)
{
    const char *launcher = environment->settings->host_settings.launcher;
    CSE_TRY(cse_host_launcher_select(launcher != NULL ? launcher : cse_host_launcher_default(),
                                     &l->launcher));
    CSE_TRY(read_list(l, environment));
    l->place.host_count = l->list.count;
    if (is_local(l))
        return CSE_OK;
    return cse_host_list_own(&l->list, &l->place.leader);
}

/* A run that goes on may have lost some of them. */
static cse_status find_data_hosts(led *l, const cse_job_environment *environment)
{
    const cse_job_host_settings *s = &environment->settings->host_settings;
    const cse_error refused = { .status = CSE_CONFIG,
                                .context = "backend.cluster_config.data_hosts: ",
                                .place = s->data_hosts_place };
    const bool goes_on = l->taken != NULL || environment->may_lack_hosts;
    if (s->data_hosts == NULL)
        return CSE_OK;
    for (int i = 0; i < s->data_hosts->count; i++) {
        const char *name = s->data_hosts->hosts[i].name;
        const int h = cse_host_list_find(&l->list, name);
        if (h >= 0)
            cse_hosts_add(&l->place.data_hosts, h);
        else if (!goes_on)
            return cse_fail_at(&refused,
                               "%s is none of the hosts of the run; accepted are those of "
                               "backend.cluster_config.hosts",
                               name);
    }
    return cse_hosts_count(&l->place.data_hosts) > 0
               ? CSE_OK
               : cse_fail(CSE_UNAVAILABLE, "backend.cluster_config.data_hosts: none of the hosts "
                                           "that have the data is left");
}

static const char *address_of(const led *l, int host, int port)
{
    const char *name = is_local(l) ? "127.0.0.1" : l->list.hosts[host].name;
    return cse_arena_printf(l->arena, strchr(name, ':') != NULL ? "[%s]:%d" : "%s:%d", name, port);
}

static void place_hosts(led *l, int first_port)
{
    for (int h = 0; h < l->list.count; h++) {
        const int given = l->list.hosts[h].port;
        const int port = given > 0 ? given : first_port + 2 * h;
        l->place.names[h] = l->list.hosts[h].name;
        l->place.addresses[h] = address_of(l, h, port);
        l->place.movers[h] =
            l->carriers != NULL ? cse_led_carriers_token(l->carriers) : address_of(l, h, port + 1);
    }
}

/* ---- the agents ---- */

static void on_line(void *self, const char *host, bool is_error, const char *line)
{
    led *l = self;
    const int h = cse_host_list_find(&l->list, host);
    (void)is_error;
    if (h < 0)
        return;
    agent *a = &l->agents[h];
    snprintf(a->lines[a->line_count++ % KEPT_LINES], LINE_BYTES, "%s", cse_host_log_text(line));
    cse_host_log_pass(&a->log, host, line);
}

static void add_lines(const agent *a, cse_text *text)
{
    const int first = a->line_count > KEPT_LINES ? a->line_count - KEPT_LINES : 0;
    for (int i = first; i < a->line_count; i++)
        cse_text_add(text, "%s%s", i == first ? "; it printed: " : " | ", a->lines[i % KEPT_LINES]);
}

static void turn_agents(led *l, cse_host_group *group)
{
    for (int h = 0; h < l->list.count; h++) {
        agent *a = &l->agents[h];
        cse_host_end end;
        char ended[512];
        if (a->process == NULL)
            continue;
        cse_host_process_turn(a->process);
        if (!cse_host_process_gone(a->process, &end))
            continue;
        cse_text why = { 0 };
        cse_text_add(&why, "%s", cse_host_end_text(a->process, end, ended, sizeof ended));
        add_lines(a, &why);
        cse_host_group_gone(group, h, why.data);
        cse_text_clear(&why);
        cse_host_process_destroy(&a->process);
    }
}

/* In the group's thread. */
static void turn(void *self, cse_host_group *group)
{
    led *l = self;
    if (l->carriers != NULL)
        cse_led_carriers_turn(l->carriers, group);
    if (l->returning != NULL)
        cse_returning_hosts_turn(l->returning, group, cse_clock_ns());
    pthread_mutex_lock(&l->agents_lock);
    turn_agents(l, group);
    pthread_mutex_unlock(&l->agents_lock);
}

static cse_status start_agent(led *l, int host, const char *program, const char *options)
{
    const char *const command[] = { program, "agent", NULL };
    cse_agent_place place = l->place;
    cse_text text = { 0 };
    const cse_host_launch launch = { .host = l->list.hosts[host].name,
                                     .command = command,
                                     .options = options,
                                     .on_line = on_line,
                                     .self = l };
    place.host = host;
    CSE_TRY(cse_host_process_start(l->launcher, &launch, &l->agents[host].process));
    cse_agent_place_encode(&place, &text);
    cse_status status = cse_host_process_send(l->agents[host].process, text.data, text.size);
    memset(text.data, 0, text.size); /* the key */
    cse_text_clear(&text);
    return status;
}

static cse_status start_agents(led *l, const cse_job_host_settings *s)
{
    char program[PATH_MAX];
    cse_status status = cse_worker_executable(NULL, program, sizeof program);
    for (int h = 0; h < l->list.count && status == CSE_OK; h++) {
        if (h == l->place.leader)
            continue;
        pthread_mutex_lock(&l->agents_lock);
        status = start_agent(l, h, program, s->launcher_options);
        pthread_mutex_unlock(&l->agents_lock);
    }
    return status;
}

/* ---- open, close ---- */

static cse_status open_group(led *l, const cse_job_environment *environment)
{
    const cse_job_settings *settings = environment->settings;
    const cse_job_host_settings *s = &settings->host_settings;
    cse_host_group_options options = { .host = l->place.leader,
                                       .host_count = l->place.host_count,
                                       .leader = l->place.leader,
                                       .data_hosts = l->place.data_hosts,
                                       .epoch = l->place.epoch,
                                       .lease_ns = l->place.lease_ns,
                                       .names = l->place.names,
                                       .addresses = l->place.addresses,
                                       .movers = l->place.movers,
                                       .link = l->place.link,
                                       .plain = s->plain,
                                       .min_hosts = s->min_hosts,
                                       .replicas = settings->session.num_csx,
                                       .even_shares = s->even_shares,
                                       .may_lack_hosts =
                                           l->taken != NULL || environment->may_lack_hosts,
                                       .listens_everywhere = !is_local(l),
                                       .turn = turn,
                                       .self = l };
    unsigned random = 0;
    cse_status status = CSE_UNAVAILABLE;
    CSE_TRY(cse_own_identity_find(l->arena, settings->session.portable, &options.identity));
    memcpy(options.key, l->place.key, sizeof options.key);
    for (int i = 0; i < ATTEMPTS && status == CSE_UNAVAILABLE; i++) {
        if (getrandom(&random, sizeof random, 0) != sizeof random)
            return cse_fail(CSE_TEMPORARY, "hosts: the kernel gives no random bytes");
        place_hosts(l, s->port > 0 ? s->port : FIRST_PORT + (int)(random % PORTS));
        status = cse_host_group_open(&options, &l->hosts.group);
    }
    return status;
}

static cse_status take_lock(led *l, const cse_job_settings *settings)
{
    uint64_t random;
    const char *model_dir = settings->session.model_dir;
    if (l->taken != NULL) {
        l->place.run = l->taken->run;
        return CSE_OK;
    }
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return cse_fail(CSE_TEMPORARY, "hosts: the kernel gives no random bytes");
    l->place.run = cse_arena_printf(l->arena, "%016llx", (unsigned long long)random);
    CSE_TRY(cse_make_directories("model_dir", model_dir));
    return cse_lead_lock_make(model_dir, l->place.run, &l->lock);
}

/* What moves the bytes besides the movers. */
static cse_status prepare_link(led *l, const cse_job_host_settings *s)
{
    const cse_host_link *link;
    char program[PATH_MAX];
    CSE_TRY(cse_host_link_select(s->link, &link));
    l->place.link = link->name;
    if (strcmp(link->name, "mpi") != 0 || l->list.count < 2)
        return CSE_OK;
    CSE_TRY(cse_worker_executable(NULL, program, sizeof program));
    return cse_led_carriers_new(
        &(cse_led_carriers_options){ .host_count = l->list.count,
                                     .leader = l->place.leader,
                                     .names = l->place.names,
                                     .launcher = l->launcher->name,
                                     .options = s->link_options,
                                     .program = cse_arena_string(l->arena, program) },
        &l->carriers);
}

static cse_status open_hosts(led *l, const cse_job_environment *environment)
{
    const cse_job_settings *settings = environment->settings;
    const cse_job_host_settings *s = &settings->host_settings;
    if (!may_use_hosts())
        return cse_fail(CSE_PERMISSION,
                        "backend.cluster_config.hosts: a confined job starts nothing "
                        "on other hosts");
    CSE_TRY(find_hosts(l, environment));
    CSE_TRY(find_data_hosts(l, environment));
    cse_log_name_own_host(l->list.hosts[l->place.leader].name);
    if (getrandom(l->place.key, sizeof l->place.key, 0) != sizeof l->place.key)
        return cse_fail(CSE_TEMPORARY, "hosts: the kernel gives no random bytes");
    CSE_TRY(take_lock(l, settings));
    l->place.epoch = 1;
    l->place.lease_ns = (int64_t)(s->lease_seconds * 1e9);
    l->place.plain = s->plain;
    l->place.portable = settings->session.portable;
    l->place.log_level = "INFO";
    if (cse_confinement_view() != NULL)
        cse_confinement_encode(cse_confinement_view(), &l->confinement);
    l->place.confinement = l->confinement.data != NULL ? l->confinement.data : "";
    CSE_TRY(prepare_link(l, s));
    if (l->carriers != NULL && l->taken == NULL && !environment->may_lack_hosts) {
        place_hosts(l, FIRST_PORT); /* their names */
        CSE_TRY(cse_led_carriers_start(l->carriers));
    }
    if (environment->host_change != NULL) {
        char program[PATH_MAX];
        CSE_TRY(cse_worker_executable(NULL, program, sizeof program));
        l->returning =
            cse_returning_hosts_new(environment->host_change, l->launcher, s->launcher_options,
                                    cse_arena_string(l->arena, program));
    }
    CSE_TRY(open_group(l, environment));
    cse_host_change_set_hosts(environment->host_change, &l->list, l->place.leader);
    return start_agents(l, s);
}

static void destroy(led *l)
{
    cse_host_group_close(&l->hosts.group); /* and its thread, which looks after the agents */
    cse_led_carriers_close(&l->carriers);
    cse_returning_hosts_destroy(&l->returning);
    for (int h = 0; h < l->list.count; h++)
        if (l->agents[h].process != NULL)
            cse_host_process_destroy(&l->agents[h].process);
    if (l->lock >= 0)
        close(l->lock);
    memset(l->place.key, 0, sizeof l->place.key);
    cse_text_clear(&l->confinement);
    pthread_mutex_destroy(&l->agents_lock);
    cse_arena_destroy(&l->arena);
    free(l);
}

/* The others stay as they are, with what they know. */
static void take_group(led *l, const cse_job_settings *settings)
{
    const cse_job_host_settings *s = &settings->host_settings;
    l->hosts.group = l->taken->group;
    cse_host_group_lead(l->hosts.group,
                        &(cse_host_group_leading){ .min_hosts = s->min_hosts,
                                                   .replicas = settings->session.num_csx,
                                                   .even_shares = s->even_shares });
}

cse_status cse_led_hosts_open(cse_job_environment *environment, const cse_lead_taken *taken,
                              cse_led_hosts **opened)
{
    led *l = cse_calloc(1, sizeof *l);
    l->arena = cse_arena_new();
    pthread_mutex_init(&l->agents_lock, NULL);
    l->lock = -1;
    l->taken = taken;
    cse_status status = CSE_OK;
    if (taken != NULL && taken->group != NULL)
        take_group(l, environment->settings);
    else
        status = open_hosts(l, environment);
    if (status != CSE_OK) {
        destroy(l);
        return status;
    }
    environment->hosts = &l->hosts;
    *opened = l;
    return CSE_OK;
}

static bool has_agents(const led *l)
{
    return l->taken == NULL || l->taken->group == NULL;
}

void cse_led_hosts_close(cse_led_hosts **closed, cse_status status, const cse_job_result *result)
{
    led *l = *closed;
    const int64_t end_ns = cse_clock_ns() + END_NS;
    cse_host_message leave = { .kind = CSE_HOST_LEAVE };
    if (l == NULL)
        return;
    leave.leave.status = status;
    leave.leave.reason = status != CSE_OK   ? "the run has failed"
                         : result->hands_on ? "the run goes on with other hosts"
                         : result->stopped  ? "the run was stopped"
                                            : "the run is complete";
    leave.leave.weights_digest = status == CSE_OK ? result->weights_digest : "";
    cse_host_group_end(l->hosts.group, &leave);
    /* The group's thread takes each agent's last lines and its end; those of another leader end by
     * themselves. */
    while (has_agents(l) && cse_clock_ns() < end_ns && !cse_host_group_all_gone(l->hosts.group))
        cse_sleep_ns(TURN_NS);
    destroy(l);
    *closed = NULL;
}
