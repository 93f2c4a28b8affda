/* The ModelZoo's SST2DataProcessor: sentences of films, 0 for bad and 1 for good ones. */
#include "dataloader/inputs/glue_sentences.h"

static const cse_glue_task task = { .training = "train.tsv",
                                    .validation = { "dev.tsv" },
                                    .sentences = { "sentence" },
                                    .label = "label" };

static cse_status sst2_open(cse_input *input, const cse_settings *settings)
{
    return cse_glue_open(input, settings, &task);
}

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

const cse_input_descriptor cse_input_sst2 = {
    .name = "SST2DataProcessor",
    .summary = "sentences with a class from the tables of SST-2, as the ModelZoo has them",
    .settings = cse_glue_settings,
    .open = sst2_open,
    .read = cse_glue_read,
    .locate = cse_glue_locate,
    .close = cse_glue_close,
    .samples = samples,
    .describe = cse_glue_describe,
};
