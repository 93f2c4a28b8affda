/* What chance hides of a text: spans of T5 of all lengths alike, and words of BERT at all places
 * alike, but for those that are never hidden. A chi-square with so many degrees of freedom is above
 * the limit once in 10,000 times. */
#include "dataloader/input.h"
#include "run/contracts/traced_run.h"
#include "tests/dataloader/fixture.h"

enum { EPOCHS = 6000, MOST = 64 };

typedef struct reading {
    cse_dataloader *loader;
    unsigned char *bytes;
} reading;

static reading open_reading(const char *format)
{
    char settings[700], yaml[800];
    reading r = { .loader = NULL };
    snprintf(settings, sizeof settings, format, fixture_folder, fixture_folder);
    snprintf(yaml, sizeof yaml, "{%s, batch_size: 1, shuffle_seed: 3}", settings);
    ck_assert_msg(cse_loader_open(yaml, 1, &r.loader) == CSE_OK, "%s", cse_error_message());
    ck_assert_int_eq(cse_dataloader_steps_per_epoch(r.loader), 1);
    r.bytes = aligned_alloc(64, (size_t)cse_dataloader_microbatch_bytes(r.loader));
    return r;
}

static const int32_t *stream_of(const reading *r, const char *name)
{
    const cse_input *input = cse_dataloader_input_view(r->loader);
    int s = 0;
    while (strcmp(input->streams[s].name, name) != 0)
        ck_assert_int_lt(++s, input->stream_count);
    return (const int32_t *)(const void *)(r->bytes + cse_dataloader_stream_offset(r->loader, s));
}

static void close_reading(reading *r)
{
    cse_dataloader_close(&r->loader);
    free(r->bytes);
}

static void check_even(const int *counts, int count, double limit)
{
    const double expected = (double)EPOCHS / count;
    double chi_square = 0;
    for (int i = 0; i < count; i++)
        chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    ck_assert_double_lt(chi_square, limit);
}

/* Of 40 words 6 are hidden in 2 spans: the first has 1 to 5 of them, behind 1 to 33 others. */
START_TEST(spans_have_all_lengths)
{
    char text[400] = "", vocabulary[400] = "<pad>\n</s>\n<unk>\n";
    int hidden[5] = { 0 }, staying[33] = { 0 };
    for (int i = 0; i < 40; i++) {
        snprintf(text + strlen(text), 12, "w%d ", i);
        snprintf(vocabulary + strlen(vocabulary), 12, "w%d\n", i);
    }
    text[strlen(text) - 1] = '\n';
    fixture_write("a.txt", text, strlen(text));
    fixture_write("vocabulary", vocabulary, strlen(vocabulary));
    reading r = open_reading("data_processor: T5DynamicDataProcessor, src_data_dir: %s, "
                             "src_vocab_file: %s/vocabulary, extra_ids: 10, "
                             "src_max_sequence_length: 37, tgt_max_sequence_length: 20");
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        ck_assert_int_eq(cse_dataloader_read(r.loader, epoch, 0, r.bytes), CSE_OK);
        const int32_t *labels = stream_of(&r, "labels"), *ids = stream_of(&r, "input_ids");
        int length = 0, before = 0;
        while (labels[1 + length] < 43)
            length++;
        while (ids[before] < 43)
            before++;
        ck_assert(length >= 1 && length <= 5 && before >= 1 && before <= 33);
        ck_assert_int_eq(labels[1], 3 + before); /* the word that follows */
        hidden[length - 1]++;
        staying[before - 1]++;
    }
    check_even(hidden, 5, 23.5);
    check_even(staying, 33, 70.6);
    close_reading(&r);
}
END_TEST

/* One of eight words is hidden, never one of the four that are left out by default. */
START_TEST(words_are_hidden_at_all_places)
{
    static const char vocabulary[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n";
    static const char table[] =
        "tokens\n\"['[CLS]', 'a', 'b', 'c', '[SEP]', 'a', 'b', '[SEP]']\"\n";
    int counts[8] = { 0 };
    fixture_write("a.csv", table, sizeof table - 1);
    fixture_write("vocab.txt", vocabulary, sizeof vocabulary - 1);
    reading r = open_reading("data_processor: BertCSVDynamicMaskDataProcessor, data_dir: %s, "
                             "vocab_file: %s/vocab.txt, max_sequence_length: 8, "
                             "max_predictions_per_seq: 4, disable_nsp: true");
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        ck_assert_int_eq(cse_dataloader_read(r.loader, epoch, 0, r.bytes), CSE_OK);
        const int32_t *mask = stream_of(&r, "masked_lm_mask");
        ck_assert(mask[0] == 1 && mask[1] == 0);
        counts[stream_of(&r, "masked_lm_positions")[0]]++;
    }
    ck_assert_int_eq(counts[0] + counts[4] + counts[7], 0);
    const int allowed[] = { counts[1], counts[2], counts[3], counts[5], counts[6] };
    check_even(allowed, 5, 23.5);
    close_reading(&r);
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("hidden words");
    tcase_add_checked_fixture(tests, fixture_make_folder, fixture_remove_folder);
    tcase_add_test(tests, spans_have_all_lengths);
    tcase_add_test(tests, words_are_hidden_at_all_places);
    return fixture_run(tests);
}
