/* Batches are refused: the protocol has none since its version 2025-06-18. */
#include "cli/mcp/rpc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static json_t *failure(json_t *id, int code, const char *message)
{
    return json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id",
                     id != NULL ? id : json_null(), "error", "code", code, "message", message);
}

json_t *cse_rpc_refusal(int code, const char *message)
{
    return failure(NULL, code, message);
}

static json_t *call(const json_t *message, json_t *id, cse_rpc_method *method, void *self)
{
    const char *name = json_string_value(json_object_get(message, "method"));
    const json_t *parameters = json_object_get(message, "params");
    cse_rpc_fault fault = { .code = 0 };
    if (parameters != NULL && !json_is_object(parameters))
        return failure(id, CSE_RPC_PARAMETERS, "params: accepted is an object");
    json_t *result = method(self, name, parameters, &fault);
    if (result == NULL)
        return failure(id, fault.code, fault.message);
    return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *cse_rpc_answer(const char *line, size_t bytes, cse_rpc_method *method, void *self)
{
    json_error_t error;
    json_t *message = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error), *answer = NULL;
    json_t *id = json_object_get(message, "id");
    const bool is_response =
        json_object_get(message, "method") == NULL &&
        (json_object_get(message, "result") != NULL || json_object_get(message, "error") != NULL);
    if (message == NULL)
        answer = failure(NULL, CSE_RPC_PARSE, error.text);
    else if (!json_is_object(message))
        answer = failure(NULL, CSE_RPC_REQUEST, "a message is an object; batches are not accepted");
    else if (id != NULL && !json_is_string(id) && !json_is_integer(id))
        answer = failure(NULL, CSE_RPC_REQUEST, "id: accepted is a string or a whole number");
    else if (!is_response && !json_is_string(json_object_get(message, "method")))
        answer = failure(id, CSE_RPC_REQUEST, "method: missing, or no string");
    else if (!is_response && id != NULL)
        answer = call(message, id, method, self);
    json_decref(message);
    return answer;
}
