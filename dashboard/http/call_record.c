/* Kept answers are found by their key and compared by a digest of the request. */
#include "dashboard/http/call_record.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "dashboard/jobs/jobs_db.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"

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

/* Keys are the client's to choose: each token has its own. */
static void key_of(const cse_request *request, cse_text *key)
{
    const char *name = request->grant != NULL ? request->grant->name : "";
    const char *given = cse_request_text(request, "Idempotency-Key", "");
    cse_text_add(key, "%s%s%s", name, name[0] != '\0' ? "/" : "", given);
}

bool cse_call_replay(void *db, const cse_request *request, cse_answer *answer)
{
    char digest[65];
    cse_kept_answer kept = { .status = 0 };
    cse_text key = { 0 };
    key_of(request, &key);
    const bool found = db != NULL && cse_jobs_db_find_answer(db, key.data, &kept);
    cse_text_clear(&key);
    if (!found) {
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
    cse_text key = { 0 };
    if (!cse_request_has(request, "Idempotency-Key") || answer->status >= 500)
        return;
    key_of(request, &key);
    const char *location = cse_answer_header_view(answer, "Location");
    const char *etag = cse_answer_header_view(answer, "ETag");
    cse_kept_answer kept = { .status = answer->status, .body = answer->body };
    digest_request(request, kept.digest);
    snprintf(kept.location, sizeof kept.location, "%s", location != NULL ? location : "");
    snprintf(kept.etag, sizeof kept.etag, "%s", etag != NULL ? etag : "");
    if (cse_jobs_db_keep_answer(db, key.data, &kept) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "idempotency: %s", cse_error_message());
    cse_text_clear(&key);
}

void cse_call_record(void *db, const cse_request *request, const cse_answer *answer)
{
    const char *location = cse_answer_header_view(answer, "Location");
    const char *job = cse_request_text(request, "id", NULL);
    if (job == NULL && location != NULL && strrchr(location, '/') != NULL)
        job = strrchr(location, '/') + 1;
    const cse_audit_entry entry = { .time_ms = cse_unix_ms(),
                                    .peer = request->peer,
                                    .method = request->method,
                                    .path = request->path,
                                    .status = answer->status,
                                    .token = request->grant != NULL ? request->grant->name : "",
                                    .job = job };
    if (db == NULL || request->operation->unrecorded)
        return;
    if (cse_jobs_db_audit(db, &entry) != CSE_OK)
        cse_log_line(CSE_LOG_WARNING, "audit: %s; not recorded: %s %s from %s: %d",
                     cse_error_message(), request->method, request->path, request->peer,
                     answer->status);
    keep_answer(db, request, answer);
}
