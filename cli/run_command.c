/* Reads the endpoint from the run store and sends the command with the control client. */
#include "cli/run_command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/json_values.h"
#include "engine/base/text.h"
#include "store/reader.h"
#include "workers/control/control_client.h"

bool cse_names_run(const char *job)
{
    char path[PATH_MAX];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/run.db", job);
    return length < (int)sizeof path && stat(path, &info) == 0 && S_ISREG(info.st_mode);
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
    return CSE_OK;
}

cse_status cse_run_command(const char *model_dir, const char *command, const json_t *body,
                           json_t **action)
{
    cse_store_reader *reader = NULL;
    cse_run_status status = { .state = CSE_RUN_NONE };
    cse_control_reply reply = { .text = "" };
    cse_text endpoint = { 0 };
    CSE_TRY(cse_store_reader_open(model_dir, &reader));
    cse_status result = read_endpoint(reader, model_dir, &status, &endpoint);
    if (result == CSE_OK) {
        const json_t *save = json_object_get(body, "save");
        const cse_control_request request = {
            .endpoint = endpoint.data,
            .command = command,
            .reason = cse_json_text(body, "message", NULL),
            .save = save == NULL || json_is_true(save),
            .grace_ms = (int64_t)(cse_json_real(body, "grace_s", 0) * 1e3),
            .directory = cse_json_text(body, "directory", NULL),
            .num_csx = cse_json_whole(body, "num_csx", 0),
            .hosts = cse_json_text(body, "hosts", NULL),
        };
        result = cse_control_send(&request, &reply);
    }
    if (result == CSE_OK)
        result = cse_store_reader_status(reader, &status);
    if (result == CSE_OK)
        *action = json_pack("{s:s, s:s, s:s, s:s}", "id", model_dir, "command", command, "state",
                            cse_run_state_name(status.state), "detail", reply.text);
    cse_text_clear(&endpoint);
    cse_store_reader_close(&reader);
    return result;
}
