/* Control messages: the wire format as the header documents it, written out by hand here, and
 * malformed messages. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "workers/messages/message.h"

START_TEST(join_has_the_documented_bytes)
{
    cse_message message = { .kind = CSE_MESSAGE_JOIN };
    message.join.slot = 3;
    message.join.incarnation = -1;
    message.join.process_id = 0x0102030405060708;
    static const unsigned char expected[] = {
        'C', 'S', 'E',  'M',  6,    0,    1,    0,    24,   0,    0, 0, 3, 0, 0, 0, 0, 0,
        0,   0,   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 8, 7, 6, 5, 4, 3, 2, 1,
    };
    cse_text bytes = { 0 };
    ck_assert_int_eq(cse_message_encode(&message, &bytes), CSE_OK);
    ck_assert_uint_eq(bytes.size, sizeof expected);
    ck_assert_mem_eq(bytes.data, expected, sizeof expected);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(log_has_the_documented_bytes)
{
    cse_message message = { .kind = CSE_MESSAGE_LOG };
    message.log.level = 2;
    message.log.time_ms = 0x0102;
    message.log.line = "hot";
    static const unsigned char expected[] = { 'C', 'S', 'E', 'M', 6, 0, 8, 0, 24,  0,   0,   0,
                                              2,   0,   0,   0,   0, 0, 0, 0, 2,   1,   0,   0,
                                              0,   0,   0,   0,   3, 0, 0, 0, 'h', 'o', 't', 0 };
    cse_text bytes = { 0 };
    ck_assert_int_eq(cse_message_encode(&message, &bytes), CSE_OK);
    ck_assert_uint_eq(bytes.size, sizeof expected);
    ck_assert_mem_eq(bytes.data, expected, sizeof expected);
    cse_text_clear(&bytes);
}
END_TEST

static cse_message sample_welcome(void)
{
    cse_message message = { .kind = CSE_MESSAGE_WELCOME };
    message.welcome.artefact_directory = "/tmp/step";
    message.welcome.dataloader = "{\"version\":1}";
    message.welcome.seed = (int64_t)UINT64_C(0xfedcba9876543210);
    return message;
}

START_TEST(welcome_comes_back)
{
    cse_message sent = sample_welcome(), got;
    cse_text bytes = { 0 };
    ck_assert_int_eq(cse_message_encode(&sent, &bytes), CSE_OK);
    ck_assert_int_eq(cse_message_decode(bytes.data, bytes.size, &got), CSE_OK);
    ck_assert_int_eq(got.kind, CSE_MESSAGE_WELCOME);
    ck_assert_str_eq(got.welcome.artefact_directory, "/tmp/step");
    ck_assert_str_eq(got.welcome.dataloader, "{\"version\":1}");
    ck_assert(got.welcome.seed == (int64_t)UINT64_C(0xfedcba9876543210));
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(every_truncation_and_extension_is_refused)
{
    cse_message sent = sample_welcome(), got;
    cse_text bytes = { 0 };
    cse_message_encode(&sent, &bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        /* A copy of exactly that size, so that a sanitizer sees any read behind it. */
        char *copy = malloc(size > 0 ? size : 1);
        memcpy(copy, bytes.data, size);
        ck_assert_int_eq(cse_message_decode(copy, size, &got), CSE_DATA);
        free(copy);
    }
    cse_text_add_bytes(&bytes, "x", 1);
    ck_assert_int_eq(cse_message_decode(bytes.data, bytes.size, &got), CSE_DATA);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(other_versions_are_named)
{
    cse_message sent = sample_welcome(), got;
    cse_text bytes = { 0 };
    cse_message_encode(&sent, &bytes);
    bytes.data[4] = 9;
    ck_assert_int_eq(cse_message_decode(bytes.data, bytes.size, &got), CSE_UNAVAILABLE);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "version 9"));
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(text_without_its_zero_is_refused)
{
    cse_message sent = { .kind = CSE_MESSAGE_STOP }, got;
    sent.stop.reason = "over";
    cse_text bytes = { 0 };
    cse_message_encode(&sent, &bytes);
    bytes.data[bytes.size - 1] = 'x';
    ck_assert_int_eq(cse_message_decode(bytes.data, bytes.size, &got), CSE_DATA);
    bytes.data[bytes.size - 1] = '\0';
    bytes.data[bytes.size - 2] = '\0'; /* a zero before the announced end */
    ck_assert_int_eq(cse_message_decode(bytes.data, bytes.size, &got), CSE_DATA);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(too_long_and_unknown_messages_are_not_sent)
{
    cse_text bytes = { 0 };
    char *line = malloc(CSE_MESSAGE_MAX_BYTES + 1);
    memset(line, 'a', CSE_MESSAGE_MAX_BYTES);
    line[CSE_MESSAGE_MAX_BYTES] = '\0';
    cse_message message = { .kind = CSE_MESSAGE_LOG };
    message.log.line = line;
    ck_assert_int_eq(cse_message_encode(&message, &bytes), CSE_INTERNAL);
    message.kind = (cse_message_kind)77;
    ck_assert_int_eq(cse_message_encode(&message, &bytes), CSE_INTERNAL);
    ck_assert_uint_eq(bytes.size, 0);
    ck_assert_str_eq(cse_message_kind_name(CSE_MESSAGE_FAILURE), "FAILURE");
    ck_assert_str_eq(cse_message_kind_name((cse_message_kind)77), "unknown");
    free(line);
}
END_TEST

/* Random bytes, and valid messages with random bytes changed: decoding ends in a status, and texts
 * of what is accepted lie within the bytes. */
START_TEST(random_bytes_never_harm)
{
    cse_message sent = sample_welcome(), got;
    cse_text valid = { 0 };
    cse_message_encode(&sent, &valid);
    int accepted = 0;
    for (uint32_t round = 0; round < 200000; round++) {
        uint32_t draw[4], counter[4] = { round, 0, 0, 0 };
        cse_philox(20, counter, draw);
        size_t size = round % 2 ? valid.size : draw[0] % 64;
        char *bytes = malloc(size > 0 ? size : 1);
        if (round % 2) {
            memcpy(bytes, valid.data, size);
            for (uint32_t change = 0; change <= draw[1] % 3; change++)
                bytes[(draw[2] >> (8 * change)) % size] ^= (char)(1 << (draw[3] % 8));
        } else {
            memset(bytes, (int)draw[3], size);
            memcpy(bytes, "CSEM\5\0", size < 6 ? size : 6);
        }
        if (cse_message_decode(bytes, size, &got) == CSE_OK) {
            accepted++;
            if (got.kind == CSE_MESSAGE_WELCOME)
                ck_assert(got.welcome.dataloader >= bytes && got.welcome.dataloader < bytes + size);
        }
        free(bytes);
    }
    ck_assert_int_gt(accepted, 0); /* changed integers and letters are still messages */
    cse_text_clear(&valid);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *tests = tcase_create("message");
    tcase_set_timeout(tests, 600);
    tcase_add_test(tests, join_has_the_documented_bytes);
    tcase_add_test(tests, log_has_the_documented_bytes);
    tcase_add_test(tests, welcome_comes_back);
    tcase_add_test(tests, every_truncation_and_extension_is_refused);
    tcase_add_test(tests, other_versions_are_named);
    tcase_add_test(tests, text_without_its_zero_is_refused);
    tcase_add_test(tests, too_long_and_unknown_messages_are_not_sent);
    tcase_add_test(tests, random_bytes_never_harm);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
