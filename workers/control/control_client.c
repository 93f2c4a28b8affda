/* One request, one reply, over the transport of control messages. */
#include "workers/control/control_client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/registry.h"
#include "workers/messages/message.h"
#include "workers/transports/transport.h"

enum { DEFAULT_TIMEOUT_MS = 5000 };

const char *const cse_control_commands[] = { "pause", "resume", "checkpoint", "cancel",
                                             "kill",  "scale",  "status",     NULL };

static cse_status make_message(const cse_control_request *request, cse_message *message)
{
    static const cse_message_kind kinds[] = {
        CSE_MESSAGE_PAUSE, CSE_MESSAGE_RESUME, CSE_MESSAGE_CHECKPOINT, CSE_MESSAGE_CANCEL,
        CSE_MESSAGE_KILL,  CSE_MESSAGE_SCALE,  CSE_MESSAGE_STATUS,
    };
    int command = 0;
    while (cse_control_commands[command] != NULL &&
           strcmp(cse_control_commands[command], request->command) != 0)
        command++;
    if (cse_control_commands[command] == NULL) {
        const char *near = cse_did_you_mean(request->command, cse_control_commands);
        return cse_fail(CSE_USAGE,
                        "control: '%s' is no command; there are pause, resume, checkpoint, cancel, "
                        "kill, scale, status%s%s%s",
                        request->command, near ? "; did you mean '" : "", near ? near : "",
                        near ? "'?" : "");
    }
    *message = (cse_message){ .kind = kinds[command] };
    if (message->kind == CSE_MESSAGE_CANCEL) {
        message->cancel.save = request->save;
        message->cancel.grace_ms = request->grace_ms;
        message->cancel.reason = request->reason;
    } else if (message->kind == CSE_MESSAGE_SCALE) {
        message->scale.num_csx = request->num_csx;
        message->scale.hosts = request->hosts;
    } else {
        message->pause.reason =
            request->reason; /* all others have only a reason, at the same offset */
    }
    if (message->kind == CSE_MESSAGE_CHECKPOINT)
        message->checkpoint.directory = request->directory;
    return CSE_OK;
}

cse_status cse_control_encode(const cse_control_request *request, cse_text *bytes)
{
    cse_message message;
    CSE_TRY(make_message(request, &message));
    return cse_message_encode(&message, bytes);
}

cse_status cse_control_encode_reply(cse_status status, const char *text, cse_text *bytes)
{
    cse_message message = { .kind = CSE_MESSAGE_REPLY };
    message.reply.status = status;
    message.reply.text = text;
    return cse_message_encode(&message, bytes);
}

cse_status cse_control_exchange(const char *endpoint, const cse_text *bytes, int64_t timeout_ms,
                                cse_text *answer)
{
    static atomic_int sent;
    char name[CSE_PEER_BYTES], peer[CSE_PEER_BYTES];
    const cse_transport *transport;
    cse_socket *socket = NULL;
    bool received = false;
    const int64_t wait_ms = timeout_ms > 0 ? timeout_ms : DEFAULT_TIMEOUT_MS;
    const int64_t deadline_ns = cse_clock_ns() + wait_ms * 1000000;
    if (endpoint == NULL || endpoint[0] == '\0')
        return cse_fail(CSE_UNAVAILABLE, "control: the run cannot be reached now: it has no "
                                         "control endpoint (it compiles, or has ended)");
    CSE_TRY(cse_transport_select(NULL, &transport));
    /* Each operator needs a unique name. */
    snprintf(name, sizeof name, "operator.%ld.%d", (long)getpid(), atomic_fetch_add(&sent, 1));
    CSE_TRY(transport->connect(endpoint, name, &socket));
    cse_status status = transport->send(socket, NULL, bytes->data, bytes->size, deadline_ns);
    if (status == CSE_OK)
        status = transport->receive(socket, deadline_ns, peer, answer, &received);
    if (status == CSE_OK && !received)
        status = cse_fail(CSE_TEMPORARY, "control: the run did not answer in time");
    transport->close(&socket);
    return status;
}

cse_status cse_control_decode(const void *bytes, size_t size, cse_control_reply *reply)
{
    cse_message message;
    *reply = (cse_control_reply){ .status = CSE_UNAVAILABLE };
    CSE_TRY(cse_message_decode(bytes, size, &message));
    if (message.kind != CSE_MESSAGE_REPLY)
        return cse_fail(CSE_DATA, "control: the run answered with %s",
                        cse_message_kind_name(message.kind));
    bool is_status = message.reply.status >= CSE_OK && message.reply.status <= CSE_INTERRUPTED;
    reply->status = is_status ? (cse_status)message.reply.status : CSE_INTERNAL;
    reply->reason =
        message.reply.reason == CSE_ERROR_UNSUPPORTED ? CSE_ERROR_UNSUPPORTED : CSE_ERROR_GENERAL;
    reply->step = message.reply.step;
    snprintf(reply->text, sizeof reply->text, "%s", message.reply.text);
    if (reply->status == CSE_OK)
        return CSE_OK;
    return cse_fail_at(&(cse_error){ .status = reply->status, .reason = reply->reason }, "%s",
                       reply->text);
}

cse_status cse_control_send(const cse_control_request *request, cse_control_reply *reply)
{
    cse_text bytes = { 0 }, answer = { 0 };
    *reply = (cse_control_reply){ .status = CSE_UNAVAILABLE };
    cse_status status = cse_control_encode(request, &bytes);
    if (status == CSE_OK)
        status = cse_control_exchange(request->endpoint, &bytes, request->timeout_ms, &answer);
    if (status == CSE_OK)
        status = cse_control_decode(answer.data, answer.size, reply);
    cse_text_clear(&bytes);
    cse_text_clear(&answer);
    return status;
}
