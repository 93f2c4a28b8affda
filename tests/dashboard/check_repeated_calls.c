/* Calls with one Idempotency-Key are carried out one at a time, and those that wait hold up nobody:
 * more of them than the server has worker threads stand behind a slow one while calls with other
 * keys, of other routes, are answered. */
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "dashboard/http/http.h"
#include "engine/base/clock.h"

enum { REPEATED = 12, PATIENCE_MS = 20000, SHORTLY_MS = 300 };

static char directory[] = "/tmp/cse_repeated_XXXXXX";
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_released;
static int inside, most_inside, carried_out;

static const char *key_of(const cse_request *request)
{
    return cse_request_text(request, "Idempotency-Key", "");
}

/* In place of a route: a call with the key "slow" takes until it is released. */
static bool carry_out(void *self, const cse_request *request, cse_answer *answer)
{
    (void)self;
    pthread_mutex_lock(&lock);
    if (strcmp(key_of(request), "slow") == 0) {
        inside++;
        most_inside = inside > most_inside ? inside : most_inside;
        while (!is_released)
            pthread_cond_wait(&changed, &lock);
        inside--;
        carried_out++;
    }
    pthread_mutex_unlock(&lock);
    cse_answer_problem(answer, CSE_PROBLEM_CONFLICT, "carried out");
    return true;
}

static cse_http *start(void)
{
    static const cse_call_hooks hooks = { .replay = carry_out };
    static char listen[64];
    cse_http *http = NULL;
    snprintf(listen, sizeof listen, "unix:%s/s", directory);
    const cse_http_options options = { .entry = { .listen = listen, .directory = directory },
                                       .hooks = &hooks };
    ck_assert_int_eq(cse_http_start(&options, &http), CSE_OK);
    return http;
}

static int call(const char *key)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    char text[512];
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/s", directory);
    ck_assert_int_eq(connect(client, (struct sockaddr *)&address, sizeof address), 0);
    const int length = snprintf(text, sizeof text,
                                "POST /api/v1/jobs/x/pause HTTP/1.1\r\nHost: localhost\r\n"
                                "Idempotency-Key: %s\r\nContent-Length: 0\r\n\r\n",
                                key);
    ck_assert_int_eq(write(client, text, (size_t)length), length);
    return client;
}

static bool is_answered(int client, int most_ms)
{
    struct pollfd answer = { .fd = client, .events = POLLIN };
    char text[16] = "";
    if (poll(&answer, 1, most_ms) <= 0)
        return false;
    ck_assert_int_gt(recv(client, text, sizeof text - 1, 0), 0);
    ck_assert_msg(strncmp(text, "HTTP/1.1 409", 12) == 0, "%s", text);
    return true;
}

static void wait_until_inside(void)
{
    const int64_t end_ns = cse_clock_ns() + INT64_C(1000000) * PATIENCE_MS;
    for (bool begun = false; !begun;) {
        ck_assert(cse_clock_ns() < end_ns);
        pthread_mutex_lock(&lock);
        begun = inside > 0;
        pthread_mutex_unlock(&lock);
        cse_sleep_ns(1000000);
    }
}

static void release(void)
{
    pthread_mutex_lock(&lock);
    is_released = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

START_TEST(repeated_calls_hold_up_nobody)
{
    int repeated[REPEATED];
    ck_assert_ptr_nonnull(mkdtemp(directory));
    cse_http *http = start();
    for (int i = 0; i < REPEATED; i++)
        repeated[i] = call("slow");
    wait_until_inside();
    ck_assert(!is_answered(repeated[0], SHORTLY_MS));
    for (int i = 0; i < 3; i++) {
        const int other = call("other");
        ck_assert_msg(is_answered(other, PATIENCE_MS), "a call with another key waits");
        close(other);
    }
    release();
    for (int i = 0; i < REPEATED; i++) {
        ck_assert(is_answered(repeated[i], PATIENCE_MS));
        close(repeated[i]);
    }
    ck_assert_int_eq(most_inside, 1);
    ck_assert_int_eq(carried_out, REPEATED);
    cse_http_stop(&http);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("repeated calls");
    TCase *calls = tcase_create("calls");
    tcase_set_timeout(calls, 120);
    tcase_add_test(calls, repeated_calls_hold_up_nobody);
    suite_add_tcase(suite, calls);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
