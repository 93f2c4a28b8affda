/* Samples of hdf5_lm, with independent values. */
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

#include "tests/samples/inputs/hdf5_lm.h"

static const cse_input_sample samples[] = {
    { .settings = "data_dir: $folder",
      .source = "h5py (tests/reference/hdf5_lm.py)",
      .files = { { .name = "b.h5", .text = sample_form, .size = sizeof sample_form - 1 },
                 { .name = "a.h5", .text = sample_form, .size = sizeof sample_form - 1 } },
      .sample_count = 12,
      .value_count = 6,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 0 },
                  { CSE_INPUT_IDS_STREAM, 5, 3, 503 },
                  { CSE_INPUT_IDS_STREAM, 8, 1, 201 },
                  { CSE_LABELS_STREAM, 11, 0, 501 },
                  { CSE_LABELS_STREAM, 5, 3, CSE_IGNORED_LABEL },
                  { CSE_MASK_STREAM, 5, 3, 0 } } },
    { .settings = "data_dir: $folder/c.h5, max_sequence_length: 4",
      .source = "h5py (tests/reference/hdf5_lm.py)",
      .files = { { .name = "c.h5", .text = corpus_form, .size = sizeof corpus_form - 1 } },
      .sample_count = 12,
      .value_count = 5,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 1000 },
                  { CSE_INPUT_IDS_STREAM, 11, 3, 1047 },
                  { CSE_LABELS_STREAM, 11, 3, 1048 },
                  { CSE_LABELS_STREAM, 1, 0, 1005 },
                  { CSE_MASK_STREAM, 7, 2, 1 } } },
    { .settings = "data_dir: $folder, attention_mask: false",
      .source = "h5py (tests/reference/hdf5_lm.py)",
      .files = { { .name = "b.h5", .text = sample_form, .size = sizeof sample_form - 1 },
                 { .name = "a.h5", .text = sample_form, .size = sizeof sample_form - 1 } },
      .sample_count = 12,
      .value_count = 2,
      .values = { { CSE_INPUT_IDS_STREAM, 5, 3, 503 },
                  { CSE_LABELS_STREAM, 5, 3, CSE_IGNORED_LABEL } } },
    { .settings = "data_dir: $folder/c.h5",
      .refusal = "set max_sequence_length",
      .files = { { .name = "c.h5", .text = corpus_form, .size = sizeof corpus_form - 1 } } },
    { .settings = "data_dir: $folder, max_sequence_length: 5",
      .refusal = "samples of 4 tokens, not 5",
      .files = { { .name = "a.h5", .text = sample_form, .size = sizeof sample_form - 1 } } },
    { .settings = "data_dir: $folder", .refusal = "no file ends in .h5" },
    { .settings = "data_dir: $folder",
      .refusal = "HDF5 cannot open",
      .files = { { .name = "a.h5", .text = sample_form, .size = 300 } } },
    { .settings = "data_dir: $folder, mixture: []", .refusal = "one of the two" },
    { .settings = NULL },
};

CSE_SAMPLES(input, hdf5_lm, samples);
