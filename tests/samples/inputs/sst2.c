/* Samples of sst2, with independent values. */
#include "dataloader/tokens/sentence_tokens.h"
#include "tests/samples/samples.h"

#define VOCABULARY "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ncat\n##s\n,\ncafe\n"
#define SETTINGS "data_dir: $folder, vocab_file: $folder/vocab.txt, do_lower: true, "
#define ROW "The cats, \303\241 caf\303\251\t1\n"
#define ROWS ROW ROW ROW ROW ROW ROW ROW ROW ROW "THE dog\t0\n"

static const cse_input_sample samples[] = {
    { .settings = SETTINGS "is_training: true, max_sequence_length: 10",
      .source = "by hand",
      .files = { { .name = "train.tsv", .text = "sentence\tlabel\n" ROWS },
                 { .name = "vocab.txt", .text = VOCABULARY } },
      .sample_count = 10,
      .value_count = 12,
      .values = { { CSE_SENTENCE_IDS, 0, 0, 2 },
                  { CSE_SENTENCE_IDS, 0, 1, 4 },
                  { CSE_SENTENCE_IDS, 0, 2, 5 },
                  { CSE_SENTENCE_IDS, 0, 3, 6 },
                  { CSE_SENTENCE_IDS, 0, 4, 7 },
                  { CSE_SENTENCE_IDS, 0, 5, 1 },
                  { CSE_SENTENCE_IDS, 0, 6, 8 },
                  { CSE_SENTENCE_IDS, 0, 7, 3 },
                  { CSE_SENTENCE_IDS, 9, 2, 1 },
                  { CSE_SENTENCE_MASK, 9, 4, 0 },
                  { CSE_SENTENCE_SEGMENTS, 0, 7, 0 },
                  { CSE_SENTENCE_LABELS, 0, 0, 1 } } },
    { .settings = SETTINGS "is_training: false, max_sequence_length: 10", .refusal = "dev.tsv" },
    { .settings = SETTINGS "is_training: true, max_sequence_length: 8",
      .refusal = "there is no column",
      .files = { { .name = "train.tsv", .text = "text\tclass\na\t1\n" },
                 { .name = "vocab.txt", .text = VOCABULARY } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, sst2, samples);
