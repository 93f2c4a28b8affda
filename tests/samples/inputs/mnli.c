/* Samples of mnli, with independent values. */
#include "dataloader/tokens/sentence_tokens.h"
#include "tests/samples/samples.h"

#define VOCABULARY "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ncat\n##s\n,\ncafe\n"
#define SETTINGS "data_dir: $folder, vocab_file: $folder/vocab.txt, do_lower: true, "
#define ROW "1\tthe cats\tthe \"cat\tneutral\n"
#define ROWS ROW ROW ROW ROW ROW ROW ROW ROW ROW "2\tcat cat cat cat\tthe the the\tcontradiction\n"

static const cse_input_sample samples[] = {
    { .settings = SETTINGS "is_training: true, max_sequence_length: 9",
      .source = "by hand",
      .files = { { .name = "train.tsv", .text = "index\tsentence1\tsentence2\tgold_label\n" ROWS },
                 { .name = "vocab.txt", .text = VOCABULARY } },
      .sample_count = 10,
      .value_count = 12,
      .values = { { CSE_SENTENCE_IDS, 0, 3, 6 },
                  { CSE_SENTENCE_IDS, 0, 4, 3 },
                  { CSE_SENTENCE_IDS, 0, 6, 1 },
                  { CSE_SENTENCE_IDS, 0, 7, 5 },
                  { CSE_SENTENCE_IDS, 0, 8, 3 },
                  { CSE_SENTENCE_IDS, 9, 3, 5 },
                  { CSE_SENTENCE_IDS, 9, 4, 3 },
                  { CSE_SENTENCE_SEGMENTS, 0, 4, 0 },
                  { CSE_SENTENCE_SEGMENTS, 0, 5, 1 },
                  { CSE_SENTENCE_MASK, 9, 8, 1 },
                  { CSE_SENTENCE_LABELS, 0, 0, 1 },
                  { CSE_SENTENCE_LABELS, 9, 0, 2 } } },
    { .settings = SETTINGS "is_training: false, max_sequence_length: 10",
      .refusal = "dev_matched.tsv" },
    { .settings = SETTINGS "is_training: true, max_sequence_length: 8",
      .refusal = "there is no column",
      .files = { { .name = "train.tsv", .text = "text\tclass\na\t1\n" },
                 { .name = "vocab.txt", .text = VOCABULARY } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, mnli, samples);
