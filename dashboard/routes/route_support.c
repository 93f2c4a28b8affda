/* Each fills the answer when it fails. */
#include "dashboard/routes/route_support.h"

#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"

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
    if (status == CSE_NO_INPUT && cse_job_folder_is_gone(&run->job.record))
        cse_answer_problem(answer, CSE_PROBLEM_NOT_FOUND,
                           "the folder of job \"%s\" was removed, %s: its run store was in it",
                           run->job.record.id, run->job.record.model_dir);
    else if (status == CSE_NO_INPUT)
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
    assert(number >= 0);
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
        .hosts = json_string_value(json_object_get(body, "hosts")),
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
