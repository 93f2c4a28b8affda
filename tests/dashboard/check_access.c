/* Access control: tokens, cookies, host names, and the limit of the request rate. */
#include "dashboard/access/access.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dashboard/access/guard.h"
#include "dashboard/access/token.h"
#include "dashboard/http/sign_in.h"
#include "engine/base/clock.h"

static char token[] = "0123456789abcdef";
static const cse_token_list tokens = { .tokens = { token }, .count = 1 };

static cse_access *with_token(void)
{
    cse_access *access = NULL;
    ck_assert_int_eq(cse_access_new(&(cse_access_options){ .tokens = &tokens }, &access), CSE_OK);
    return access;
}

START_TEST(nobody_is_let_in_without_a_token)
{
    cse_access *access = NULL;
    ck_assert_int_eq(cse_access_new(&(cse_access_options){ .tokens = NULL }, &access), CSE_OK);
    ck_assert(!cse_access_wants_token(access));
    ck_assert(!cse_access_grant_of(access, ""));
    ck_assert(!cse_access_authorizes(access, NULL, NULL));
    ck_assert(!cse_access_authorizes(access, "Bearer ", NULL));
    ck_assert(!cse_access_authorizes(access, NULL, "9999999999.00.00"));
    cse_access_destroy(&access);
}
END_TEST

/* A token is made once, kept where that is asked for, and never taken from a file of others. */
START_TEST(tokens_are_made_private)
{
    char directory[] = "/tmp/cse-token-XXXXXX", path[64];
    char *first = NULL, *second = NULL, *where = NULL;
    struct stat about;
    ck_assert_ptr_nonnull(mkdtemp(directory));
    snprintf(path, sizeof path, "%s/token", directory);
    mode_t before = umask(0);
    ck_assert_int_eq(cse_token_make(directory, true, &first, &where), CSE_OK);
    umask(before);
    ck_assert_str_eq(where, path);
    ck_assert_uint_eq(strlen(first), 43);
    ck_assert_uint_eq(
        strspn(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), 43);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(about.st_mode & 07777, 0600);
    free(where);
    ck_assert_int_eq(cse_token_make(directory, true, &second, &where), CSE_OK);
    ck_assert_str_eq(first, second);
    free(where);
    cse_token_clear(&second);
    ck_assert_int_eq(cse_token_make(directory, false, &second, &where), CSE_OK);
    ck_assert_str_ne(first, second);
    free(where);
    cse_token_clear(&first);
    ck_assert_int_eq(chmod(path, 0644), 0);
    ck_assert_int_eq(cse_token_make(directory, true, &first, &where), CSE_OK);
    ck_assert_str_ne(first, second);
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_uint_eq(about.st_mode & 07777, 0600);
    free(where);
    cse_token_clear(&first);
    cse_token_clear(&second);
    unlink(path);
    ck_assert_int_eq(rmdir(directory), 0);
}
END_TEST

START_TEST(addresses_lose_their_token)
{
    static const char *const rows[][2] = { { "/?token=0123456789abcdef", "/" },
                                           { "/jobs/a?x=1&token=wrong&y=%20", "/jobs/a?x=1&y=%20" },
                                           { "/a?token=", "/a" } };
    cse_access *access = with_token();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_target target = { .query_count = 0 };
        cse_answer answer = { .file = -1 };
        ck_assert(cse_target_split(rows[i][0], &target));
        ck_assert(cse_sign_in(access, &target, rows[i][0], NULL, &answer));
        ck_assert_int_eq(answer.status, 303);
        ck_assert_str_eq(cse_answer_header_view(&answer, "Location"), rows[i][1]);
        ck_assert_int_eq(cse_answer_header_view(&answer, "Set-Cookie") != NULL, i == 0);
        cse_answer_clear(&answer);
        cse_target_clear(&target);
    }
    cse_access_destroy(&access);
}
END_TEST

/* Of twelve cookies of other servers the four oldest are dropped, and the own one never. */
START_TEST(old_cookies_are_dropped)
{
    cse_access *access = with_token();
    cse_text cookies = { 0 };
    cse_target target = { .query_count = 0 };
    cse_answer answer = { .file = -1 };
    const char *address = "/?token=0123456789abcdef";
    cse_text_add(&cookies, "csengine_session=1");
    for (int i = 1; i < 13; i++)
        cse_text_add(&cookies, "; csengine_session_%d=x", i);
    ck_assert(cse_target_split(address, &target));
    ck_assert(cse_sign_in(access, &target, address, cookies.data, &answer));
    ck_assert_int_eq(answer.header_count, 6);
    ck_assert_str_eq(answer.headers[2].value, "csengine_session_1=; Path=/; Max-Age=0");
    ck_assert_str_eq(answer.headers[5].value, "csengine_session_4=; Path=/; Max-Age=0");
    cse_answer_clear(&answer);
    cse_target_clear(&target);
    cse_text_clear(&cookies);
    cse_access_destroy(&access);
}
END_TEST

static time_t now_seconds;

static time_t test_clock(void)
{
    return now_seconds;
}

START_TEST(cookies_expire)
{
    const cse_access_options options = { .tokens = &tokens, .clock = test_clock };
    char cookie[CSE_COOKIE_BYTES];
    cse_access *access = NULL;
    ck_assert_int_eq(cse_access_new(&options, &access), CSE_OK);
    now_seconds = 1000000000;
    cse_access_new_cookie(access, cse_access_grant_of(access, token), cookie);
    now_seconds += CSE_SESSION_SECONDS - 1;
    ck_assert(cse_access_authorizes(access, NULL, cookie));
    now_seconds++;
    ck_assert(!cse_access_authorizes(access, NULL, cookie));
    cse_access_destroy(&access);
}
END_TEST

START_TEST(tokens_are_compared_whole)
{
    cse_access *access = with_token();
    ck_assert(cse_access_wants_token(access));
    ck_assert(cse_access_grant_of(access, token));
    ck_assert(!cse_access_grant_of(access, "0123456789abcde"));
    ck_assert(!cse_access_grant_of(access, "0123456789abcdefg"));
    ck_assert(!cse_access_grant_of(access, ""));
    ck_assert(cse_access_authorizes(access, "Bearer 0123456789abcdef", NULL));
    ck_assert(!cse_access_authorizes(access, "Digest 0123456789abcdef", NULL));
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
    cse_access_new_cookie(access, cse_access_grant_of(access, token), cookie);
    cse_access_new_cookie(access, cse_access_grant_of(access, token), other);
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
    ck_assert(cse_access_host_is_ours(local, "localhost:80", false));
    ck_assert(cse_access_host_is_ours(local, "[::1]:80", false));
    ck_assert(cse_access_host_is_ours(local, "Train.Example", false));
    ck_assert(cse_access_host_is_ours(open, "10.1.2.3:8080", false));
    ck_assert(!cse_access_host_is_ours(open, "127.0.0.1:8080", false));
    ck_assert(cse_access_host_is_ours(open, "localhost", true));
    ck_assert(!cse_access_host_is_ours(open, "evil.example", true));
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
        ck_assert_msg(!cse_access_host_is_ours(local, foreign[i], false), "%s", foreign[i]);
    ck_assert(!cse_access_host_is_ours(local, NULL, false));
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
    tcase_add_test(cases, nobody_is_let_in_without_a_token);
    tcase_add_test(cases, tokens_are_made_private);
    tcase_add_test(cases, addresses_lose_their_token);
    tcase_add_test(cases, old_cookies_are_dropped);
    tcase_add_test(cases, tokens_are_compared_whole);
    tcase_add_test(cases, cookies_expire);
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
