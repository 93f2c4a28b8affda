/* What commands over the API have in common: opening, asking, showing, ending. */
#ifndef CSE_CLI_CLIENT_COMMAND_H
#define CSE_CLI_CLIENT_COMMAND_H

#include "cli/client.h"
#include "cli/json_values.h"

/* What a command does once the server is known. */
typedef cse_status cse_client_body(cse_client *api, const cse_command_line *line);

/* Opens, runs the body, reports; returns the process's exit code. */
int cse_client_command(const cse_command_line *line, cse_client_body *body);

/* As cse_client_call. With --json the answer's body goes to stdout when `show` or when it is a
 * problem. */
cse_status cse_client_ask(cse_client *api, const cse_command_line *line,
                          const cse_client_request *request, bool show, cse_client_answer *answer);

/* Prints the body as it came, as whole lines. */
void cse_client_show_body(const cse_client_answer *answer);

/* Adds "/api/v1/jobs/ID" and `rest`. CSE_USAGE when `id` cannot be one. */
cse_status cse_client_job_path(cse_text *path, const char *id, const char *rest);
/* Reads it, as cse_client_call does. */
cse_status cse_client_get_job(cse_client *api, const char *id, const char *rest,
                              cse_client_answer *answer);

/* A command to a job ("pause"). A model_dir names the run in it, which is reached without a server.
 */
typedef struct cse_job_command {
    const char *name;
    const char *job;
    json_t *body; /* taken over; may be NULL */
} cse_job_command;
/* Sends it and prints what happens now. Returns the exit code. */
int cse_send_job_command(const cse_command_line *line, const cse_job_command *command);
/* The same for a command of the command line that has the job as its first argument, and
 * --message. */
int cse_run_job_command(const cse_command_line *line);
#define CSE_MESSAGE_OPTION                                            \
    {                                                                 \
        "message", "TEXT", NULL, "why; kept with the change of state" \
    }

/* A new key for Idempotency-Key. */
enum { CSE_IDEMPOTENCY_KEY_BYTES = 33 };
void cse_new_idempotency_key(char key[CSE_IDEMPOTENCY_KEY_BYTES]);

#endif
