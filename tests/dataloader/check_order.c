/* The order of samples and which worker reads them: permutation, seeking, independence of the
 * microbatch size and of the number of workers, as properties over random cases. */
#include <math.h>

#include "dataloader/position.h"
#include "dataloader/positions/left_out.h"
#include "dataloader/positions/shuffle.h"
#include "engine/base/random.h"
#include "tests/dataloader/fixture.h"

/* Word `i` of the case numbered `number`. */
static uint32_t random_word(uint32_t number, uint32_t i)
{
    uint32_t words[4];
    cse_philox(2026, (const uint32_t[]){ number, i, 0, 0 }, words);
    return words[0];
}

START_TEST(shuffle_is_a_permutation)
{
    for (uint32_t number = 0; number < 300; number++) {
        int64_t n = number < 40 ? number + 1 : 1 + random_word(number, 0) % 5000;
        uint64_t key = cse_shuffle_key(random_word(number, 1), random_word(number, 2));
        bool *seen = calloc((size_t)n, sizeof *seen);
        for (int64_t i = 0; i < n; i++) {
            int64_t sample = cse_shuffle_sample(key, n, i);
            ck_assert_msg(sample >= 0 && sample < n && !seen[sample],
                          "n = %ld: place %ld has sample %ld", (long)n, (long)i, (long)sample);
            seen[sample] = true;
        }
        free(seen);
    }
}
END_TEST

START_TEST(shuffle_orders_differ_by_epoch_and_seed)
{
    enum { N = 1000 };
    const uint64_t keys[] = { cse_shuffle_key(1, 0), cse_shuffle_key(1, 1), cse_shuffle_key(2, 0),
                              cse_shuffle_key(1, (int64_t)1 << 32) };
    for (int a = 0; a < 4; a++)
        for (int b = 0; b < a; b++) {
            int same = 0;
            for (int64_t i = 0; i < N; i++)
                same += cse_shuffle_sample(keys[a], N, i) == cse_shuffle_sample(keys[b], N, i);
            /* Two random permutations agree at 1 place on average, with variance 1. */
            ck_assert_int_lt(same, 8);
        }
}
END_TEST

/* Pearson's chi-square with 9 degrees of freedom is below 33.7 with probability 0.9999. */
START_TEST(shuffle_puts_every_sample_everywhere)
{
    enum { EPOCHS = 20000, BINS = 10 };
    static const int64_t sizes[] = { 10, 1000, 60000 };
    for (int s = 0; s < 3; s++)
        for (int64_t place = 0; place < 3; place++) {
            int counts[BINS] = { 0 };
            for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
                uint64_t key = cse_shuffle_key(7, epoch);
                counts[cse_shuffle_sample(key, sizes[s], place) * BINS / sizes[s]]++;
            }
            double expected = (double)EPOCHS / BINS, chi_square = 0;
            for (int bin = 0; bin < BINS; bin++)
                chi_square += (counts[bin] - expected) * (counts[bin] - expected) / expected;
            ck_assert_double_lt(chi_square, 33.7);
        }
}
END_TEST

/* The rank of an order among all n! (Lehmer code). */
static int rank_of_order(uint64_t key, int64_t n)
{
    int64_t order[5];
    int rank = 0;
    for (int64_t i = 0; i < n; i++) {
        int less = 0;
        order[i] = cse_shuffle_sample(key, n, i);
        for (int64_t j = 0; j < i; j++)
            less += order[j] < order[i];
        rank = rank * (int)(i + 1) + less;
    }
    return rank;
}

/* All orders of a handful are equally likely. A chi-square of `freedom` degrees is above
 * freedom (1 - 2 / (9 freedom) + 3.72 sqrt(2 / (9 freedom)))^3 with probability 0.0001 (Wilson and
 * Hilferty 1931). */
START_TEST(shuffle_of_a_handful_is_uniform_over_orders)
{
    enum { EPOCHS = 240000 };
    static const int factorials[] = { 1, 1, 2, 6, 24, 120 };
    for (int64_t n = 2; n <= 5; n++) {
        int counts[120] = { 0 };
        const double freedom = factorials[n] - 1, expected = (double)EPOCHS / factorials[n];
        double chi_square = 0;
        for (int64_t epoch = 0; epoch < EPOCHS; epoch++)
            counts[rank_of_order(cse_shuffle_key(3, epoch), n)]++;
        for (int rank = 0; rank < factorials[n]; rank++)
            chi_square += (counts[rank] - expected) * (counts[rank] - expected) / expected;
        const double spread = 2 / (9 * freedom);
        ck_assert_double_lt(chi_square, freedom * pow(1 - spread + 3.72 * sqrt(spread), 3));
    }
}
END_TEST

/* The sample at one place and that at another are independent but for being different: pairs of
 * places of each size that is dealt. 4.26: above with probability 0.00001, as there are many. */
START_TEST(shuffle_of_a_handful_is_uniform_over_pairs)
{
    enum { EPOCHS = 40000, MOST = 11 };
    for (int64_t n = 6; n <= MOST; n++)
        for (int64_t place = 1; place < n; place += 3) {
            int counts[MOST * MOST] = { 0 };
            const double pairs = (double)(n * (n - 1)), expected = EPOCHS / pairs;
            double chi_square = 0;
            for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
                const uint64_t key = cse_shuffle_key(5, epoch);
                counts[cse_shuffle_sample(key, n, 0) * n + cse_shuffle_sample(key, n, place)]++;
            }
            for (int64_t a = 0; a < n; a++)
                for (int64_t b = 0; b < n; b++)
                    chi_square += a == b ? 0 : pow(counts[a * n + b] - expected, 2) / expected;
            const double spread = 2 / (9 * (pairs - 1));
            ck_assert_double_lt(chi_square, (pairs - 1) * pow(1 - spread + 4.26 * sqrt(spread), 3));
        }
}
END_TEST

/* Samples that are neighbours in the data are not neighbours in an epoch. */
START_TEST(shuffle_separates_neighbours)
{
    enum { N = 60000 };
    uint64_t key = cse_shuffle_key(0, 0);
    double sum = 0;
    for (int64_t i = 0; i + 1 < N; i++) {
        int64_t distance = cse_shuffle_sample(key, N, i) - cse_shuffle_sample(key, N, i + 1);
        sum += (double)llabs(distance);
    }
    /* Mean distance of two random places is N/3, its standard error here N * 0.2357 / sqrt(N). */
    ck_assert_double_eq_tol(sum / (N - 1), N / 3.0, 5 * 0.2357 * 245);
}
END_TEST

static cse_batching random_batching(uint32_t number, int64_t *sample_count)
{
    int64_t micro_batch_size = 1 + random_word(number, 10) % 8;
    int64_t microbatches = 1 + random_word(number, 11) % 6;
    int64_t batch_size = micro_batch_size * microbatches;
    *sample_count = batch_size + random_word(number, 12) % 100;
    return (cse_batching){ .batch_size = batch_size,
                           .micro_batch_size = micro_batch_size,
                           .shuffle = random_word(number, 13) % 2 == 0,
                           .shuffle_seed = random_word(number, 14),
                           .drop_last = true,
                           .is_stream = random_word(number, 16) % 3 == 0 };
}

/* An independent statement of the order: epoch after epoch, the first whole batches of its list; of
 * a stream, one place after the other. */
START_TEST(seeking_equals_reading_from_the_start)
{
    enum { EPOCHS = 4 };
    for (uint32_t number = 0; number < 200; number++) {
        int64_t n, samples[8], step = 0, stream = 0;
        cse_batching batching = random_batching(number, &n);
        int64_t microbatches = batching.batch_size / batching.micro_batch_size;
        for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
            uint64_t key = cse_shuffle_key(batching.shuffle_seed, epoch);
            int64_t place = 0;
            for (; place + batching.batch_size <= n; step++)
                for (int64_t m = 0; m < microbatches; m++) {
                    cse_position position = cse_position_of(&batching, n, step, m);
                    ck_assert_int_eq(position.epoch, epoch);
                    cse_position_samples(&batching, n, position, samples, NULL);
                    for (int64_t i = 0; i < batching.micro_batch_size; i++, place++, stream++)
                        ck_assert_int_eq(samples[i], batching.is_stream ? stream
                                                     : batching.shuffle
                                                         ? cse_shuffle_sample(key, n, place)
                                                         : place);
                }
            ck_assert_int_lt(n - place, batching.batch_size);
        }
        ck_assert_int_eq(step, EPOCHS * cse_position_steps_per_epoch(&batching, n));
    }
}
END_TEST

/* An epoch has each sample once, the last ones in a batch of their own; skipped samples are steps
 * that were done. */
START_TEST(a_kept_last_batch_completes_each_epoch)
{
    enum { EPOCHS = 3, MOST = 160 };
    for (uint32_t number = 0; number < 200; number++) {
        int64_t n, samples[8], epochs[8];
        const cse_batching random = random_batching(number, &n);
        const int64_t per_epoch = (n + random.batch_size - 1) / random.batch_size;
        const int64_t begun = number % 3 == 0 ? per_epoch + 1 : 0;
        const int64_t skipped = begun > 0 ? n + (per_epoch > 1 ? random.batch_size : n) : 0;
        cse_batching batching = random;
        batching.drop_last = false;
        batching.skip_samples = skipped;
        ck_assert_int_eq(cse_position_steps_per_epoch(&batching, n), per_epoch);
        for (int64_t step = begun, epoch = begun / per_epoch; epoch < EPOCHS; epoch++) {
            int seen[MOST] = { 0 };
            const uint64_t key = cse_shuffle_key(batching.shuffle_seed, epoch);
            for (int64_t place = step % per_epoch * batching.batch_size; place < n; step++) {
                const bool last = n - place < batching.batch_size;
                const cse_batch_kind kind = cse_position_kind(&batching, n, step - begun);
                ck_assert_int_eq(kind.samples, last ? n - place : 0);
                cse_position_choose_kind(&batching, random.micro_batch_size, kind);
                ck_assert_int_eq(cse_batching_samples(&batching),
                                 last ? n - place : batching.batch_size);
                ck_assert_int_le(batching.micro_batch_size, random.micro_batch_size);
                for (int64_t m = 0; m < cse_batching_microbatches(&batching); m++) {
                    const cse_position at = cse_position_of(&batching, n, step - begun, m);
                    cse_position_samples(&batching, n, at, samples, epochs);
                    for (int64_t i = 0; i < batching.micro_batch_size; i++, place++) {
                        ck_assert_int_eq(epochs[i], epoch);
                        ck_assert_int_eq(samples[i], batching.is_stream ? epoch * n + place
                                                     : batching.shuffle
                                                         ? cse_shuffle_sample(key, n, place)
                                                         : place);
                        ck_assert_int_eq(seen[samples[i] % n]++, 0);
                    }
                }
            }
        }
    }
}
END_TEST

START_TEST(the_cut_into_microbatches_does_not_change_the_order)
{
    enum { N = 1000, BATCH = 24, STEPS = 90 };
    static const int64_t cuts[] = { 24, 12, 8, 6, 4, 3, 2, 1 };
    int64_t reference[BATCH], samples[BATCH];
    for (int64_t step = 0; step < STEPS; step++)
        for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
            cse_batching batching = { .batch_size = BATCH,
                                      .micro_batch_size = cuts[c],
                                      .shuffle = true,
                                      .shuffle_seed = 5,
                                      .drop_last = true };
            for (int64_t m = 0; m < BATCH / cuts[c]; m++)
                cse_position_samples(&batching, N, cse_position_of(&batching, N, step, m),
                                     samples + m * cuts[c], NULL);
            if (c == 0)
                memcpy(reference, samples, sizeof samples);
            ck_assert_mem_eq(samples, reference, sizeof samples);
        }
}
END_TEST

/* One stream of all epochs, of which the first samples are left out. */
START_TEST(skipped_samples_move_the_stream)
{
    enum { MOST = 8 * 6 * 40 };
    int64_t stream[MOST], samples[8];
    for (uint32_t number = 0; number < 200; number++) {
        int64_t n, count = 0;
        cse_batching batching = random_batching(number, &n);
        const int64_t microbatches = batching.batch_size / batching.micro_batch_size;
        for (int64_t q = 0; count + batching.micro_batch_size <= MOST; q++) {
            cse_position_samples(&batching, n,
                                 cse_position_of(&batching, n, q / microbatches, q % microbatches),
                                 stream + count, NULL);
            count += batching.micro_batch_size;
        }
        batching.skip_samples = random_word(number, 15) % 1000;
        int64_t place = batching.skip_samples;
        for (int64_t q = 0; place + batching.micro_batch_size <= count; q++) {
            cse_position_samples(&batching, n,
                                 cse_position_of(&batching, n, q / microbatches, q % microbatches),
                                 samples, NULL);
            for (int64_t i = 0; i < batching.micro_batch_size; i++, place++)
                ck_assert_int_eq(samples[i], stream[place]);
        }
        ck_assert_int_gt(place, 900);
    }
}
END_TEST

/* Without some samples the order is that of all, of which these are missing: batches that have none
 * of them are the same, and others have the rest of their samples in the same order. */
START_TEST(left_out_samples_are_missing_in_their_batches)
{
    enum { MOST = 48, STEPS = 30 };
    int64_t missing = 0;
    for (uint32_t number = 0; number < 200; number++) {
        int64_t n, whole[MOST], epochs[MOST], seen[MOST], seen_epochs[MOST];
        cse_batching batching = random_batching(number, &n);
        batching.is_stream = false;
        batching.drop_last = number % 2 == 0;
        batching.skip_samples = batching.drop_last ? random_word(number, 15) % 300 : 0;
        const int64_t size = batching.micro_batch_size;
        const int64_t samples[] = { n - 1, random_word(number, 17) % (n - 1) };
        cse_left_out without;
        cse_left_out_of(samples, 2, &without);
        for (int64_t step = 0; step < STEPS; step++) {
            int64_t count = 0, left = 0;
            batching.without = NULL;
            cse_position_choose_kind(&batching, size, cse_position_kind(&batching, n, step));
            for (int64_t m = 0; m < cse_batching_microbatches(&batching);
                 m++, count += batching.micro_batch_size)
                cse_position_samples(&batching, n, cse_position_of(&batching, n, step, m),
                                     whole + count, epochs + count);
            for (int64_t i = 0; i < count; i++) {
                if (whole[i] == samples[0] || whole[i] == samples[1])
                    continue;
                whole[left] = whole[i];
                epochs[left++] = epochs[i];
            }
            missing += count - left;
            batching.without = &without;
            ck_assert_int_eq(cse_position_batch_samples(&batching, n, step), left);
            if (left == 0)
                continue;
            cse_position_choose_kind(&batching, size, cse_position_kind(&batching, n, step));
            ck_assert_int_eq(batching.smaller, left < batching.batch_size ? left : 0);
            ck_assert_int_le(batching.micro_batch_size, size);
            ck_assert_int_eq(cse_batching_samples(&batching), left);
            for (int64_t m = 0; m < cse_batching_microbatches(&batching); m++)
                cse_position_samples(&batching, n, cse_position_of(&batching, n, step, m),
                                     seen + m * batching.micro_batch_size,
                                     seen_epochs + m * batching.micro_batch_size);
            ck_assert_mem_eq(seen, whole, (size_t)left * sizeof *seen);
            ck_assert_mem_eq(seen_epochs, epochs, (size_t)left * sizeof *epochs);
        }
        cse_left_out_clear(&without);
    }
    ck_assert_int_gt(missing, 1000);
}
END_TEST

START_TEST(a_far_step_is_reached_at_once)
{
    int64_t samples[64];
    cse_batching batching = { .batch_size = 256,
                              .micro_batch_size = 64,
                              .shuffle = true,
                              .shuffle_seed = 1,
                              .drop_last = true };
    int64_t step = (int64_t)1 << 60;
    cse_position position = cse_position_of(&batching, 60000, step, 3);
    ck_assert_int_eq(position.epoch, step / 234);
    ck_assert_int_eq(position.first_index, step % 234 * 256 + 192);
    cse_position_samples(&batching, 60000, position, samples, NULL);
    for (int i = 0; i < 64; i++)
        ck_assert(samples[i] >= 0 && samples[i] < 60000);
}
END_TEST

/* Workers that take every n-th microbatch read, together, the stream that one worker reads. */
START_TEST(the_stream_is_the_same_for_any_number_of_workers)
{
    enum { N = 777, STEPS = 60, MICROBATCHES = 5, SIZE = 4 };
    static int64_t stream[3][STEPS * MICROBATCHES][SIZE];
    cse_batching batching = { .batch_size = MICROBATCHES * SIZE,
                              .micro_batch_size = SIZE,
                              .shuffle = true,
                              .shuffle_seed = 11,
                              .drop_last = true };
    for (int workers = 1; workers <= 3; workers++)
        for (int rank = workers - 1; rank >= 0; rank--)
            for (int64_t q = rank; q < STEPS * MICROBATCHES; q += workers) {
                cse_position position =
                    cse_position_of(&batching, N, q / MICROBATCHES, q % MICROBATCHES);
                cse_position_samples(&batching, N, position, stream[workers - 1][q], NULL);
            }
    ck_assert_mem_eq(stream[1], stream[0], sizeof stream[0]);
    ck_assert_mem_eq(stream[2], stream[0], sizeof stream[0]);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("order");
    tcase_add_test(tests, shuffle_is_a_permutation);
    tcase_add_test(tests, shuffle_orders_differ_by_epoch_and_seed);
    tcase_add_test(tests, shuffle_puts_every_sample_everywhere);
    tcase_add_test(tests, shuffle_separates_neighbours);
    tcase_add_test(tests, shuffle_of_a_handful_is_uniform_over_orders);
    tcase_add_test(tests, shuffle_of_a_handful_is_uniform_over_pairs);
    tcase_add_test(tests, seeking_equals_reading_from_the_start);
    tcase_add_test(tests, a_kept_last_batch_completes_each_epoch);
    tcase_add_test(tests, left_out_samples_are_missing_in_their_batches);
    tcase_add_test(tests, the_cut_into_microbatches_does_not_change_the_order);
    tcase_add_test(tests, skipped_samples_move_the_stream);
    tcase_add_test(tests, a_far_step_is_reached_at_once);
    tcase_add_test(tests, the_stream_is_the_same_for_any_number_of_workers);
    return fixture_run(tests);
}
