/* The loader: its section's checks, a microbatch's layout, and one stream of samples whatever the
 * number of workers. Samples are synthetic, so that every value is known by its index. */
#include "dataloader/position.h"
#include "tests/dataloader/fixture.h"
#include "tests/support/open_loader.h"

static const char common[] = "data_processor: synthetic, samples: 100, features: [3], classes: 4";

static cse_dataloader *open_good(const char *settings, uint64_t default_seed)
{
    char yaml[512];
    cse_dataloader *loader = NULL;
    snprintf(yaml, sizeof yaml, "{%s, %s}", common, settings);
    fixture_expect(open_loader(yaml, default_seed, &loader), CSE_OK, NULL);
    return loader;
}

START_TEST(wrong_sections_are_refused)
{
    static const struct {
        const char *yaml, *part;
    } rows[] = {
        { NULL, "data_processor" },
        { "", "data_processor" },
        { "{batch_size: 4}", "data_processor" },
        { "{data_processor: null, batch_size: 4}", "data_processor" },
        { "{data_processor: [a], batch_size: 4}", "data_processor" },
        { "{data_processor: synthetics, batch_size: 4}", "synthetic" },
        { "{data_processor: synthetic}", "batch_size" },
        { "{data_processor: synthetic, batch_sizes: 4}", "batch_size" },
        { "{data_processor: synthetic, batch_size: 4, data_dir: x}", "data_dir" },
        { "{data_processor: synthetic, batch_size: 0}", "batch_size" },
        { "{data_processor: synthetic, batch_size: four}", "batch_size" },
        { "{data_processor: synthetic, batch_size: 12, micro_batch_size: 0}", "micro_batch_size" },
        { "{data_processor: synthetic, batch_size: 12, micro_batch_size: 5}",
          "micro_batch_size 5 does not divide batch_size 12: accepted are its divisors, such as 4 "
          "and 6" },
        { "{data_processor: synthetic, batch_size: 12, micro_batch_size: 24}",
          "micro_batch_size 24 does not divide batch_size 12" },
        { "{data_processor: synthetic, samples: 100, batch_size: 101, drop_last: true}",
          "batch_size 101 is larger than the data, which has 100 samples" },
        { "{data_processor: synthetic, samples: 100, batch_size: 30, drop_last: false, "
          "skip_samples: 40}",
          "skip_samples 40 ends within a batch, and with drop_last: false batches stay as they "
          "are: accepted are multiples of batch_size (30), counted anew in each epoch of 100" },
        { "{data_processor: synthetic, samples: 9, batch_size: 4, without: [3, 9]}",
          "without: there is no sample 9: the data have 9, accepted are 0 to 8" },
        { "{data_processor: synthetic, samples: 9, batch_size: 4, without: [3, 2, 3]}",
          "without: sample 3 comes twice" },
        { "{data_processor: synthetic, samples: 2, batch_size: 2, without: [1, 0]}",
          "without: it names all 2 samples of the data" },
        { "{data_processor: synthetic, batch_size: 4, without: [-1]}", "without" },
        { "{data_processor: synthetic, batch_size: 4, without: 7}", "write [7]" },
        { "{data_processor: synthetic, features: [1, 4, 4], batch_size: 4, without: [7], "
          "mixing: {mixup_alpha: 1}}",
          "without: mixing draws the partners of samples from all of the data" },
        { "{data_processor: jsonl, path: x, batch_size: 4, without: [7], on_bad_record: skip}",
          "without: on_bad_record: skip has the next sample stand in" },
        { "{data_processor: synthetic, batch_size: 4, features: []}", "features" },
        { "{data_processor: synthetic, batch_size: 4, features: [0]}", "features" },
        { "{data_processor: synthetic, batch_size: 4, features: [1,1,1,1,1,1,1,1,1]}",
          "features has 9 sizes, accepted are 1 to 8" },
        { "{data_processor: synthetic, batch_size: 4, features: [60000, 60000]}",
          "multiply to at most 67108864" },
        { "{data_processor: synthetic, batch_size: 4, features: [1000000], classes: 1000}",
          "more than 67108864 entries" },
        { "{data_processor: synthetic, samples: 10000000000, batch_size: 1000000000}",
          "more than 2^40 bytes" },
        { "{data_processor: synthetic, batch_size: 4", "" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cse_dataloader *loader = NULL;
        fixture_expect(open_loader(rows[i].yaml, 0, &loader), CSE_CONFIG, rows[i].part);
        ck_assert_ptr_null(loader);
    }
}
END_TEST

START_TEST(sections_are_read)
{
    cse_dataloader *loader = open_good("batch_size: 30, micro_batch_size: 15", 9);
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    ck_assert_int_eq(batching->batch_size, 30);
    ck_assert_int_eq(batching->micro_batch_size, 15);
    ck_assert(!batching->shuffle && batching->drop_last);
    ck_assert_uint_eq(batching->shuffle_seed, 9);
    ck_assert_int_eq(cse_dataloader_steps_per_epoch(loader), 3);
    cse_dataloader_close(&loader);

    loader = open_good("batch_size: 25, shuffle: true, shuffle_seed: 3, drop_last: false", 9);
    batching = cse_dataloader_batching_view(loader);
    ck_assert_int_eq(batching->micro_batch_size, 25);
    ck_assert(batching->shuffle && !batching->drop_last);
    ck_assert_uint_eq(batching->shuffle_seed, 3);
    ck_assert_int_eq(cse_dataloader_steps_per_epoch(loader), 4);
    cse_dataloader_close(&loader);
    cse_dataloader_close(&loader);
}
END_TEST

START_TEST(streams_are_aligned_and_the_gaps_are_zero)
{
    cse_dataloader *loader = open_good("batch_size: 10, micro_batch_size: 5", 0);
    /* 5 samples of 3 float32 are 60 bytes, 5 labels are 20. */
    ck_assert_int_eq(cse_dataloader_stream_offset(loader, 0), 0);
    ck_assert_int_eq(cse_dataloader_stream_offset(loader, 1), 64);
    ck_assert_int_eq(cse_dataloader_microbatch_bytes(loader), 128);
    unsigned char bytes[128];
    memset(bytes, 0xa5, sizeof bytes);
    ck_assert_int_eq(cse_dataloader_read(loader, 0, 1, bytes), CSE_OK);
    for (int i = 0; i < 128; i++)
        if ((i >= 60 && i < 64) || i >= 84)
            ck_assert_uint_eq(bytes[i], 0);
    cse_dataloader_close(&loader);
}
END_TEST

START_TEST(a_place_that_does_not_exist_is_refused)
{
    cse_dataloader *loader = open_good("batch_size: 10, micro_batch_size: 5", 0);
    unsigned char bytes[128];
    fixture_expect(cse_dataloader_read(loader, 0, 2, bytes), CSE_INTERNAL, "microbatch 2 of step");
    fixture_expect(cse_dataloader_read(loader, 0, -1, bytes), CSE_INTERNAL, "microbatch -1");
    fixture_expect(cse_dataloader_read(loader, -1, 0, bytes), CSE_INTERNAL, "step -1");
    cse_dataloader_close(&loader);
}
END_TEST

/* Shuffled microbatches hold the rows that the unshuffled source has at the places of the order. */
START_TEST(a_shuffled_read_is_a_gather_of_the_source)
{
    enum { SAMPLES = 100, ROW = 3 };
    cse_dataloader *whole = open_good("batch_size: 100", 0);
    cse_dataloader *loader =
        open_good("batch_size: 24, micro_batch_size: 8, shuffle: true, shuffle_seed: 5", 0);
    const cse_batching *batching = cse_dataloader_batching_view(loader);
    int64_t samples[8];
    float *rows = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(whole));
    float *read = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    ck_assert_int_eq(cse_dataloader_read(whole, 0, 0, rows), CSE_OK);
    for (int64_t step = 0; step < 13; step++)
        for (int64_t m = 0; m < 3; m++) {
            ck_assert_int_eq(cse_dataloader_read(loader, step, m, read), CSE_OK);
            cse_position_samples(batching, SAMPLES, cse_position_of(batching, SAMPLES, step, m),
                                 samples, NULL);
            for (int i = 0; i < 8; i++)
                ck_assert_mem_eq(read + i * ROW, rows + samples[i] * ROW, ROW * sizeof *read);
        }
    free(rows);
    free(read);
    cse_dataloader_close(&whole);
    cse_dataloader_close(&loader);
}
END_TEST

enum { STEPS = 12, BATCH = 24 };

/* The stream of `workers` workers, each with a loader of its own, cut into `size` samples: the
 * bytes of features and labels in the order of the run. */
static void stream_of(int workers, int64_t size, float features[][3], int32_t labels[])
{
    char settings[128];
    int64_t microbatches = BATCH / size;
    snprintf(settings, sizeof settings, "batch_size: %d, micro_batch_size: %d, shuffle: true",
             BATCH, (int)size);
    for (int rank = workers - 1; rank >= 0; rank--) {
        cse_dataloader *loader = open_good(settings, 77);
        unsigned char *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
        for (int64_t q = rank; q < STEPS * microbatches; q += workers) {
            ck_assert_int_eq(cse_dataloader_read(loader, q / microbatches, q % microbatches, bytes),
                             CSE_OK);
            memcpy(features[q * size], bytes, (size_t)size * sizeof features[0]);
            memcpy(labels + q * size, bytes + cse_dataloader_stream_offset(loader, 1),
                   (size_t)size * sizeof labels[0]);
        }
        free(bytes);
        cse_dataloader_close(&loader);
    }
}

START_TEST(the_stream_depends_on_neither_workers_nor_cut)
{
    static const int64_t cuts[] = { 24, 12, 8, 3, 1 };
    static float features[2][STEPS * BATCH][3];
    static int32_t labels[2][STEPS * BATCH];
    stream_of(1, 24, features[0], labels[0]);
    for (int workers = 1; workers <= 3; workers++)
        for (size_t c = 0; c < sizeof cuts / sizeof cuts[0]; c++) {
            memset(features[1], 0, sizeof features[1]);
            memset(labels[1], 0xff, sizeof labels[1]);
            stream_of(workers, cuts[c], features[1], labels[1]);
            ck_assert_mem_eq(features[1], features[0], sizeof features[0]);
            ck_assert_mem_eq(labels[1], labels[0], sizeof labels[0]);
        }
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("loader");
    tcase_add_test(tests, wrong_sections_are_refused);
    tcase_add_test(tests, sections_are_read);
    tcase_add_test(tests, streams_are_aligned_and_the_gaps_are_zero);
    tcase_add_test(tests, a_place_that_does_not_exist_is_refused);
    tcase_add_test(tests, a_shuffled_read_is_a_gather_of_the_source);
    tcase_add_test(tests, the_stream_depends_on_neither_workers_nor_cut);
    return fixture_run(tests);
}
