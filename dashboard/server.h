/* The server as a whole, which routes reach through a request.
 *
 *     http ──► routes ──► jobs (the table of jobs and what is done to them)
 *                    └──► readers (run stores)
 *                    └──► feed (live events)
 *
 * `csengine serve --run DIR` shows one run and ends with it when asked to; `csengine serve --root
 * DIR` owns a queue. Where a server listens, it writes into server.json of its directory, and of
 * the user's run-time directory: {"url","pid","mode","root"|"run","token_file","started_ms"}. */
#ifndef CSE_DASHBOARD_SERVER_H
#define CSE_DASHBOARD_SERVER_H

#include "dashboard/event_stream.h"
#include "dashboard/http.h"
#include "dashboard/jobs.h"

typedef struct cse_server_options {
    const char *root, *run_dir; /* one of them */
    const char *listen;         /* NULL: 127.0.0.1:0 */
    const char *token_file, *web_dir;
    const char *const *host_names;
    const char *executable; /* NULL: this program */
    int64_t cores, memory_bytes;
    int connection_limit;
    double requests_per_second, client_seconds;
    int64_t heartbeat_ms;
} cse_server_options;

typedef struct cse_server {
    cse_server_options options;
    cse_http *http;
    cse_jobs *jobs;
    cse_feed *feed;
    cse_readers *readers;
    cse_call_hooks hooks;
    char *executable;
    char *address_files[2]; /* paths of server.json */
    int64_t started_ms;
} cse_server;

/* Fails as the jobs, the address or the token file do. */
cse_status cse_server_start(const cse_server_options *options, cse_server **server);
const char *cse_server_url_view(const cse_server *server);
/* Ends connections and streams; jobs go on. */
void cse_server_stop(cse_server **server);

/* For routes: the job that the path names; on failure the answer is filled. Clear it. */
bool cse_server_find_job(const cse_request *request, cse_answer *answer, cse_job *job);
/* The same with its run store; give both back with cse_server_close_run. A job without a store
 * (it waits for its turn) is a failure: 404. */
typedef struct cse_server_run {
    cse_job job;
    cse_store_reader *reader;
} cse_server_run;
bool cse_server_open_run(const cse_request *request, cse_answer *answer, cse_server_run *run);
void cse_server_close_run(const cse_request *request, cse_server_run *run);

/* Answers with a JSON artefact of the run's store. */
void cse_server_answer_artefact(const cse_request *request, cse_answer *answer, const char *name);

/* Page tokens: opaque to clients, a number to us. False: not one of ours (the answer is filled). */
bool cse_page_token_read(const cse_request *request, cse_answer *answer, int64_t *number);
json_t *cse_page_token_new(int64_t number);

/* Whether If-Match allows a change of the job; the revision it means, -1 for any. */
bool cse_server_check_revision(const cse_request *request, cse_answer *answer, int64_t *revision);
/* A job's entity tag: "v<revision>.<hash>", so that a change of name, labels or priority can be
 * distinguished from the progress of the run. */
void cse_server_answer_job(const cse_request *request, const cse_job *job, int status,
                           cse_answer *answer);
/* The handler of all commands: the last word of the path says which, the body how. */
void cse_server_do_command(const cse_request *request, cse_answer *answer);
/* What their descriptors have in common. */
#define CSE_COMMAND_OPERATION(operation, what)                                    \
    CSE_OPERATION("POST", (operation), cse_server_do_command, (what)),            \
        .parameters = "Idempotency-Key", .replies = "202 CommandResult  # Taken", \
        .problems = "409 501 503"

/* Whether requests can be served; appends the result of each check. */
bool cse_server_is_ready(cse_server *server, json_t *checks);

#endif
