/* Links between hosts beside plain TCP sockets, over 127.0.0.1, between two processes.
 *
 * Frames go both ways at once; a rate is that of one direction. A round trip is that of one frame
 * and its echo. The ways take turns, so that what else the machine does falls on all of them; the
 * table has the medians of some rounds. Plain sockets send each frame by itself and receive into
 * one buffer, and neither copy nor check anything. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "workers/links/link.h"

enum { ROUNDS = 7, MOST_BYTES = 1 << 20, ECHOES = 3000, LINKS = 4, WAYS = 1 + LINKS, SIZES = 3 };

static const size_t frame_sizes[SIZES] = { 64, 64 << 10, 1 << 20 };
static const int frame_counts[SIZES] = { 200000, 4000, 300 };
static const char *const way_names[WAYS] = { "sockets", "tcp, plain", "tcp, encrypted",
                                             "mpi, plain", "mpi, encrypted" };
/* Encrypted: the odd ones. Those of mpi need the tokens of two jobs of carriers as arguments
 * (bench_mpi.sh). */
static int link_count = 2;

static unsigned char *content;

static void fail(const char *what)
{
    fprintf(stderr, "bench_links: %s: %s\n", what,
            cse_error_message()[0] != '\0' ? cse_error_message() : strerror(errno));
    exit(1);
}

/* ---- links ---- */

typedef struct end {
    const cse_host_link *link;
    cse_host_link_state *state;
    int other;
} end;

static end open_end(int host, const char *const addresses[2], int link)
{
    end e = { .other = 1 - host };
    const cse_host_link_options options = {
        .host = host, .host_count = 2, .addresses = addresses, .plain = link % 2 == 0, .wake = -1
    };
    if (cse_host_link_select(link < 2 ? "tcp" : "mpi", &e.link) != CSE_OK ||
        e.link->open(&options, &e.state) != CSE_OK)
        fail("open");
    return e;
}

static void await(end *e, cse_host_link_event_kind kind)
{
    cse_host_link_event event;
    do
        if (e->link->next(e->state, cse_clock_ns() + 10000000000, &event) != CSE_OK ||
            event.kind == CSE_HOST_LINK_LOST)
            fail("next");
    while (event.kind != kind);
}

/* What comes meanwhile belongs to the next measurement. */
static void send_rest(end *e)
{
    cse_host_link_event event;
    e->link->hold(e->state, e->other, true);
    while (!e->link->drained(e->state, e->other))
        e->link->next(e->state, cse_clock_ns() + 1000000, &event);
    e->link->hold(e->state, e->other, false);
}

static void exchange(end *e, size_t size, int count)
{
    cse_host_link_event event;
    for (int sent = 0, received = 0; sent < count || received < count;) {
        while (sent < count && e->link->send(e->state, e->other, content, size, NULL, 0) == CSE_OK)
            sent++;
        if (e->link->next(e->state, cse_clock_ns() + 1000000000, &event) != CSE_OK)
            fail("next");
        received += event.kind == CSE_HOST_LINK_FRAME;
        e->link->hold(e->state, e->other, received == count);
    }
    send_rest(e);
}

static void echo(end *e, bool first, int count)
{
    for (int i = 0; i < count; i++) {
        if (first)
            e->link->send(e->state, e->other, content, 64, NULL, 0);
        await(e, CSE_HOST_LINK_FRAME);
        if (!first)
            e->link->send(e->state, e->other, content, 64, NULL, 0);
    }
    send_rest(e);
}

/* ---- plain sockets ---- */

static void move_bytes(int fd, size_t size, int count)
{
    const size_t all = size * (size_t)count;
    unsigned char *in = cse_malloc(MOST_BYTES);
    for (size_t sent = 0, received = 0; sent < all || received < all;) {
        size_t rest = size - sent % size;
        ssize_t done = sent < all ? send(fd, content, rest, MSG_DONTWAIT | MSG_NOSIGNAL) : -1;
        if (done > 0) {
            sent += (size_t)done;
            if (sent % (256 << 10) >= size)
                continue;
        }
        struct pollfd polled = { .fd = fd, .events = sent < all ? POLLIN | POLLOUT : POLLIN };
        if (received < all && poll(&polled, 1, 1000) > 0 && polled.revents & POLLIN) {
            rest = all - received < MOST_BYTES ? all - received : MOST_BYTES;
            done = recv(fd, in, rest, MSG_DONTWAIT);
            if (done <= 0)
                fail("recv");
            received += (size_t)done;
        } else if (received == all) {
            poll(&polled, 1, 1);
        }
    }
    free(in);
}

static void echo_bytes(int fd, bool first, int count)
{
    unsigned char in[64];
    for (int i = 0; i < count; i++) {
        if (first && send(fd, content, 64, 0) != 64)
            fail("send");
        if (recv(fd, in, 64, MSG_WAITALL) != 64)
            fail("recv");
        if (!first && send(fd, in, 64, 0) != 64)
            fail("send");
    }
}

/* ---- one side of all measurements ---- */

/* Seconds of each size and of the round trips: by the clock, and of this process's processor. */
typedef struct times {
    double clock[SIZES + 1], processor[SIZES + 1];
} times;

static double processor_seconds(void)
{
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static void run_link(end *e, bool first, times *seconds)
{
    for (int i = 0; i <= SIZES; i++) {
        echo(e, first, 10);
        const int64_t begun = cse_clock_ns();
        const double used = processor_seconds();
        if (i == SIZES)
            echo(e, first, ECHOES);
        else
            exchange(e, frame_sizes[i], frame_counts[i]);
        seconds->clock[i] = (double)(cse_clock_ns() - begun) * 1e-9;
        seconds->processor[i] = processor_seconds() - used;
    }
}

static void run_sockets(int fd, bool first, times *seconds)
{
    for (int i = 0; i <= SIZES; i++) {
        echo_bytes(fd, first, 10);
        const int64_t begun = cse_clock_ns();
        const double used = processor_seconds();
        if (i == SIZES)
            echo_bytes(fd, first, ECHOES);
        else
            move_bytes(fd, frame_sizes[i], frame_counts[i]);
        seconds->clock[i] = (double)(cse_clock_ns() - begun) * 1e-9;
        seconds->processor[i] = processor_seconds() - used;
    }
}

/* The other process: host 1, and who connects. */
static void other_side(const char *const links[LINKS], const struct sockaddr_in *sockets)
{
    times ignored;
    end ends[LINKS];
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    if (connect(fd, (const struct sockaddr *)sockets, sizeof *sockets) != 0)
        fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (int i = 0; i < link_count; i++) {
        const char *const addresses[2] = { links[i], i < 2 ? "" : links[i] };
        ends[i] = open_end(1, addresses, i);
        await(&ends[i], CSE_HOST_LINK_CONNECTED);
    }
    for (int round = 0; round < ROUNDS; round++) {
        run_sockets(fd, false, &ignored);
        for (int i = 0; i < link_count; i++)
            run_link(&ends[i], false, &ignored);
    }
    for (int i = 0; i < link_count; i++)
        ends[i].link->close(&ends[i].state);
    exit(0);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(const times rounds[ROUNDS], int i, bool processor)
{
    double sorted[ROUNDS];
    for (int round = 0; round < ROUNDS; round++)
        sorted[round] = processor ? rounds[round].processor[i] : rounds[round].clock[i];
    qsort(sorted, ROUNDS, sizeof *sorted, compare);
    return sorted[ROUNDS / 2];
}

/* ns/B: of one process's processor, for a byte sent and a byte received. */
static void report(const times seconds[WAYS][ROUNDS])
{
    printf("%-16s%32s%32s%32s%14s\n", "", "64 B", "64 KiB", "1 MiB", "round trip");
    for (int way = 0; way < 1 + link_count; way++) {
        printf("%-16s", way_names[way]);
        for (int i = 0; i < SIZES; i++) {
            const double median = median_of(seconds[way], i, false);
            const double bytes = frame_counts[i] * (double)frame_sizes[i];
            printf("%9.0f/s%6.0f MB/s%6.2f ns/B", frame_counts[i] / median, bytes / median * 1e-6,
                   median_of(seconds[way], i, true) / bytes * 1e9);
        }
        printf("%11.1f us\n", median_of(seconds[way], SIZES, false) / ECHOES * 1e6);
    }
}

int main(int argc, char **argv)
{
    static times seconds[WAYS][ROUNDS];
    static const char *const listens[2] = { "127.0.0.1:0", "may connect" };
    struct sockaddr_in own = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof own;
    end ends[LINKS];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    content = cse_calloc(1, MOST_BYTES);
    if (bind(listener, (struct sockaddr *)&own, size) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&own, &size) != 0)
        fail("listen");
    const char *addresses[LINKS];
    link_count = argc == 3 ? LINKS : 2;
    for (int i = 0; i < link_count; i++) {
        const char *const carried[2] = { argv[argc == 3 ? 1 + i % 2 : 0], "may connect" };
        ends[i] = open_end(0, i < 2 ? listens : carried, i);
        addresses[i] = i < 2 ? ends[i].link->address(ends[i].state) : carried[0];
    }
    pid_t child = fork();
    if (child == 0)
        other_side(addresses, &own);
    int fd = accept(listener, NULL, NULL);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    for (int i = 0; i < link_count; i++)
        await(&ends[i], CSE_HOST_LINK_CONNECTED);
    for (int round = 0; round < ROUNDS; round++) {
        run_sockets(fd, true, &seconds[0][round]);
        for (int i = 0; i < link_count; i++)
            run_link(&ends[i], true, &seconds[1 + i][round]);
    }
    for (int i = 0; i < link_count; i++)
        ends[i].link->close(&ends[i].state);
    waitpid(child, NULL, 0);
    report(seconds);
    free(content);
    return 0;
}
