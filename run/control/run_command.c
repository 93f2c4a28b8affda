/* Reads the endpoint from the run store and sends the command with the control client. */
#include "run/control/run_command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/json_value.h"
#include "engine/base/text.h"
#include "store/reader.h"
#include "workers/batch/batch_control.h"

bool cse_names_run(const char *job)
{
    char path[PATH_MAX];
    char number[CSE_SLURM_NUMBER_BYTES];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/run.db", job);
    if (length < (int)sizeof path && stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return true;
    return strchr(job, '/') != NULL && cse_slurm_noted_number(job, number);
}

/* Whether the run's coordinator began on this host; a store without the key is of this one. */
static bool is_here(cse_store_reader *reader)
{
    char own[72] = "";
    cse_text host = { 0 };
    gethostname(own, sizeof own - 1);
    const bool here = !cse_store_reader_key(reader, "host", &host) || strcmp(host.data, own) == 0;
    cse_text_clear(&host);
    return here;
}

static cse_status read_endpoint(cse_store_reader *reader, const char *model_dir,
                                cse_run_status *status, cse_text *endpoint)
{
    CSE_TRY(cse_store_reader_status(reader, status));
    if (!status->alive)
        return cse_fail(CSE_UNAVAILABLE, "the run in %s has ended: %s%s%s", model_dir,
                        cse_run_state_name(status->state), *status->reason != '\0' ? " " : "",
                        status->reason);
    if (!cse_store_reader_key(reader, "control_endpoint", endpoint) || endpoint->size == 0)
        return cse_fail(CSE_TEMPORARY, "the run in %s does not listen yet (%s)", model_dir,
                        cse_run_state_name(status->state));
    const char *path = strncmp(endpoint->data, "ipc://", 6) == 0 ? endpoint->data + 6 : NULL;
    if (!is_here(reader) && path != NULL && access(path, F_OK) != 0)
        return cse_fail(CSE_UNAVAILABLE,
                        "the run in %s is on another host, which its run store names (host): give "
                        "the command there",
                        model_dir);
    return CSE_OK;
}

cse_status cse_run_endpoint_here(const char *model_dir, cse_text *endpoint)
{
    cse_run_status status;
    cse_store_reader *reader = NULL;
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    cse_status result = read_endpoint(reader, model_dir, &status, endpoint);
    cse_store_reader_close(&reader);
    return result;
}

static cse_control_request request_of(const char *command, const json_t *body)
{
    const json_t *save = json_object_get(body, "save");
    return (cse_control_request){
        .command = command,
        .reason = cse_json_text(body, "message", NULL),
        .save = save == NULL || json_is_true(save),
        .grace_ms = (int64_t)(cse_json_real(body, "grace_s", 0) * 1e3),
        .directory = cse_json_text(body, "directory", NULL),
        .num_csx = cse_json_whole(body, "num_csx", 0),
        .hosts = cse_json_text(body, "hosts", NULL),
    };
}

/* ---- batch jobs ---- */

/* The number of the batch job that the run is; false where its coordinator is on this host. Without
 * a store the job has not begun. */
static bool is_batch(const char *model_dir, cse_store_reader *reader,
                     char number[CSE_SLURM_NUMBER_BYTES])
{
    cse_run_status status;
    if (!cse_slurm_noted_number(model_dir, number))
        return false;
    const bool alive =
        reader != NULL && cse_store_reader_status(reader, &status) == CSE_OK && status.alive;
    return !alive || !is_here(reader);
}

/* A job that waits has no process that could be told anything, but Slurm can be. */
static bool ends_waiting_job(const char *command, const char *number)
{
    cse_slurm_state state;
    const bool kills = strcmp(command, "kill") == 0;
    if (!kills && strcmp(command, "cancel") != 0)
        return false;
    return cse_slurm_look(number, &state) == CSE_OK && !state.ended && !state.runs &&
           cse_slurm_end(number, kills) == CSE_OK;
}

static cse_status send_to_batch(const char *model_dir, const char *number,
                                const cse_control_request *request, cse_control_reply *reply)
{
    char *path = realpath(model_dir, NULL);
    if (path == NULL)
        return cse_fail(CSE_NO_INPUT, "%s: %s", model_dir, strerror(errno));
    cse_status status = CSE_OK;
    if (ends_waiting_job(request->command, number))
        snprintf(reply->text, sizeof reply->text, "job %s is taken out of Slurm's queue", number);
    else
        status = cse_batch_control_send(path, number, request, reply);
    free(path);
    return status;
}

/* ---- a command ---- */

static cse_status send_here(const char *model_dir, cse_store_reader *reader,
                            cse_control_request *request, cse_control_reply *reply)
{
    cse_run_status status;
    cse_text endpoint = { 0 };
    cse_status result = read_endpoint(reader, model_dir, &status, &endpoint);
    request->endpoint = endpoint.data;
    if (result == CSE_OK)
        result = cse_control_send(request, reply);
    cse_text_clear(&endpoint);
    return result;
}

cse_status cse_run_command(const char *model_dir, const char *command, const json_t *body,
                           json_t **action)
{
    char number[CSE_SLURM_NUMBER_BYTES];
    cse_store_reader *reader = NULL;
    cse_run_status status = { .state = CSE_RUN_QUEUED };
    cse_control_reply reply = { .text = "" };
    cse_control_request request = request_of(command, body);
    cse_status result = cse_store_reader_open(model_dir, &reader);
    const bool batch = is_batch(model_dir, reader, number);
    if (batch)
        result = send_to_batch(model_dir, number, &request, &reply);
    else if (result == CSE_OK)
        result = send_here(model_dir, reader, &request, &reply);
    if (result == CSE_OK && reader != NULL)
        result = batch ? cse_store_reader_status_of(reader, true, &status)
                       : cse_store_reader_status(reader, &status);
    if (result == CSE_OK)
        *action = json_pack("{s:s, s:s, s:s, s:s}", "id", model_dir, "command", command, "state",
                            cse_run_state_name(status.state), "detail", reply.text);
    cse_store_reader_close(&reader);
    return result;
}
