/* One lock around members.h: the thread holds it while it handles what arrived, the job's thread
 * while it asks or tells. */
#include "workers/group/host_group.h"
#include "workers/group/host_group_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/arena/arena_hosts.h"
#include "workers/arena/coordinator_side.h"
#include "workers/arena/state_gather.h"
#include "workers/arena/states_digest.h"
#include "workers/arena/timing.h"

#define MILLISECONDS INT64_C(1000000)
#define TURN_NS (10 * MILLISECONDS)
#define WAIT_NS (20 * MILLISECONDS)
#define END_NS (5000 * MILLISECONDS)
#define DIFFERENCE_NS (1000 * MILLISECONDS)
#define LEADER_LEFT "the leading host"
#define CONTROL_SESSION (INT64_MAX)

static void lock(group *g)
{
    pthread_mutex_lock(&g->lock);
}

static void unlock(group *g)
{
    pthread_mutex_unlock(&g->lock);
}

static void wake(group *g)
{
    cse_host_group_wake(g);
}

static cse_status send_message(void *self, int host, const cse_host_message *message)
{
    return cse_host_group_send(self, host, message);
}

/* ---- the thread ---- */

static int64_t read_file(void *self, int64_t offset, unsigned char *bytes, size_t size)
{
    const group *g = self;
    return pread(g->file, bytes, size, offset);
}

static void take_job(group *g, int host, const cse_host_message *message)
{
    const int64_t file_bytes = message->job.file_bytes;
    if (host != cse_members_leader(g->members)) {
        if (message->job.epoch <= cse_members_epoch(g->members))
            return;
        cse_members_follow(g->members, host, message->job.epoch);
    } else if (g->job.kind != 0 && g->file_bytes == g->job.job.file_bytes &&
               message->job.generation == g->generation) {
        return; /* it is there already, and the leader sends it once more */
    }
    g->job = *message;
    g->job_from = host;
    g->generation = message->job.generation;
    const char **const texts[] = { &g->job.job.configuration, &g->job.job.directory,
                                   &g->job.job.model_dir,     &g->job.job.hosts,
                                   &g->job.job.movers,        &g->job.job.validations };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        *texts[i] = cse_arena_string(g->arena, *texts[i]);
    g->file_bytes = 0;
    if (g->file >= 0)
        close(g->file);
    g->file = -1;
    if (file_bytes > 0)
        g->file = open(g->file_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    g->file_errno = file_bytes > 0 && g->file < 0 ? errno : 0;
}

static void take_file(group *g, const cse_host_message *message)
{
    const cse_message_bytes *bytes = &message->file.bytes;
    if (g->job.kind == 0 || g->file < 0 || message->file.offset != g->file_bytes ||
        (int64_t)bytes->size > g->job.job.file_bytes - g->file_bytes)
        return;
    const ssize_t written = pwrite(g->file, bytes->data, bytes->size, g->file_bytes);
    if (written == (ssize_t)bytes->size)
        g->file_bytes += (int64_t)bytes->size;
    else
        g->file_errno = written < 0 ? errno : ENOSPC;
}

static void take_frame(group *g, const cse_host_link_event *event)
{
    cse_host_message message;
    cse_status status = cse_host_message_decode(event->bytes, event->size, &message);
    const int leader = cse_members_leader(g->members);
    if (status == CSE_OK && leader != g->options.host && message.kind == CSE_HOST_JOB) {
        take_job(g, event->host, &message);
        return;
    }
    if (status == CSE_OK && event->host == leader && message.kind == CSE_HOST_FILE) {
        take_file(g, &message);
        return;
    }
    if (status == CSE_OK && message.kind == CSE_HOST_REPORT) {
        cse_host_group_take_report(g, event->host, &message);
        return;
    }
    if (status == CSE_OK && cse_host_group_take_data(g, event->host, &message))
        return;
    if (status == CSE_OK && message.kind == CSE_HOST_LOG) {
        cse_log_line(message.log.level <= CSE_LOG_ERROR ? (cse_log_level)message.log.level
                                                        : CSE_LOG_INFO,
                     "host %s: %s", g->options.names[event->host], message.log.line);
        return;
    }
    if (status == CSE_OK)
        status = cse_members_receive(g->members, event->host, &message, cse_clock_ns());
    if (status != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "from host %s: %s", g->options.names[event->host],
                     cse_error_message());
}

static void take_event(group *g, const cse_host_link_event *event)
{
    if (event->kind == CSE_HOST_LINK_CONNECTED)
        cse_members_connected(g->members, event->host, cse_clock_ns());
    else if (event->kind == CSE_HOST_LINK_LOST)
        cse_members_disconnected(g->members, event->host);
    else if (event->kind == CSE_HOST_LINK_FRAME)
        take_frame(g, event);
}

static void tell_leaving(group *g)
{
    const int leader = cse_members_leader(g->members);
    if (g->leaves.kind != 0 && cse_members_are_connected(g->members, leader) &&
        send_message(g, leader, &g->leaves) == CSE_OK)
        g->leaves.kind = 0;
}

static void drain_wake(const group *g)
{
    uint64_t count;
    (void)!read(g->wake, &count, sizeof count);
}

static void *run_thread(void *self)
{
    group *g = self;
    bool ends = false;
    while (!ends) {
        cse_host_link_event event;
        int64_t deadline_ns = cse_clock_ns() + TURN_NS;
        cse_status status;
        while ((status = g->link->next(g->state, deadline_ns, &event)) == CSE_OK &&
               event.kind != CSE_HOST_LINK_NOTHING) {
            lock(g);
            take_event(g, &event);
            unlock(g);
            deadline_ns = 0;
        }
        if (status != CSE_OK) {
            cse_log_line(CSE_LOG_ERROR, "link of the hosts: %s", cse_error_message());
            cse_sleep_ns(TURN_NS);
        }
        drain_wake(g);
        lock(g);
        cse_members_tick(g->members, cse_clock_ns());
        tell_leaving(g);
        cse_host_group_tell_report(g);
        cse_host_group_ask_again(g);
        ends = g->ends;
        unlock(g);
        if (g->options.turn != NULL)
            g->options.turn(g->options.self, g);
    }
    return NULL;
}

/* ---- open, close ---- */

static const char *const *copy_texts(group *g, const char *const *texts)
{
    const char **copies = cse_arena_alloc(g->arena, (size_t)g->options.host_count * sizeof *copies);
    for (int h = 0; h < g->options.host_count; h++)
        copies[h] = cse_arena_string(g->arena, texts[h]);
    return copies;
}

/* A host's own name may stand for an address that no other one can reach. */
static const char *listening_at(group *g, const char *address)
{
    const char *port = strrchr(address, ':');
    return g->options.listens_everywhere && port != NULL ? cse_arena_string(g->arena, port)
                                                         : address;
}

static cse_status open_link(group *g)
{
    const cse_host_group_options *o = &g->options;
    const char *addresses[CSE_MAX_HOSTS];
    memcpy(addresses, o->addresses, (size_t)o->host_count * sizeof *addresses);
    addresses[o->host] = listening_at(g, o->addresses[o->host]);
    memcpy(g->movers, o->movers, (size_t)o->host_count * sizeof *g->movers);
    g->movers[o->host] = listening_at(g, o->movers[o->host]);
    cse_host_link_options link = { .host = o->host,
                                   .host_count = o->host_count,
                                   .addresses = addresses,
                                   .session = CONTROL_SESSION,
                                   .plain = o->plain,
                                   .wake = g->wake };
    memcpy(link.key, o->key, sizeof link.key);
    /* That of the agents: what says who is lost must not depend on what moves the bytes. */
    CSE_TRY(cse_host_link_select(NULL, &g->link));
    return g->link->open(&link, &g->state);
}

static void make_members(group *g)
{
    const cse_host_group_options *o = &g->options;
    int64_t process = 0;
    (void)!getrandom(&process, sizeof process, 0);
    g->io = (cse_members_io){ .self = g, .send = send_message, .read_file = read_file };
    g->members = cse_members_new(&(cse_members_options){ .io = &g->io,
                                                         .host = o->host,
                                                         .host_count = o->host_count,
                                                         .leader = o->leader,
                                                         .absent = o->absent,
                                                         .data_hosts = o->data_hosts,
                                                         .epoch = o->epoch,
                                                         .lease_ns = o->lease_ns,
                                                         .replicas = o->replicas,
                                                         .even_shares = o->even_shares,
                                                         .process = process & INT64_MAX,
                                                         .identity = o->identity,
                                                         .names = o->names },
                                 cse_clock_ns());
}

cse_status cse_host_group_open(const cse_host_group_options *options, cse_host_group **opened)
{
    group *g = cse_calloc(1, sizeof *g);
    g->options = *options;
    g->arena = cse_arena_new();
    g->options.names = copy_texts(g, options->names);
    g->options.addresses = copy_texts(g, options->addresses);
    g->options.movers = copy_texts(g, options->movers);
    /* The thread may take a job before it is asked for. */
    if (options->directory != NULL)
        snprintf(g->file_path, sizeof g->file_path, "%s/received.mdl", options->directory);
    g->file = -1;
    g->data_asked = -1;
    g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&g->lock, NULL);
    make_members(g);
    cse_status status = open_link(g);
    if (status == CSE_OK && pthread_create(&g->thread, NULL, run_thread, g) != 0)
        status = cse_fail(CSE_TEMPORARY, "hosts: no thread can be made");
    g->started = status == CSE_OK;
    *opened = g;
    if (status != CSE_OK)
        cse_host_group_close(opened);
    return status;
}

void cse_host_group_close(cse_host_group **closed)
{
    group *g = *closed;
    if (g == NULL)
        return;
    lock(g);
    g->ends = true;
    unlock(g);
    wake(g);
    if (g->started)
        pthread_join(g->thread, NULL);
    if (g->state != NULL)
        g->link->close(&g->state);
    cse_members_destroy(&g->members);
    if (g->file >= 0)
        close(g->file);
    close(g->wake);
    pthread_mutex_destroy(&g->lock);
    cse_text_clear(&g->sent);
    for (int h = 0; h < CSE_MAX_HOSTS; h++)
        free(g->reports[h]);
    free(g->report);
    cse_host_group_free_data(g);
    cse_arena_destroy(&g->arena);
    free(g);
    *closed = NULL;
}

/* ---- what is told and asked ---- */

void cse_host_group_gone(cse_host_group *g, int host, const char *how)
{
    lock(g);
    cse_members_gone(g->members, host, how);
    unlock(g);
}

void cse_host_group_left_alone(cse_host_group *g)
{
    lock(g);
    g->left_alone = true;
    if (!cse_host_group_leads(g))
        cse_members_gone(g->members, cse_members_leader(g->members), "its program has ended");
    unlock(g);
}

bool cse_host_group_all_gone(cse_host_group *g)
{
    bool all = true;
    lock(g);
    for (int h = 0; h < g->options.host_count; h++)
        all = all && (h == g->options.host || cse_members_is_gone(g->members, h));
    unlock(g);
    return all;
}

const char *cse_host_group_name(const cse_host_group *g, int host)
{
    return g->options.names[host];
}

int cse_host_group_size(const cse_host_group *g)
{
    return g->options.host_count;
}

/* A line for each host. */
static const char *lines_of(group *g, const char *const *texts)
{
    cse_text lines = { 0 };
    for (int h = 0; h < g->options.host_count; h++)
        cse_text_add(&lines, "%s\n", texts[h]);
    const char *kept = cse_arena_string(g->arena, lines.data);
    cse_text_clear(&lines);
    return kept;
}

cse_status cse_host_group_give_job(cse_host_group *g, const cse_host_message *job, const char *file)
{
    struct stat found = { 0 };
    int descriptor = file != NULL ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (file != NULL && (descriptor < 0 || fstat(descriptor, &found) != 0)) {
        const int error = errno;
        if (descriptor >= 0)
            close(descriptor);
        return cse_fail(CSE_NO_INPUT, "%s: cannot be read for the other hosts: %s", file,
                        strerror(error));
    }
    lock(g);
    cse_host_message given = *job;
    given.job.epoch = cse_members_epoch(g->members);
    given.job.generation = ++g->generation;
    given.job.hosts = lines_of(g, g->options.names);
    given.job.movers = lines_of(g, g->options.movers);
    given.job.file_bytes = found.st_size;
    if (g->file >= 0) /* what it was sent before it led */
        close(g->file);
    g->file = descriptor;
    cse_members_set_job(g->members, &given);
    unlock(g);
    wake(g);
    return CSE_OK;
}

void cse_host_group_end(cse_host_group *g, const cse_host_message *leave)
{
    const int64_t end_ns = cse_clock_ns() + END_NS;
    bool told = false;
    lock(g);
    cse_members_end(g->members, leave);
    unlock(g);
    wake(g);
    while (!told && cse_clock_ns() < end_ns) {
        cse_sleep_ns(MILLISECONDS);
        lock(g);
        told = cse_members_all_told(g->members);
        unlock(g);
    }
}

bool cse_host_group_has_other_job(cse_host_group *g, const cse_host_job *job)
{
    lock(g);
    const bool has = g->job.kind != 0 && g->generation != job->message.job.generation;
    unlock(g);
    return has;
}

cse_members_turn cse_host_group_turn_to_lead(cse_host_group *g)
{
    lock(g);
    const cse_members_turn turn = cse_members_turn_to_lead(g->members);
    unlock(g);
    return turn;
}

void cse_host_group_note_lead_held(cse_host_group *g)
{
    lock(g);
    cse_members_note_lead_held(g->members);
    unlock(g);
}

void cse_host_group_lead(cse_host_group *g, const cse_host_group_leading *leading)
{
    lock(g);
    if (g->file >= 0)
        close(g->file);
    g->file = -1;
    g->options.min_hosts = leading->min_hosts;
    g->options.may_lack_hosts = true;
    g->has_begun = g->stands_alone = false;
    g->lost_told = (cse_host_set){ { 0 } };
    g->leaves.kind = 0;
    cse_members_lead(g->members,
                     &(cse_members_leading){ .replicas = leading->replicas,
                                             .even_shares = leading->even_shares },
                     cse_clock_ns());
    unlock(g);
    wake(g);
}

bool cse_host_group_told(cse_host_group *g, cse_host_message *message)
{
    lock(g);
    const cse_host_message *told = cse_members_told_to_end(g->members);
    if (told != NULL)
        *message = *told;
    unlock(g);
    return told != NULL;
}

void cse_host_group_stand_alone(cse_host_group *g)
{
    lock(g);
    g->stands_alone = true;
    unlock(g);
}

bool cse_host_group_differs(cse_host_group *g)
{
    int host;
    int64_t step;
    lock(g);
    const bool differs = cse_members_differ(g->members, &host, &step);
    unlock(g);
    return differs;
}

bool cse_host_group_stands_alone(const cse_host_group *g)
{
    return g->stands_alone;
}

void cse_host_group_leave(cse_host_group *g, cse_status status, const char *reason)
{
    const int64_t end_ns = cse_clock_ns() + END_NS / 5;
    bool told = false;
    lock(g);
    snprintf(g->leaves_reason, sizeof g->leaves_reason, "%s", reason);
    g->leaves = (cse_host_message){ .kind = CSE_HOST_LEAVE };
    g->leaves.leave.epoch = cse_members_epoch(g->members);
    g->leaves.leave.status = status;
    g->leaves.leave.reason = g->leaves_reason;
    unlock(g);
    wake(g);
    while (!told && cse_clock_ns() < end_ns) {
        cse_sleep_ns(MILLISECONDS);
        lock(g);
        told = g->leaves.kind == 0;
        unlock(g);
    }
}

/* Why a follower waits in vain; CSE_OK: it does not. With the lock held. */
static cse_status why_over(group *g)
{
    const cse_host_message *told = cse_members_told_to_end(g->members);
    if (told != NULL && told->kind == CSE_HOST_REFUSED)
        return cse_fail(CSE_UNAVAILABLE, "%s has refused this host: %s", LEADER_LEFT,
                        told->refused.reason);
    if (told != NULL)
        return cse_fail(CSE_INTERRUPTED, "%s has ended the run: %s", LEADER_LEFT,
                        told->leave.reason);
    return CSE_OK;
}

cse_status cse_host_group_wait_job(cse_host_group *g, int (*stops)(void *self), void *self,
                                   cse_host_job *job)
{
    cse_status status = CSE_OK;
    bool found = false;
    while (!found && status == CSE_OK) {
        if (stops(self) != 0)
            return cse_fail(CSE_INTERRUPTED, "told to end");
        lock(g);
        status = why_over(g);
        if (status == CSE_OK && g->file_errno != 0)
            status = cse_fail(CSE_IO, "%s: cannot be written: %s", g->file_path,
                              strerror(g->file_errno));
        found = g->job.kind != 0 && g->file_bytes == g->job.job.file_bytes;
        if (found) {
            job->message = g->job;
            job->file = g->job.job.file_bytes > 0 ? g->file_path : NULL;
        }
        unlock(g);
        if (!found)
            cse_sleep_ns(WAIT_NS / 4);
    }
    return status;
}

/* ---- executions ---- */

/* Two hosts can only say that they differ; of more, one stands against the others, whose records of
 * that step are waited for. */
static cse_status tell_difference(group *g, int host, int64_t step, int left)
{
    const char *const *names = g->options.names;
    char who[512];
    int told;
    const int accused = cse_members_accused(g->members, &told);
    if (g->differs_since_ns == 0)
        g->differs_since_ns = cse_clock_ns();
    if (told < left && cse_clock_ns() - g->differs_since_ns < DIFFERENCE_NS)
        return CSE_OK;
    if (accused >= 0)
        snprintf(who, sizeof who,
                 "host %.200s has or computes wrong bits: its record differs from "
                 "that of all other hosts",
                 names[accused]);
    else
        snprintf(who, sizeof who,
                 "the record of host %.200s differs from that of host %.200s: one "
                 "of them has or computes wrong bits",
                 names[host], names[g->options.host]);
    return cse_fail(CSE_DATA,
                    "step %lld: %s. The steps since the last checkpoint are not saved, and one of "
                    "step %lld or later may hold wrong weights. Look at the host (csengine doctor, "
                    "the kernel's log of memory errors), and start again without it, from a "
                    "checkpoint before that",
                    (long long)step + 1, who,
                    (long long)(step < CSE_STATES_PARTS ? 1 : step + 1 - CSE_STATES_PARTS));
}

static cse_status check_hosts(group *g)
{
    int host;
    int64_t step;
    const cse_host_set lost = cse_members_lost(g->members);
    CSE_TRY(cse_host_group_check_data(g, &g->lost_told));
    if (!cse_host_group_leads(g))
        return CSE_OK;
    const int left = g->options.host_count - cse_hosts_count(&lost);
    if (cse_members_differ(g->members, &host, &step))
        CSE_TRY(tell_difference(g, host, step, left));
    if (left < g->options.min_hosts)
        return cse_fail(CSE_UNAVAILABLE,
                        "%d host%s left, and backend.cluster_config.min_hosts is %d", left,
                        left == 1 ? " is" : "s are", g->options.min_hosts);
    return CSE_OK;
}

/* Of states that are cut over hosts. */
static cse_status lose_part(group *g)
{
    g->lost_part = true;
    return cse_fail(CSE_UNAVAILABLE, "a host is lost that alone had its part of the optimizer's "
                                     "states (states.shard_copies)");
}

bool cse_host_group_lost_part(cse_host_group *g)
{
    lock(g);
    const bool lost = g->lost_part;
    unlock(g);
    return lost;
}

static cse_status on_turn(void *self, struct cse_running *running, cse_cluster *cluster)
{
    group *g = self;
    (void)running;
    const int64_t done = cse_cluster_steps_done(cluster);
    const cse_compute_load load = cse_cluster_compute_load(cluster);
    lock(g);
    cse_members_note_steps(g->members, done);
    cse_members_note_work(g->members,
                          &(cse_host_work){ .microbatches = load.microbatches,
                                            .compute_ns = load.compute_ns,
                                            .exposed_ns = cse_cluster_exposed_ns(cluster) });
    g->steps_done = done;
    const cse_host_cut *next = cse_members_next_cut(g->members);
    cse_status status = CSE_OK;
    if (next != NULL && next->first_step <= done)
        status = cse_fail(CSE_INTERNAL, "hosts: a cut of step %lld on came after step %lld",
                          (long long)next->first_step, (long long)done);
    else if (next != NULL) {
        status = cse_cluster_set_cut(cluster, next);
        if (status == CSE_OK)
            cse_members_cut_is_set(g->members);
        else if (status == CSE_TEMPORARY)
            status = CSE_OK;
    }
    cse_host_set lost =
        g->stands_alone ? cse_hosts_first(g->options.host_count) : cse_members_lost(g->members);
    cse_hosts_remove(&lost, g->options.host);
    if (!cse_hosts_equal(&lost, &g->lost_told)) {
        const cse_status told = cse_cluster_lose_hosts(cluster, &lost);
        status = status == CSE_OK ? told : status;
    }
    g->lost_told = lost;
    for (int h = 0; h < g->options.host_count; h++)
        if (h != g->options.host && cse_members_steps_of(g->members, h) >= 0)
            cse_cluster_note_host(cluster, h, cse_members_steps_of(g->members, h));
    if (cse_members_leader_left(g->members))
        cse_cluster_note_leader_left(cluster);
    if (status == CSE_OK)
        status = check_hosts(g);
    if (status == CSE_OK && cse_host_group_leads(g) && cse_cluster_lacks_states(cluster))
        status = lose_part(g);
    unlock(g);
    return status;
}

static int64_t most_released(void *self)
{
    group *g = self;
    lock(g);
    const int64_t most = cse_members_most_released(g->members);
    unlock(g);
    return most;
}

static void fill(group *g, const cse_members_execution *execution, cse_execution_hosts *hosts)
{
    const cse_host_group_options *o = &g->options;
    g->lost_told = cse_members_lost(g->members);
    *hosts = (cse_execution_hosts){ .host = o->host,
                                    .host_count = o->host_count,
                                    .leader = cse_members_leader(g->members),
                                    .cut = &g->cut,
                                    .lost = g->lost_told,
                                    .data_hosts = o->data_hosts,
                                    .link = o->link,
                                    .addresses = g->movers,
                                    .session = (uint64_t)(g->generation << 32) +
                                               (uint64_t)execution->number,
                                    .plain = o->plain,
                                    .on_turn = on_turn,
                                    .most_released = most_released,
                                    .self = g };
    memcpy(hosts->key, o->key, sizeof hosts->key);
}

cse_status cse_host_group_begin(cse_host_group *g, const cse_members_execution *execution,
                                int (*stops)(void *self), void *self, cse_execution_hosts *hosts)
{
    const int64_t begun_ns = cse_clock_ns();
    cse_status status = CSE_OK;
    bool may = false;
    lock(g);
    cse_members_begin(g->members, execution);
    unlock(g);
    wake(g);
    while (!may && status == CSE_OK) {
        const int asked = stops(self);
        /* One that has trained stops in the execution, where its last step is saved. */
        if (asked > 1 || (asked == 1 && !(g->has_begun && cse_host_group_leads(g))))
            return cse_fail(CSE_INTERRUPTED, "stopped on request before the first step");
        lock(g);
        status = cse_host_group_leads(g) ? CSE_OK : why_over(g);
        if (status == CSE_OK)
            status = cse_host_group_check_start(g, cse_clock_ns() - begun_ns);
        may = status == CSE_OK && cse_members_may_begin(g->members, &g->cut);
        if (may)
            fill(g, execution, hosts);
        unlock(g);
        if (!may && status == CSE_OK)
            cse_sleep_ns(WAIT_NS / 4);
    }
    g->has_begun = g->has_begun || may;
    wake(g);
    return status;
}

void cse_host_group_end_execution(cse_host_group *g)
{
    lock(g);
    cse_members_end_execution(g->members);
    unlock(g);
}

bool cse_host_group_ends_here(cse_host_group *g)
{
    lock(g);
    const bool ends = cse_members_ends_here(g->members);
    unlock(g);
    return ends;
}

void cse_host_group_note_record(cse_host_group *g, int64_t step, uint64_t digest)
{
    lock(g);
    cse_members_note_record(g->members, step, digest);
    unlock(g);
}

void cse_host_group_note_steps(cse_host_group *g, int64_t steps_done)
{
    lock(g);
    cse_members_note_steps(g->members, steps_done);
    unlock(g);
    wake(g);
}
