/* Samples of arrow, with independent values. */
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

#include "tests/samples/inputs/arrow.h"

/* A vocabulary of three letters, and what they are merged to. */
#define TOKENIZER                                                                               \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"ab\": 3}, "    \
    "\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 4, \"content\": \"<|endoftext|>\"}], " \
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}}"
#define FILE_OF(title, form)                                      \
    {                                                             \
        .name = (title), .text = (form), .size = sizeof(form) - 1 \
    }

static const cse_input_sample samples[] = {
    { .settings = "path: [$folder/b.arrow, $folder/a.arrow], columns: {input_ids: tokens, x: "
                  "grid, y: small, labels: label, z: flag}",
      .source = "pyarrow (tests/reference/arrow.py)",
      .files = { FILE_OF("b.arrow", stream_form), FILE_OF("a.arrow", file_form) },
      .sample_count = 24,
      .value_count = 10,
      .values = { { 0, 0, 0, 0 },
                  { 0, 11, 3, 113 },
                  { 0, 17, 2, 52 },
                  { 1, 7, 5, 4.25 },
                  { 1, 23, 0, 2.75 },
                  { 2, 9, 0, -9 },
                  { 3, 5, 0, 2 },
                  { 3, 22, 0, 1 },
                  { 4, 3, 0, 1 },
                  { 4, 16, 0, 0 } } },
    { .settings = "path: $folder, columns: {input_ids: ragged, attention_mask: seen}, "
                  "sequence_length: 4, pad_id: 7, next_token: true",
      .source = "pyarrow (tests/reference/arrow.py)",
      .files = { FILE_OF("a.arrow", stream_form) },
      .sample_count = 12,
      .value_count = 12,
      .values = { { 0, 0, 0, 7 },
                  { 0, 2, 1, 201 },
                  { 0, 2, 2, 7 },
                  { 0, 11, 3, 1103 },
                  { 1, 2, 1, 1 },
                  { 1, 2, 2, 0 },
                  { 2, 0, 0, -100 },
                  { 2, 2, 0, 201 },
                  { 2, 2, 1, -100 },
                  { 2, 4, 2, 403 },
                  { 2, 5, 2, -100 },
                  { 2, 5, 3, -100 } } },
    { .settings = "path: $folder, tokenizer: $folder/tokenizer.json, sequence_length: 3",
      .source = "by hand",
      .files = { FILE_OF("a.arrow", stream_form), { .name = "tokenizer.json", .text = TOKENIZER } },
      .sample_count = 12,
      .value_count = 6,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 3 },
                  { CSE_INPUT_IDS_STREAM, 0, 1, 4 },
                  { CSE_MASK_STREAM, 0, 0, 1 },
                  { CSE_MASK_STREAM, 0, 1, 0 },
                  { CSE_INPUT_IDS_STREAM, 4, 1, 2 },
                  { CSE_LABELS_STREAM, 4, 0, 2 } } },
    { .settings = "path: $folder, on_bad_record: skip",
      .source = "pyarrow (tests/reference/arrow.py)",
      .files = { FILE_OF("a.arrow", nulls_form) },
      .sample_count = 12,
      .value_count = 8,
      .values = { { 0, 1, 0, 1 },
                  { 0, 2, 0, 4 },
                  { 0, 3, 0, 4 },
                  { 1, 5, 0, 6 },
                  { 1, 6, 1, 1 },
                  { 2, 7, 0, 8 },
                  { 3, 2, 0, 4 },
                  { 3, 11, 0, 11 } } },
    { .settings = "path: $folder/data, columns: {x: small}",
      .source = "pyarrow (tests/reference/arrow.py)",
      .files = { FILE_OF("data/one.bin", stream_form),
                 { .name = "data/state.json",
                   .text = "{\"_data_files\": [{\"filename\": \"one.bin\"}]}" } },
      .sample_count = 12,
      .value_count = 1,
      .values = { { 0, 9, 0, -9 } } },
    { .settings = "path: $folder/data, columns: {x: small}",
      .refusal = "entry 0 of _data_files names no file",
      .files = { { .name = "data/state.json",
                   .text = "{\"_data_files\": [{\"filename\": \"../one.bin\"}]}" } } },
    { .settings = "path: $folder/data",
      .source = "pyarrow (tests/reference/arrow.py)",
      .files = { FILE_OF("data/one.arrow", stream_form),
                 { .name = "data/state.json",
                   .text = "{\"_data_files\": [{\"filename\": \"one.arrow\"}], "
                           "\"_indices_data_files\": null, \"_output_all_columns\": false, "
                           "\"_format_columns\": [\"small\", \"word\"]}" } },
      .sample_count = 12,
      .value_count = 1,
      .values = { { 0, 9, 0, -9 } } },
    { .settings = "path: $folder/data",
      .refusal = "it has a table of indices",
      .files = { FILE_OF("data/one.arrow", stream_form),
                 { .name = "data/state.json",
                   .text = "{\"_data_files\": [{\"filename\": \"one.arrow\"}], "
                           "\"_indices_data_files\": [{\"filename\": \"indices.arrow\"}]}" } } },
    { .settings = "path: $folder",
      .refusal = "several splits: give the folder of one: train, test",
      .files = { { .name = "dataset_dict.json", .text = "{\"splits\": [\"train\", \"test\"]}" } } },
    { .settings = "path: $folder",
      .refusal = "cache-1f.arrow: it is a cache of datasets",
      .files = { FILE_OF("cache-1f.arrow", stream_form), FILE_OF("x-train.arrow", stream_form) } },
    { .settings = "path: $folder, columns: {x: word}",
      .refusal = "its columns are: tokens, grid, small, label, flag, ragged, seen, text, word",
      .files = { FILE_OF("a.arrow", stream_form) } },
    { .settings = "path: $folder, columns: {x: ragged}",
      .refusal = "the list is empty; set sequence_length",
      .files = { FILE_OF("a.arrow", stream_form) } },
    { .settings = "path: $folder, columns: [tokens]",
      .refusal = "accepted is {stream: column}",
      .files = { FILE_OF("a.arrow", stream_form) } },
    { .settings = "path: $folder, columns: {x: small}, next_token: true",
      .refusal = "next_token needs a stream input_ids",
      .files = { FILE_OF("a.arrow", stream_form) } },
    { .settings = "path: $folder",
      .refusal = "it is no stream of Arrow",
      .files = { { .name = "a.arrow", .text = "no table at all" } } },
    { .settings = "path: $folder", .refusal = "no file ends in .arrow" },
    { .settings = NULL },
};

CSE_SAMPLES(input, arrow, samples);
