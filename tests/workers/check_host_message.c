/* Messages between hosts: bytes as documented, and what is refused. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/random.h"
#include "workers/group/host_message.h"

static cse_host_message sample_turn(void)
{
    static const unsigned char digest[16] = { 1, 2, 3 };
    cse_host_message turn = { .kind = CSE_HOST_TURN };
    turn.turn.execution = 2;
    turn.turn.steps_done = 0x0102;
    turn.turn.digests = (cse_message_bytes){ digest, 8 };
    turn.turn.others = (cse_message_bytes){ digest, 16 };
    return turn;
}

START_TEST(a_cut_that_is_known_has_the_documented_bytes)
{
    cse_host_message known = { .kind = CSE_HOST_CUT_KNOWN };
    known.cut_known.number = 0x0203;
    static const unsigned char expected[] = { 'C', 'S', 'E', 'H', 4, 0, 8, 0, 8, 0,
                                              0,   0,   3,   2,   0, 0, 0, 0, 0, 0 };
    cse_text bytes = { 0 };
    ck_assert_int_eq(cse_host_message_encode(&known, &bytes), CSE_OK);
    ck_assert_uint_eq(bytes.size, sizeof expected);
    ck_assert_mem_eq(bytes.data, expected, sizeof expected);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(bytes_come_back)
{
    cse_host_message file = { .kind = CSE_HOST_FILE }, got;
    static const unsigned char content[] = { 0, 1, 0, 255 };
    file.file.offset = 77;
    file.file.bytes = (cse_message_bytes){ content, sizeof content };
    cse_text bytes = { 0 };
    ck_assert_int_eq(cse_host_message_encode(&file, &bytes), CSE_OK);
    ck_assert_uint_eq(bytes.size, 12 + 8 + 4 + sizeof content);
    ck_assert_int_eq(cse_host_message_decode(bytes.data, bytes.size, &got), CSE_OK);
    ck_assert_int_eq(got.file.offset, 77);
    ck_assert_uint_eq(got.file.bytes.size, sizeof content);
    ck_assert_mem_eq(got.file.bytes.data, content, sizeof content);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(every_truncation_and_extension_is_refused)
{
    const cse_host_message sent = sample_turn();
    cse_host_message got;
    cse_text bytes = { 0 };
    cse_host_message_encode(&sent, &bytes);
    for (size_t size = 0; size < bytes.size; size++) {
        char *copy = malloc(size > 0 ? size : 1); /* so that a sanitizer sees any read behind it */
        memcpy(copy, bytes.data, size);
        ck_assert_int_eq(cse_host_message_decode(copy, size, &got), CSE_DATA);
        free(copy);
    }
    cse_text_add_bytes(&bytes, "x", 1);
    ck_assert_int_eq(cse_host_message_decode(bytes.data, bytes.size, &got), CSE_DATA);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(numbers_and_lists_out_of_range_are_refused)
{
    cse_host_message sent = sample_turn(), got;
    cse_text bytes = { 0 };
    sent.turn.steps_done = -1;
    cse_host_message_encode(&sent, &bytes);
    ck_assert_int_eq(cse_host_message_decode(bytes.data, bytes.size, &got), CSE_DATA);
    ck_assert_ptr_nonnull(strstr(cse_error_message(), "steps_done"));
    sent = sample_turn();
    sent.turn.digests.size = 7;
    bytes.size = 0;
    cse_host_message_encode(&sent, &bytes);
    ck_assert_int_eq(cse_host_message_decode(bytes.data, bytes.size, &got), CSE_DATA);
    cse_text_clear(&bytes);
    cse_host_message lost = { .kind = CSE_HOST_LOST };
    unsigned char hosts[CSE_HOST_SET_BYTES] = { [CSE_HOST_SET_BYTES - 1] = 0x80 };
    lost.lost.hosts = (cse_message_bytes){ hosts, sizeof hosts };
    cse_host_message_encode(&lost, &bytes);
    ck_assert_int_eq(cse_host_message_decode(bytes.data, bytes.size, &got), CSE_OK);
    const cse_host_set decoded = cse_hosts_decode(got.lost.hosts.data);
    ck_assert(cse_hosts_have(&decoded, CSE_MAX_HOSTS - 1));
    ck_assert_int_eq(cse_hosts_count(&decoded), 1);
    cse_text_clear(&bytes);
    lost.lost.hosts.size--;
    cse_host_message_encode(&lost, &bytes);
    ck_assert_int_eq(cse_host_message_decode(bytes.data, bytes.size, &got), CSE_DATA);
    cse_text_clear(&bytes);
}
END_TEST

START_TEST(bounds_come_back_and_do_not_fall)
{
    const int32_t bounds[] = { 0, 5, 5, 12 };
    unsigned char bytes[CSE_HOST_BOUNDS_BYTES];
    int32_t got[4];
    cse_message_bytes sent = { bytes, cse_host_bounds_encode(bounds, 3, bytes) };
    ck_assert_int_eq(cse_host_bounds_decode(&sent, 3, got), CSE_OK);
    ck_assert_mem_eq(got, bounds, sizeof bounds);
    ck_assert_int_eq(cse_host_bounds_decode(&sent, 2, got), CSE_DATA);
    bytes[8] = 4;
    ck_assert_int_eq(cse_host_bounds_decode(&sent, 3, got), CSE_DATA);
    bytes[8] = 5;
    bytes[0] = 1;
    ck_assert_int_eq(cse_host_bounds_decode(&sent, 3, got), CSE_DATA);
}
END_TEST

/* Changed bytes are refused, or are another message whose bytes they are. */
START_TEST(changed_bytes_do_no_harm)
{
    const cse_host_message sent = sample_turn();
    cse_text bytes = { 0 }, again = { 0 };
    cse_host_message_encode(&sent, &bytes);
    for (uint32_t i = 0; i < 20000; i++) {
        cse_host_message got;
        const uint32_t bits = cse_hash_bits(UINT64_C(0x1234567), i);
        const char before = bytes.data[bits % bytes.size];
        bytes.data[bits % bytes.size] = (char)(bits >> 16);
        if (cse_host_message_decode(bytes.data, bytes.size, &got) == CSE_OK) {
            again.size = 0;
            ck_assert_int_eq(cse_host_message_encode(&got, &again), CSE_OK);
            ck_assert_uint_eq(again.size, bytes.size);
            ck_assert_mem_eq(again.data, bytes.data, bytes.size);
        }
        bytes.data[bits % bytes.size] = before;
    }
    cse_text_clear(&again);
    cse_text_clear(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_message");
    TCase *tcase = tcase_create("host_message");
    tcase_add_test(tcase, a_cut_that_is_known_has_the_documented_bytes);
    tcase_add_test(tcase, bytes_come_back);
    tcase_add_test(tcase, every_truncation_and_extension_is_refused);
    tcase_add_test(tcase, numbers_and_lists_out_of_range_are_refused);
    tcase_add_test(tcase, bounds_come_back_and_do_not_fall);
    tcase_add_test(tcase, changed_bytes_do_no_harm);
    suite_add_tcase(suite, tcase);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
