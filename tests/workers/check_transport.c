/* The contract of transports, tested for every plugin. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "workers/messages/run_directory.h"
#include "workers/transports/transport.h"

enum { TRANSPORTS = 1 };
static cse_run_directory directory;
static char endpoint[200];

static int64_t in_ms(int64_t ms)
{
    return cse_clock_ns() + ms * 1000000;
}

static void set_up(void)
{
    ck_assert_int_eq(cse_run_directory_make(&directory), CSE_OK);
    snprintf(endpoint, sizeof endpoint, "ipc://%s/control", directory.path);
}

static void tear_down(void)
{
    cse_run_directory_remove(&directory);
}

static void send_text(const cse_transport *t, cse_socket *from, const char *peer, const char *text)
{
    ck_assert_int_eq(t->send(from, peer, text, strlen(text), in_ms(2000)), CSE_OK);
}

static void expect(const cse_transport *t, cse_socket *at, const char *from, const char *text)
{
    char peer[CSE_PEER_BYTES];
    cse_text bytes = { 0 };
    bool received;
    ck_assert_int_eq(t->receive(at, in_ms(2000), peer, &bytes, &received), CSE_OK);
    ck_assert(received);
    ck_assert_str_eq(peer, from);
    ck_assert_uint_eq(bytes.size, strlen(text));
    ck_assert_mem_eq(bytes.data, text, bytes.size);
    cse_text_clear(&bytes);
}

START_TEST(a_transport_is_selected_by_name)
{
    const cse_transport *chosen;
    int count = 0;
    for (; cse_transports[count] != NULL; count++) {
        ck_assert_int_eq(cse_transport_select(cse_transports[count]->name, &chosen), CSE_OK);
        ck_assert_ptr_eq(chosen, cse_transports[count]);
    }
    ck_assert_int_eq(count, TRANSPORTS);
    ck_assert_int_eq(cse_transport_select(NULL, &chosen), CSE_OK);
    ck_assert_str_eq(chosen->name, "zeromq");
    ck_assert_int_eq(cse_transport_select("pigeon", &chosen), CSE_CONFIG);
}
END_TEST

START_TEST(messages_go_both_ways_in_order)
{
    const cse_transport *t = cse_transports[_i];
    cse_socket *hub, *first, *second;
    ck_assert_int_eq(t->bind(endpoint, &hub), CSE_OK);
    ck_assert_int_eq(t->connect(endpoint, "worker.0.0", &first), CSE_OK);
    ck_assert_int_eq(t->connect(endpoint, "worker.1.0", &second), CSE_OK);
    send_text(t, first, NULL, "one");
    send_text(t, first, NULL, "two");
    expect(t, hub, "worker.0.0", "one");
    expect(t, hub, "worker.0.0", "two");
    send_text(t, second, NULL, "three");
    expect(t, hub, "worker.1.0", "three");
    send_text(t, hub, "worker.1.0", "for second");
    send_text(t, hub, "worker.0.0", "for first");
    expect(t, first, "", "for first");
    expect(t, second, "", "for second");
    t->close(&first);
    t->close(&second);
    t->close(&hub);
    ck_assert_ptr_null(hub);
}
END_TEST

START_TEST(unknown_peers_are_an_error)
{
    const cse_transport *t = cse_transports[_i];
    cse_socket *hub;
    ck_assert_int_eq(t->bind(endpoint, &hub), CSE_OK);
    ck_assert_int_eq(t->send(hub, "nobody", "x", 1, in_ms(50)), CSE_UNAVAILABLE);
    t->close(&hub);
}
END_TEST

START_TEST(looking_does_not_wait_and_waiting_ends)
{
    const cse_transport *t = cse_transports[_i];
    cse_socket *hub;
    char peer[CSE_PEER_BYTES];
    cse_text bytes = { 0 };
    bool received = true;
    ck_assert_int_eq(t->bind(endpoint, &hub), CSE_OK);
    ck_assert_int_eq(t->receive(hub, 0, peer, &bytes, &received), CSE_OK);
    ck_assert(!received);
    int64_t before = cse_clock_ns();
    ck_assert_int_eq(t->receive(hub, in_ms(30), peer, &bytes, &received), CSE_OK);
    ck_assert(!received);
    ck_assert_int_ge(cse_clock_ns() - before, 29000000);
    t->close(&hub);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(nobody_listens_and_the_deadline_holds)
{
    const cse_transport *t = cse_transports[_i];
    cse_socket *alone;
    ck_assert_int_eq(t->connect(endpoint, "worker.0.0", &alone), CSE_OK);
    int64_t before = cse_clock_ns();
    ck_assert_int_eq(t->send(alone, NULL, "x", 1, in_ms(50)), CSE_TEMPORARY);
    ck_assert_int_ge(cse_clock_ns() - before, 40000000);
    t->close(&alone);
}
END_TEST

START_TEST(last_words_arrive_after_closing)
{
    const cse_transport *t = cse_transports[_i];
    cse_socket *hub, *one;
    ck_assert_int_eq(t->bind(endpoint, &hub), CSE_OK);
    ck_assert_int_eq(t->connect(endpoint, "worker.7.2", &one), CSE_OK);
    send_text(t, one, NULL, "farewell");
    t->close(&one);
    expect(t, hub, "worker.7.2", "farewell");
    t->close(&hub);
}
END_TEST

/* A process that can reach the socket, but not what lies beside it, has another key. */
START_TEST(who_has_no_key_is_not_heard)
{
    const cse_transport *t = cse_transports[_i];
    cse_run_directory other;
    cse_socket *hub, *stranger, *friend;
    char path[300], link_path[300], other_endpoint[320], peer[CSE_PEER_BYTES];
    cse_text bytes = { 0 };
    bool received;
    ck_assert_int_eq(cse_run_directory_make(&other), CSE_OK);
    snprintf(path, sizeof path, "%s/control", directory.path);
    snprintf(link_path, sizeof link_path, "%s/control", other.path);
    snprintf(other_endpoint, sizeof other_endpoint, "ipc://%s", link_path);
    ck_assert_int_eq(symlink(path, link_path), 0);
    ck_assert_int_eq(t->bind(endpoint, &hub), CSE_OK);
    ck_assert_int_eq(t->connect(other_endpoint, "operator.1", &stranger), CSE_OK);
    send_text(t, stranger, NULL, "stop");
    ck_assert_int_eq(t->receive(hub, in_ms(300), peer, &bytes, &received), CSE_OK);
    ck_assert(!received);
    ck_assert_int_eq(t->connect(endpoint, "operator.1", &friend), CSE_OK);
    send_text(t, friend, NULL, "stop");
    expect(t, hub, "operator.1", "stop");
    cse_text_clear(&bytes);
    t->close(&friend);
    t->close(&stranger);
    t->close(&hub);
    cse_run_directory_remove(&other);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transport");
    TCase *tests = tcase_create("transport");
    tcase_set_timeout(tests, 600);
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_test(tests, a_transport_is_selected_by_name);
    tcase_add_loop_test(tests, messages_go_both_ways_in_order, 0, TRANSPORTS);
    tcase_add_loop_test(tests, who_has_no_key_is_not_heard, 0, TRANSPORTS);
    tcase_add_loop_test(tests, unknown_peers_are_an_error, 0, TRANSPORTS);
    tcase_add_loop_test(tests, looking_does_not_wait_and_waiting_ends, 0, TRANSPORTS);
    tcase_add_loop_test(tests, nobody_listens_and_the_deadline_holds, 0, TRANSPORTS);
    tcase_add_loop_test(tests, last_words_arrive_after_closing, 0, TRANSPORTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
