/* One job: shown, made under a chosen id, changed, removed. */
#include "dashboard/create.h"
#include "dashboard/server.h"

static void get_job(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return;
    cse_server_answer_job(request, &job, 200, answer);
    cse_job_release(&job);
}

static void put_job(const cse_request *request, cse_answer *answer)
{
    cse_route_create_job(request, answer, cse_request_text(request, "id", ""));
}

/* What a change that failed means here. */
static void answer_refusal(cse_answer *answer, cse_status status)
{
    if (status == CSE_DATA)
        cse_answer_problem(answer, CSE_PROBLEM_PRECONDITION_FAILED, "%s", cse_error_message());
    else if (status == CSE_UNAVAILABLE)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_IMPLEMENTED, "%s", cse_error_message());
    else
        cse_answer_failure(answer, status);
}

static void patch_job(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    int64_t revision = -1;
    cse_jobs *jobs = request->server->jobs;
    if (!cse_server_find_job(request, answer, &job))
        return;
    cse_job_release(&job);
    if (!cse_server_check_revision(request, answer, &revision))
        return;
    cse_status status =
        cse_jobs_patch(jobs, cse_request_text(request, "id", ""), revision, request->body);
    if (status != CSE_OK) {
        answer_refusal(answer, status);
        return;
    }
    get_job(request, answer);
}

static void delete_job(const cse_request *request, cse_answer *answer)
{
    cse_job job;
    int64_t revision = -1;
    if (!cse_server_find_job(request, answer, &job))
        return;
    cse_job_release(&job);
    if (!cse_server_check_revision(request, answer, &revision))
        return;
    cse_status status =
        cse_jobs_remove(request->server->jobs, cse_request_text(request, "id", ""), revision);
    if (status == CSE_OK)
        cse_answer_empty(answer, 204);
    else
        answer_refusal(answer, status);
}

static const char schemas[] =
    "JobPatch  # Merge patch (RFC 7396) of what may change while a job lives.\n"
    "  name? string 1..200\n"
    "  labels? {Label: LabelChange} ..64  # labels to set; null removes one\n"
    "  priority? Priority\n"
    "  = {\"priority\": \"p0\", \"labels\": {\"owner\": null}}\n";

const cse_route cse_route_job = {
    .path = "/api/v1/jobs/{id}",
    .tag = "jobs",
    .schemas = schemas,
    .operations = {
        { .method = "GET",
          .id = "getJob",
          .summary = "One job",
          .replies = "200 Job",
          .handle = get_job },
        { .method = "PUT",
          .id = "putJob",
          .summary = "Creates a job under an id of the client's choice",
          .doc = "The same body again gives 200, another body 409.",
          CSE_CREATE_OPERATION,
          .parameters = CSE_CREATE_PARAMETERS,
          .handle = put_job },
        { .method = "PATCH",
          .id = "patchJob",
          .summary = "Changes name, labels or priority",
          .parameters = "If-Match\n",
          .body = "application/merge-patch+json JobPatch\n"
          "JobPatch\n",
          .replies = "200 Job +ETag  # Changed",
          .problems = "409 412 428 501 503",
          .handle = patch_job },
        { .method = "DELETE",
          .id = "deleteJob",
          .summary = "Removes an ended job and its files",
          .parameters = "If-Match\n",
          .replies = "204  # Removed",
          .problems = "409 412 428 501 503",
          .handle = delete_job },
        { 0 },
    },
};
