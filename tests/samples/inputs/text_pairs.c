/* Samples of text_pairs, with independent values. */
#include "tests/samples/samples.h"

#define VOCABULARY                                                                    \
    {                                                                                 \
        .name = "vocab.txt", .text = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nthe\ncat\n##s\n,\n" \
    }
#define SETTINGS "vocabulary: $folder/vocab.txt, max_sequence_length: 6, "
#define TIMES_NINE(line) line line line line line line line line line

static const cse_input_sample samples[] = {
    { .settings = SETTINGS "path: $folder/a.csv",
      .source = "by hand",
      .files = { { .name = "a.csv",
                   .text = "positive,other,anchor\n" TIMES_NINE("\"the, cats\",x,cat\n") "cat,,"
                                                                                         "dog\n" },
                 VOCABULARY },
      .sample_count = 10,
      .value_count = 9,
      .values = { { 0, 0, 0, 2 },
                  { 0, 0, 1, 5 },
                  { 0, 0, 2, 3 },
                  { 1, 0, 3, 0 },
                  { 0, 0, 7, 4 },
                  { 0, 0, 10, 6 },
                  { 1, 0, 11, 1 },
                  { 0, 9, 1, 1 },
                  { 2, 9, 7, 0 } } },
    { .settings = SETTINGS "path: $folder/a.jsonl, texts: [a, b, c]",
      .source = "by hand",
      .files = { { .name = "a.jsonl",
                   .text =
                       TIMES_NINE("{\"a\": \"the\", \"c\": \"cat\", \"b\": \"\"}\n") "{\"a\": "
                                                                                     "\"cats\", "
                                                                                     "\"b\": "
                                                                                     "\"the\", "
                                                                                     "\"c\": "
                                                                                     "\",\"}\n" },
                 VOCABULARY },
      .sample_count = 10,
      .value_count = 6,
      .values = { { 0, 0, 1, 4 },
                  { 0, 0, 7, 3 },
                  { 0, 0, 13, 5 },
                  { 1, 0, 8, 0 },
                  { 0, 9, 2, 6 },
                  { 2, 9, 13, 0 } } },
    { .settings = SETTINGS "path: $folder/a.txt, texts: [text]",
      .source = "by hand",
      .files = { { .name = "a.txt", .text = TIMES_NINE("the cat\n") "cats, the cat\n" },
                 VOCABULARY },
      .sample_count = 10,
      .value_count = 5,
      .values = { { 0, 0, 2, 5 },
                  { 0, 0, 3, 3 },
                  { 1, 0, 4, 0 },
                  { 0, 9, 4, 4 },
                  { 2, 9, 5, 0 } } },
    { .settings = SETTINGS "path: $folder/a.txt",
      .refusal = "a line of a .txt is one text, not 2",
      .files = { { .name = "a.txt", .text = "the cat\n" }, VOCABULARY } },
    { .settings = SETTINGS "path: $folder/a.csv",
      .refusal = "there is no column anchor; its columns are: a, b",
      .files = { { .name = "a.csv", .text = "a,b\nthe,cat\n" }, VOCABULARY } },
    { .settings = SETTINGS "path: $folder/a.jsonl",
      .refusal = "a.jsonl: line 1: it has no text in member \"positive\"",
      .files = { { .name = "a.jsonl", .text = "{\"anchor\": \"the\"}\n" }, VOCABULARY } },
    { .settings = SETTINGS "path: $folder/a.md",
      .refusal = "accepted: .csv, .tsv, .jsonl, .txt",
      .files = { { .name = "a.md", .text = "x" }, VOCABULARY } },
    { .settings = NULL },
};

CSE_SAMPLES(input, text_pairs, samples);
