/* Samples of t5_dynamic, with independent values. */
#include "tests/samples/samples.h"

/* With two words a sequence, the second is hidden whatever chance says. */
#define DOCUMENT "a b\n"
#define VOCABULARY "<pad>\n</s>\n<unk>\na\nb\n"
#define SETTINGS                                                                \
    "src_data_dir: $folder, src_vocab_file: $folder/vocabulary, extra_ids: 3, " \
    "src_max_sequence_length: 6, "

/* The streams, in their order. */
enum { INPUT_IDS, ATTENTION, DECODER_IDS, DECODER_ATTENTION, LABELS };

static const cse_input_sample samples[] = {
    { .settings = SETTINGS "tgt_max_sequence_length: 5",
      .source = "by hand",
      .files = { { .name = "*.txt", .text = DOCUMENT },
                 { .name = "vocabulary", .text = VOCABULARY } },
      .sample_count = 10,
      .value_count = 12,
      .values = { { INPUT_IDS, 0, 0, 3 },
                  { INPUT_IDS, 9, 1, 7 },
                  { INPUT_IDS, 9, 2, 0 },
                  { ATTENTION, 9, 1, 1 },
                  { ATTENTION, 9, 2, 0 },
                  { DECODER_IDS, 1, 0, 2 },
                  { DECODER_IDS, 1, 1, 7 },
                  { DECODER_IDS, 1, 2, 4 },
                  { LABELS, 1, 0, 7 },
                  { LABELS, 1, 2, 1 },
                  { DECODER_ATTENTION, 3, 2, 1 },
                  { DECODER_ATTENTION, 3, 3, 0 } } },
    { .settings = "src_data_dir: $folder, src_vocab_file: $folder/v, src_max_sequence_length: 512, "
                  "tgt_max_sequence_length: 113",
      .refusal = "takes up to 114" },
    { .settings = SETTINGS "tgt_max_sequence_length: 5, pack_sequences: true",
      .refusal = "pack_sequences" },
    { .settings = SETTINGS "tgt_max_sequence_length: 5",
      .refusal = "the word <unk> is not in it",
      .files = { { .name = "a.txt", .text = DOCUMENT }, { .name = "vocabulary", .text = "a\n" } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, t5_dynamic, samples);
