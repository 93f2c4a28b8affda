/* Stop words in texts that come in pieces of any size: what is shown is the text before the first
 * word, and at no time a part of a word or of a character. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "run/infer/stop_words.h"

typedef struct trial {
    const char *text;
    const char *const *words;
    int count;
    const char *wanted; /* what is shown in the end */
    int found;
} trial;

/* Hands the text on in pieces of `size` bytes; what is shown always begins `wanted`. */
static void feed(const trial *t, size_t size)
{
    cse_stop_words stop = { .count = 0 };
    cse_text shown = { 0 };
    cse_text_add(&shown, "%s", "");
    cse_stop_words_begin(&stop, t->words, t->count);
    const size_t whole = strlen(t->text);
    bool goes_on = true;
    for (size_t at = 0; at < whole && goes_on; at += size) {
        goes_on =
            cse_stop_words_add(&stop, t->text + at, whole - at < size ? whole - at : size, &shown);
        ck_assert_msg(shown.size <= strlen(t->wanted) &&
                          memcmp(shown.data, t->wanted, shown.size) == 0,
                      "\"%s\" in pieces of %zu: shown was \"%s\"", t->text, size, shown.data);
        for (size_t i = 0; i < shown.size;) { /* whole characters */
            const size_t length = cse_utf8_length(shown.data + i, shown.size - i);
            ck_assert_msg(length > 0, "\"%s\" in pieces of %zu: a part of a character", t->text,
                          size);
            i += length;
        }
    }
    cse_stop_words_end(&stop, &shown);
    ck_assert_str_eq(shown.data, t->wanted);
    ck_assert_int_eq(stop.found, t->found);
    ck_assert(goes_on == (t->found < 0));
    ck_assert(goes_on || !cse_stop_words_add(&stop, "more", 4, &shown));
    ck_assert_str_eq(shown.data, t->wanted);
    cse_stop_words_clear(&stop);
    cse_text_clear(&shown);
}

static void compare(const char *text, const char *const *words, int count, const char *wanted,
                    int found)
{
    const trial t = { text, words, count, wanted, found };
    for (size_t size = 1; size <= strlen(text); size++)
        feed(&t, size);
}

START_TEST(a_text_ends_before_a_stop_word)
{
    const char *const words[] = { "\n\n", "User:" };
    compare("Hello\nthere\n\nnext", words, 2, "Hello\nthere", 0);
    compare("An answer. User: more", words, 2, "An answer. ", 1);
    compare("User:", words, 2, "", 1);
    compare("An answer without any\n", words, 2, "An answer without any\n", -1);
    compare("Use the Users\n", words, 2, "Use the Users\n", -1);
    compare("plain", NULL, 0, "plain", -1);
}
END_TEST

START_TEST(a_word_may_begin_within_itself)
{
    const char *const words[] = { "aab" };
    compare("aaab", words, 1, "a", 0);
    compare("aaaa", words, 1, "aaaa", -1);
}
END_TEST

START_TEST(characters_stay_whole)
{
    const char *const words[] = { "\xE2\x82\xAC" }; /* the euro sign */
    compare("gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80 5 \xE2\x82\xAC 7", words, 1,
            "gr\xC3\xBC\xC3\x9F \xF0\x9F\x98\x80 5 ", 0);
    compare("\xE2\x82\xA8\xE2\x82\xA9", words, 1, "\xE2\x82\xA8\xE2\x82\xA9", -1);
}
END_TEST

START_TEST(the_longer_of_two_that_end_together_counts)
{
    const char *const words[] = { "b", "ab" };
    feed(&(trial){ "xab", words, 2, "x", 1 }, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stop words");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_text_ends_before_a_stop_word);
    tcase_add_test(tests, a_word_may_begin_within_itself);
    tcase_add_test(tests, characters_stay_whole);
    tcase_add_test(tests, the_longer_of_two_that_end_together_counts);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
