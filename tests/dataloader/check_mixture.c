/* Which source a sample comes from: the shares of the weights, each sample of a source once in a
 * pass, and nothing but seed and index. */
#include "dataloader/mixture.h"
#include "dataloader/shuffle.h"
#include "engine/base/random.h"
#include "tests/dataloader/fixture.h"

START_TEST(shares_are_those_of_the_weights)
{
    static const double weights[] = { 3, 1e-9, 1 };
    cse_mixture mixture = { .seed = 7, .count = 3, .samples = { 1000, 10, 77 } };
    int64_t counts[3] = { 0 };
    cse_mixture_make(&mixture, weights);
    for (int64_t i = 0; i < CSE_MIXTURE_BLOCK; i++)
        counts[cse_mixture_at(&mixture, 5 * (int64_t)CSE_MIXTURE_BLOCK + i).source]++;
    /* 65533 places by 3 : 1, and one for each source */
    ck_assert_int_eq(counts[0], 49150 + 1);
    ck_assert_int_eq(counts[1], 1);
    ck_assert_int_eq(counts[2], 16383 + 1);
}
END_TEST

START_TEST(a_pass_takes_each_sample_once)
{
    static const double weights[] = { 1, 1 };
    cse_mixture mixture = { .seed = 1, .count = 2, .samples = { 50, 300000 } };
    int seen[50] = { 0 };
    cse_mixture_make(&mixture, weights);
    for (int64_t i = 0; i < CSE_MIXTURE_BLOCK; i++) {
        const cse_mixture_place place = cse_mixture_at(&mixture, i);
        ck_assert(place.sample >= 0 && place.sample < mixture.samples[place.source]);
        if (place.source == 0)
            seen[place.sample]++;
    }
    /* 32768 draws are 655 passes and 18 samples. */
    for (int s = 0; s < 50; s++)
        ck_assert(seen[s] == 655 || seen[s] == 656);
}
END_TEST

/* A source of 8 samples is gone through 8192 times in a block; hardly any two passes in a row are
 * alike. */
START_TEST(each_pass_has_another_order)
{
    enum { SAMPLES = 8, PASSES = CSE_MIXTURE_BLOCK / SAMPLES };
    static const double weights[] = { 1 };
    static int64_t drawn[CSE_MIXTURE_BLOCK];
    const uint64_t places = cse_shuffle_key(3 ^ 0x6d697874, 0); /* of block 0 */
    cse_mixture mixture = { .seed = 3, .count = 1, .samples = { SAMPLES } };
    int same = 0;
    cse_mixture_make(&mixture, weights);
    for (int64_t i = 0; i < CSE_MIXTURE_BLOCK; i++)
        drawn[cse_permute(places, CSE_MIXTURE_BLOCK, (uint64_t)i)] =
            cse_mixture_at(&mixture, i).sample;
    for (int p = 1; p < PASSES; p++)
        same +=
            memcmp(drawn + p * SAMPLES, drawn + (p - 1) * SAMPLES, SAMPLES * sizeof *drawn) == 0;
    ck_assert_int_lt(same, 10);
}
END_TEST

START_TEST(other_seeds_take_other_samples)
{
    static const double weights[] = { 1, 2 };
    cse_mixture a = { .seed = 1, .count = 2, .samples = { 100, 100 } }, b = a;
    int same = 0;
    b.seed = 2;
    cse_mixture_make(&a, weights);
    cse_mixture_make(&b, weights);
    for (int64_t i = 0; i < 300; i++) {
        const cse_mixture_place first = cse_mixture_at(&a, i), again = cse_mixture_at(&a, i);
        const cse_mixture_place other = cse_mixture_at(&b, i);
        ck_assert(first.source == again.source && first.sample == again.sample);
        same += first.source == other.source && first.sample == other.sample;
    }
    ck_assert_int_lt(same, 30);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("mixture");
    tcase_add_test(tests, shares_are_those_of_the_weights);
    tcase_add_test(tests, a_pass_takes_each_sample_once);
    tcase_add_test(tests, each_pass_has_another_order);
    tcase_add_test(tests, other_seeds_take_other_samples);
    return fixture_run(tests);
}
