/* Between two executions a thread of the endpoint takes commands; each turn asks it for them. */
#include "run/saving/room_wait.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "workers/messages/message.h"

enum { LOOKS = 10 };
#define LOOK_NS INT64_C(200000000)

typedef enum heard { HEARD_NOTHING, HEARD_TRY, HEARD_END } heard;

static heard take_directory(cse_room_wait *wait, const char *peer, const char *directory)
{
    struct stat facts;
    cse_control_endpoint *endpoint = wait->endpoint;
    if (directory[0] == '\0')
        return HEARD_TRY;
    if (directory[0] != '/' || stat(directory, &facts) != 0 || !S_ISDIR(facts.st_mode) ||
        access(directory, W_OK | X_OK) != 0) {
        cse_control_endpoint_answer(endpoint, peer, CSE_CANNOT_CREATE,
                                    "that is no directory that the run may write to");
        return HEARD_NOTHING;
    }
    snprintf(wait->directory, sizeof wait->directory, "%s", directory);
    cse_control_endpoint_answer(endpoint, peer, CSE_OK, "the last checkpoint is written there");
    return HEARD_TRY;
}

static heard obey(cse_room_wait *wait, const cse_kept_command *command)
{
    cse_message message;
    if (cse_message_decode(command->bytes.data, command->bytes.size, &message) != CSE_OK)
        return HEARD_NOTHING;
    switch (message.kind) {
    case CSE_MESSAGE_CHECKPOINT:
        return take_directory(wait, command->peer, message.checkpoint.directory);
    case CSE_MESSAGE_PAUSE:
    case CSE_MESSAGE_RESUME:
        wait->paused = message.kind == CSE_MESSAGE_PAUSE;
        return HEARD_NOTHING;
    case CSE_MESSAGE_STOP:
    case CSE_MESSAGE_CANCEL:
    case CSE_MESSAGE_KILL:
        cse_control_endpoint_answer(wait->endpoint, command->peer, CSE_OK,
                                    "ends without its last checkpoint, for which there is no room");
        return HEARD_END;
    default:
        cse_control_endpoint_answer(wait->endpoint, command->peer, CSE_UNAVAILABLE,
                                    "the run waits for room for its last checkpoint");
        return HEARD_NOTHING;
    }
}

static heard listen_once(cse_room_wait *wait)
{
    heard most = HEARD_NOTHING;
    cse_kept_command command;
    if (wait->endpoint == NULL)
        return HEARD_NOTHING;
    cse_control_endpoint_take(wait->endpoint);
    while (cse_control_endpoint_next(wait->endpoint, &command)) {
        heard one = obey(wait, &command);
        most = one > most ? one : most;
        cse_text_clear(&command.bytes);
    }
    cse_control_endpoint_return(wait->endpoint);
    return most;
}

bool cse_room_wait_turn(cse_room_wait *wait)
{
    for (int look = 0; look < LOOKS; look++) {
        heard said = listen_once(wait);
        if (said == HEARD_END ||
            (wait->stop_requested != NULL && wait->stop_requested(wait->self) > wait->stops))
            return false;
        if (said == HEARD_TRY)
            return true;
        cse_sleep_ns(LOOK_NS);
    }
    return true;
}

void cse_room_wait_text(int64_t step, const char *what, const char *why, const char *model_dir,
                        cse_text *text)
{
    cse_text_add(
        text,
        "step %lld is done, and its checkpoint waits for %s: %s; or give another place: "
        "`csengine checkpoint save %s --to DIRECTORY`; Ctrl-C or cancel gives the steps up",
        (long long)step, what, why, model_dir);
}

cse_status cse_pass_over_checkpoint(int64_t step, cse_status status, const char *what)
{
    if (status != CSE_IO && status != CSE_CANNOT_CREATE && status != CSE_PERMISSION)
        return status;
    cse_log_line(CSE_LOG_WARNING, "checkpoint of step %lld: %s; the %s goes on without it",
                 (long long)step, cse_error_message(), what);
    return CSE_OK;
}
