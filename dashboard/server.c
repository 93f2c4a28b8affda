/* Starting and stopping the parts of the server. */
#include "dashboard/server.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/http/call_record.h"
#include "dashboard/http/server_address.h"
#include "dashboard/jobs/own_jobs.h"
#include "engine/base/arena.h"
#include "engine/base/clock.h"

/* ---- live events ---- */

static bool find_job_for_feed(void *self, const char *id, cse_feed_job *about)
{
    cse_server *server = self;
    cse_job *job = cse_calloc(1, sizeof *job);
    bool found = cse_jobs_find(server->jobs, id, job);
    if (found) {
        snprintf(about->model_dir, sizeof about->model_dir, "%s", job->record.model_dir);
        about->ended = job->settled;
        about->state = job->record.state;
        snprintf(about->reason, sizeof about->reason, "%s", job->record.reason);
        snprintf(about->message, sizeof about->message, "%s", job->record.message);
        cse_job_release(job);
    }
    free(job);
    return found;
}

static void post_state(void *self, const char *job, const char *payload)
{
    cse_server *server = self;
    if (server->feed != NULL)
        cse_feed_post_state(server->feed, job, payload);
}

/* ---- beginning and end ---- */

/* A queue's root is made here if need be. */
static cse_status limit_jobs(cse_server *server)
{
    const cse_server_options *o = &server->options;
    if (o->root != NULL && mkdir(o->root, 0700) != 0 && errno != EEXIST)
        return cse_fail(CSE_CANNOT_CREATE, "root %s: %s", o->root, strerror(errno));
    return cse_job_limits_make(&o->limits, o->root != NULL ? o->root : o->run_dir, o->root != NULL,
                               &server->confinement);
}

static cse_status start(cse_server *server)
{
    const cse_server_options *o = &server->options;
    CSE_TRY(limit_jobs(server));
    if (o->token_file != NULL)
        CSE_TRY(cse_token_list_read(o->token_file, &server->tokens));
    const cse_jobs_options jobs = { .root = o->root,
                                    .run_dir = o->run_dir,
                                    .executable = server->executable,
                                    .cores = o->cores,
                                    .memory_bytes = o->memory_bytes,
                                    .grants = server->tokens.grants,
                                    .grant_count = server->tokens.count,
                                    .slurm = o->slurm,
                                    .readers = server->readers,
                                    .confinement = server->confinement,
                                    .on_state = post_state,
                                    .self = server };
    const cse_feed_options feed = { .readers = server->readers,
                                    .find_job = find_job_for_feed,
                                    .self = server,
                                    .heartbeat_ms = o->heartbeat_ms };
    json_object_seed(0);
    /* First the feed: jobs report changes to it at once, it asks for jobs only when there are
     * streams. */
    CSE_TRY(cse_feed_new(&feed, &server->feed));
    CSE_TRY(cse_jobs_open(&jobs, &server->jobs));
    CSE_TRY(cse_models_open(&(cse_models_options){ .executable = server->executable,
                                                   .models = o->models,
                                                   .context = o->model_context,
                                                   .together = o->model_together,
                                                   .queue = o->model_queue },
                            &server->models));
    server->replays = cse_replays_new(&(cse_replays_options){
        .executable = server->executable, .root = o->root, .confinement = server->confinement });
    if (o->root != NULL)
        server->sweeps = cse_sweep_runs_new(server->jobs, server->executable);
    server->hooks = (cse_call_hooks){ .server = server,
                                      .self = cse_jobs_db_view(server->jobs),
                                      .admits = cse_own_jobs_admits,
                                      .jobs = server->jobs,
                                      .replay = cse_call_replay,
                                      .done = cse_call_record };
    const cse_entry_options entry = { .listen = o->listen != NULL ? o->listen : "127.0.0.1:0",
                                      .token_file = o->token_file,
                                      .tokens = &server->tokens,
                                      .directory = cse_jobs_directory_view(server->jobs),
                                      .keep_token = o->root != NULL };
    const cse_http_options http = { .entry = entry,
                                    .host_names = o->host_names,
                                    .web_dir = o->web_dir,
                                    .connection_limit = o->connection_limit,
                                    .requests_per_second = o->requests_per_second,
                                    .client_seconds = o->client_seconds,
                                    .hooks = &server->hooks };
    CSE_TRY(cse_http_start(&http, &server->http));
    const cse_entry *opened = cse_http_entry_view(server->http);
    const cse_server_address address = { .url = opened->main.url,
                                         .socket = opened->local.unix_path,
                                         .directory = cse_jobs_directory_view(server->jobs),
                                         .root = o->root != NULL,
                                         .token_file = opened->token_path,
                                         .started_ms = server->started_ms };
    cse_server_address_publish(&address, server->address_files);
    if (server->sweeps != NULL) /* its commands find the server by what was published */
        cse_sweep_runs_start(server->sweeps);
    return CSE_OK;
}

cse_status cse_server_start(const cse_server_options *options, cse_server **result)
{
    char own[PATH_MAX] = "csengine";
    cse_server *server = cse_calloc(1, sizeof *server);
    *result = server;
    server->options = *options;
    server->started_ms = cse_unix_ms();
    server->readers = cse_readers_new();
    ssize_t size = readlink("/proc/self/exe", own, sizeof own - 1);
    own[size > 0 ? size : (ssize_t)strlen("csengine")] = '\0';
    server->executable = cse_strdup(options->executable != NULL ? options->executable : own);
    cse_status status = start(server);
    if (status != CSE_OK)
        cse_server_stop(result);
    return status;
}

void cse_server_stop(cse_server **result)
{
    cse_server *server = *result;
    if (server == NULL)
        return;
    *result = NULL;
    cse_server_address_remove(server->address_files);
    if (server->feed != NULL)
        cse_feed_stop(server->feed);
    if (server->models != NULL)
        cse_models_end(server->models); /* their calls are answered before the threads end */
    cse_http_stop(&server->http);
    cse_sweep_runs_close(&server->sweeps); /* after the threads that ask for sweeps */
    cse_models_close(&server->models);
    cse_replays_close(&server->replays);
    cse_jobs_close(&server->jobs);
    cse_feed_destroy(&server->feed);
    cse_readers_destroy(&server->readers);
    cse_confinement_destroy(&server->confinement);
    cse_token_list_clear(&server->tokens);
    free(server->executable);
    free(server);
}
