/* Samples of token_shards, with independent values. */
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

/* 26 tokens of two letters; and 16 bytes of them as .npy. */
#define LETTERS "aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
#define NPY_HEADER                                                                  \
    "\223NUMPY\1\0\166\0{'descr': '|u1', 'fortran_order': False, 'shape': (16,), }" \
    "                                                           \n"

static const cse_input_sample samples[] = {
    { .settings = "path: $folder/a.bin, sequence_length: 2",
      .source = "ASCII",
      .files = { { .name = "a.bin", .text = LETTERS } },
      .sample_count = 12,
      .value_count = 4,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 'a' + 256 * 'A' },
                  { CSE_INPUT_IDS_STREAM, 11, 1, 'x' + 256 * 'X' },
                  { CSE_LABELS_STREAM, 11, 1, 'y' + 256 * 'Y' },
                  { CSE_LABELS_STREAM, 3, 0, 'h' + 256 * 'H' } } },
    { .settings = "path: $folder, sequence_length: 2, header_bytes: 4",
      .source = "ASCII",
      .files = { { .name = "b.bin", .text = LETTERS },
                 { .name = "a.npy",
                   .text = NPY_HEADER "0123456789abcdef",
                   .size = sizeof NPY_HEADER - 1 + 16 } },
      .sample_count = 7 + 11,
      .value_count = 4,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, '0' },
                  { CSE_LABELS_STREAM, 6, 1, 'e' },
                  { CSE_INPUT_IDS_STREAM, 7, 0, 'c' + 256 * 'C' },
                  { CSE_LABELS_STREAM, 17, 1, 'y' + 256 * 'Y' } } },
    { .settings = "path: $folder/a.bin, sequence_length: 26",
      .refusal = "it holds 26 tokens, expected at least 27",
      .files = { { .name = "a.bin", .text = LETTERS } } },
    { .settings = "path: $folder/a.bin, dtype: int32, header_bytes: 2",
      .refusal = "no whole number of int32",
      .files = { { .name = "a.bin", .text = LETTERS } } },
    { .settings = "path: $folder/a.npy",
      .refusal = "the file is not whole",
      .files = { { .name = "a.npy",
                   .text = NPY_HEADER "0123",
                   .size = sizeof NPY_HEADER - 1 + 4 } } },
    { .settings = "path: $folder", .refusal = "no file ends in" },
    { .settings = NULL },
};

CSE_SAMPLES(input, token_shards, samples);
