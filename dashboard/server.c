/* Starting and stopping the parts of the server, and helpers that several routes share. */
#include "dashboard/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

/* ---- hooks ---- */

static void digest_request(const cse_request *request, char digest[65])
{
    unsigned char bytes[32];
    crypto_generichash_state state;
    crypto_generichash_init(&state, NULL, 0, sizeof bytes);
    const char *const parts[] = { request->method, request->path,
                                  request->body_text != NULL ? request->body_text : "" };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        crypto_generichash_update(&state, (const unsigned char *)parts[i], strlen(parts[i]) + 1);
    crypto_generichash_final(&state, bytes, sizeof bytes);
    sodium_bin2hex(digest, 65, bytes, sizeof bytes);
}

static bool replay(cse_server *server, const cse_request *request, cse_answer *answer)
{
    char digest[65];
    cse_kept_answer kept = { .status = 0 };
    cse_jobs_db *db = cse_jobs_db_view(server->jobs);
    const char *key = cse_request_text(request, "Idempotency-Key", "");
    if (db == NULL || !cse_jobs_db_find_answer(db, key, &kept)) {
        cse_text_clear(&kept.body);
        return false;
    }
    digest_request(request, digest);
    if (strcmp(digest, kept.digest) != 0) {
        cse_answer_problem(answer, CSE_PROBLEM_CONFLICT,
                           "this Idempotency-Key was used for another request");
        cse_text_clear(&kept.body);
        return true;
    }
    cse_answer_text(answer, kept.status,
                    kept.status < 400 ? "application/json" : "application/problem+json",
                    &kept.body);
    if (kept.location[0] != '\0')
        cse_answer_header(answer, "Location", "%s", kept.location);
    if (kept.etag[0] != '\0')
        cse_answer_header(answer, "ETag", "%s", kept.etag);
    cse_answer_header(answer, "Idempotency-Replayed", "true");
    return true;
}

static void keep_answer(cse_jobs_db *db, const cse_request *request, const cse_answer *answer)
{
    const char *key = cse_request_text(request, "Idempotency-Key", NULL);
    if (key == NULL || answer->status >= 500)
        return;
    const char *location = cse_answer_header_view(answer, "Location");
    const char *etag = cse_answer_header_view(answer, "ETag");
    cse_kept_answer kept = { .status = answer->status, .body = answer->body };
    digest_request(request, kept.digest);
    snprintf(kept.location, sizeof kept.location, "%s", location != NULL ? location : "");
    snprintf(kept.etag, sizeof kept.etag, "%s", etag != NULL ? etag : "");
    if (cse_jobs_db_keep_answer(db, key, &kept) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "idempotency: %s", cse_error_message());
}

static void done(cse_server *server, const cse_request *request, const cse_answer *answer)
{
    cse_jobs_db *db = cse_jobs_db_view(server->jobs);
    const char *location = cse_answer_header_view(answer, "Location");
    const char *job = cse_request_text(request, "id", NULL);
    if (job == NULL && location != NULL && strrchr(location, '/') != NULL)
        job = strrchr(location, '/') + 1;
    const cse_audit_entry entry = { .time_ms = cse_unix_ms(),
                                    .peer = request->peer,
                                    .method = request->method,
                                    .path = request->path,
                                    .status = answer->status,
                                    .job = job };
    if (db == NULL || strcmp(request->operation_id, "validateConfig") == 0)
        return;
    if (cse_jobs_db_audit(db, &entry) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "audit: %s; not recorded: %s %s from %s: %d",
                     cse_error_message(), request->method, request->path, request->peer,
                     answer->status);
    keep_answer(db, request, answer);
}

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

/* ---- server.json: where the server listens ---- */

static void write_address_file(cse_server *server, const char *path)
{
    cse_text part = { 0 };
    json_t *address = json_object();
    const cse_server_options *o = &server->options;
    char token[PATH_MAX];
    bool has_token = o->token_file != NULL && realpath(o->token_file, token) != NULL;
    json_object_set_new(address, "url", json_string(cse_http_url_view(server->http)));
    json_object_set_new(address, "pid", json_integer(getpid()));
    json_object_set_new(address, "mode", json_string(o->root != NULL ? "root" : "run"));
    json_object_set_new(address, o->root != NULL ? "root" : "run",
                        json_string(cse_jobs_directory_view(server->jobs)));
    json_object_set_new(address, "token_file", has_token ? json_string(token) : json_null());
    json_object_set_new(address, "started_ms", json_integer(server->started_ms));
    char *text = json_dumps(address, JSON_INDENT(2));
    json_decref(address);
    cse_text_add(&part, "%s.part", path);
    FILE *file = text != NULL ? fopen(part.data, "we") : NULL;
    bool written = file != NULL && fprintf(file, "%s\n", text) > 0;
    if (file != NULL && fclose(file) != 0)
        written = false;
    if (!written || rename(part.data, path) != 0)
        cse_log_line(CSE_LOG_WARNING, "%s: %s", path, strerror(errno));
    free(text);
    cse_text_clear(&part);
}

static void publish_address(cse_server *server)
{
    cse_text own = { 0 }, users = { 0 };
    const char *runtime = getenv("XDG_RUNTIME_DIR");
    cse_text_add(&own, "%s/server.json", cse_jobs_directory_view(server->jobs));
    write_address_file(server, own.data);
    server->address_files[0] = own.data;
    if (server->options.root == NULL || runtime == NULL || *runtime != '/')
        return;
    cse_text_add(&users, "%s/csengine", runtime);
    mkdir(users.data, 0700);
    cse_text_add(&users, "/server.json");
    write_address_file(server, users.data);
    server->address_files[1] = users.data;
}

/* Only if this process wrote it. */
static void remove_address_file(const char *path)
{
    json_t *address = json_load_file(path, 0, NULL);
    if (json_integer_value(json_object_get(address, "pid")) == getpid())
        unlink(path);
    json_decref(address);
}

/* ---- beginning and end ---- */

static cse_status start(cse_server *server)
{
    const cse_server_options *o = &server->options;
    const cse_jobs_options jobs = { .root = o->root,
                                    .run_dir = o->run_dir,
                                    .executable = server->executable,
                                    .cores = o->cores,
                                    .memory_bytes = o->memory_bytes,
                                    .readers = server->readers,
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
    server->hooks = (cse_call_hooks){ .server = server, .replay = replay, .done = done };
    const cse_http_options http = { .listen = o->listen != NULL ? o->listen : "127.0.0.1:0",
                                    .token_file = o->token_file,
                                    .host_names = o->host_names,
                                    .web_dir = o->web_dir,
                                    .connection_limit = o->connection_limit,
                                    .requests_per_second = o->requests_per_second,
                                    .client_seconds = o->client_seconds,
                                    .hooks = &server->hooks };
    CSE_TRY(cse_http_start(&http, &server->http));
    publish_address(server);
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

const char *cse_server_url_view(const cse_server *server)
{
    return cse_http_url_view(server->http);
}

void cse_server_stop(cse_server **result)
{
    cse_server *server = *result;
    if (server == NULL)
        return;
    *result = NULL;
    for (int i = 0; i < 2; i++) {
        if (server->address_files[i] != NULL)
            remove_address_file(server->address_files[i]);
        free(server->address_files[i]);
    }
    if (server->feed != NULL)
        cse_feed_stop(server->feed);
    cse_http_stop(&server->http);
    cse_jobs_close(&server->jobs);
    cse_feed_destroy(&server->feed);
    cse_readers_destroy(&server->readers);
    free(server->executable);
    free(server);
}

/* ---- for routes ---- */

bool cse_server_find_job(const cse_request *request, cse_answer *answer, cse_job *job)
{
    const char *id = cse_request_text(request, "id", "");
    if (cse_jobs_find(request->server->jobs, id, job))
        return true;
    cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND, "there is no job \"%s\"", id);
    return false;
}

bool cse_server_open_run(const cse_request *request, cse_answer *answer, cse_server_run *run)
{
    run->reader = NULL;
    if (!cse_server_find_job(request, answer, &run->job))
        return false;
    cse_status status =
        cse_readers_borrow(request->server->readers, run->job.record.model_dir, &run->reader);
    if (status == CSE_OK)
        return true;
    if (status == CSE_NO_INPUT)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                           "job \"%s\" has not run yet: it has no run store", run->job.record.id);
    else
        cse_answer_failure(answer, status);
    cse_job_release(&run->job);
    return false;
}

void cse_server_close_run(const cse_request *request, cse_server_run *run)
{
    cse_readers_give_back(request->server->readers, run->job.record.model_dir, &run->reader);
    cse_job_release(&run->job);
}

void cse_server_answer_artefact(const cse_request *request, cse_answer *answer, const char *name)
{
    cse_server_run run;
    cse_text content = { 0 };
    if (!cse_server_open_run(request, answer, &run))
        return;
    cse_status status = cse_store_reader_artefact(run.reader, name, &content, NULL, 0);
    cse_server_close_run(request, &run);
    if (status == CSE_OK)
        cse_answer_text(answer, 200, "application/json", &content);
    else
        cse_answer_failure(answer, status);
    cse_text_clear(&content);
}

json_t *cse_page_token_new(int64_t number)
{
    char plain[40], token[64];
    int length = snprintf(plain, sizeof plain, "p1:%lld", (long long)number);
    sodium_bin2base64(token, sizeof token, (const unsigned char *)plain, (size_t)length,
                      sodium_base64_VARIANT_URLSAFE_NO_PADDING);
    return json_string(token);
}

bool cse_page_token_read(const cse_request *request, cse_answer *answer, int64_t *number)
{
    const char *token = cse_request_text(request, "page_token", "");
    char plain[64] = "", *end = NULL;
    size_t size = 0;
    *number = 0;
    if (*token == '\0')
        return true;
    bool decoded =
        strlen(token) < sizeof plain &&
        sodium_base642bin((unsigned char *)plain, sizeof plain - 1, token, strlen(token), NULL,
                          &size, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0;
    plain[decoded ? size : 0] = '\0';
    if (decoded && strncmp(plain, "p1:", 3) == 0)
        *number = strtoll(plain + 3, &end, 10);
    if (end != NULL && end != plain + 3 && *end == '\0' && *number >= 0)
        return true;
    cse_answer_problem(answer, CSE_PROBLEM_BAD_REQUEST,
                       "page_token is not one that this server gave");
    return false;
}

bool cse_server_check_revision(const cse_request *request, cse_answer *answer, int64_t *revision)
{
    const char *match = cse_request_text(request, "If-Match", NULL);
    *revision = -1;
    if (match == NULL) {
        cse_answer_problem(answer, CSE_PROBLEM_PRECONDITION_REQUIRED,
                           "send If-Match with the ETag of the job as you read it, or *");
        return false;
    }
    if (strcmp(match, "*") == 0)
        return true;
    long long number = -1;
    if (sscanf(match, "\"v%lld.", &number) == 1 && number >= 0) {
        *revision = number;
        return true;
    }
    cse_answer_problem(answer, CSE_PROBLEM_PRECONDITION_FAILED,
                       "If-Match is no ETag of this job: read it again");
    return false;
}

void cse_server_answer_job(const cse_request *request, const cse_job *job, int status,
                           cse_answer *answer)
{
    unsigned char digest[crypto_generichash_BYTES_MIN];
    char hash[2 * sizeof digest + 1];
    cse_answer_json(answer, status, cse_job_json(request->server->jobs, job));
    crypto_generichash(digest, sizeof digest, (const unsigned char *)answer->body.data,
                       answer->body.size, NULL, 0);
    sodium_bin2hex(hash, sizeof hash, digest, sizeof digest);
    cse_answer_header(answer, "ETag", "\"v%lld.%s\"", (long long)job->record.revision, hash);
    if (status == 201 || strcmp(request->method, "GET") != 0)
        cse_answer_header(answer, "Location", "/api/v1/jobs/%s", job->record.id);
}

void cse_server_do_command(const cse_request *request, cse_answer *answer)
{
    char detail[256];
    const json_t *body = request->body, *grace = json_object_get(body, "grace_s");
    const cse_job_command command = {
        .command = strrchr(request->path, '/') + 1,
        .message = json_string_value(json_object_get(body, "message")),
        .save = !json_is_false(json_object_get(body, "save")),
        .grace_s = grace != NULL ? json_number_value(grace) : -1,
        .num_csx = json_integer_value(json_object_get(body, "num_csx")),
    };
    cse_job *job = cse_calloc(1, sizeof *job);
    cse_jobs *jobs = request->server->jobs;
    const char *id = cse_request_text(request, "id", "");
    cse_status status = cse_jobs_do(jobs, id, &command, detail);
    if (status != CSE_OK)
        cse_answer_failure(answer, status);
    else if (cse_server_find_job(request, answer, job)) {
        cse_answer_json(answer, 202,
                        json_pack("{s:s, s:s, s:s, s:s}", "id", id, "command", command.command,
                                  "state", cse_run_state_name(job->record.state), "detail",
                                  detail));
        cse_job_release(job);
    }
    free(job);
}

/* ---- readiness ---- */

static bool add_check(json_t *checks, const char *name, bool ok, const char *detail)
{
    json_array_append_new(
        checks, json_pack("{s:s, s:b, s:s}", "name", name, "ok", (int)ok, "detail", detail));
    return ok;
}

bool cse_server_is_ready(cse_server *server, json_t *checks)
{
    enum { LEAST_FREE_MIB = 64 };
    char detail[128];
    struct statvfs disk;
    const char *directory = cse_jobs_directory_view(server->jobs);
    cse_jobs_db *db = cse_jobs_db_view(server->jobs);
    bool writable = db != NULL && cse_jobs_db_check(db) == CSE_OK;
    bool ready =
        add_check(checks, "database", writable, writable ? "can be written" : "cannot be written");
    bool known = statvfs(directory, &disk) == 0;
    long long free_mib = known ? (long long)(disk.f_bavail * disk.f_frsize >> 20) : 0;
    snprintf(detail, sizeof detail, "%lld MiB are free", free_mib);
    return add_check(checks, "disk", known && free_mib >= LEAST_FREE_MIB, detail) && ready;
}
