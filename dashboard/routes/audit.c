/* The audit: every call that changed something, newest first. */
#include "dashboard/routes/route_support.h"

typedef struct listing {
    json_t *entries;
    int64_t last;
} listing;

static void take_entry(void *self, const cse_audit_entry *e)
{
    listing *list = self;
    json_t *path = json_string(e->path);
    list->last = e->seq;
    json_array_append_new(
        list->entries,
        json_pack("{s:I, s:I, s:s, s:s, s:o, s:I, s:s?, s:s?}", "seq", (json_int_t)e->seq,
                  "time_ms", (json_int_t)e->time_ms, "peer", e->peer, "method", e->method, "path",
                  path != NULL ? path : json_string(""), "status", (json_int_t)e->status, "job",
                  e->job, "token", e->token[0] != '\0' ? e->token : NULL));
}

static void list_audit(const cse_request *request, cse_answer *answer)
{
    int64_t before = 0, limit = cse_request_integer(request, "limit", 100);
    listing list = { .entries = json_array() };
    cse_jobs_db *db = cse_jobs_db_view(request->server->jobs);
    if (cse_page_token_read(request, answer, &before)) {
        cse_status status =
            db == NULL ? CSE_OK : cse_jobs_db_audits(db, before, limit, take_entry, &list);
        bool more = (int64_t)json_array_size(list.entries) == limit && list.last > 1;
        cse_answer_result(answer, status,
                          json_pack("{s:O, s:o}", "entries", list.entries, "next_page_token",
                                    more ? cse_page_token_new(list.last) : json_null()));
    }
    json_decref(list.entries);
}

static const char parameters[] = "limit\n"
                                 "page_token\n";

static const char schemas[] = "AuditEntry\n"
                              "  seq integer\n"
                              "  time_ms time\n"
                              "  peer string\n"
                              "  method string\n"
                              "  path string\n"
                              "  status integer\n"
                              "  job string|null\n"
                              "  token string|null  # name of the caller's\n"
                              "AuditList\n"
                              "  entries [AuditEntry]\n"
                              "  next_page_token string|null\n";

const cse_route cse_route_audit = {
    .path = "/api/v1/audit",
    .tag = "server",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "listAudit", list_audit, "Mutating calls, newest first"),
          .parameters = parameters,
          .replies = "200 AuditList" },
    },
};
