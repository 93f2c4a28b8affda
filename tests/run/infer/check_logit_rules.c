/* Rules that change logits by the tokens before: values by the formulas of transformers' logits
 * processors and of OpenAI's penalties. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "run/infer/logit_rules.h"

enum { TOKENS = 6 };

static const float before[TOKENS] = { 1, -2, 3, 0.5f, -0.5f, 4 };
static const int32_t prompt[] = { 0, 1, 1 }, text[] = { 2, 4, 2 }, ends[] = { 5, 99 };
static const cse_token_history history = { prompt, 3, text, 3, ends, 2 };

static void compare(const cse_logit_rules *rules, const cse_token_history *seen,
                    const float expected[TOKENS])
{
    float logits[TOKENS];
    memcpy(logits, before, sizeof logits);
    cse_logit_rules_apply(rules, seen, logits, TOKENS);
    for (int t = 0; t < TOKENS; t++)
        ck_assert_msg(logits[t] == expected[t] || fabsf(logits[t] - expected[t]) < 1e-6f,
                      "token %d: %g, expected %g", t, logits[t], expected[t]);
}

START_TEST(zeroes_change_nothing)
{
    compare(&(cse_logit_rules){ .repetition_penalty = 0 }, &history, before);
    compare(&(cse_logit_rules){ .repetition_penalty = 1 }, &history, before);
    ck_assert(cse_logit_rules_are_empty(&(cse_logit_rules){ .repetition_penalty = 1 }));
    ck_assert(!cse_logit_rules_are_empty(&(cse_logit_rules){ .presence_penalty = -1 }));
}
END_TEST

START_TEST(tokens_that_came_are_penalized)
{
    const float repeated[TOKENS] = { 0.5f, -4, 1.5f, 0.5f, -1, 4 };
    compare(&(cse_logit_rules){ .repetition_penalty = 2 }, &history, repeated);
    /* Of what was generated alone: token 2 twice, token 4 once. */
    const float generated[TOKENS] = { 1, -2, 3 - 0.25f - 2 * 0.5f, 0.5f, -0.5f - 0.25f - 0.5f, 4 };
    compare(&(cse_logit_rules){ .presence_penalty = 0.25, .frequency_penalty = 0.5 }, &history,
            generated);
}
END_TEST

START_TEST(biases_come_first)
{
    const cse_token_bias biases[] = { { 1, 4 }, { 77, 1 } };
    const float expected[TOKENS] = { 0.5f, (-2 + 4) / 2.0f, 1.5f, 0.5f, -1, 4 };
    compare(&(cse_logit_rules){ .repetition_penalty = 2, .biases = biases, .bias_count = 2 },
            &history, expected);
}
END_TEST

START_TEST(what_stood_before_comes_no_second_time)
{
    /* Behind 2, the last token, stood 4; behind 4 and 2 nothing; one by one all that came. */
    const float pairs[TOKENS] = { 1, -2, 3, 0.5f, -INFINITY, 4 };
    const float each[TOKENS] = { -INFINITY, -INFINITY, -INFINITY, 0.5f, -INFINITY, 4 };
    compare(&(cse_logit_rules){ .no_repeat_ngram_size = 2 }, &history, pairs);
    compare(&(cse_logit_rules){ .no_repeat_ngram_size = 3 }, &history, before);
    compare(&(cse_logit_rules){ .no_repeat_ngram_size = 1 }, &history, each);
    compare(&(cse_logit_rules){ .no_repeat_ngram_size = 9 }, &history, before);
}
END_TEST

START_TEST(a_text_may_have_to_go_on)
{
    const float expected[TOKENS] = { 1, -2, 3, 0.5f, -0.5f, -INFINITY };
    compare(&(cse_logit_rules){ .min_new_tokens = 4 }, &history, expected);
    compare(&(cse_logit_rules){ .min_new_tokens = 3 }, &history, before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("logit rules");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, zeroes_change_nothing);
    tcase_add_test(tests, tokens_that_came_are_penalized);
    tcase_add_test(tests, biases_come_first);
    tcase_add_test(tests, what_stood_before_comes_no_second_time);
    tcase_add_test(tests, a_text_may_have_to_go_on);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
