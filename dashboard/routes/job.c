/* One job: read, created under a chosen id, changed, removed. */
#include "dashboard/replays/replays.h"
#include "dashboard/routes/create.h"
#include "dashboard/routes/route_support.h"

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

/* The problem that a failed change means. */
static void answer_refusal(cse_answer *answer, cse_status status)
{
    if (status == CSE_DATA)
        cse_answer_problem(answer, CSE_PROBLEM_PRECONDITION_FAILED, "%s", cse_error_message());
    else if (status == CSE_UNAVAILABLE)
        cse_answer_problem(answer, CSE_PROBLEM_NOT_IMPLEMENTED, "%s", cse_error_message());
    else
        cse_answer_failure(answer, status);
}

/* Whether there is such a job and If-Match allows a change of the revision that it names. */
static bool may_change(const cse_request *request, cse_answer *answer, int64_t *revision)
{
    cse_job job;
    if (!cse_server_find_job(request, answer, &job))
        return false;
    cse_job_release(&job);
    return cse_server_check_revision(request, answer, revision);
}

static void patch_job(const cse_request *request, cse_answer *answer)
{
    int64_t revision = -1;
    if (!may_change(request, answer, &revision))
        return;
    cse_status status = cse_jobs_patch(request->server->jobs, cse_request_text(request, "id", ""),
                                       revision, request->body);
    if (status == CSE_OK)
        get_job(request, answer);
    else
        answer_refusal(answer, status);
}

static void delete_job(const cse_request *request, cse_answer *answer)
{
    int64_t revision = -1;
    if (!may_change(request, answer, &revision))
        return;
    cse_status status =
        cse_jobs_remove(request->server->jobs, cse_request_text(request, "id", ""), revision);
    if (status == CSE_OK) {
        cse_replays_forget(request->server->replays, cse_request_text(request, "id", ""));
        cse_answer_empty(answer, 204);
    } else {
        answer_refusal(answer, status);
    }
}

static const char schemas[] =
    "JobPatch  # Merge patch (RFC 7396) of what may change while a job lives.\n"
    "  name? string 1..200 ~^[^\001-\037\177]+$\n"
    "  labels? {Label: LabelChange} ..64  # labels to set; null removes one\n"
    "  priority? Priority\n"
    "  = {\"priority\": \"p0\", \"labels\": {\"owner\": null}}\n";

const cse_route cse_route_job = {
    .path = "/api/v1/jobs/{id}",
    .tag = "jobs",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getJob", get_job, "One job"),
          .replies = "200 Job" },
        { CSE_OPERATION("PUT", "putJob", put_job,
                        "Creates a job under an id of the client's choice"),
          .doc = "The same body again gives 200, another body 409.",
          CSE_CREATE_OPERATION,
          .parameters = CSE_CREATE_PARAMETERS },
        { CSE_OPERATION("PATCH", "patchJob", patch_job, "Changes name, labels or priority"),
          .parameters = "If-Match\n",
          .body = "application/merge-patch+json JobPatch\n"
          "JobPatch\n",
          .replies = "200 Job +ETag  # Changed",
          .problems = "409 412 428 501 503" },
        { CSE_OPERATION("DELETE", "deleteJob", delete_job, "Removes an ended job and its files"),
          .parameters = "If-Match\n",
          .replies = "204  # Removed",
          .problems = "409 412 428 501 503" },
    },
};
