/* A run that a command reads: a model_dir or a job of a server, through the same API operations. */
#ifndef CSE_CLI_CLIENT_RUN_SOURCE_H
#define CSE_CLI_CLIENT_RUN_SOURCE_H

#include "cli/client/client.h"
#include "dashboard/local_run.h"

typedef struct cse_run_source {
    cse_client *client;  /* of a server's job; or */
    cse_local_run *run;  /* of a model_dir */
    const char *id;      /* in paths of the API; borrowed */
    bool shows_problems; /* print the body of an error response to stdout */
} cse_run_source;

/* `name` is a model_dir with a run store, or the id of a job on the server that the line names.
 * Close it also after a failure. */
cse_status cse_run_source_open(const cse_command_line *line, const char *name,
                               cse_run_source *source);
void cse_run_source_close(cse_run_source *source);

/* A GET operation of the API about the run. */
typedef struct cse_run_question {
    const char *path;      /* after that of the job: "/logs" */
    const char *operation; /* "listLogs" */
    const char *query;     /* "limit=10&tail=10", encoded; NULL: none */
} cse_run_question;
/* Appends the body of the answer. Fails as cse_client_call and cse_local_run_ask do. */
cse_status cse_run_source_ask(const cse_run_source *source, const cse_run_question *question,
                              cse_text *body);
/* The same for JSON, parsed; owned by the caller. */
cse_status cse_run_source_ask_json(const cse_run_source *source, const cse_run_question *question,
                                   json_t **answer);

#endif
