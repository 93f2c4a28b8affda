/* `csengine mcp`: a server of the Model Context Protocol on standard input and output, by which an
 * AI assistant sees the jobs of a csengine server. Its tools are the operations of the API
 * (cli/mcp/api_tools.h), so that a new route is a new tool.
 *
 * Protocol: modelcontextprotocol.io, versions 2024-11-05 to 2025-06-18, of which the tools are what
 * is offered. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client/client_command.h"
#include "cli/mcp/api_tools.h"
#include "cli/mcp/rpc.h"
#include "cli/terminal/report.h"
#include "engine/base/error.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#else
#define PACKAGE_VERSION "0"
#endif

enum { MOST_LINE_BYTES = 4 << 20, MOST_ANSWER_BYTES = 1 << 20 };

typedef struct mcp_server {
    cse_client *api;
    cse_api_tools *tools;
} mcp_server;

/* ---- methods ---- */

static json_t *fail(cse_rpc_fault *fault, int code, const char *message)
{
    fault->code = code;
    snprintf(fault->message, sizeof fault->message, "%s", message);
    return NULL;
}

/* The version that was asked for, where it is one of those known, else the newest. */
static const char *version_of(const json_t *parameters)
{
    static const char *const versions[] = { "2025-06-18", "2025-03-26", "2024-11-05" };
    const char *asked = json_string_value(json_object_get(parameters, "protocolVersion"));
    for (size_t i = 0; asked != NULL && i < sizeof versions / sizeof versions[0]; i++)
        if (strcmp(asked, versions[i]) == 0)
            return versions[i];
    return versions[0];
}

static json_t *initialize(const json_t *parameters)
{
    return json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}", "protocolVersion",
                     version_of(parameters), "capabilities", "tools", "serverInfo", "name",
                     "csengine", "version", PACKAGE_VERSION, "instructions",
                     "Jobs of a csengine server that trains models: listJobs first; what others "
                     "take as id is the id of a job there. getExperiments compares many jobs.");
}

static json_t *tool_result(const char *text, size_t bytes, bool is_error)
{
    json_t *shown = json_stringn(text, bytes);
    if (shown == NULL)
        shown = json_string("the answer is no text");
    return json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text", shown, "isError",
                     is_error);
}

/* What a server answers badly is the result of the tool, for the assistant to read. */
static json_t *ask(const mcp_server *server, const cse_api_call *call)
{
    cse_client_answer answer = { 0 };
    char key[CSE_IDEMPOTENCY_KEY_BYTES];
    if (call->takes_key)
        cse_new_idempotency_key(key);
    const cse_status status =
        cse_client_call(server->api,
                        &(cse_client_request){ .method = call->method,
                                               .path = call->path.data,
                                               .body = call->body,
                                               .body_type = call->body_type,
                                               .if_match = call->takes_match ? "*" : NULL,
                                               .idempotency_key = call->takes_key ? key : NULL },
                        &answer);
    json_t *result;
    char words[160];
    if (status != CSE_OK) {
        const char *message = cse_error_message();
        result = tool_result(message, strlen(message), true);
    } else if (answer.body.size > MOST_ANSWER_BYTES) {
        snprintf(words, sizeof words,
                 "the answer has %zu bytes, more than %d: ask for less, by limit, names or where",
                 answer.body.size, (int)MOST_ANSWER_BYTES);
        result = tool_result(words, strlen(words), true);
    } else {
        result =
            tool_result(answer.body.data != NULL ? answer.body.data : "", answer.body.size, false);
    }
    cse_client_answer_clear(&answer);
    return result;
}

static json_t *call_tool(const mcp_server *server, const json_t *parameters, cse_rpc_fault *fault)
{
    const char *name = json_string_value(json_object_get(parameters, "name"));
    const json_t *arguments = json_object_get(parameters, "arguments");
    cse_api_call call;
    if (name == NULL)
        return fail(fault, CSE_RPC_PARAMETERS, "name: missing, or no string");
    if (arguments != NULL && !json_is_object(arguments))
        return fail(fault, CSE_RPC_PARAMETERS, "arguments: accepted is an object");
    if (cse_api_tools_call(server->tools, name, arguments, &call) != CSE_OK)
        return fail(fault, CSE_RPC_PARAMETERS, cse_error_message());
    json_t *result = ask(server, &call);
    cse_text_clear(&call.path);
    return result;
}

static json_t *run_method(void *self, const char *method, const json_t *parameters,
                          cse_rpc_fault *fault)
{
    const mcp_server *server = self;
    char words[160];
    if (strcmp(method, "initialize") == 0)
        return initialize(parameters);
    if (strcmp(method, "ping") == 0)
        return json_object();
    if (strcmp(method, "tools/list") == 0)
        return json_pack("{s:O}", "tools", cse_api_tools_list_view(server->tools));
    if (strcmp(method, "tools/call") == 0)
        return call_tool(server, parameters, fault);
    snprintf(words, sizeof words,
             "there is no method %.60s; accepted: initialize, ping, tools/list, tools/call",
             method);
    return fail(fault, CSE_RPC_METHOD, words);
}

/* ---- lines ---- */

/* The next line, without its end; what is beyond MOST_LINE_BYTES is passed over, and then
 * *too_long. False: the input has ended. */
static bool read_line(FILE *in, cse_text *line, bool *too_long)
{
    int byte;
    line->size = 0;
    *too_long = false;
    cse_text_add(line, "%s", "");
    while ((byte = getc_unlocked(in)) != EOF && byte != '\n') {
        const char character = (char)byte;
        if (line->size < MOST_LINE_BYTES)
            cse_text_add_bytes(line, &character, 1);
        else
            *too_long = true;
    }
    return byte != EOF || line->size > 0;
}

static bool is_blank(const cse_text *line)
{
    return strspn(line->data, " \t\r") == line->size;
}

static cse_status write_answer(json_t *answer)
{
    char *text = json_dumps(answer, JSON_COMPACT);
    json_decref(answer);
    const bool good = printf("%s\n", text) >= 0 && fflush(stdout) == 0;
    free(text);
    return good ? CSE_OK : cse_fail(CSE_IO, "standard output: %s", strerror(errno));
}

static cse_status serve(mcp_server *server)
{
    cse_text line = { 0 };
    cse_status status = CSE_OK;
    bool too_long = false;
    while (status == CSE_OK && read_line(stdin, &line, &too_long)) {
        if (!too_long && is_blank(&line))
            continue;
        json_t *answer = too_long ? cse_rpc_refusal(CSE_RPC_REQUEST, "a message has at most 4 MiB")
                                  : cse_rpc_answer(line.data, line.size, run_method, server);
        if (answer != NULL)
            status = write_answer(answer);
    }
    cse_text_clear(&line);
    return status;
}

/* ---- the command ---- */

static cse_status body(cse_client *api, const cse_command_line *line)
{
    mcp_server server = { .api = api };
    cse_client_answer described = { 0 };
    cse_status status =
        cse_client_call(api, &(cse_client_request){ .path = "/openapi.json" }, &described);
    if (status == CSE_OK)
        status = cse_api_tools_new(described.json, cse_option_is_on(line, "allow_changes"),
                                   &server.tools);
    cse_client_answer_clear(&described);
    if (status == CSE_OK)
        status = serve(&server);
    cse_api_tools_destroy(&server.tools);
    return status;
}

static int run(const cse_command_line *line)
{
    return cse_client_command(line, body);
}

static const cse_option options[] = {
    CSE_CLIENT_SERVER_OPTIONS,
    { "allow_changes", NULL, NULL,
      "also tools that change something: that submit, steer or delete jobs, or have models write" },
    { 0 },
};

static const cse_command_note examples[] = {
    { "mcp --server /srv/queue", "an assistant may look at the jobs of that server" },
    { "mcp --allow_changes", "an assistant may also submit and steer jobs" },
    { NULL, NULL },
};

const cse_command cse_command_mcp = {
    .name = "mcp",
    .group = CSE_GROUP_LOOK,
    .summary = "lets an AI assistant use a server's API (Model Context Protocol)",
    .arguments = "",
    .doc = "Reads messages of the Model Context Protocol from standard input, one a line, and "
           "answers on standard output, until the input ends. The tools are the operations of the "
           "server's API; those that change nothing, unless --allow_changes is given.",
    .options = options,
    .examples = examples,
    .run = run,
};
