/* Several hosts of a link in one test: each is a link of its own, all are served in turn by one
 * thread, and what happens at a host is kept until the test asks for it. */
#ifndef CSE_TESTS_WORKERS_LINK_STAGE_H
#define CSE_TESTS_WORKERS_LINK_STAGE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/clock.h"
#include "engine/base/log.h"
#include "engine/base/random.h"
#include "engine/base/text.h"
#include "tests/workers/carrier_stage.h"
#include "workers/hosts/host_set.h"
#include "workers/links/link.h"

enum { STAGE_HOSTS = 5, STAGE_LIMIT_MS = 20000 };

typedef struct kept_event {
    cse_host_link_event_kind kind;
    int host;
    unsigned char *bytes;
    size_t size;
} kept_event;

typedef struct stage_host {
    cse_host_link_state *state;
    char address[CSE_HOST_LINK_ADDRESS_BYTES];
    kept_event *events;
    int event_count, event_capacity;
} stage_host;

typedef struct stage {
    const cse_host_link *link;
    int count;
    stage_host hosts[STAGE_HOSTS];
    cse_host_link_options options; /* of the hosts that are opened next, but for their addresses */
    carrier_stage *carriers;       /* of the link mpi */
    const char *instead; /* what hosts think to be the address of host 0; NULL: what it is */
} stage;

static inline cse_status stage_try_open(stage *s, int host, const char *listens)
{
    const char *addresses[STAGE_HOSTS];
    for (int i = 0; i < s->count; i++)
        addresses[i] = i < host ? s->hosts[i].address : "may connect";
    if (s->instead != NULL)
        addresses[0] = s->instead;
    addresses[host] = listens;
    s->options.host = host;
    s->options.host_count = s->count;
    s->options.addresses = addresses;
    return s->link->open(&s->options, &s->hosts[host].state);
}

/* The first time at a free port, later at the same one. */
static inline void stage_open(stage *s, int host)
{
    stage_host *h = &s->hosts[host];
    const bool carried = strcmp(s->link->name, "mpi") == 0;
    if (carried && s->carriers == NULL) {
        s->carriers = carrier_stage_new(s->count);
        for (int i = 0; i < s->count; i++)
            snprintf(s->hosts[i].address, sizeof h->address, "%s", s->carriers->token);
    }
    const char *listens = h->address[0] != '\0' ? h->address : "127.0.0.1:0";
    ck_assert_msg(stage_try_open(s, host, listens) == CSE_OK, "%s", cse_error_message());
    if (h->address[0] == '\0')
        snprintf(h->address, sizeof h->address, "%s", s->link->address(h->state));
}

static inline stage stage_of(int link, int count)
{
    stage s = { .link = cse_host_links[link], .count = count };
    s.options.session = 7;
    s.options.wake = -1;
    memset(s.options.key, 0x5a, sizeof s.options.key);
    return s;
}

static inline void stage_forget(stage_host *h)
{
    for (int i = 0; i < h->event_count; i++)
        free(h->events[i].bytes);
    h->event_count = 0;
}

static inline void stage_close(stage *s)
{
    for (int i = 0; i < s->count; i++) {
        if (s->hosts[i].state != NULL)
            s->link->close(&s->hosts[i].state);
        stage_forget(&s->hosts[i]);
        free(s->hosts[i].events);
    }
    if (s->carriers != NULL)
        carrier_stage_destroy(&s->carriers);
}

/* Whether anything happened at the host. */
static inline bool stage_serve(stage *s, int host)
{
    stage_host *h = &s->hosts[host];
    cse_host_link_event event;
    if (h->state == NULL)
        return false;
    ck_assert_int_eq(s->link->next(h->state, 0, &event), CSE_OK);
    if (event.kind == CSE_HOST_LINK_NOTHING)
        return false;
    CSE_GROW(h->events, h->event_count, h->event_capacity);
    kept_event *kept = &h->events[h->event_count++];
    *kept = (kept_event){ .kind = event.kind, .host = event.host, .size = event.size };
    kept->bytes = cse_malloc(event.size + 1);
    if (event.size > 0)
        memcpy(kept->bytes, event.bytes, event.size);
    return true;
}

static inline void stage_turn(stage *s)
{
    bool any = false;
    for (int i = 0; i < s->count; i++)
        any |= stage_serve(s, i);
    if (!any)
        cse_sleep_ns(100000);
}

static inline void stage_turns(stage *s, int64_t duration_ms)
{
    int64_t end = cse_clock_ns() + duration_ms * 1000000;
    while (cse_clock_ns() < end)
        stage_turn(s);
}

/* The next event at the host; the caller frees its bytes. */
static inline kept_event stage_next(stage *s, int host)
{
    stage_host *h = &s->hosts[host];
    int64_t end = cse_clock_ns() + STAGE_LIMIT_MS * INT64_C(1000000);
    while (h->event_count == 0) {
        ck_assert_msg(cse_clock_ns() < end, "nothing happens at host %d", host);
        stage_turn(s);
    }
    kept_event first = h->events[0];
    h->event_count--;
    memmove(h->events, h->events + 1, (size_t)h->event_count * sizeof *h->events);
    return first;
}

static inline void stage_expect(stage *s, int host, cse_host_link_event_kind kind, int from)
{
    kept_event event = stage_next(s, host);
    ck_assert_msg(event.kind == kind && event.host == from,
                  "at host %d: event %d of host %d, not %d of host %d", host, event.kind,
                  event.host, kind, from);
    free(event.bytes);
}

static inline void stage_expect_text(stage *s, int host, int from, const char *text)
{
    kept_event event = stage_next(s, host);
    ck_assert_int_eq(event.kind, CSE_HOST_LINK_FRAME);
    ck_assert_int_eq(event.host, from);
    event.bytes[event.size] = '\0';
    ck_assert_str_eq((char *)event.bytes, text);
    free(event.bytes);
}

static inline void stage_send(stage *s, int from, int to, const char *text)
{
    size_t half = strlen(text) / 2;
    ck_assert_msg(s->link->send(s->hosts[from].state, to, text, half, text + half,
                                strlen(text) - half) == CSE_OK,
                  "%s", cse_error_message());
}

/* Opens all hosts and awaits all connections. */
static inline void stage_begin(stage *s)
{
    for (int i = 0; i < s->count; i++)
        stage_open(s, i);
    for (int i = 0; i < s->count; i++) {
        cse_host_set seen = { { 0 } }, others = cse_hosts_first(s->count);
        cse_hosts_remove(&others, i);
        for (int j = 0; j < s->count - 1; j++) {
            kept_event event = stage_next(s, i);
            ck_assert_int_eq(event.kind, CSE_HOST_LINK_CONNECTED);
            cse_hosts_add(&seen, event.host);
            free(event.bytes);
        }
        ck_assert(cse_hosts_equal(&seen, &others));
    }
}

/* Byte i of frame number n from a host: a formula, so that what arrives is checked by itself. */
static inline unsigned char stage_byte(int from, int64_t frame, size_t i)
{
    return (unsigned char)((uint64_t)from * 101 + (uint64_t)frame * 31 + i * 7 + (i >> 8) * 13);
}

static inline void stage_fill(unsigned char *bytes, size_t size, int from, int64_t frame)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = stage_byte(from, frame, i);
}

static inline void stage_check_bytes(const kept_event *event, int64_t frame)
{
    for (size_t i = 0; i < event->size; i++)
        if (event->bytes[i] != stage_byte(event->host, frame, i))
            ck_abort_msg("byte %zu of frame %lld from host %d", i, (long long)frame, event->host);
}

#endif
