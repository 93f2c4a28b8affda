/* Which source a sample comes from: the shares of the weights, the passes over each source in the
 * order in which its samples are drawn, and nothing but seed and place. */
#include "dataloader/positions/mixture.h"
#include "engine/base/random.h"
#include "tests/dataloader/fixture.h"

/* Word `i` of the case numbered `number`. */
static uint32_t random_word(uint32_t number, uint32_t i)
{
    uint32_t words[4];
    cse_philox(2027, (const uint32_t[]){ number, i, 0, 0 }, words);
    return words[0];
}

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

/* Of 2^k places from a multiple of 2^k on, each source has its share to the nearest whole
 * numbers. */
START_TEST(shares_hold_in_every_part_of_a_block)
{
    static const double weights[] = { 5, 2, 1.7, 0.3 };
    const double total = 5 + 2 + 1.7 + 0.3;
    cse_mixture mixture = { .seed = 11, .count = 4, .samples = { 100, 100, 100, 100 } };
    cse_mixture_make(&mixture, weights);
    for (int64_t size = 4; size <= 1024; size *= 4) {
        int64_t counts[4] = { 0 };
        for (int64_t i = 0; i < 4096; i++) {
            counts[cse_mixture_at(&mixture, i).source]++;
            for (int s = 0; s < 4 && i % size == size - 1; s++) {
                const double share = weights[s] / total * (double)size;
                ck_assert_double_le((double)counts[s], share + 1.001);
                ck_assert_double_ge((double)counts[s], share - 1.001);
                counts[s] = 0;
            }
        }
    }
}
END_TEST

/* Which of two like sources comes first in a pair of places; of three, of which a range of four
 * places has one twice, in which half. With 4096 tosses a mean has a standard deviation of at most
 * 64. */
START_TEST(chance_decides_between_like_sources)
{
    static const double weights[] = { 1, 1, 1 };
    cse_mixture two = { .seed = 5, .count = 2, .samples = { 9, 9 } };
    cse_mixture three = { .seed = 6, .count = 3, .samples = { 9, 9, 9 } };
    int first = 0, counts[2][3] = { { 0 } };
    cse_mixture_make(&two, weights);
    cse_mixture_make(&three, weights);
    for (int64_t i = 0; i < 4096; i++) {
        const int source = cse_mixture_at(&two, 2 * i).source;
        ck_assert_int_eq(source + cse_mixture_at(&two, 2 * i + 1).source, 1);
        first += source == 0;
        for (int64_t k = 0; k < 4; k++)
            counts[k / 2][cse_mixture_at(&three, 4 * i + k).source]++;
    }
    ck_assert_int_lt(abs(first - 2048), 160);
    for (int s = 0; s < 3; s++)
        ck_assert_int_lt(abs(counts[0][s] - counts[1][s]), 320);
}
END_TEST

typedef struct pass_of {
    int64_t *seen, *order,
        *last; /* [samples]: in which pass last; of this pass, of the one before */
    int64_t drawn, alike, passes;
} pass_of;

/* The next sample of a source, which no sample of the same pass may be. */
static void take(pass_of *p, int64_t samples, cse_mixture_place place)
{
    const int64_t pass = p->drawn / samples, at = p->drawn++ % samples;
    ck_assert_int_ge(place.sample, 0);
    ck_assert_int_lt(place.sample, samples);
    ck_assert_int_eq(place.pass, pass);
    ck_assert_msg(p->seen[place.sample] <= pass, "sample %ld twice in pass %ld of %ld samples",
                  (long)place.sample, (long)pass, (long)samples);
    p->seen[place.sample] = pass + 1;
    p->order[at] = place.sample;
    if (at < samples - 1)
        return;
    p->alike += pass > 0 && memcmp(p->order, p->last, (size_t)samples * sizeof *p->order) == 0;
    p->passes++;
    memcpy(p->last, p->order, (size_t)samples * sizeof *p->order);
}

static cse_mixture random_mixture(uint32_t number, int count)
{
    double weights[CSE_MIXTURE_SOURCES];
    cse_mixture mixture = { .seed = random_word(number, 1), .count = count };
    for (int s = 0; s < count; s++) {
        const uint32_t of = (uint32_t)s * 3 + 2;
        mixture.samples[s] = 1 + random_word(number, of) % (s % 3 == 0 ? 12 : 1500);
        weights[s] = 1 + random_word(number, of + 1) % (s % 2 == 0 ? 3 : 1000);
    }
    cse_mixture_make(&mixture, weights);
    return mixture;
}

static void check_passes(const cse_mixture *mixture, int64_t places)
{
    pass_of *of = calloc((size_t)mixture->count, sizeof *of);
    for (int s = 0; s < mixture->count; s++) {
        of[s].seen = calloc(3 * (size_t)mixture->samples[s], sizeof *of[s].seen);
        of[s].order = of[s].seen + mixture->samples[s];
        of[s].last = of[s].order + mixture->samples[s];
    }
    for (int64_t i = 0; i < places; i++) {
        const cse_mixture_place place = cse_mixture_at(mixture, i);
        take(&of[place.source], mixture->samples[place.source], place);
    }
    for (int s = 0; s < mixture->count; s++) {
        /* Two passes over n >= 9 samples have the same order once in n! >= 362880 times. */
        if (mixture->samples[s] >= 9)
            ck_assert_int_le(of[s].alike, 1 + of[s].passes / 1000);
        free(of[s].seen);
    }
    free(of);
}

START_TEST(each_sample_comes_once_before_any_comes_twice)
{
    for (uint32_t number = 0; number < 24; number++) {
        const cse_mixture mixture = random_mixture(number, 1 + (int)number % 6);
        check_passes(&mixture, number == 5 ? 3 * CSE_MIXTURE_BLOCK / 2 : 9000);
    }
    const cse_mixture many = random_mixture(99, CSE_MIXTURE_SOURCES);
    check_passes(&many, 3000);
}
END_TEST

/* Epochs of the sum of the samples, or of fewer: in ten of them each sample came ten times. */
START_TEST(nothing_is_left_out)
{
    enum { SAMPLES = 1000, EPOCHS = 10 };
    static const double weights[] = { 1, 1 };
    for (int count = 1; count <= 2; count++) {
        int seen[2][SAMPLES] = { { 0 } };
        cse_mixture mixture = { .seed = 1, .count = count, .samples = { SAMPLES, SAMPLES } };
        cse_mixture_make(&mixture, weights);
        for (int64_t i = 0; i < (int64_t)count * SAMPLES * EPOCHS; i++) {
            const cse_mixture_place place = cse_mixture_at(&mixture, i);
            seen[place.source][place.sample]++;
        }
        for (int s = 0; s < count * SAMPLES; s++)
            ck_assert_int_eq(seen[s / SAMPLES][s % SAMPLES], EPOCHS);
    }
}
END_TEST

START_TEST(other_seeds_take_other_samples)
{
    static const double weights[] = { 1, 2 };
    cse_mixture a = { .seed = 1, .count = 2, .samples = { 100, 100 } }, b = a;
    int same = 0, same_source = 0;
    b.seed = 2;
    cse_mixture_make(&a, weights);
    cse_mixture_make(&b, weights);
    for (int64_t i = 0; i < 300; i++) {
        const cse_mixture_place first = cse_mixture_at(&a, i), other = cse_mixture_at(&b, i);
        same += first.source == other.source && first.sample == other.sample;
        same_source += first.source == other.source;
    }
    ck_assert_int_lt(same, 30);
    ck_assert_int_lt(same_source, 270);
}
END_TEST

/* A place far on, in any order of asking. */
START_TEST(any_place_is_reached_at_once)
{
    const cse_mixture mixture = random_mixture(3, 5);
    const int64_t far = (int64_t)1 << 55;
    int64_t counts[5] = { 0 };
    for (int64_t i = CSE_MIXTURE_BLOCK - 1; i >= 0; i--) {
        const cse_mixture_place place = cse_mixture_at(&mixture, far + i);
        ck_assert_int_ge(place.sample, 0);
        ck_assert_int_lt(place.sample, mixture.samples[place.source]);
        /* From the end of a block on, its places of a source are counted down. */
        const int64_t drawn = place.pass * mixture.samples[place.source];
        const int64_t end = (far / CSE_MIXTURE_BLOCK + 1) * mixture.places[place.source];
        counts[place.source]++;
        ck_assert_int_eq(drawn / mixture.samples[place.source],
                         (end - counts[place.source]) / mixture.samples[place.source]);
    }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("mixture");
    tcase_add_test(tests, shares_are_those_of_the_weights);
    tcase_add_test(tests, shares_hold_in_every_part_of_a_block);
    tcase_add_test(tests, chance_decides_between_like_sources);
    tcase_add_test(tests, each_sample_comes_once_before_any_comes_twice);
    tcase_add_test(tests, nothing_is_left_out);
    tcase_add_test(tests, other_seeds_take_other_samples);
    tcase_add_test(tests, any_place_is_reached_at_once);
    return fixture_run(tests);
}
