/* What commands over the API share: connecting, calls, printing responses, exit codes. */
#ifndef CSE_CLI_CLIENT_CLIENT_COMMAND_H
#define CSE_CLI_CLIENT_CLIENT_COMMAND_H

#include "cli/client/client.h"
#include "cli/terminal/json_values.h"

/* The body of a command, called with the open client. */
typedef cse_status cse_client_body(cse_client *api, const cse_command_line *line);

/* Opens the client, runs the body, reports a failure; returns the process's exit code. */
int cse_client_command(const cse_command_line *line, cse_client_body *body);

/* As cse_client_call. With --json the answer's body goes to stdout when `show` or when it is a
 * problem. */
cse_status cse_client_ask(cse_client *api, const cse_command_line *line,
                          const cse_client_request *request, bool show, cse_client_answer *answer);

/* Prints the response's body unchanged, ended by a line end. */
void cse_client_show_body(const cse_client_answer *answer);

/* Adds "/api/v1/jobs/ID" and `rest`. CSE_USAGE when `id` cannot be one. */
cse_status cse_client_job_path(cse_text *path, const char *id, const char *rest);
/* Gets that path, as cse_client_call does. */
cse_status cse_client_get_job(cse_client *api, const char *id, const char *rest,
                              cse_client_answer *answer);

/* A command to a job ("pause"). A model_dir names the run in it, which is reached without a server.
 */
typedef struct cse_job_command {
    const char *name;
    const char *job;
    json_t *body; /* ownership passes to the call; may be NULL */
} cse_job_command;
/* Sends the command and prints its effect. Returns the exit code. */
int cse_send_job_command(const cse_command_line *line, const cse_job_command *command);
/* The same for a command of the command line whose first argument is the job and that has
 * --message. */
int cse_run_job_command(const cse_command_line *line);
#define CSE_MESSAGE_OPTION                                                     \
    {                                                                          \
        "message", "TEXT", NULL, "the reason, stored with the change of state" \
    }

/* A new key for Idempotency-Key. */
enum { CSE_IDEMPOTENCY_KEY_BYTES = 33 };
void cse_new_idempotency_key(char key[CSE_IDEMPOTENCY_KEY_BYTES]);

#endif
