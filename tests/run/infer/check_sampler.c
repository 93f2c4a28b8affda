/* Sampling: what each setting leaves, and that tokens come as often as their probabilities say. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "run/infer/sampler.h"

enum { TOKENS = 6, DRAWS = 20000 };

/* Probabilities 0.4, 0.3, 0.15, 0.1, 0.04, 0.01, in another order. */
static const double probabilities[TOKENS] = { 0.1, 0.4, 0.01, 0.3, 0.04, 0.15 };

static void logits_of(float logits[TOKENS])
{
    for (int i = 0; i < TOKENS; i++)
        logits[i] = (float)log(probabilities[i]) + 3.0f;
}

/* Draws often, and compares with `expected` within four deviations. */
static void compare(const cse_sampling *sampling, const double expected[TOKENS])
{
    int counts[TOKENS] = { 0 };
    float logits[TOKENS];
    logits_of(logits);
    cse_sampler *sampler = cse_sampler_new(sampling, TOKENS);
    for (int i = 0; i < DRAWS; i++) {
        double probability = 0;
        const int32_t token =
            cse_sampler_draw(sampler, logits, (uint32_t)(i % 5), i / 5, &probability);
        ck_assert(token >= 0 && token < TOKENS);
        ck_assert_double_eq_tol(probability, probabilities[token], 1e-6);
        counts[token]++;
    }
    for (int t = 0; t < TOKENS; t++) {
        const double p = expected[t], deviation = sqrt(p * (1 - p) * DRAWS);
        ck_assert_msg(fabs(counts[t] - p * DRAWS) <= 4 * deviation + (p > 0 ? 1e-9 : 0),
                      "token %d came %d times, expected %.0f", t, counts[t], p * DRAWS);
    }
    cse_sampler_destroy(&sampler);
}

START_TEST(tokens_come_as_often_as_their_probabilities)
{
    compare(&(cse_sampling){ .temperature = 1, .top_p = 1, .seed = 5 }, probabilities);
}
END_TEST

START_TEST(temperature_divides_the_logits)
{
    double expected[TOKENS], sum = 0;
    for (int i = 0; i < TOKENS; i++)
        sum += expected[i] = pow(probabilities[i], 1 / 0.5);
    for (int i = 0; i < TOKENS; i++)
        expected[i] /= sum;
    compare(&(cse_sampling){ .temperature = 0.5, .top_p = 1 }, expected);
    const double greedy[TOKENS] = { 0, 1, 0, 0, 0, 0 };
    compare(&(cse_sampling){ .temperature = 0, .top_p = 1 }, greedy);
}
END_TEST

START_TEST(the_most_likely_tokens_stay)
{
    const double two[TOKENS] = { 0, 0.4 / 0.7, 0, 0.3 / 0.7, 0, 0 };
    const double three[TOKENS] = { 0, 0.4 / 0.85, 0, 0.3 / 0.85, 0, 0.15 / 0.85 };
    const double one[TOKENS] = { 0, 1, 0, 0, 0, 0 };
    compare(&(cse_sampling){ .temperature = 1, .top_k = 2, .top_p = 1, .seed = 1 }, two);
    compare(&(cse_sampling){ .temperature = 1, .top_p = 0.75, .seed = 2 }, three);
    compare(&(cse_sampling){ .temperature = 1, .top_p = 1e-6, .seed = 3 }, one);
    /* top_p is of what top_k left: 0.4 / 0.7 is below 0.6, both together are not. */
    compare(&(cse_sampling){ .temperature = 1, .top_k = 2, .top_p = 0.6, .seed = 4 }, two);
}
END_TEST

START_TEST(unlikely_tokens_go_by_the_most_likely_one)
{
    const double three[TOKENS] = { 0, 0.4 / 0.85, 0, 0.3 / 0.85, 0, 0.15 / 0.85 };
    const double two[TOKENS] = { 0, 0.4 / 0.7, 0, 0.3 / 0.7, 0, 0 };
    const double one[TOKENS] = { 0, 1, 0, 0, 0, 0 };
    compare(&(cse_sampling){ .temperature = 1, .top_p = 1, .min_p = 0.3, .seed = 1 }, three);
    compare(&(cse_sampling){ .temperature = 1, .top_p = 1, .min_p = 1, .seed = 2 }, one);
    /* By the logits that the temperature has divided: 0.3 / 0.4 becomes its square, 0.5625. */
    double halved[TOKENS] = { 0, 0.16 / 0.25, 0, 0.09 / 0.25, 0, 0 };
    compare(&(cse_sampling){ .temperature = 0.5, .top_p = 1, .min_p = 0.5, .seed = 3 }, halved);
    compare(&(cse_sampling){ .temperature = 1, .top_k = 2, .top_p = 1, .min_p = 0.3 }, two);
}
END_TEST

START_TEST(log_probabilities_are_those_of_all_tokens)
{
    float logits[TOKENS];
    logits_of(logits);
    for (int t = 0; t < TOKENS; t++)
        ck_assert_double_eq_tol(cse_log_probability(logits, TOKENS, t), log(probabilities[t]),
                                1e-6);
}
END_TEST

START_TEST(equal_tokens_stay_together)
{
    int counts[4] = { 0 };
    const float logits[4] = { 1, 2, 2, 2 };
    cse_sampler *sampler =
        cse_sampler_new(&(cse_sampling){ .temperature = 1, .top_k = 2, .top_p = 1 }, 4);
    for (int i = 0; i < 1000; i++)
        counts[cse_sampler_draw(sampler, logits, 0, i, NULL)]++;
    ck_assert_int_eq(counts[0], 0);
    for (int t = 1; t < 4; t++)
        ck_assert_int_gt(counts[t], 250);
    cse_sampler_destroy(&sampler);
}
END_TEST

START_TEST(a_draw_depends_on_its_place_alone)
{
    float logits[TOKENS];
    logits_of(logits);
    int32_t tokens[64];
    const cse_sampling sampling = { .temperature = 1, .top_k = 5, .top_p = 0.99, .seed = 9 };
    cse_sampler *sampler = cse_sampler_new(&sampling, TOKENS);
    for (int i = 0; i < 64; i++)
        tokens[i] = cse_sampler_draw(sampler, logits, (uint32_t)i % 4, i / 4, NULL);
    for (int i = 63; i >= 0; i--)
        ck_assert_int_eq(cse_sampler_draw(sampler, logits, (uint32_t)i % 4, i / 4, NULL),
                         tokens[i]);
    cse_sampler_destroy(&sampler);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sampler");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, tokens_come_as_often_as_their_probabilities);
    tcase_add_test(tests, temperature_divides_the_logits);
    tcase_add_test(tests, the_most_likely_tokens_stay);
    tcase_add_test(tests, unlikely_tokens_go_by_the_most_likely_one);
    tcase_add_test(tests, log_probabilities_are_those_of_all_tokens);
    tcase_add_test(tests, equal_tokens_stay_together);
    tcase_add_test(tests, a_draw_depends_on_its_place_alone);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
