/* base: arenas, messages, names, random numbers, against published values and definitions. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/crc32c.h"
#include "engine/base/diagnostics.h"
#include "engine/base/error.h"
#include "engine/base/escape.h"
#include "engine/base/name.h"
#include "engine/base/random.h"
#include "engine/base/registry.h"
#include "engine/base/text.h"

START_TEST(arena_gives_zeroed_aligned_memory_of_any_size)
{
    cse_arena *arena = cse_arena_new();
    for (size_t size = 1; size < 200000; size = size * 3 + 1) {
        unsigned char *bytes = cse_arena_alloc(arena, size);
        ck_assert_uint_eq((uintptr_t)bytes % (size >= 64 ? 64 : 16), 0);
        for (size_t i = 0; i < size; i++)
            ck_assert_uint_eq(bytes[i], 0);
        memset(bytes, 0xab, size);
    }
    ck_assert_str_eq(cse_arena_printf(arena, "%s %d", "step", 3), "step 3");
    ck_assert_ptr_null(cse_arena_string(arena, NULL));
    cse_arena_destroy(&arena);
    ck_assert_ptr_null(arena);
}
END_TEST

START_TEST(a_message_may_contain_the_one_before)
{
    ck_assert_int_eq(cse_fail(CSE_DATA, "file %s", "a"), CSE_DATA);
    cse_fail(CSE_IO, "wrapped: %s", cse_error_message());
    ck_assert_str_eq(cse_error_message(), "wrapped: file a");
    ck_assert_int_eq(cse_fail_within(CSE_IO, "while reading: "), CSE_IO);
    ck_assert_str_eq(cse_error_message(), "while reading: wrapped: file a");
    ck_assert_int_eq(cse_status_exit_code(CSE_CONFIG), 78);
    ck_assert(cse_status_retryable(CSE_UNAVAILABLE) && !cse_status_retryable(CSE_CONFIG));
}
END_TEST

START_TEST(an_error_has_fields_and_one_text)
{
    const cse_error error = { .status = CSE_CONFIG,
                              .reason = CSE_ERROR_UNSUPPORTED,
                              .place = { "a.yaml", 3, 5 },
                              .hint = "did you mean \"seed\"?",
                              .accepted = "accepted: seed, loop" };
    ck_assert_int_eq(cse_fail_at(&error, "unknown setting \"%s\"", "sed"), CSE_CONFIG);
    ck_assert_int_eq(cse_fail_within(CSE_CONFIG, "configuration: "), CSE_CONFIG);
    ck_assert_str_eq(cse_error_message(),
                     "configuration: a.yaml:3:5: unknown setting \"sed\"; did you mean "
                     "\"seed\"?; accepted: seed, loop");
    const cse_error *last = cse_error_last();
    ck_assert_str_eq(last->message, "unknown setting \"sed\"");
    ck_assert_int_eq(last->place.line, 3);
    ck_assert_int_eq(last->reason, CSE_ERROR_UNSUPPORTED);
    cse_error *kept = cse_error_copy(last);
    cse_fail(CSE_IO, "another");
    ck_assert_ptr_null(cse_error_last()->hint);
    ck_assert_int_eq(cse_error_last()->place.line, 0);
    cse_fail_again(kept);
    free(kept);
    ck_assert_str_eq(cse_error_last()->context, "configuration: ");
    ck_assert_str_eq(cse_error_last()->place.source, "a.yaml");
    json_t *json = cse_error_json(cse_error_last());
    ck_assert_int_eq(json_integer_value(json_object_get(json, "column")), 5);
    ck_assert_str_eq(json_string_value(json_object_get(json, "message")),
                     "unknown setting \"sed\"; did you mean \"seed\"?; accepted: seed, loop");
    ck_assert_str_eq(json_string_value(json_object_get(json, "hint")), "did you mean \"seed\"?");
    json_decref(json);
    /* A flag has no line; its name belongs to the message. */
    cse_fail_at(&(cse_error){ .status = CSE_CONFIG, .place = { "--seed", 0, 0 } }, "no number");
    ck_assert_str_eq(cse_error_message(), "--seed: no number");
}
END_TEST

START_TEST(names_have_letters_digits_and_three_signs)
{
    static const char *const good[] = { "a", "0", "_x", "layers.0.weight", "a-b_c.D9" };
    static const char *const bad[] = { "",    ".",   "..",       "-a", ".a", "a/b",
                                       "a b", "a\n", "\xC3\xA9", "a*", NULL };
    static const char *const bad_series[] = { "/a", "a/", "a//b", "a/../b", "a b", "*" };
    char longest[CSE_LONGEST_PATH + 2];
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert(cse_name_is_good(good[i]) && cse_name_is_path(good[i]) &&
                  cse_name_is_series(good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert(!cse_name_is_good(bad[i]) && !cse_name_is_path(bad[i]));
    ck_assert(cse_name_is_series("validate_0/loss"));
    for (size_t i = 0; i < sizeof bad_series / sizeof bad_series[0]; i++)
        ck_assert(!cse_name_is_series(bad_series[i]));
    memset(longest, 'a', sizeof longest);
    longest[CSE_LONGEST_PATH + 1] = '\0';
    ck_assert(!cse_name_is_path(longest));
    ck_assert(cse_name_is_path(longest + 1));
    ck_assert(!cse_name_is_good(longest + 1));
    longest[CSE_LONGEST_NAME] = '\0';
    ck_assert(cse_name_is_good(longest));
}
END_TEST

typedef void escape(cse_text *out, const char *text);

START_TEST(each_target_has_its_escape)
{
    static const struct {
        escape *escape;
        const char *text, *escaped;
    } cases[] = {
        { cse_escape_comment, "model.fc/a_b-0", "model.fc/a_b-0" },
        { cse_escape_comment, "*/ a\\\n/", "__ a___" },
        { cse_escape_comment, "/*\xC3\xA9*/", "______" },
        { cse_escape_comment, "a//b/", "a__b_" },
        { cse_escape_csv, "a b", "a b" },
        { cse_escape_csv, "a,\"b\"\n", "\"a,\"\"b\"\"\n\"" },
        { cse_escape_label, "a\"b\\c\nd", "a\\\"b\\\\c\\nd" },
        { cse_text_add_indented, "a\nb\n", "a\n  b\n" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cse_text text = { 0 };
        cases[i].escape(&text, cases[i].text);
        ck_assert_str_eq(text.data, cases[i].escaped);
        cse_text_clear(&text);
    }
    cse_text json = { 0 }, script = { 0 };
    cse_text_add(&json, "{\"a\": \"</script><\"}");
    cse_escape_script(&script, &json);
    ck_assert_str_eq(script.data, "{\"a\": \"\\u003c/script>\\u003c\"}");
    cse_text_clear(&json);
    cse_text_clear(&script);
}
END_TEST

START_TEST(untrusted_bytes_are_escaped)
{
    static const struct {
        const char *given, *expected;
    } cases[] = {
        { "plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80\n\tnext",
          "plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80\n\tnext" },
        { "\033[31mred\033[0m\a\r\177", "\\x1b[31mred\\x1b[0m\\x07\\x0d\\x7f" },
        { "\xFF\xC3", "\\xff\\xc3" },        /* no UTF-8, cut off */
        { "\xC2\x9B\x31m", "\\xc2\\x9b1m" }, /* CSI as C1 */
        { "a\xE2\x80\xAE"
          "b",
          "a\\xe2\\x80\\xae"
          "b" },                                                 /* right-to-left override */
        { "\xED\xA0\x80\xC0\xAF", "\\xed\\xa0\\x80\\xc0\\xaf" }, /* surrogate, overlong */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char once[128], twice[128], shorter[8];
        ck_assert_uint_eq(cse_text_printable(cases[i].given, once, sizeof once),
                          strlen(cases[i].expected));
        ck_assert_str_eq(once, cases[i].expected);
        cse_text_printable(once, twice, sizeof twice);
        ck_assert_str_eq(twice, once);
        ck_assert_uint_eq(cse_text_printable(cases[i].given, shorter, sizeof shorter),
                          strlen(cases[i].expected));
        ck_assert_uint_lt(strlen(shorter), sizeof shorter);
        ck_assert_int_eq(strncmp(shorter, once, strlen(shorter)), 0);
    }
    cse_fail_at(&(cse_error){ .status = CSE_CONFIG, .place = { "\033x.yaml", 1, 2 } }, "bad \xFF");
    ck_assert_str_eq(cse_error_message(), "\\x1bx.yaml:1:2: bad \\xff");
    json_t *json = cse_error_json(cse_error_last());
    ck_assert_str_eq(json_string_value(json_object_get(json, "message")), "bad \\xff");
    json_decref(json);
}
END_TEST

START_TEST(diagnostics_are_errors)
{
    cse_diagnostics found = { 0 };
    ck_assert_int_eq(cse_diagnostics_end(&found), CSE_OK);
    for (int i = 0; i < CSE_MAX_DIAGNOSTICS; i++) {
        cse_fail_at(&(cse_error){ .status = CSE_CONFIG, .place = { "a.yaml", i + 1, 1 } }, "%d", i);
        ck_assert_int_eq(cse_diagnostics_take(&found, CSE_CONFIG),
                         i + 1 < CSE_MAX_DIAGNOSTICS ? CSE_OK : CSE_CONFIG);
    }
    ck_assert_int_eq(cse_diagnostics_take(&found, CSE_IO), CSE_IO);
    ck_assert_int_eq(found.errors[7]->place.line, 8);
    ck_assert_int_eq(cse_diagnostics_end(&found), CSE_CONFIG);
    ck_assert_str_eq(cse_error_message(), "a.yaml:1:1: 0");
    cse_diagnostics_clear(&found);
}
END_TEST

/* RFC 3720, appendix B.4; the last is the check value of the catalogue of CRCs. */
START_TEST(crc32c_gives_the_published_values)
{
    unsigned char bytes[32] = { 0 };
    ck_assert_uint_eq(cse_crc32c(bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, 32);
    ck_assert_uint_eq(cse_crc32c(bytes, 32), 0x62a8ab43u);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)i;
    ck_assert_uint_eq(cse_crc32c(bytes, 32), 0x46dd794eu);
    for (int i = 0; i < 32; i++)
        bytes[i] = (unsigned char)(31 - i);
    ck_assert_uint_eq(cse_crc32c(bytes, 32), 0x113fdb5cu);
    ck_assert_uint_eq(cse_crc32c("123456789", 9), 0xe3069283u);
    ck_assert_uint_eq(cse_crc32c("", 0), 0);
}
END_TEST

/* Known answers of Philox4x32-10 from the Random123 distribution's kat_vectors. */
START_TEST(philox_gives_the_published_vectors)
{
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t expected[4];
    } rows[] = {
        { { 0, 0, 0, 0 }, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff },
          0xffffffffffffffffu,
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          0x299f31d0a4093822u,
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        uint32_t words[4];
        cse_philox(rows[r].key, rows[r].counter, words);
        ck_assert_mem_eq(words, rows[r].expected, sizeof words);
    }
}
END_TEST

START_TEST(permutations_are_permutations)
{
    static const uint64_t sizes[] = { 1, 2, 3, 5, 16, 17, 100, 1000, 4097 };
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (uint64_t key = 0; key < 5; key++) {
            unsigned char *seen = cse_calloc(sizes[s], 1);
            for (uint64_t i = 0; i < sizes[s]; i++) {
                uint64_t image = cse_permute(key, sizes[s], i);
                ck_assert_uint_lt(image, sizes[s]);
                ck_assert_uint_eq(seen[image]++, 0);
            }
            free(seen);
        }
}
END_TEST

START_TEST(did_you_mean_finds_the_near_and_not_the_far)
{
    const char *const names[] = { "learning_rate", "momentum", "nesterov", NULL };
    ck_assert_str_eq(cse_did_you_mean("learnign_rate", names), "learning_rate");
    ck_assert_str_eq(cse_did_you_mean("momentun", names), "momentum");
    ck_assert_ptr_null(cse_did_you_mean("weight_decay", names));
}
END_TEST

START_TEST(text_grows_and_keeps_its_end)
{
    cse_text text = { 0 };
    for (int i = 0; i < 1000; i++)
        cse_text_add(&text, "%d,", i % 10);
    ck_assert_uint_eq(text.size, 2000);
    ck_assert_uint_eq(strlen(text.data), 2000);
    cse_text_clear(&text);
    ck_assert_ptr_null(text.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base");
    TCase *cases = tcase_create("base");
    tcase_add_test(cases, crc32c_gives_the_published_values);
    tcase_add_test(cases, arena_gives_zeroed_aligned_memory_of_any_size);
    tcase_add_test(cases, a_message_may_contain_the_one_before);
    tcase_add_test(cases, an_error_has_fields_and_one_text);
    tcase_add_test(cases, diagnostics_are_errors);
    tcase_add_test(cases, untrusted_bytes_are_escaped);
    tcase_add_test(cases, names_have_letters_digits_and_three_signs);
    tcase_add_test(cases, each_target_has_its_escape);
    tcase_add_test(cases, philox_gives_the_published_vectors);
    tcase_add_test(cases, permutations_are_permutations);
    tcase_add_test(cases, did_you_mean_finds_the_near_and_not_the_far);
    tcase_add_test(cases, text_grows_and_keeps_its_end);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
