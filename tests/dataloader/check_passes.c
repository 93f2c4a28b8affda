/* Whatever is trained for several epochs sees all of its data: windows over sequences that they do
 * not fill, mixtures, epochs of another length than the data. Tokens are their own places in the
 * files, so that what was read says where it stood. */
#include <hdf5.h>

#include "dataloader/input.h"
#include "engine/base/random.h"
#include "run/contracts/traced_run.h"
#include "tests/dataloader/fixture.h"

enum { MOST_TOKENS = 4096 };

static void write_tokens(const char *name, int first, int count)
{
    int32_t tokens[MOST_TOKENS];
    for (int i = 0; i < count; i++)
        tokens[i] = first + i;
    fixture_write(name, tokens, (size_t)count * sizeof *tokens);
}

/* Dataset data [count]; with `time` [count / time, 3, time], where all features are the tokens. */
static void write_hdf5(const char *name, int first, int count, int time)
{
    static int32_t tokens[3 * MOST_TOKENS];
    const int rank = time > 0 ? 3 : 1;
    const hsize_t flat[] = { (hsize_t)count }, cube[] = { (hsize_t)count, 3, (hsize_t)time };
    for (int i = 0; i < count * (time > 0 ? 3 * time : 1); i++)
        tokens[i] = first + (time > 0 ? i / (3 * time) : i);
    hid_t file = H5Fcreate(fixture_path(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(rank, time > 0 ? cube : flat, NULL);
    hid_t data =
        H5Dcreate2(file, "data", H5T_NATIVE_INT32, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert_int_ge(H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, tokens), 0);
    H5Dclose(data);
    H5Sclose(space);
    H5Fclose(file);
}

static cse_dataloader *open_loader(const char *format, int number, const char *more)
{
    char yaml[1024], settings[700];
    cse_dataloader *loader = NULL;
    snprintf(settings, sizeof settings, format, fixture_folder, number);
    snprintf(yaml, sizeof yaml, "{%s, %s}", settings, more);
    cse_status status = cse_loader_open(yaml, 1, &loader);
    ck_assert_msg(status == CSE_OK, "%s: %s", yaml, cse_error_message());
    return loader;
}

/* The labels, stream 1, of each sample of an epoch: how often each number came. */
static void count_labels(cse_dataloader *loader, int64_t epoch, int *counts)
{
    const cse_input *input = cse_dataloader_input_view(loader);
    const int64_t steps = cse_dataloader_steps_per_epoch(loader);
    const int64_t elements = cse_shape_elements(input->streams[1].shape);
    unsigned char *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    for (int64_t step = epoch * steps; step < (epoch + 1) * steps; step++) {
        ck_assert_int_eq(cse_dataloader_read(loader, step, 0, bytes), CSE_OK);
        const int32_t *labels =
            (const int32_t *)(const void *)(bytes + cse_dataloader_stream_offset(loader, 1));
        const int32_t *ids = (const int32_t *)(const void *)bytes;
        for (int64_t t = 0; t < elements; t++) {
            char where[700], end[40];
            ck_assert_int_lt(labels[t], MOST_TOKENS);
            if (ids[t] != labels[t]) /* windows: the place is told, too */
                ck_assert_int_eq(labels[t], ids[t] + 1);
            counts[labels[t]]++;
            cse_dataloader_locate(loader, 1, t, where, sizeof where);
            snprintf(end, sizeof end, " %d (", labels[t] % 1000);
            ck_assert_msg(ids[t] == labels[t] || strstr(where, end) != NULL, "%s is not at%s",
                          where, end);
        }
    }
    free(bytes);
}

/* In an epoch no token is a label twice; in two of them each one is, but for the first of a
 * file. */
static void check_windows(const char *settings, int sequence_length, int tokens, int files)
{
    for (int shuffled = 0; shuffled < 2; shuffled++) {
        int all[MOST_TOKENS] = { 0 };
        cse_dataloader *loader = open_loader(
            settings, sequence_length, shuffled ? "batch_size: 1, shuffle: true" : "batch_size: 1");
        for (int64_t epoch = 0; epoch < 2; epoch++) {
            int counts[MOST_TOKENS] = { 0 };
            count_labels(loader, epoch, counts);
            for (int i = 0; i < MOST_TOKENS; i++) {
                ck_assert_int_le(counts[i], 1);
                all[i] += counts[i];
            }
        }
        for (int file = 0; file < files; file++)
            for (int i = 1; i < tokens; i++)
                ck_assert_msg(all[1000 * file + i] >= 1,
                              "token %d of %d is no label in samples of %d", i, tokens,
                              sequence_length);
        cse_dataloader_close(&loader);
    }
}

static uint32_t chosen(uint32_t number, uint32_t i)
{
    uint32_t words[4];
    cse_philox(2028, (const uint32_t[]){ number, i, 0, 0 }, words);
    return words[0];
}

START_TEST(windows_reach_all_tokens)
{
    for (uint32_t number = 0; number < 8; number++) {
        const int time = 1 + (int)(chosen(number, 0) % 20);
        const int tokens = time + 1 + (int)(chosen(number, 1) % (uint32_t)(250 - time));
        unsigned char bytes[MOST_TOKENS];
        for (int i = 0; i < tokens; i++)
            bytes[i] = (unsigned char)i;
        fixture_write("text", bytes, (size_t)tokens);
        check_windows("data_processor: text_bytes, path: %s/text, sequence_length: %d", time,
                      tokens, 1);
        write_tokens("a.bin", 0, tokens);
        write_tokens("b.bin", 1000, tokens);
        check_windows("data_processor: token_shards, path: %s, dtype: int32, sequence_length: %d",
                      time, tokens, 2);
        write_hdf5("a.h5", 0, tokens, 0);
        write_hdf5("b.h5", 1000, tokens, 0);
        check_windows("data_processor: hdf5_lm, data_dir: %s, max_sequence_length: %d", time,
                      tokens, 2);
    }
}
END_TEST

/* The part of a corpus for training never has a token of the part behind it. */
START_TEST(parts_of_a_corpus_stay_apart)
{
    int counts[MOST_TOKENS] = { 0 };
    write_hdf5("a.h5", 0, 107, 0);
    cse_dataloader *loader = open_loader("data_processor: hdf5_lm, data_dir: %s, "
                                         "max_sequence_length: %d, data_subset: '0.0-0.5'",
                                         10, "batch_size: 1, shuffle: true");
    count_labels(loader, 0, counts);
    count_labels(loader, 1, counts);
    for (int i = 1; i < MOST_TOKENS; i++)
        ck_assert_int_eq(counts[i], i <= 50 ? 2 : 0);
    cse_dataloader_close(&loader);
}
END_TEST

/* Of a folder alone in a mixture, and of an epoch of any length, each pass has each sample once. */
static void check_stream(const char *settings, int samples)
{
    int counts[MOST_TOKENS] = { 0 };
    cse_dataloader *loader = open_loader(settings, samples, "batch_size: 1, shuffle: true");
    const int64_t steps = cse_dataloader_steps_per_epoch(loader);
    int32_t *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
    int first[2][64], same = 0;
    for (int64_t step = 0; step < 5 * samples; step++) {
        ck_assert_int_eq(cse_dataloader_read(loader, step, 0, bytes), CSE_OK);
        counts[bytes[0]]++;
        if (step < 2 * samples)
            first[step / samples][step % samples % 64] = bytes[0];
        for (int s = 0; s < samples && step % samples == samples - 1; s++)
            ck_assert_int_eq(counts[s], (int)(step / samples) + 1);
    }
    for (int i = 0; i < samples && i < 64; i++)
        same += first[0][i] == first[1][i];
    ck_assert_int_lt(same, 10);
    ck_assert_int_gt(steps, 0);
    free(bytes);
    cse_dataloader_close(&loader);
}

START_TEST(epochs_of_any_length_have_whole_passes)
{
    write_hdf5("a.h5", 0, 37, 4);
    check_stream("data_processor: hdf5_lm, mixture: [{data_dir: %s, weight: 2}]", 37);
    check_stream("data_processor: hdf5_lm, data_dir: %s, num_samples: 11", 37);
    check_stream("data_processor: hdf5_lm, data_dir: %s, num_samples: 3000", 37);
    check_stream("data_processor: GptHDF5MapDataProcessor, data_dir: %s, num_samples: 64", 37);
}
END_TEST

/* In their order, an epoch of fewer samples has the first ones, and a longer one goes through them
 * again. */
START_TEST(in_their_order_samples_begin_again)
{
    write_hdf5("a.h5", 0, 37, 4);
    for (int wanted = 11; wanted < 100; wanted += 70) {
        cse_dataloader *loader = open_loader(
            "data_processor: hdf5_lm, data_dir: %s, num_samples: %d", wanted, "batch_size: 1");
        int32_t *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
        ck_assert_int_eq(cse_dataloader_steps_per_epoch(loader), wanted);
        for (int64_t step = 0; step < 3 * wanted; step++) {
            ck_assert_int_eq(cse_dataloader_read(loader, step, 0, bytes), CSE_OK);
            ck_assert_int_eq(bytes[0], step % wanted % 37);
        }
        free(bytes);
        cse_dataloader_close(&loader);
    }
}
END_TEST

/* Other cuts into microbatches, other processes and a start in the middle read the same; another
 * seed of the shuffling does not. */
START_TEST(a_mixture_is_the_same_whoever_reads_it)
{
    enum { BATCH = 12, STEPS = 40 };
    static const char settings[] = "data_processor: hdf5_lm, mixture: [{data_dir: %s/a.h5, "
                                   "weight: %d}, {data_dir: %s/b.h5, weight: 1}]";
    static const char *const more[] = { "batch_size: 12, micro_batch_size: 12, shuffle: true",
                                        "batch_size: 12, micro_batch_size: 4, shuffle: true",
                                        "batch_size: 12, micro_batch_size: 1, shuffle: true",
                                        "batch_size: 12, micro_batch_size: 2" };
    int32_t seen[4][STEPS][BATCH];
    write_hdf5("a.h5", 0, 23, 4);
    write_hdf5("b.h5", 1000, 17, 4);
    for (int cut = 0; cut < 4; cut++) {
        char filled[700];
        snprintf(filled, sizeof filled, settings, fixture_folder, 3, fixture_folder);
        cse_dataloader *loader = open_loader(filled, 0, more[cut]);
        const int64_t size = cse_dataloader_batching_view(loader)->micro_batch_size;
        int32_t *bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(loader));
        for (int64_t step = STEPS - 1; step >= 0; step--)
            for (int64_t m = 0; m < BATCH / size; m++) {
                ck_assert_int_eq(cse_dataloader_read(loader, step, m, bytes), CSE_OK);
                for (int64_t i = 0; i < size; i++)
                    seen[cut][step][m * size + i] = bytes[i * 4];
            }
        free(bytes);
        cse_dataloader_close(&loader);
    }
    ck_assert_mem_eq(seen[1], seen[0], sizeof seen[0]);
    ck_assert_mem_eq(seen[2], seen[0], sizeof seen[0]);
    ck_assert_mem_ne(seen[3], seen[0], sizeof seen[0]);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("passes");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, windows_reach_all_tokens);
    tcase_add_test(tests, parts_of_a_corpus_stay_apart);
    tcase_add_test(tests, epochs_of_any_length_have_whole_passes);
    tcase_add_test(tests, in_their_order_samples_begin_again);
    tcase_add_test(tests, a_mixture_is_the_same_whoever_reads_it);
    return fixture_run(tests);
}
