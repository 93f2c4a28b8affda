/* The endpoint of a job's operators, which outlives its executions: answers between two of them,
 * what is kept for the next, and names that are used again. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "tests/support/temporary_folder.h"
#include "workers/control/control_client.h"
#include "workers/control/control_endpoint.h"
#include "workers/messages/message.h"

static char folder[64];
static cse_control_endpoint *endpoint;

static void open_endpoint(void)
{
    snprintf(folder, sizeof folder, "check_endpoint_XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_msg(cse_control_endpoint_open(folder, NULL, &endpoint) == CSE_OK, "%s",
                  cse_error_message());
}

static void close_endpoint(void)
{
    cse_control_endpoint_close(&endpoint);
    ck_assert_ptr_null(endpoint);
    ck_assert(temporary_folder_remove(folder));
}

static cse_status say(const char *command, int64_t timeout_ms, cse_control_reply *reply)
{
    return cse_control_send(
        &(cse_control_request){ .endpoint = cse_control_endpoint_address(endpoint),
                                .command = command,
                                .reason = "because",
                                .num_csx = 2,
                                .timeout_ms = timeout_ms },
        reply);
}

/* The next kept command; its kind, and who waits for an answer. */
static void expect_kept(cse_message_kind kind, bool waits, char peer[CSE_PEER_BYTES])
{
    cse_kept_command command;
    cse_message message;
    ck_assert(cse_control_endpoint_next(endpoint, &command));
    ck_assert_int_eq(cse_message_decode(command.bytes.data, command.bytes.size, &message), CSE_OK);
    ck_assert_str_eq(cse_message_kind_name(message.kind), cse_message_kind_name(kind));
    ck_assert_int_eq(command.peer[0] != '\0', waits);
    if (peer != NULL)
        memcpy(peer, command.peer, CSE_PEER_BYTES);
    if (kind == CSE_MESSAGE_PAUSE)
        ck_assert_str_eq(message.pause.reason, "because");
    cse_text_clear(&command.bytes);
}

START_TEST(what_can_wait_is_answered_at_once_and_kept_in_order)
{
    static const char *const said[] = { "pause", "checkpoint", "resume", "status" };
    static const char *const answers[] = {
        "pauses before the next step",
        "a checkpoint follows when the next part of the run has started", "goes on", "starting"
    };
    cse_kept_command none;
    for (int i = 0; i < 4; i++) {
        cse_control_reply reply;
        ck_assert_msg(say(said[i], 30000, &reply) == CSE_OK, "%s", cse_error_message());
        ck_assert_str_eq(reply.text, answers[i]);
    }
    cse_control_endpoint_take(endpoint);
    expect_kept(CSE_MESSAGE_PAUSE, false, NULL);
    expect_kept(CSE_MESSAGE_CHECKPOINT, false, NULL);
    expect_kept(CSE_MESSAGE_RESUME, false, NULL);
    ck_assert(!cse_control_endpoint_next(endpoint, &none));
}
END_TEST

typedef struct asking {
    const char *command;
    cse_status status;
    cse_control_reply reply;
} asking;

static void *ask(void *self)
{
    asking *a = self;
    a->status = say(a->command, 30000, &a->reply);
    return NULL;
}

START_TEST(what_may_be_refused_is_answered_by_the_next_execution)
{
    const cse_transport *transport;
    pthread_t thread;
    asking scale = { .command = "scale" };
    cse_control_reply reply;
    cse_text bytes = { 0 };
    char peer[CSE_PEER_BYTES];
    ck_assert_int_eq(cse_transport_select(NULL, &transport), CSE_OK);
    /* One who gives up leaves the command behind. */
    ck_assert_int_eq(say("cancel", 200, &reply), CSE_TEMPORARY);
    ck_assert_int_eq(pthread_create(&thread, NULL, ask, &scale), 0);
    cse_sleep_ns(200000000);
    cse_socket *socket = cse_control_endpoint_take(endpoint);
    expect_kept(CSE_MESSAGE_CANCEL, true, NULL);
    cse_kept_command late;
    for (int i = 0; i < 100 && !cse_control_endpoint_next(endpoint, &late); i++) {
        cse_control_endpoint_return(endpoint);
        cse_sleep_ns(50000000);
        cse_control_endpoint_take(endpoint);
    }
    snprintf(peer, sizeof peer, "%s", late.peer);
    cse_text_clear(&late.bytes);
    const cse_message answer = { .kind = CSE_MESSAGE_REPLY, .reply = { .step = 7, .text = "yes" } };
    ck_assert_int_eq(cse_message_encode(&answer, &bytes), CSE_OK);
    ck_assert_int_eq(
        transport->send(socket, peer, bytes.data, bytes.size, cse_clock_ns() + INT64_C(5000000000)),
        CSE_OK);
    pthread_join(thread, NULL);
    ck_assert_int_eq(scale.status, CSE_OK);
    ck_assert_int_eq(scale.reply.step, 7);
    cse_text_clear(&bytes);
}
END_TEST

static void send_as(const cse_transport *transport, const char *peer, cse_message_kind kind)
{
    cse_socket *socket = NULL;
    cse_text bytes = { 0 };
    const cse_message message = { .kind = kind };
    ck_assert_int_eq(cse_message_encode(&message, &bytes), CSE_OK);
    ck_assert_int_eq(transport->connect(cse_control_endpoint_address(endpoint), peer, &socket),
                     CSE_OK);
    ck_assert_int_eq(
        transport->send(socket, NULL, bytes.data, bytes.size, cse_clock_ns() + INT64_C(5000000000)),
        CSE_OK);
    transport->close(&socket);
    cse_text_clear(&bytes);
}

/* The workers of two executions have the same names: the second of a name is heard, too, whether or
 * not the end of the first was noticed. What a worker says between two executions is nobody's. */
START_TEST(workers_of_the_next_execution_are_heard)
{
    const cse_transport *transport;
    char peer[CSE_PEER_BYTES];
    cse_text bytes = { 0 };
    cse_kept_command none;
    ck_assert_int_eq(cse_transport_select(NULL, &transport), CSE_OK);
    send_as(transport, "worker.0.1", CSE_MESSAGE_BYE);
    cse_sleep_ns(200000000);
    cse_socket *socket = cse_control_endpoint_take(endpoint);
    ck_assert(!cse_control_endpoint_next(endpoint, &none));
    for (int i = 0; i < 50; i++) {
        bool received = false;
        send_as(transport, "worker.0.1", CSE_MESSAGE_JOIN);
        ck_assert_int_eq(transport->receive(socket, cse_clock_ns() + INT64_C(5000000000), peer,
                                            &bytes, &received),
                         CSE_OK);
        ck_assert(received);
        ck_assert_str_eq(peer, "worker.0.1");
    }
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(there_is_a_limit_of_what_is_kept)
{
    cse_control_reply reply;
    int kept = 0;
    while (kept < 1000 && say("pause", 30000, &reply) == CSE_OK)
        kept++;
    ck_assert_int_eq(kept, 64);
    ck_assert_ptr_nonnull(strstr(reply.text, "too many"));
}
END_TEST

int main(void)
{
    TCase *cases = tcase_create("control endpoint");
    tcase_set_timeout(cases, 600);
    tcase_add_checked_fixture(cases, open_endpoint, close_endpoint);
    tcase_add_test(cases, what_can_wait_is_answered_at_once_and_kept_in_order);
    tcase_add_test(cases, what_may_be_refused_is_answered_by_the_next_execution);
    tcase_add_test(cases, workers_of_the_next_execution_are_heard);
    tcase_add_test(cases, there_is_a_limit_of_what_is_kept);
    Suite *suite = suite_create("control endpoint");
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
