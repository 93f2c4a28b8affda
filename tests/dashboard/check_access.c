/* Access control: tokens, cookies, host names, and the limit of the request rate. */
#include "dashboard/access.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/guard.h"
#include "engine/base/clock.h"

static const char token[] = "0123456789abcdef";

/* An access with the token, whose file is gone again. */
static cse_access *with_token(void)
{
    char path[] = "/tmp/cse-token-XXXXXX";
    int file = mkstemp(path);
    cse_access *access = NULL;
    ck_assert_int_eq(write(file, token, sizeof token - 1), (int)sizeof token - 1);
    close(file);
    ck_assert_int_eq(cse_access_new(&(cse_access_options){ .token_file = path }, &access), CSE_OK);
    unlink(path);
    return access;
}

START_TEST(tokens_are_compared_whole)
{
    cse_access *access = with_token();
    ck_assert(cse_access_wants_token(access));
    ck_assert(cse_access_token_is_right(access, token));
    ck_assert(!cse_access_token_is_right(access, "0123456789abcde"));
    ck_assert(!cse_access_token_is_right(access, "0123456789abcdefg"));
    ck_assert(!cse_access_token_is_right(access, ""));
    ck_assert(cse_access_authorizes(access, "Bearer 0123456789abcdef", NULL));
    ck_assert(cse_access_authorizes(access, "bearer 0123456789abcdef", NULL));
    ck_assert(!cse_access_authorizes(access, "0123456789abcdef", NULL));
    ck_assert(!cse_access_authorizes(access, NULL, NULL));
    cse_access_destroy(&access);
}
END_TEST

START_TEST(cookies_hold_until_forgotten)
{
    char cookie[CSE_COOKIE_BYTES], other[CSE_COOKIE_BYTES], changed[CSE_COOKIE_BYTES];
    cse_access *access = with_token(), *next = with_token();
    cse_access_new_cookie(access, cookie);
    cse_access_new_cookie(access, other);
    ck_assert_str_ne(cookie, other);
    ck_assert(cse_access_authorizes(access, NULL, cookie));
    ck_assert(cse_access_authorizes(next, NULL, cookie)); /* the server started anew */
    for (size_t i = 0; cookie[i] != '\0'; i++) {
        memcpy(changed, cookie, sizeof changed);
        changed[i] = changed[i] == '0' ? '1' : '0';
        ck_assert_msg(!cse_access_authorizes(access, NULL, changed), "letter %zu", i);
    }
    cse_access_forget_cookie(access, cookie);
    ck_assert(!cse_access_authorizes(access, NULL, cookie));
    ck_assert(cse_access_authorizes(access, NULL, other));
    static const char *const odd[] = { "", ".", "..", "1.2", "9999999999.x.y", "a.b.c" };
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        ck_assert(!cse_access_authorizes(access, NULL, odd[i]));
    cse_access_destroy(&access);
    cse_access_destroy(&next);
}
END_TEST

START_TEST(hosts_are_ours_by_name)
{
    static const char *const more[] = { "train.example", NULL };
    cse_access *local = NULL, *open = NULL;
    cse_access_options options = { .host = "127.0.0.1", .host_names = more };
    ck_assert_int_eq(cse_access_new(&options, &local), CSE_OK);
    options.host = "10.1.2.3";
    ck_assert_int_eq(cse_access_new(&options, &open), CSE_OK);
    ck_assert(cse_access_host_is_ours(local, "localhost:80"));
    ck_assert(cse_access_host_is_ours(local, "[::1]:80"));
    ck_assert(cse_access_host_is_ours(local, "Train.Example"));
    ck_assert(cse_access_host_is_ours(open, "10.1.2.3:8080"));
    ck_assert(!cse_access_host_is_ours(open, "127.0.0.1:8080"));
    static const char *const foreign[] = { "evil.example",
                                           "127.0.0.1.evil.example",
                                           "localhost:80:80",
                                           "localhost:x",
                                           "[::1",
                                           "[::1]x",
                                           "",
                                           ":80",
                                           "[]" };
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++)
        ck_assert_msg(!cse_access_host_is_ours(local, foreign[i]), "%s", foreign[i]);
    ck_assert(!cse_access_host_is_ours(local, NULL));
    ck_assert(cse_access_origin_is_ours(NULL, "a:1"));
    ck_assert(cse_access_origin_is_ours("http://a:1", "a:1"));
    ck_assert(!cse_access_origin_is_ours("http://a:2", "a:1"));
    ck_assert(!cse_access_origin_is_ours("null", "a:1"));
    ck_assert(!cse_access_origin_is_ours("ftp://a:1", "a:1"));
    ck_assert(!cse_address_is_loopback("127.0.0.1.evil"));
    ck_assert(!cse_address_is_loopback("0.0.0.0"));
    cse_access_destroy(&local);
    cse_access_destroy(&open);
}
END_TEST

START_TEST(a_bucket_of_tokens_bounds_the_rate)
{
    double wait = 0;
    int admitted = 0;
    cse_guard *guard = cse_guard_new(&(cse_guard_options){ .requests_per_second = 10, .burst = 5 });
    int64_t begin_ns = cse_clock_ns();
    for (int i = 0; i < 100; i++)
        admitted += cse_guard_admits(guard, "1.2.3.4", &wait);
    double seconds = (double)(cse_clock_ns() - begin_ns) / 1e9;
    ck_assert_int_ge(admitted, 5);
    ck_assert_double_le(admitted, 5 + 10 * seconds + 1);
    ck_assert_double_gt(wait, 0);
    ck_assert_double_le(wait, 0.1);
    ck_assert(cse_guard_admits(guard, "5.6.7.8", &wait)); /* others have their own */
    cse_guard_destroy(&guard);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("access");
    TCase *cases = tcase_create("access");
    tcase_add_test(cases, tokens_are_compared_whole);
    tcase_add_test(cases, cookies_hold_until_forgotten);
    tcase_add_test(cases, hosts_are_ours_by_name);
    tcase_add_test(cases, a_bucket_of_tokens_bounds_the_rate);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
