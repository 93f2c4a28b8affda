/* What a follower would write lies in a run directory, which is removed at its end, or swept by the
 * next run where it was killed. */
#include "run/hosts/follow_leader.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/config/states_settings.h"
#include "engine/base/confinement.h"
#include "engine/base/directory.h"
#include "engine/base/error.h"
#include "engine/base/log.h"
#include "run/hosts/lead_hosts.h"
#include "run/job/job_hosts.h"
#include "run/job/job_settings.h"
#include "run/job/kinds.h"
#include "run/record/record_tail.h"
#include "workers/group/agent_place.h"
#include "workers/group/host_identity.h"
#include "workers/group/lead_lock.h"
#include "workers/messages/run_directory.h"

typedef struct follower {
    const cse_follower *options;
    cse_arena *arena;
    cse_agent_place place;
    cse_confinement *confinement; /* NULL: none */
    cse_host_group *group;
    cse_run_directory directory;
    struct cse_job_hosts hosts;
    cse_host_job given;
    char weights_digest[65]; /* of its own last state; "": the job did not end */
    bool input_ended;
    int lock; /* of the lead, once it is taken; else -1 */
    cse_record_tail *tail;
    bool gave_up;
    bool waits;    /* for its turn to lead */
    bool has_part; /* of the states alone: its last step cannot be saved */
} follower;

static bool told_to_end(const follower *f)
{
    return f->options->stop_requested(f->options->self);
}

/* Takes the lead of a run that lacks its leader, once it is this host's turn. */
static void try_to_lead(follower *f)
{
    if (f->lock >= 0 || f->gave_up)
        return;
    const cse_members_turn turn = cse_host_group_turn_to_lead(f->group);
    f->waits = turn == CSE_TURN_WAITS;
    f->gave_up = turn == CSE_TURN_GIVES_UP;
    if (turn != CSE_TURN_LEADS)
        return;
    cse_status status = CSE_UNAVAILABLE;
    if (f->given.message.kind != 0)
        status = cse_lead_lock_take(f->given.message.job.model_dir, f->place.run, &f->lock);
    if (status == CSE_OK) {
        cse_log_line(CSE_LOG_WARNING, "the leading host is lost; this one leads from here on");
        cse_host_group_stand_alone(f->group);
        return;
    }
    f->lock = -1;
    f->gave_up = status != CSE_TEMPORARY;
    if (status == CSE_TEMPORARY)
        cse_host_group_note_lead_held(f->group);
}

static bool takes_lead(void *self)
{
    const follower *f = self;
    return f->lock >= 0;
}

/* 2: at once; what a follower has done is done by all others as well. 1: with the step in flight,
 * which is saved. */
static int stops(void *self)
{
    follower *f = self;
    if (told_to_end(f))
        return 2;
    try_to_lead(f);
    if (f->lock >= 0)
        return f->has_part ? 2 : 1;
    cse_host_message told;
    return f->gave_up || cse_host_group_told(f->group, &told) ||
                   (f->given.message.kind != 0 && cse_host_group_has_other_job(f->group, &f->given))
               ? 2
               : 0;
}

/* The wait for a job: the one who gives it may be lost, too. */
static int stops_waiting(void *self)
{
    follower *f = self;
    if (told_to_end(f))
        return 2;
    try_to_lead(f);
    return f->lock >= 0 || f->gave_up;
}

/* In the group's thread: whoever started this program holds its input open. */
static void turn(void *self, cse_host_group *group)
{
    follower *f = self;
    struct pollfd input = { .fd = f->options->input, .events = POLLIN };
    char dropped[64];
    if (f->input_ended || poll(&input, 1, 0) <= 0)
        return;
    if (read(f->options->input, dropped, sizeof dropped) > 0)
        return;
    f->input_ended = true;
    cse_host_group_left_alone(group);
}

static cse_status open_group(follower *f)
{
    const cse_agent_place *p = &f->place;
    cse_host_group_options options = { .host = p->host,
                                       .host_count = p->host_count,
                                       .leader = p->leader,
                                       .data_hosts = p->data_hosts,
                                       .epoch = p->epoch,
                                       .lease_ns = p->lease_ns,
                                       .names = p->names,
                                       .addresses = p->addresses,
                                       .movers = p->movers,
                                       .link = p->link,
                                       .directory = f->directory.path,
                                       .plain = p->plain,
                                       .listens_everywhere =
                                           strncmp(p->addresses[p->host], "127.", 4) != 0,
                                       .turn = turn,
                                       .self = f };
    memcpy(options.key, p->key, sizeof options.key);
    cse_host_identity_new(f->arena, p->portable, &options.identity);
    return cse_host_group_open(&options, &f->group);
}

/* Compiled steps are kept for the next run where this user has a cache. */
static const char *compile_directory(follower *f)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *path = cache != NULL && cache[0] == '/'
                           ? cse_arena_printf(f->arena, "%s/csengine/compiled", cache)
                       : home != NULL && home[0] == '/'
                           ? cse_arena_printf(f->arena, "%s/.cache/csengine/compiled", home)
                           : NULL;
    if (path != NULL && cse_make_directories("compile_dir", path) == CSE_OK)
        return path;
    return NULL;
}

static cse_status run_job(follower *f)
{
    const cse_host_message *job = &f->given.message;
    cse_config *config = NULL;
    cse_job_settings settings;
    cse_job_result result = { 0 };
    if (chdir(job->job.directory) != 0)
        cse_log_line(CSE_LOG_WARNING, "%s: %s; relative paths of the data are looked for in %s",
                     job->job.directory, strerror(errno), "the home directory");
    /* A host without data needs none of the folders in which they are looked for. */
    const cse_config_override no_folders = { "backend.cluster_config.mount_dirs", "[]",
                                             "hosts without data", false };
    const cse_config_text text = { .source = "configuration of the leading host",
                                   .yaml = job->job.configuration,
                                   .overrides = &no_folders,
                                   .override_count = !cse_host_group_has_data(f->group),
                                   .kinds = cse_kinds };
    CSE_TRY(cse_config_check(&text, NULL, &config));
    cse_status status = cse_job_settings_read(config, CSE_JOB_TRAIN, f->arena, &settings);
    cse_states_place states = { 0 };
    if (status == CSE_OK)
        status = cse_states_place_read(settings.states, &states);
    f->has_part = states.copies > 0;
    f->hosts = (struct cse_job_hosts){
        .group = f->group, .given = &f->given, .tail = f->tail, .takes_lead = takes_lead, .self = f
    };
    cse_job_follow(&settings, &f->hosts, f->directory.path);
    if (settings.session.compile_dir == NULL)
        settings.session.compile_dir = compile_directory(f);
    cse_job_environment environment = cse_job_environment_of(&settings);
    environment.hosts = &f->hosts;
    environment.stop_requested = stops;
    environment.self = f;
    if (status == CSE_OK)
        status = cse_job_run(&environment, &result);
    if (status == CSE_OK && !result.stopped)
        memcpy(f->weights_digest, result.weights_digest, sizeof f->weights_digest);
    cse_config_destroy(&config);
    return status;
}

/* The last state is in no record: its digest is compared instead. */
static cse_status compare_weights(const follower *f, const char *leaders)
{
    if (*leaders == '\0' || f->weights_digest[0] == '\0' || strcmp(leaders, f->weights_digest) == 0)
        return CSE_OK;
    return cse_fail(CSE_DATA,
                    "the weights after the last step are others here (digest %.16s...) than on the "
                    "leading host (%.16s...): one of the two computes wrong bits",
                    f->weights_digest, leaders);
}

/* The job is over here; the leader says when it is for all. */
static cse_status wait_for_leave(follower *f)
{
    while (!stops(f))
        usleep(5000);
    return CSE_OK;
}

static void add_host(const follower *f, int host, cse_host_list *list)
{
    cse_host_entry *entry = &list->hosts[list->count++];
    *entry = (cse_host_entry){ .port = 0 };
    snprintf(entry->name, sizeof entry->name, "%s", f->place.names[host]);
}

/* The other hosts that are left, this one first. */
static const cse_host_list *hosts_left(follower *f)
{
    cse_host_list *list = cse_arena_alloc(f->arena, sizeof *list);
    list->count = 0;
    add_host(f, f->place.host, list);
    for (int h = 0; h < f->place.host_count; h++) {
        cse_host_view view;
        cse_host_group_look(f->group, h, &view);
        if (h != f->place.host && h != f->place.leader && view.state != CSE_MEMBER_LOST &&
            view.connected)
            add_host(f, h, list);
    }
    return list;
}

/* What carries the bytes besides the movers may have ended with the leader, and its agents have to
 * be started again with it. */
static bool keeps_group(const follower *f)
{
    return f->place.link == NULL || strcmp(f->place.link, "mpi") != 0;
}

static int stops_leading(void *self)
{
    return told_to_end(self);
}

/* The job anew, from the checkpoint that this host has saved, with the hosts that are left. */
static cse_status lead(follower *f)
{
    /* The texts of the job end with the group. */
    const char *model_dir = cse_arena_string(f->arena, f->given.message.job.model_dir);
    const char *configuration = cse_arena_string(f->arena, f->given.message.job.configuration);
    const cse_host_list *hosts = hosts_left(f);
    const cse_config_override folder = { "model_dir", model_dir, "model_dir of the run", true };
    cse_config *config = NULL;
    cse_job_settings settings;
    cse_job_result result = { 0 };
    cse_led_hosts *led = NULL;
    const cse_config_text text = { .source = "configuration of the run",
                                   .yaml = configuration,
                                   .overrides = &folder,
                                   .override_count = 1,
                                   .kinds = cse_kinds };
    CSE_TRY(cse_config_check(&text, NULL, &config));
    cse_status status = cse_job_settings_read(config, CSE_JOB_TRAIN, f->arena, &settings);
    settings.host_settings.hosts = hosts;
    settings.host_settings.of_place = false;
    settings.checkpoint_path = NULL;
    settings.autoload_last_checkpoint = true;
    cse_job_environment environment = cse_job_environment_of(&settings);
    environment.run_store = true;
    environment.takes_lead = true;
    environment.tail = f->tail;
    environment.stop_requested = stops_leading;
    environment.self = f;
    cse_lead_taken taken = { .lock = f->lock, .run = f->place.run };
    if (!keeps_group(f))
        cse_host_group_close(&f->group);
    taken.group = f->group;
    if (status == CSE_OK) {
        f->group = NULL; /* the led hosts close it */
        status = cse_led_hosts_open(&environment, &taken, &led);
    }
    if (status == CSE_OK)
        status = cse_job_run(&environment, &result);
    cse_error *failure = status != CSE_OK ? cse_error_copy(cse_error_last()) : NULL;
    cse_led_hosts_close(&led, status, &result);
    cse_config_destroy(&config);
    if (failure != NULL)
        cse_fail_again(failure);
    free(failure);
    return status;
}

/* To the folders of the job, and to that for what a follower would write, and is sent. */
static cse_status confine(follower *f)
{
    if (f->place.confinement[0] == '\0')
        return CSE_OK;
    CSE_TRY(cse_confinement_decode(f->place.confinement, &f->confinement));
    CSE_TRY(cse_confinement_allow(f->confinement, CSE_PATH_OUTPUT, f->directory.path));
    CSE_TRY(cse_confinement_allow(f->confinement, CSE_PATH_INPUT, f->directory.path));
    cse_confine(f->confinement);
    return CSE_OK;
}

/* Whether a host that leads since has given it a job, with which it goes on. */
static bool is_led_anew(follower *f, cse_status *status)
{
    if (f->lock >= 0 || told_to_end(f) || !cse_host_group_has_other_job(f->group, &f->given))
        return false;
    *status = cse_host_group_wait_job(f->group, stops_waiting, f, &f->given);
    if (*status != CSE_OK)
        return false;
    cse_log_line(CSE_LOG_INFO, "goes on under another leading host");
    return true;
}

static cse_status follow(follower *f)
{
    CSE_TRY(cse_run_directory_make(&f->directory));
    CSE_TRY(confine(f));
    CSE_TRY(open_group(f));
    CSE_TRY(cse_host_group_wait_job(f->group, stops_waiting, f, &f->given));
    cse_status status;
    do {
        f->weights_digest[0] = '\0';
        status = run_job(f);
        if (status == CSE_OK)
            status = wait_for_leave(f);
    } while (is_led_anew(f, &status));
    if (f->lock >=
        0) /* from its last step, or, where that could not be saved, from an earlier one */
        return lead(f);
    cse_host_message told;
    if (cse_host_group_told(f->group, &told))
        return told.kind == CSE_HOST_REFUSED
                   ? cse_fail(CSE_UNAVAILABLE, "refused: %s", told.refused.reason)
                   : compare_weights(f, told.leave.weights_digest);
    if (cse_host_group_turn_to_lead(f->group) != CSE_TURN_FOLLOWS)
        return cse_fail(CSE_UNAVAILABLE, "the leading host is not heard of any more");
    if (told_to_end(f))
        status = cse_fail(CSE_INTERRUPTED, "it was told to end by a signal");
    cse_error *failure = cse_error_copy(cse_error_last());
    cse_host_group_leave(f->group, status, failure->message);
    cse_fail_again(failure);
    free(failure);
    return status;
}

cse_status cse_follow_leader(const cse_follower *options)
{
    follower f = { .options = options,
                   .arena = cse_arena_new(),
                   .tail = cse_record_tail_new(),
                   .directory.lock = -1,
                   .lock = -1 };
    cse_status status = cse_agent_place_read(options->input, f.arena, &f.place);
    if (status == CSE_OK) {
        cse_log_set_level(cse_log_level_from_name(f.place.log_level));
        status = follow(&f);
    }
    cse_error *failure = status != CSE_OK ? cse_error_copy(cse_error_last()) : NULL;
    cse_host_group_close(&f.group);
    cse_record_tail_destroy(&f.tail);
    cse_confine(NULL);
    cse_confinement_destroy(&f.confinement);
    if (f.directory.lock >= 0)
        cse_run_directory_remove(&f.directory);
    if (f.lock >= 0)
        close(f.lock);
    memset(f.place.key, 0, sizeof f.place.key);
    cse_arena_destroy(&f.arena);
    if (failure != NULL)
        cse_fail_again(failure);
    free(failure);
    return status;
}
