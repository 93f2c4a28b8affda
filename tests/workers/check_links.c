/* The contract of links, tested for every plugin: over 127.0.0.1, or, of the link mpi, over
 * carriers without MPI. */
#include "tests/workers/link_stage.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const size_t sizes[] = { 0,
                                1,
                                3,
                                63,
                                64,
                                4096,
                                65535,
                                65536,
                                262144,
                                1 << 20,
                                CSE_HOST_LINK_MAX_BYTES - 1,
                                CSE_HOST_LINK_MAX_BYTES };
enum { SIZES = sizeof sizes / sizeof *sizes };

static int link_count(void)
{
    int count = 0;
    while (cse_host_links[count] != NULL)
        count++;
    return count;
}

START_TEST(a_link_is_selected_by_name)
{
    const cse_host_link *chosen;
    for (int i = 0; i < link_count(); i++) {
        ck_assert_int_eq(cse_host_link_select(cse_host_links[i]->name, &chosen), CSE_OK);
        ck_assert_ptr_eq(chosen, cse_host_links[i]);
    }
    ck_assert_int_eq(cse_host_link_select(NULL, &chosen), CSE_OK);
    ck_assert_str_eq(chosen->name, "tcp");
    ck_assert_int_eq(cse_host_link_select("pigeon", &chosen), CSE_CONFIG);
}
END_TEST

START_TEST(all_hosts_are_connected)
{
    stage s = stage_of(_i, STAGE_HOSTS);
    stage_begin(&s);
    for (int from = 0; from < s.count; from++)
        for (int to = 0; to < s.count; to++)
            if (from != to)
                stage_send(&s, from, to, "hello");
    for (int to = 0; to < s.count; to++) {
        cse_host_set seen = { { 0 } }, others = cse_hosts_first(s.count);
        cse_hosts_remove(&others, to);
        for (int i = 0; i < s.count - 1; i++) {
            kept_event event = stage_next(&s, to);
            ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
            ck_assert_uint_eq(event.size, 5);
            cse_hosts_add(&seen, event.host);
            free(event.bytes);
        }
        ck_assert(cse_hosts_equal(&seen, &others));
    }
    stage_close(&s);
}
END_TEST

/* In both directions, encrypted and plain. */
START_TEST(frames_of_all_sizes_arrive_in_order)
{
    unsigned char *bytes = cse_malloc(CSE_HOST_LINK_MAX_BYTES + 1);
    for (int plain = 0; plain < 2; plain++) {
        stage s = stage_of(_i, 2);
        s.options.plain = plain;
        stage_begin(&s);
        for (int i = 0; i < SIZES; i++)
            for (int from = 0; from < 2; from++) {
                stage_fill(bytes, sizes[i], from, i);
                cse_status status;
                while ((status = s.link->send(s.hosts[from].state, 1 - from, bytes, sizes[i] / 3,
                                              bytes + sizes[i] / 3, sizes[i] - sizes[i] / 3)) ==
                       CSE_TEMPORARY)
                    stage_turn(&s);
                ck_assert_int_eq(status, CSE_OK);
                stage_turn(&s);
                if (i % 3 != 0)
                    continue;
                int64_t end = cse_clock_ns() + STAGE_LIMIT_MS * INT64_C(1000000);
                while (!s.link->drained(s.hosts[from].state, 1 - from) && cse_clock_ns() < end)
                    stage_turn(&s);
            }
        for (int to = 0; to < 2; to++)
            for (int i = 0; i < SIZES; i++) {
                kept_event event = stage_next(&s, to);
                ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
                ck_assert_uint_eq(event.size, sizes[i]);
                stage_check_bytes(&event, i);
                free(event.bytes);
            }
        ck_assert_int_eq(
            s.link->send(s.hosts[0].state, 1, bytes, CSE_HOST_LINK_MAX_BYTES, bytes, 1),
            CSE_INTERNAL);
        ck_assert_int_eq(s.link->send(s.hosts[0].state, 1, bytes, SIZE_MAX, bytes, 2),
                         CSE_INTERNAL);
        stage_close(&s);
    }
    free(bytes);
}
END_TEST

/* Sends until there is no more room; returns how many. */
static int fill_queue(stage *s, int from, int to, size_t size, int first)
{
    unsigned char *bytes = cse_malloc(size);
    for (int i = first;; i++) {
        stage_fill(bytes, size, from, i);
        cse_status status = s->link->send(s->hosts[from].state, to, bytes, size, NULL, 0);
        if (status == CSE_TEMPORARY) {
            free(bytes);
            return i - first;
        }
        ck_assert_int_eq(status, CSE_OK);
        ck_assert_int_lt(i - first, 100000);
    }
}

START_TEST(a_held_host_slows_down_its_sender)
{
    stage s = stage_of(_i, 2);
    const size_t size = 300000;
    stage_begin(&s);
    s.link->hold(s.hosts[1].state, 0, true);
    int count = 0;
    for (int i = 0; i < 100; i++) {
        count += fill_queue(&s, 0, 1, size, count);
        stage_turn(&s);
    }
    /* The queue is bounded, and so is what the kernels keep. */
    ck_assert_int_gt(count, (6 << 20) / (int)size);
    ck_assert_int_lt(count, (64 << 20) / (int)size);
    ck_assert(!s.link->drained(s.hosts[0].state, 1));
    ck_assert_int_eq(s.hosts[1].event_count, 0);
    /* The other direction goes on. */
    stage_send(&s, 1, 0, "go on");
    stage_expect_text(&s, 0, 1, "go on");
    s.link->hold(s.hosts[1].state, 0, false);
    for (int i = 0; i < count; i++) {
        kept_event event = stage_next(&s, 1);
        ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
        ck_assert_uint_eq(event.size, size);
        stage_check_bytes(&event, i);
        free(event.bytes);
    }
    ck_assert(s.link->drained(s.hosts[0].state, 1));
    stage_close(&s);
}
END_TEST

typedef struct taker {
    stage *s;
    int frames;
} taker;

static void *take(void *self)
{
    taker *t = self;
    cse_host_link_event event;
    for (int left = t->frames; left > 0; left -= event.kind == CSE_HOST_LINK_FRAME)
        t->s->link->next(t->s->hosts[1].state, cse_clock_ns() + 1000000000, &event);
    return NULL;
}

/* The other host is served by a thread of its own, once there is no more room. */
START_TEST(a_sender_is_woken_when_there_is_room)
{
    enum { COUNT = 200, SIZE = 1 << 20 };
    stage s = stage_of(_i, 2);
    unsigned char *bytes = cse_calloc(1, SIZE);
    cse_host_link_event event;
    pthread_t thread;
    int crowded = 0;
    stage_begin(&s);
    taker t = { &s, COUNT };
    for (int sent = 0; sent < COUNT;) {
        cse_status status = s.link->send(s.hosts[0].state, 1, bytes, SIZE, NULL, 0);
        sent += status == CSE_OK;
        if (status == CSE_OK)
            continue;
        ck_assert_int_eq(status, CSE_TEMPORARY);
        if (crowded++ == 0)
            ck_assert_int_eq(pthread_create(&thread, NULL, take, &t), 0);
        int64_t before = cse_clock_ns();
        s.link->next(s.hosts[0].state, before + 60000000000, &event);
        ck_assert_int_eq(event.kind, CSE_HOST_LINK_NOTHING);
        ck_assert_int_lt(cse_clock_ns() - before, 30000000000);
    }
    ck_assert_int_gt(crowded, 0);
    while (!s.link->drained(s.hosts[0].state, 1))
        s.link->next(s.hosts[0].state, cse_clock_ns() + 1000000, &event);
    pthread_join(thread, NULL);
    stage_close(&s);
    free(bytes);
}
END_TEST

START_TEST(both_queues_full_is_no_deadlock)
{
    stage s = stage_of(_i, 2);
    const size_t sizes_of[2] = { 1 << 20, 777 };
    int counts[2];
    stage_begin(&s);
    for (int h = 0; h < 2; h++)
        counts[h] = fill_queue(&s, h, 1 - h, sizes_of[h], 0);
    for (int h = 0; h < 2; h++)
        for (int i = 0; i < counts[1 - h]; i++) {
            kept_event event = stage_next(&s, h);
            ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
            ck_assert_uint_eq(event.size, sizes_of[1 - h]);
            stage_check_bytes(&event, i);
            free(event.bytes);
        }
    stage_close(&s);
}
END_TEST

START_TEST(a_host_that_comes_back_is_connected_again)
{
    stage s = stage_of(_i, 3);
    stage_begin(&s);
    for (int away = 0; away < 3; away++) {
        s.link->close(&s.hosts[away].state);
        ck_assert_ptr_null(s.hosts[away].state);
        for (int h = 0; h < 3; h++)
            if (h != away) {
                stage_expect(&s, h, CSE_HOST_LINK_LOST, away);
                ck_assert(!s.link->connected(s.hosts[h].state, away));
                ck_assert(s.link->drained(s.hosts[h].state, away));
                ck_assert_int_eq(s.link->send(s.hosts[h].state, away, "x", 1, NULL, 0),
                                 CSE_UNAVAILABLE);
            }
        stage_turns(&s, 50);
        stage_open(&s, away);
        for (int h = 0; h < 3; h++)
            if (h != away) {
                stage_expect(&s, h, CSE_HOST_LINK_CONNECTED, away);
                ck_assert(s.link->connected(s.hosts[h].state, away));
                stage_send(&s, h, away, "again");
            }
        int connected = 0;
        for (int i = 0; i < 4; i++) {
            kept_event event = stage_next(&s, away);
            connected += event.kind == CSE_HOST_LINK_CONNECTED;
            free(event.bytes);
        }
        ck_assert_int_eq(connected, 2);
    }
    stage_close(&s);
}
END_TEST

START_TEST(last_words_arrive_after_closing)
{
    stage s = stage_of(_i, 2);
    unsigned char *bytes = cse_malloc(30000);
    stage_begin(&s);
    /* Bytes that host 0 will not take do not cost what it says. */
    fill_queue(&s, 1, 0, 100000, 0);
    for (int i = 0; i < 3; i++) {
        stage_fill(bytes, 30000, 0, i);
        ck_assert_int_eq(s.link->send(s.hosts[0].state, 1, bytes, 30000, NULL, 0), CSE_OK);
    }
    s.link->close(&s.hosts[0].state);
    for (int i = 0; i < 3; i++) {
        kept_event event = stage_next(&s, 1);
        ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
        stage_check_bytes(&event, i);
        free(event.bytes);
    }
    stage_close(&s);
    free(bytes);
}
END_TEST

/* Host 1 has something else than host 0; until it has not. */
static void expect_refusal(int link, void (*change)(cse_host_link_options *options))
{
    stage s = stage_of(link, 2);
    cse_host_link_options right = s.options;
    stage_open(&s, 0);
    change(&s.options);
    stage_open(&s, 1);
    stage_turns(&s, 200);
    for (int h = 0; h < 2; h++) {
        ck_assert_int_eq(s.hosts[h].event_count, 0);
        ck_assert(!s.link->connected(s.hosts[h].state, 1 - h));
    }
    ck_assert_int_gt(s.link->counts(s.hosts[0].state, 0).refused +
                         s.link->counts(s.hosts[1].state, 0).refused,
                     0);
    s.link->close(&s.hosts[1].state);
    s.options = right;
    stage_open(&s, 1);
    stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_expect(&s, 1, CSE_HOST_LINK_CONNECTED, 0);
    stage_close(&s);
}

static void other_session(cse_host_link_options *options)
{
    options->session++;
}

static void other_key(cse_host_link_options *options)
{
    options->key[CSE_HOST_LINK_KEY_BYTES - 1] ^= 0x80;
}

static void other_plain(cse_host_link_options *options)
{
    options->plain = !options->plain;
}

START_TEST(hosts_that_differ_are_refused)
{
    expect_refusal(_i, other_session);
    expect_refusal(_i, other_key);
    expect_refusal(_i, other_plain);
}
END_TEST

START_TEST(a_wait_ends_at_its_deadline_and_when_woken)
{
    stage s = stage_of(_i, 2);
    cse_host_link_event event;
    s.options.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    stage_open(&s, 0);
    int64_t before = cse_clock_ns();
    ck_assert_int_eq(s.link->next(s.hosts[0].state, before + 30000000, &event), CSE_OK);
    ck_assert_int_eq(event.kind, CSE_HOST_LINK_NOTHING);
    ck_assert_int_ge(cse_clock_ns() - before, 30000000);
    ck_assert_int_eq(write(s.options.wake, &(uint64_t){ 1 }, 8), 8);
    before = cse_clock_ns();
    ck_assert_int_eq(s.link->next(s.hosts[0].state, before + 60000000000, &event), CSE_OK);
    ck_assert_int_eq(event.kind, CSE_HOST_LINK_NOTHING);
    ck_assert_int_lt(cse_clock_ns() - before, 30000000000);
    close(s.options.wake);
    stage_close(&s);
}
END_TEST

static bool speaks_ip(int link)
{
    return strcmp(cse_host_links[link]->name, "tcp") == 0;
}

START_TEST(addresses_are_checked)
{
    if (!speaks_ip(_i))
        return;
    static const char *const wrong[] = { "127.0.0.1",   "127.0.0.1:",   "127.0.0.1:65536",
                                         "127.0.0.1:x", "[::1:7000",    "::1:7000",
                                         "[]:7000",     "127.0.0.1:-1", "127.0.0.1:7000 ",
                                         "a:999999" };
    stage s = stage_of(_i, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(stage_try_open(&s, 0, wrong[i]), CSE_CONFIG);
        ck_assert_ptr_null(s.hosts[0].state);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), "accepted"));
    }
    ck_assert_int_eq(stage_try_open(&s, 0, "192.0.2.1:7000"), CSE_UNAVAILABLE);
    stage_open(&s, 0);
    stage second = stage_of(_i, 2);
    ck_assert_int_eq(stage_try_open(&second, 0, s.hosts[0].address), CSE_UNAVAILABLE);
    ck_assert_ptr_null(second.hosts[0].state);
    stage_close(&s);
    stage_close(&second);
}
END_TEST

/* By IPv6, by a name, and without listening. */
START_TEST(addresses_of_all_kinds_are_connected)
{
    static const char *const kinds[] = { "[::1]:0", "localhost:0", ":0" };
    if (!speaks_ip(_i))
        return;
    for (int i = 0; i < 3; i++) {
        stage s = stage_of(_i, 2);
        if (stage_try_open(&s, 0, kinds[i]) != CSE_OK) /* no IPv6 there */
            continue;
        const char *address = s.link->address(s.hosts[0].state);
        snprintf(s.hosts[0].address, sizeof s.hosts[0].address, "%s%s",
                 address[0] == ':' ? "127.0.0.1" : "", address);
        ck_assert_int_eq(stage_try_open(&s, 1, ""), CSE_OK);
        ck_assert_str_eq(s.link->address(s.hosts[1].state), "");
        stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
        stage_expect(&s, 1, CSE_HOST_LINK_CONNECTED, 0);
        stage_close(&s);
    }
}
END_TEST

/* Only the link mpi has carriers. */
START_TEST(carriers_that_end_cost_connections_alone)
{
    const cse_host_link *link;
    int number = 0;
    ck_assert_int_eq(cse_host_link_select("mpi", &link), CSE_OK);
    while (cse_host_links[number] != link)
        number++;
    stage s = stage_of(number, 3);
    stage_begin(&s);
    for (int i = 0; i < 3; i++) {
        carrier_stage_close(s.carriers);
        for (int h = 0; h < 3; h++)
            for (int k = 0; k < 2; k++) {
                kept_event event = stage_next(&s, h);
                ck_assert_int_eq(event.kind, CSE_HOST_LINK_LOST);
                free(event.bytes);
            }
        carrier_stage_open(s.carriers);
        for (int h = 0; h < 3; h++)
            for (int k = 0; k < 2; k++) {
                kept_event event = stage_next(&s, h);
                ck_assert_int_eq(event.kind, CSE_HOST_LINK_CONNECTED);
                free(event.bytes);
            }
        stage_send(&s, 0, 2, "again");
        stage_expect_text(&s, 2, 0, "again");
        stage_send(&s, 2, 0, "and back");
        stage_expect_text(&s, 0, 2, "and back");
    }
    stage_close(&s);
}
END_TEST

/* More than sockets hold waits in a carrier, while the host that sent it has ended, and what is
 * sent to that host finds nobody. */
START_TEST(a_carrier_keeps_what_came_before_the_end)
{
    enum { COUNT = 10, SIZE = 300000 };
    unsigned char *bytes = cse_malloc(SIZE);
    int number = 0;
    while (strcmp(cse_host_links[number]->name, "mpi") != 0)
        number++;
    stage s = stage_of(number, 2);
    stage_begin(&s);
    s.link->hold(s.hosts[1].state, 0, true);
    for (int i = 0; i < COUNT; i++) {
        stage_fill(bytes, SIZE, 0, i);
        ck_assert_int_eq(s.link->send(s.hosts[0].state, 1, bytes, SIZE, NULL, 0), CSE_OK);
    }
    s.link->close(&s.hosts[0].state);
    stage_send(&s, 1, 0, "to nobody");
    stage_turns(&s, 100);
    s.link->hold(s.hosts[1].state, 0, false);
    for (int i = 0; i < COUNT; i++) {
        kept_event event = stage_next(&s, 1);
        ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
        ck_assert_uint_eq(event.size, SIZE);
        stage_check_bytes(&event, i);
        free(event.bytes);
    }
    stage_expect(&s, 1, CSE_HOST_LINK_LOST, 0);
    stage_close(&s);
    free(bytes);
}
END_TEST

START_TEST(carriers_are_named_by_a_token)
{
    static const char *const wrong[] = { "127.0.0.1:7000", "A", "a/b", "@a",
                                         "012345678901234567890123456789012" };
    const cse_host_link *link;
    cse_host_link_state *state;
    cse_host_link_options options = { .host_count = 2, .wake = -1 };
    ck_assert_int_eq(cse_host_link_select("mpi", &link), CSE_OK);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        options.addresses = (const char *const[]){ wrong[i], wrong[i] };
        ck_assert_int_eq(link->open(&options, &state), CSE_CONFIG);
        ck_assert_ptr_null(state);
        ck_assert_ptr_nonnull(strstr(cse_error_message(), "accepted"));
    }
}
END_TEST

START_TEST(what_is_on_the_wire_is_counted)
{
    stage s = stage_of(_i, 2);
    stage_begin(&s);
    for (int i = 0; i < 10; i++) {
        stage_send(&s, 0, 1, "0123456789");
        stage_expect_text(&s, 1, 0, "0123456789");
    }
    cse_host_link_counts sent = s.link->counts(s.hosts[0].state, 1);
    cse_host_link_counts received = s.link->counts(s.hosts[1].state, 0);
    ck_assert_int_eq(sent.frames_sent, 10);
    ck_assert_int_eq(received.frames_received, 10);
    ck_assert_int_eq(sent.bytes_sent, received.bytes_received);
    ck_assert_int_ge(sent.bytes_sent, 100);
    ck_assert_int_le(sent.bytes_sent, 100 + 10 * 32);
    ck_assert_int_eq(sent.refused + received.refused, 0);
    stage_close(&s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("links");
    TCase *tests = tcase_create("links");
    int links = link_count();
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, a_link_is_selected_by_name);
    tcase_add_loop_test(tests, all_hosts_are_connected, 0, links);
    tcase_add_loop_test(tests, frames_of_all_sizes_arrive_in_order, 0, links);
    tcase_add_loop_test(tests, a_held_host_slows_down_its_sender, 0, links);
    tcase_add_loop_test(tests, a_sender_is_woken_when_there_is_room, 0, links);
    tcase_add_loop_test(tests, both_queues_full_is_no_deadlock, 0, links);
    tcase_add_loop_test(tests, a_host_that_comes_back_is_connected_again, 0, links);
    tcase_add_loop_test(tests, last_words_arrive_after_closing, 0, links);
    tcase_add_loop_test(tests, hosts_that_differ_are_refused, 0, links);
    tcase_add_loop_test(tests, a_wait_ends_at_its_deadline_and_when_woken, 0, links);
    tcase_add_loop_test(tests, addresses_are_checked, 0, links);
    tcase_add_loop_test(tests, addresses_of_all_kinds_are_connected, 0, links);
    tcase_add_loop_test(tests, what_is_on_the_wire_is_counted, 0, links);
    tcase_add_test(tests, carriers_that_end_cost_connections_alone);
    tcase_add_test(tests, a_carrier_keeps_what_came_before_the_end);
    tcase_add_test(tests, carriers_are_named_by_a_token);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
