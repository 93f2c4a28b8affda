/* The input is what somebody else's process wrote: it is limited, and handed on as it is to the
 * coordinator, which reads it as it reads all messages of operators. */
#include "run/control/run_relay.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "run/control/run_command.h"
#include "workers/batch/batch_control.h"

enum { MOST_INPUT_BYTES = 128 << 10 };

static cse_status read_input(int input, cse_text *text)
{
    char block[4096];
    for (;;) {
        const ssize_t got = read(input, block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return cse_fail(CSE_IO, "standard input cannot be read: %s", strerror(errno));
        if (got == 0)
            return CSE_OK;
        if (text->size + (size_t)got > MOST_INPUT_BYTES)
            return cse_fail(CSE_DATA, "standard input has more than %d bytes", MOST_INPUT_BYTES);
        cse_text_add_bytes(text, block, (size_t)got);
    }
}

static cse_status write_all(int output, const cse_text *line)
{
    for (size_t done = 0; done < line->size;) {
        const ssize_t written = write(output, line->data + done, line->size - done);
        if (written < 0 && errno != EINTR)
            return cse_fail(CSE_IO, "the answer cannot be written: %s", strerror(errno));
        done += written > 0 ? (size_t)written : 0;
    }
    return CSE_OK;
}

static cse_status ask_run(const char *model_dir, const cse_text *request, int64_t timeout_ms,
                          cse_text *answer)
{
    cse_text endpoint = { 0 };
    cse_status status = cse_run_endpoint_here(model_dir, &endpoint);
    if (status == CSE_OK)
        status = cse_control_exchange(endpoint.data, request, timeout_ms, answer);
    cse_text_clear(&endpoint);
    return status;
}

cse_status cse_run_relay(const char *model_dir, int64_t timeout_ms, int input, int output)
{
    cse_text text = { 0 }, request = { 0 }, answer = { 0 }, line = { 0 };
    cse_status status = read_input(input, &text);
    if (status == CSE_OK)
        status = cse_batch_control_read(&text, &request);
    if (status == CSE_OK) {
        const cse_status asked = ask_run(model_dir, &request, timeout_ms, &answer);
        if (asked != CSE_OK) {
            answer.size = 0;
            status = cse_control_encode_reply(asked, cse_error_message(), &answer);
        }
    }
    if (status == CSE_OK) {
        cse_batch_control_write(&answer, &line);
        status = write_all(output, &line);
    }
    cse_text_clear(&text);
    cse_text_clear(&request);
    cse_text_clear(&answer);
    cse_text_clear(&line);
    return status;
}
