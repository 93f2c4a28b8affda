/* What commands over the API have in common: opening, asking, showing, ending. */
#ifndef CSE_CLI_CLIENT_COMMAND_H
#define CSE_CLI_CLIENT_COMMAND_H

#include "cli/client.h"

/* What a command does once the server is known. */
typedef cse_status cse_client_body(cse_client *api, const cse_command_line *line);

/* Opens, runs the body, reports; returns the process's exit code. */
int cse_client_command(const cse_command_line *line, cse_client_body *body);

/* As cse_client_call. With --json the answer's body goes to stdout when `show` or when it is a
 * problem. */
cse_status cse_client_ask(cse_client *api, const cse_command_line *line,
                          const cse_client_request *request, bool show, cse_client_answer *answer);

/* Adds "/api/v1/jobs/ID" and `rest`. CSE_USAGE when `id` can be none. */
cse_status cse_client_job_path(cse_text *path, const char *id, const char *rest);

/* Sends a command ("pause") to the job that is the line's first argument at `index`, with a body that
 * is taken over, or NULL; says what happens now. A model_dir stands for the run in it, which is
 * reached without a server. Returns the exit code. */
typedef struct cse_job_order {
    const char *command;
    int index;    /* of the argument that names the job */
    json_t *body; /* taken over */
} cse_job_order;
int cse_client_order(const cse_command_line *line, const cse_job_order *order);

/* A new key for Idempotency-Key. */
enum { CSE_IDEMPOTENCY_KEY_BYTES = 33 };
void cse_new_idempotency_key(char key[CSE_IDEMPOTENCY_KEY_BYTES]);

/* Members of an answer, with a value in place of one that is missing or null. */
const char *cse_json_text(const json_t *object, const char *name, const char *fallback);
double cse_json_real(const json_t *object, const char *name, double fallback);
int64_t cse_json_whole(const json_t *object, const char *name, int64_t fallback);

#endif
