/* Samples of jsonl, with independent values. */
#include "dataloader/inputs/labelled.h"
#include "dataloader/inputs/token_streams.h"
#include "tests/samples/samples.h"

/* A vocabulary of three letters, and what they are merged to. */
#define TOKENIZER                                                                               \
    "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"c\": 2, \"ab\": 3}, "    \
    "\"merges\": [\"a b\"]}, \"added_tokens\": [{\"id\": 4, \"content\": \"<|endoftext|>\"}], " \
    "\"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false}}"
#define LINE(prompt, text) "{\"p\": \"" prompt "\", \"text\": \"" text "\"}\n"
#define TEXTS                                                                          \
    LINE("c", "ab")                                                                    \
    LINE("cc", "abc")                                                                  \
    LINE("", "")                                                                       \
    "\n" LINE("", "abababab") LINE("", "a") LINE("", "b") LINE("", "c") LINE("", "cc") \
        LINE("", "cb") LINE("", "ca")
#define ROW(number) "{\"x\": [" number ", 0.5], \"y\": " number "}\n"
#define ROWS \
    ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5") ROW("6") ROW("7") ROW("8") ROW("9")

static const cse_input_sample samples[] = {
    { .settings = "path: $folder/a.jsonl, tokenizer: $folder/tokenizer.json, sequence_length: 3",
      .source = "by hand",
      .files = { { .name = "a.jsonl", .text = TEXTS },
                 { .name = "tokenizer.json", .text = TOKENIZER } },
      .sample_count = 10,
      .value_count = 11,
      .values = { { CSE_INPUT_IDS_STREAM, 0, 0, 3 },
                  { CSE_MASK_STREAM, 0, 0, 1 },
                  { CSE_MASK_STREAM, 0, 1, 0 },
                  { CSE_INPUT_IDS_STREAM, 0, 1, 4 },
                  { CSE_INPUT_IDS_STREAM, 0, 2, 4 },
                  { CSE_LABELS_STREAM, 0, 0, 4 },
                  { CSE_LABELS_STREAM, 0, 1, CSE_IGNORED_LABEL },
                  { CSE_INPUT_IDS_STREAM, 2, 0, 4 },
                  { CSE_LABELS_STREAM, 2, 0, CSE_IGNORED_LABEL },
                  { CSE_LABELS_STREAM, 3, 2, 3 },
                  { CSE_INPUT_IDS_STREAM, 9, 1, 0 } } },
    { .settings = "path: $folder/a.jsonl, tokenizer: $folder/tokenizer.json, prompt: p, "
                  "sequence_length: 4, end_of_text: none",
      .source = "by hand",
      .files = { { .name = "a.jsonl", .text = TEXTS },
                 { .name = "tokenizer.json", .text = TOKENIZER } },
      .sample_count = 10,
      .value_count = 7,
      .values = { { CSE_INPUT_IDS_STREAM, 1, 0, 2 },
                  { CSE_MASK_STREAM, 1, 0, 0 },
                  { CSE_INPUT_IDS_STREAM, 1, 2, 3 },
                  { CSE_LABELS_STREAM, 1, 0, CSE_IGNORED_LABEL },
                  { CSE_LABELS_STREAM, 1, 1, 3 },
                  { CSE_LABELS_STREAM, 1, 2, 2 },
                  { CSE_LABELS_STREAM, 1, 3, CSE_IGNORED_LABEL } } },
    { .settings = "path: $folder/a.jsonl, features: x, label: y",
      .source = "by hand",
      .files = { { .name = "a.jsonl", .text = ROWS } },
      .sample_count = 10,
      .value_count = 3,
      .values = { { CSE_FEATURES_STREAM, 7, 0, 7 },
                  { CSE_FEATURES_STREAM, 7, 1, 0.5 },
                  { CSE_ANSWERS_STREAM, 9, 0, 9 } } },
    { .settings = "path: $folder/a.jsonl",
      .refusal = "line 1: member \"features\"",
      .files = { { .name = "a.jsonl", .text = ROWS } } },
    { .settings = "path: $folder/a.jsonl",
      .refusal = "it is compressed",
      .files = { { .name = "a.jsonl", .text = ROWS, .gzip = true } } },
    { .settings = "path: $folder/a.jsonl",
      .refusal = "it has no line",
      .files = { { .name = "a.jsonl", .text = "\n \n" } } },
    { .settings = "path: $folder/a.jsonl, tokenizer: $folder/tokenizer.json, end_of_text: x",
      .refusal = "no token \"x\"",
      .files = { { .name = "a.jsonl", .text = TEXTS },
                 { .name = "tokenizer.json", .text = TOKENIZER } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, jsonl, samples);
