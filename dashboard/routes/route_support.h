/* Helpers that several routes share: the job and the run store that a path names, page tokens,
 * revisions, commands. */
#ifndef CSE_DASHBOARD_ROUTES_ROUTE_SUPPORT_H
#define CSE_DASHBOARD_ROUTES_ROUTE_SUPPORT_H

#include "dashboard/server.h"

/* The job that the path names; on failure the answer is filled. Clear it. */
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

/* Why there are no tensor statistics. */
#define CSE_NO_NUMERICS                                                                         \
    "the run records no tensor statistics: set numerics in its configuration, as in numerics: " \
    "{every: 100}"

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

#endif
