/* The operations of a server's API as tools of an AI assistant: name, description, and a
 * schema of the arguments, all made from the server's own description (OpenAPI). */
#ifndef CSE_CLI_MCP_API_TOOLS_H
#define CSE_CLI_MCP_API_TOOLS_H

#include <jansson.h>
#include <stdbool.h>

#include "csengine/status.h"
#include "engine/base/text.h"

typedef struct cse_api_tools cse_api_tools;

/* `openapi`: borrowed for the call. Operations that give JSON, by GET alone, or all of them where
 * `changes`. CSE_DATA where it describes none. */
cse_status cse_api_tools_new(const json_t *openapi, bool changes, cse_api_tools **tools);
void cse_api_tools_destroy(cse_api_tools **tools);

/* Each as an object with name, description, inputSchema and annotations, as the Model Context
 * Protocol lists tools. Borrowed. */
json_t *cse_api_tools_list_view(const cse_api_tools *tools);

/* What a call of a tool asks the server; `path` belongs to the caller, the rest to `tools` and to
 * the arguments. */
typedef struct cse_api_call {
    const char *method;
    cse_text path;
    const json_t *body;    /* NULL: none */
    const char *body_type; /* of the body; NULL: JSON */
    bool takes_key;        /* it is done once for an Idempotency-Key */
    bool takes_match; /* it asks for an If-Match: assistants see no tags, so "*" is to be sent */
} cse_api_call;

/* CSE_NO_INPUT: there is no such tool. CSE_USAGE: an argument that it has not, that is missing, or
 * that cannot stand in a path; values are for the server to check. */
cse_status cse_api_tools_call(const cse_api_tools *tools, const char *name, const json_t *arguments,
                              cse_api_call *call);

#endif
