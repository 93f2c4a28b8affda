/* Samples of text_bytes, with independent values. */
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

static const cse_input_sample samples[] = {
    { .settings = "path: $folder/text.gz, sequence_length: 4, stride: 2",
      .source = "ASCII",
      .files = { { .name = "text.gz", .text = "abcdefghijklmnopqrstuvwxyz\377", .gzip = true } },
      .sample_count = 12,
      .value_count = 6,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 'a' },
                  { CSE_INPUT_IDS_STREAM, 1, 0, 'c' },
                  { CSE_INPUT_IDS_STREAM, 11, 3, 'z' },
                  { CSE_LABELS_STREAM, 0, 0, 'b' },
                  { CSE_LABELS_STREAM, 1, 3, 'g' },
                  { CSE_LABELS_STREAM, 11, 3, 255 } } },
    { .settings = "path: $folder/text, sequence_length: 4",
      .refusal = "expected at least 5 bytes",
      .files = { { .name = "text", .text = "abcd" } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, text_bytes, samples);
