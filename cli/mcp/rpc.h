/* JSON-RPC 2.0 over lines: one message a line, as the Model Context Protocol's stdio transport has
 * them. Who reads and writes the lines is the caller. */
#ifndef CSE_CLI_MCP_RPC_H
#define CSE_CLI_MCP_RPC_H

#include <jansson.h>

/* Codes of errors (JSON-RPC 2.0, section 5.1). */
enum {
    CSE_RPC_PARSE = -32700,
    CSE_RPC_REQUEST = -32600,
    CSE_RPC_METHOD = -32601,
    CSE_RPC_PARAMETERS = -32602,
};

typedef struct cse_rpc_fault {
    int code; /* 0: none */
    char message[512];
} cse_rpc_fault;

/* The result of a method, which the caller owns; NULL with *fault filled in. `parameters` is an
 * object, or NULL. */
typedef json_t *cse_rpc_method(void *self, const char *method, const json_t *parameters,
                               cse_rpc_fault *fault);

/* The answer to a line, which the caller owns; NULL where none is due: to a notification, and to a
 * response. */
json_t *cse_rpc_answer(const char *line, size_t bytes, cse_rpc_method *method, void *self);
/* The answer where a message could not be read. */
json_t *cse_rpc_refusal(int code, const char *message);

#endif
