/* What strangers, a relay and dead hosts can do to TCP links: nothing but end connections. */
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "tests/workers/link_relay.h"

enum { HELLO = 88, PROOF = 32, GREETING = HELLO + PROOF, OVERHEAD = 20, FRAME = 50, FRAMES = 5 };

static int64_t refusals(const stage *s)
{
    int64_t sum = 0;
    for (int h = 0; h < 2; h++)
        for (int of = 0; of < 2; of++)
            sum += s->link->counts(s->hosts[h].state, of).refused;
    return sum;
}

/* Sends a frame whenever host 1 gets connected, until one arrives. */
static void greet(stage *s)
{
    int64_t end = cse_clock_ns() + STAGE_LIMIT_MS * INT64_C(1000000);
    while (s->hosts[0].event_count == 0) {
        stage_turn(s);
        ck_assert_int_lt(cse_clock_ns(), end);
        if (s->hosts[1].event_count == 0)
            continue;
        kept_event event = stage_next(s, 1);
        if (event.kind == CSE_HOST_LINK_CONNECTED)
            stage_send(s, 1, 0, "is that you?");
        free(event.bytes);
    }
}

/* Every byte of a handshake counts: changed, no connection comes of it. */
START_TEST(a_changed_handshake_is_refused)
{
    for (size_t at = 0; at < 2 * GREETING; at++) {
        stage s = stage_of(tcp_link(), 2);
        relay r = { .first = { RELAY_FLIP, at < GREETING ? TO_SERVER : TO_CLIENT, at % GREETING,
                               1 } };
        stage_open(&s, 0);
        relay_begin(&r, &s);
        stage_open(&s, 1);
        stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
        greet(&s);
        stage_expect_text(&s, 0, 1, "is that you?");
        stage_send(&s, 0, 1, "it is");
        int64_t end = cse_clock_ns() + 10000000000;
        for (kept_event event = { 0 }; event.kind != CSE_HOST_LINK_FRAME;) {
            event = stage_next(&s, 1);
            free(event.bytes);
            ck_assert_int_lt(cse_clock_ns(), end);
        }
        for (int i = 0; i < s.hosts[0].event_count; i++)
            ck_assert_int_eq(s.hosts[0].events[i].kind, CSE_HOST_LINK_FRAME);
        ck_assert_int_eq(atomic_load(&r.connections), 2);
        ck_assert_int_gt(refusals(&s), 0);
        stage_close(&s);
        relay_end(&r);
        relay_forget(&r);
    }
}
END_TEST

/* Some frames from host 1 through a relay that does something to them. Returns how many arrived
 * before the connection was lost. */
static int frames_before_loss(relay_edit edit, bool plain)
{
    stage s = stage_of(tcp_link(), 2);
    relay r = { .first = edit };
    unsigned char frame[FRAME], *filler = cse_calloc(1, 1 << 20);
    int arrived = 0;
    s.options.plain = plain;
    stage_open(&s, 0);
    relay_begin(&r, &s);
    stage_open(&s, 1);
    stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_expect(&s, 1, CSE_HOST_LINK_CONNECTED, 0);
    for (int i = 0; i < FRAMES; i++) {
        stage_fill(frame, FRAME, 1, i);
        ck_assert_int_eq(s.link->send(s.hosts[1].state, 0, frame, FRAME, NULL, 0), CSE_OK);
    }
    for (;;) {
        s.link->send(s.hosts[1].state, 0, filler, 1 << 20, NULL, 0);
        stage_turns(&s, 2);
        if (s.hosts[0].event_count == 0)
            continue;
        kept_event event = stage_next(&s, 0);
        if (event.kind == CSE_HOST_LINK_LOST) {
            free(event.bytes);
            break;
        }
        ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
        ck_assert_int_lt(arrived, FRAMES);
        ck_assert_uint_eq(event.size, FRAME);
        stage_check_bytes(&event, arrived++);
        free(event.bytes);
    }
    ck_assert_int_eq(s.link->counts(s.hosts[0].state, 1).refused, edit.kind != RELAY_CUT);
    stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_close(&s);
    relay_end(&r);
    relay_forget(&r);
    free(filler);
    return arrived;
}

START_TEST(changed_frames_are_refused)
{
    const bool plain = _i;
    const size_t frame = FRAME + OVERHEAD;
    for (size_t at = 0; at < frame; at += at < 4 || at >= FRAME + 4 ? 1 : 7)
        ck_assert_int_eq(
            frames_before_loss((relay_edit){ RELAY_FLIP, TO_SERVER, GREETING + 2 * frame + at, 1 },
                               plain),
            2);
    for (size_t at = 0; at < frame; at += 23) {
        const size_t place = GREETING + 3 * frame + at;
        ck_assert_int_eq(frames_before_loss((relay_edit){ RELAY_CUT, TO_SERVER, place, 1 }, plain),
                         3);
        ck_assert_int_eq(frames_before_loss((relay_edit){ RELAY_DROP, TO_SERVER, place, 1 }, plain),
                         3);
    }
}
END_TEST

START_TEST(repeated_and_missing_frames_are_refused)
{
    const size_t frame = FRAME + OVERHEAD;
    for (int plain = 0; plain < 2; plain++)
        for (size_t i = 0; i + 1 < FRAMES; i++) {
            const size_t at = GREETING + i * frame;
            ck_assert_int_eq(
                frames_before_loss((relay_edit){ RELAY_REPEAT, TO_SERVER, at, frame }, plain),
                (int)i + 1);
            ck_assert_int_eq(
                frames_before_loss((relay_edit){ RELAY_DROP, TO_SERVER, at, frame }, plain),
                (int)i);
        }
}
END_TEST

/* A connection whose bytes are kept. */
static void record(stage *s, relay *r)
{
    stage_open(s, 0);
    relay_begin(r, s);
    stage_open(s, 1);
    stage_expect(s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_expect(s, 1, CSE_HOST_LINK_CONNECTED, 0);
    for (int h = 0; h < 2; h++) {
        stage_send(s, h, 1 - h, "once");
        stage_expect_text(s, 1 - h, h, "once");
    }
    s->link->close(&s->hosts[1].state);
    stage_expect(s, 0, CSE_HOST_LINK_LOST, 1);
    relay_end(r);
    ck_assert_uint_eq(r->kept[TO_SERVER].size, GREETING + 4 + OVERHEAD);
    ck_assert_uint_eq(r->kept[TO_CLIENT].size, GREETING + 4 + OVERHEAD);
}

/* Reads until the other side closes. */
static void await_end(stage *s, int fd)
{
    char bytes[4096];
    int64_t end = cse_clock_ns() + STAGE_LIMIT_MS * INT64_C(1000000);
    for (;;) {
        ssize_t got = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN))
            break;
        ck_assert_int_lt(cse_clock_ns(), end);
        stage_turn(s);
    }
    close(fd);
}

START_TEST(a_recorded_connection_is_refused)
{
    stage s = stage_of(tcp_link(), 2);
    relay r = { 0 };
    record(&s, &r);
    const struct sockaddr_in server = test_address(s.hosts[0].address);
    for (int i = 0; i < 3; i++) {
        int64_t before = s.link->counts(s.hosts[0].state, 0).refused;
        int fd = test_connect(&server);
        /* Whole, and the frame after a hello of its own time. */
        ck_assert_int_gt(send(fd, r.kept[TO_SERVER].data, r.kept[TO_SERVER].size, 0), 0);
        await_end(&s, fd);
        ck_assert_int_eq(s.link->counts(s.hosts[0].state, 0).refused, before + 1);
        ck_assert_int_eq(s.hosts[0].event_count, 0);
    }
    stage_close(&s);
    relay_forget(&r);
}
END_TEST

/* Who listens at the address of host 0 either repeats what host 0 once said, or what it hears. */
START_TEST(a_false_host_is_refused)
{
    stage s = stage_of(tcp_link(), 2);
    relay r = { 0 };
    struct sockaddr_in own;
    char address[64];
    record(&s, &r);
    s.link->close(&s.hosts[0].state);
    int listener = test_listen(&own);
    snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(own.sin_port));
    s.instead = address;
    s.hosts[1].address[0] = '\0';
    stage_open(&s, 1);
    for (int i = 0; i < 6; i++) {
        char bytes[HELLO];
        struct pollfd polled = { .fd = listener, .events = POLLIN };
        int64_t before = s.link->counts(s.hosts[1].state, 0).refused;
        while (poll(&polled, 1, 0) == 0)
            stage_turn(&s);
        int fd = accept(listener, NULL, NULL);
        while (recv(fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT) < HELLO)
            stage_turn(&s);
        ck_assert_int_eq(recv(fd, bytes, sizeof bytes, 0), HELLO);
        if (i % 2 == 0) {
            ck_assert_int_gt(send(fd, r.kept[TO_CLIENT].data, r.kept[TO_CLIENT].size, 0), 0);
        } else {
            ck_assert_int_eq(send(fd, bytes, HELLO, 0), HELLO);
            ck_assert_int_eq(send(fd, bytes, PROOF, 0), PROOF);
        }
        await_end(&s, fd);
        ck_assert_int_eq(s.link->counts(s.hosts[1].state, 0).refused, before + 1);
        ck_assert_int_eq(s.hosts[1].event_count, 0);
    }
    close(listener);
    stage_close(&s);
    relay_forget(&r);
}
END_TEST

/* More strangers than there is room for, silent or not, keep no host out. */
START_TEST(strangers_do_not_keep_hosts_out)
{
    enum { FLOOD = 200 };
    static const char request[] = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    stage s = stage_of(tcp_link(), 2);
    int fds[FLOOD];
    stage_open(&s, 0);
    const struct sockaddr_in server = test_address(s.hosts[0].address);
    for (int i = 0; i < FLOOD; i++) {
        /* Where the kernel's queue is full, it is tried again meanwhile. */
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        ck_assert(connect(fds[i], (const struct sockaddr *)&server, sizeof server) == 0 ||
                  errno == EINPROGRESS);
        if (i % 3 == 0)
            send(fds[i], request, sizeof request - 1, MSG_NOSIGNAL);
        else if (i % 3 == 1)
            for (int k = 0; k < 64; k++)
                send(fds[i], s.hosts[0].address, sizeof s.hosts[0].address, MSG_NOSIGNAL);
        if (i % 20 == 0)
            stage_turn(&s);
    }
    stage_open(&s, 1);
    stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_expect(&s, 1, CSE_HOST_LINK_CONNECTED, 0);
    stage_send(&s, 1, 0, "here");
    stage_expect_text(&s, 0, 1, "here");
    ck_assert_int_ge(s.link->counts(s.hosts[0].state, 0).refused, FLOOD / 2);
    stage_send(&s, 0, 1, "good");
    stage_expect_text(&s, 1, 0, "good");
    for (int i = 0; i < FLOOD; i++)
        close(fds[i]);
    stage_close(&s);
}
END_TEST

/* A handshake that stops is given up, on both sides; a host that takes nothing for long, but
 * answers, is not. */
START_TEST(time_is_limited_where_it_should_be)
{
    stage s = stage_of(tcp_link(), 2), held = stage_of(tcp_link(), 2);
    relay r = { .first = { RELAY_STALL, TO_CLIENT, 100, 1 } };
    unsigned char *bytes = cse_calloc(1, 1 << 20);
    stage_begin(&held);
    held.link->hold(held.hosts[1].state, 0, true);
    stage_open(&s, 0);
    relay_begin(&r, &s);
    stage_open(&s, 1);
    int64_t begun = cse_clock_ns();
    const struct sockaddr_in server = test_address(s.hosts[0].address);
    int silent = test_connect(&server);
    while (cse_clock_ns() - begun < 14000000000) {
        stage_turn(&s);
        stage_turn(&held);
        while (held.link->send(held.hosts[0].state, 1, bytes, 1 << 20, NULL, 0) == CSE_OK)
            ;
        if (cse_clock_ns() - begun < 4500000000)
            ck_assert_int_eq(s.hosts[0].event_count + s.hosts[1].event_count, 0);
        ck_assert(held.link->connected(held.hosts[0].state, 1));
        ck_assert(held.link->connected(held.hosts[1].state, 0));
    }
    ck_assert_int_eq(recv(silent, bytes, 1, MSG_DONTWAIT), 0);
    close(silent);
    stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_expect(&s, 1, CSE_HOST_LINK_CONNECTED, 0);
    held.link->hold(held.hosts[1].state, 0, false);
    stage_expect(&held, 1, CSE_HOST_LINK_FRAME, 0);
    stage_close(&s);
    stage_close(&held);
    relay_end(&r);
    relay_forget(&r);
    free(bytes);
}
END_TEST

START_TEST(a_newer_connection_replaces_the_older_one)
{
    stage s = stage_of(tcp_link(), 2), other = stage_of(tcp_link(), 2);
    stage_begin(&s);
    snprintf(other.hosts[0].address, sizeof other.hosts[0].address, "%s", s.hosts[0].address);
    stage_open(&other, 1);
    /* The first one is not served meanwhile, as if it was dead. */
    cse_host_link_state *first = s.hosts[1].state;
    s.hosts[1].state = NULL;
    stage_send(&s, 0, 1, "lost");
    while (s.hosts[0].event_count < 2) {
        stage_turn(&s);
        stage_turn(&other);
    }
    stage_expect(&s, 0, CSE_HOST_LINK_LOST, 1);
    stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_send(&s, 0, 1, "new");
    stage_turns(&s, 20);
    stage_expect(&other, 1, CSE_HOST_LINK_CONNECTED, 0);
    stage_expect_text(&other, 1, 0, "new");
    s.hosts[1].state = first;
    stage_close(&other);
    stage_close(&s);
}
END_TEST

static bool switch_network(bool on)
{
    struct ifreq request = { .ifr_flags = on ? IFF_UP : 0 };
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(request.ifr_name, sizeof request.ifr_name, "lo");
    bool done = ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    close(fd);
    return done;
}

/* In a network of its own that is switched off: one host has something to send, the other not. */
START_TEST(a_dead_host_is_noticed)
{
    stage s = stage_of(tcp_link(), 2);
    if ((unshare(CLONE_NEWNET) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) ||
        !switch_network(true)) {
        printf("no network of its own can be had: a dead host is not tested\n");
        return;
    }
    stage_begin(&s);
    ck_assert(switch_network(false));
    int64_t begun = cse_clock_ns();
    stage_send(&s, 0, 1, "nobody hears that");
    stage_expect(&s, 0, CSE_HOST_LINK_LOST, 1);
    stage_expect(&s, 1, CSE_HOST_LINK_LOST, 0);
    ck_assert_int_lt(cse_clock_ns() - begun, 15000000000);
    ck_assert(switch_network(true));
    stage_expect(&s, 0, CSE_HOST_LINK_CONNECTED, 1);
    stage_expect(&s, 1, CSE_HOST_LINK_CONNECTED, 0);
    stage_close(&s);
}
END_TEST

static void quiet(void *self, const cse_log_record *record)
{
    (void)self;
    (void)record;
}

int main(void)
{
    cse_log_set_sink(quiet, NULL);
    Suite *suite = suite_create("link attacks");
    TCase *tests = tcase_create("link attacks");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, a_changed_handshake_is_refused);
    tcase_add_loop_test(tests, changed_frames_are_refused, 0, 2);
    tcase_add_test(tests, repeated_and_missing_frames_are_refused);
    tcase_add_test(tests, a_recorded_connection_is_refused);
    tcase_add_test(tests, a_false_host_is_refused);
    tcase_add_test(tests, strangers_do_not_keep_hosts_out);
    tcase_add_test(tests, time_is_limited_where_it_should_be);
    tcase_add_test(tests, a_newer_connection_replaces_the_older_one);
    tcase_add_test(tests, a_dead_host_is_noticed);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
