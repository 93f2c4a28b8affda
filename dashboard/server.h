/* The server as a whole, which routes reach through a request.
 *
 *     http ──► routes ──► jobs (the table of jobs and what is done to them)
 *                    └──► readers (run stores)
 *                    └──► feed (live events)
 *
 * `csengine serve --run DIR` shows one run and ends with it when asked to; `csengine serve --root
 * DIR` owns a queue. */
#ifndef CSE_DASHBOARD_SERVER_H
#define CSE_DASHBOARD_SERVER_H

#include "dashboard/checks/job_limits.h"
#include "dashboard/data/event_stream.h"
#include "dashboard/http/http.h"
#include "dashboard/models/model_calls.h"
#include "dashboard/queue/jobs.h"
#include "dashboard/replays/replays.h"
#include "dashboard/sweeps/sweep_runs.h"

typedef struct cse_server_options {
    const char *root, *run_dir; /* one of them */
    const char *listen;         /* NULL: 127.0.0.1:0 */
    const char *token_file, *web_dir;
    const char *const *host_names;
    cse_job_limits limits;
    bool slurm;             /* jobs may be batch jobs */
    const char *executable; /* NULL: this program */
    int64_t cores, memory_bytes;
    int connection_limit;
    double requests_per_second, client_seconds;
    int64_t heartbeat_ms;
    const cse_served_model *models; /* as cse_models_options has them; NULL: none */
    int64_t model_context;
    int model_together, model_queue;
} cse_server_options;

typedef struct cse_server {
    cse_server_options options;
    cse_http *http;
    cse_jobs *jobs;
    cse_feed *feed;
    cse_readers *readers;
    cse_models *models;
    cse_replays *replays;
    cse_sweep_runs *sweeps;       /* NULL: a server of one run */
    cse_confinement *confinement; /* of jobs */
    cse_token_list tokens;        /* of the operator's file */
    cse_call_hooks hooks;
    char *executable;
    char *address_files[2]; /* paths of server.json */
    int64_t started_ms;
} cse_server;

/* Fails as the jobs, the address or the token file do. */
cse_status cse_server_start(const cse_server_options *options, cse_server **server);
/* Ends connections and streams; jobs go on. */
void cse_server_stop(cse_server **server);

#endif
