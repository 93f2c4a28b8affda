/* Samples of gpt_hdf5, with independent values. */
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

#include "tests/samples/inputs/hdf5_lm.h"

static const cse_input_sample samples[] = {
    { .settings = "data_dir: [$folder/a.h5, $folder/b.h5]",
      .source = "h5py (tests/reference/hdf5_lm.py)",
      .files = { { .name = "b.h5", .text = sample_form, .size = sizeof sample_form - 1 },
                 { .name = "a.h5", .text = sample_form, .size = sizeof sample_form - 1 } },
      .sample_count = 12,
      .value_count = 3,
      .values = { { CSE_INPUT_IDS_STREAM, 5, 3, 503 },
                  { CSE_LABELS_STREAM, 11, 0, 501 },
                  { CSE_MASK_STREAM, 5, 3, 0 } } },
    { .settings =
          "data_dir: $folder/c.h5, max_sequence_length: 4, data_transforms: [{name: "
          "add_sink_tokens, sink_token_id: 9, num_sink_tokens: 2, sink_token_start_pos: 1}]",
      .source = "h5py (tests/reference/hdf5_lm.py), two tokens put before the second",
      .files = { { .name = "c.h5", .text = corpus_form, .size = sizeof corpus_form - 1 } },
      .sample_count = 12,
      .value_count = 9,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 1000 },
                  { CSE_INPUT_IDS_STREAM, 0, 1, 9 },
                  { CSE_INPUT_IDS_STREAM, 0, 2, 9 },
                  { CSE_INPUT_IDS_STREAM, 0, 3, 1001 },
                  { CSE_INPUT_IDS_STREAM, 11, 5, 1047 },
                  { CSE_LABELS_STREAM, 11, 5, 1048 },
                  { CSE_LABELS_STREAM, 11, 1, CSE_IGNORED_LABEL },
                  { CSE_MASK_STREAM, 7, 2, 0 },
                  { CSE_MASK_STREAM, 7, 3, 1 } } },
    { .settings = "data_dir: $folder/c.h5, max_sequence_length: 4, data_transforms: [{name: "
                  "add_sink_tokens, num_sink_tokens: 3, truncate_to_original_length: true}]",
      .source = "h5py (tests/reference/hdf5_lm.py), three tokens before the first",
      .files = { { .name = "c.h5", .text = corpus_form, .size = sizeof corpus_form - 1 } },
      .sample_count = 12,
      .value_count = 4,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 2, 0 },
                  { CSE_INPUT_IDS_STREAM, 0, 3, 1000 },
                  { CSE_LABELS_STREAM, 0, 3, 1001 },
                  { CSE_MASK_STREAM, 0, 0, 0 } } },
    { .settings = "data_dir: $folder, data_transforms: [{name: add_memory_tokens}]",
      .refusal = "accepted: add_sink_tokens" },
    { .settings = "data_dir: $folder", .refusal = "no file ends in .h5" },
    { .settings = NULL },
};

CSE_SAMPLES(input, gpt_hdf5, samples);
CSE_SAMPLES(input, gpt_hdf5_map, samples);
