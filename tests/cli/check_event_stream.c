/* Server-sent events, against the examples of the HTML standard (section 9.2.6), split at every
 * position. */
#include "cli/client/event_stream.c"

#include <check.h>
#include <stdio.h>

static cse_text seen;

static void keep(void *self, const char *type, const char *id, const char *data)
{
    (void)self;
    cse_text_add(&seen, "[%s|%s|%s]", type, id, data);
}

static const char *read_in_pieces(const char *bytes, size_t size, size_t first)
{
    cse_event_stream stream = { .on_event = keep };
    seen.size = 0;
    cse_text_add(&seen, "%s", "");
    ck_assert(cse_event_stream_feed(&stream, bytes, first));
    for (size_t i = first; i < size; i++)
        ck_assert(cse_event_stream_feed(&stream, bytes + i, 1));
    cse_event_stream_clear(&stream);
    return seen.data;
}

static const struct {
    const char *bytes, *events;
} rows[] = {
    /* The standard's examples. */
    { "data: YHOO\ndata: +2\ndata: 10\n\n", "[message||YHOO\n+2\n10]" },
    { ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
      "[message|1|first event][message||second event]" },
    { "data\n\ndata\ndata\n\ndata:", "[message||][message||\n]" },
    { "data:test\n\ndata: test\n\n", "[message||test][message||test]" },
    { "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
      "[add||73857293][remove||2153]" },
    /* Ends of lines, the mark of UTF-8, unknown fields, an event without data. */
    { "\xef\xbb\xbf"
      "data: a\r\n\r\ndata: b\r\rdata: c\n\n",
      "[message||a][message||b][message||c]" },
    { "nonsense: 1\nevent: state\n\ndata: x\n\n", "[message||x]" },
    { "id: 7\ndata: {\"a\":1}\n\nretry: 1000\n:heartbeat\n\ndata: b\n\n",
      "[message|7|{\"a\":1}][message|7|b]" },
};

START_TEST(events_are_the_same_however_the_bytes_come)
{
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        size_t size = strlen(rows[r].bytes);
        for (size_t first = 0; first <= size; first++)
            ck_assert_str_eq(read_in_pieces(rows[r].bytes, size, first), rows[r].events);
    }
}
END_TEST

START_TEST(a_new_connection_keeps_the_id_and_forgets_the_half_event)
{
    cse_event_stream stream = { .on_event = keep };
    const char *first = "id: 4\ndata: a\n\nid: 5\ndata: half", *second = "data: b\n\n";
    seen.size = 0;
    ck_assert(cse_event_stream_feed(&stream, first, strlen(first)));
    ck_assert_str_eq(seen.data, "[message|4|a]");
    cse_event_stream_reset(&stream);
    ck_assert(cse_event_stream_feed(&stream, second, strlen(second)));
    ck_assert(strstr(seen.data, "|b]") != NULL && strstr(seen.data, "half") == NULL);
    cse_event_stream_clear(&stream);
}
END_TEST

START_TEST(an_endless_event_is_refused)
{
    cse_event_stream stream = { .on_event = keep };
    static char bytes[1 << 20];
    memset(bytes, 'x', sizeof bytes);
    int pieces = 0;
    while (pieces < 64 && cse_event_stream_feed(&stream, bytes, sizeof bytes))
        pieces++;
    ck_assert_int_eq(pieces, CSE_EVENT_STREAM_MAX_BYTES >> 20);
    cse_event_stream_clear(&stream);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event stream");
    TCase *test = tcase_create("parser");
    tcase_add_test(test, events_are_the_same_however_the_bytes_come);
    tcase_add_test(test, a_new_connection_keeps_the_id_and_forgets_the_half_event);
    tcase_add_test(test, an_endless_event_is_refused);
    suite_add_tcase(suite, test);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    cse_text_clear(&seen);
    return failed != 0;
}
