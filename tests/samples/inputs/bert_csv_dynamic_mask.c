/* Samples of bert_csv_dynamic_mask, with independent values. */
#include "tests/samples/samples.h"

#define VOCABULARY "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\n"
#define ROW(n) \
    "\"['[CLS]', 'The', \"\"cat\"\", '[SEP]', 'dog', '[SEP]']\",\"[0, 0, 0, 0, 1, 1]\"," n "\n"
#define ROWS \
    ROW("0") ROW("1") ROW("0") ROW("1") ROW("0") ROW("1") ROW("0") ROW("1") ROW("0") ROW("1")
#define SETTINGS \
    "data_dir: $folder, vocab_file: $folder/vocab.txt, max_sequence_length: 8, do_lower: true, "

/* Without words that may be hidden, what is read is known. */
/* The streams, in their order. */
enum { INPUT_IDS, ATTENTION, LABELS, MASK, POSITIONS, SEGMENT_IDS, NEXT };

static const cse_input_sample samples[] = {
    { .settings = SETTINGS "max_predictions_per_seq: 2, exclude_from_masking: [\"[CLS]\", "
                           "\"[SEP]\", the, cat, dog]",
      .source = "by hand",
      .files = { { .name = "a.csv", .text = "tokens,segment_ids,is_random_next\n" ROWS },
                 { .name = "vocab.txt", .text = VOCABULARY } },
      .sample_count = 10,
      .value_count = 12,
      .values = { { INPUT_IDS, 0, 0, 2 },
                  { INPUT_IDS, 9, 1, 5 },
                  { INPUT_IDS, 9, 2, 6 },
                  { INPUT_IDS, 9, 4, 1 },
                  { INPUT_IDS, 9, 6, 0 },
                  { ATTENTION, 1, 5, 1 },
                  { ATTENTION, 1, 6, 0 },
                  { LABELS, 1, 1, 0 },
                  { MASK, 1, 0, 0 },
                  { POSITIONS, 1, 0, 0 },
                  { SEGMENT_IDS, 1, 4, 1 },
                  { NEXT, 3, 0, 1 } } },
    { .settings = SETTINGS "max_predictions_per_seq: 1, exclude_from_masking: [\"[CLS]\", "
                           "\"[SEP]\", the, dog]",
      .source = "by hand: one word of each sample can be hidden",
      .files = { { .name = "a.csv", .text = "tokens,segment_ids,is_random_next\n" ROWS },
                 { .name = "vocab.txt", .text = VOCABULARY } },
      .sample_count = 10,
      .value_count = 7,
      .values = { { LABELS, 0, 0, 6 },
                  { MASK, 0, 0, 1 },
                  { POSITIONS, 7, 0, 2 },
                  { ATTENTION, 7, 0, 1 },
                  { SEGMENT_IDS, 7, 0, 0 },
                  { NEXT, 7, 0, 1 },
                  { INPUT_IDS, 7, 1, 5 } } },
    { .settings = SETTINGS "max_predictions_per_seq: 2, mask_whole_word: true",
      .refusal = "mask_whole_word" },
    { .settings = SETTINGS "max_predictions_per_seq: 2",
      .refusal = "the word [mask] is not in it",
      .files = { { .name = "a.csv", .text = "tokens\n" ROWS },
                 { .name = "vocab.txt", .text = "[PAD]\n[UNK]\n" } } },
    { .settings = SETTINGS "max_predictions_per_seq: 2",
      .refusal = "there is no column tokens",
      .files = { { .name = "a.csv", .text = "words\n" ROWS },
                 { .name = "vocab.txt", .text = VOCABULARY } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, bert_csv_dynamic_mask, samples);
