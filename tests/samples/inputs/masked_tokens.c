/* Samples of bert_hdf5 and bert_hdf5_processor. */
#include "tests/samples/inputs/masked_tokens.h"
#include "tests/samples/samples.h"

#define FILE_OF(title, form)                                      \
    {                                                             \
        .name = (title), .text = (form), .size = sizeof(form) - 1 \
    }

static const cse_input_sample samples[] = {
    { .settings = "data_dir: $folder",
      .source = "h5py (tests/reference/hdf5_masked.py)",
      .files = { FILE_OF("b.h5", gathered_form), FILE_OF("a.h5", gathered_form) },
      .sample_count = 12,
      .value_count = 8,
      .values = { { 0, 5, 3, 503 },
                  { 0, 11, 4, 504 },
                  { 1, 7, 3, 1 },
                  { 1, 7, 4, 0 },
                  { 2, 8, 1, 1201 },
                  { 3, 3, 0, 3 },
                  { 3, 10, 1, 2 },
                  { 4, 10, 1, 0 } } },
    { .settings = "data_dir: [$folder/a.h5], use_vsl: true",
      .source = "h5py (tests/reference/hdf5_masked.py)",
      .files = { FILE_OF("a.h5", spanned_form) },
      .sample_count = 10,
      .value_count = 7,
      .values = { { 0, 9, 3, 903 },
                  { 1, 2, 4, 0 },
                  { 2, 4, 1, -100 },
                  { 2, 4, 2, 1402 },
                  { 3, 6, 1, 3 },
                  { 4, 6, 3, 3 },
                  { 4, 0, 4, 4 } } },
    { .settings = "data_dir: $folder, use_vsl: true",
      .refusal = "the files have 2 features",
      .files = { FILE_OF("a.h5", gathered_form) } },
    { .settings = "data_dir: $folder",
      .refusal = "dataset data has the shape [10, 4, 5], and other files [samples, 2, 5]",
      .files = { FILE_OF("b.h5", spanned_form), FILE_OF("a.h5", gathered_form) } },
    { .settings = "data_dir: $folder, max_sequence_length: 4",
      .refusal = "samples have 5 tokens",
      .files = { FILE_OF("a.h5", gathered_form) } },
    { .settings = "data_dir: $folder", .refusal = "no file ends in .h5" },
    { .settings = NULL },
};

CSE_SAMPLES(input, bert_hdf5, samples);
CSE_SAMPLES(input, bert_hdf5_processor, samples);
