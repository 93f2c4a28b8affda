/* Samples of bert_csv and bert_csv_processor. */
#include "tests/samples/samples.h"

#define HEADER "input_ids,attention_mask,labels,note,masked_lm_weights,next_sentence_label\n"
#define ROW(n)                                    \
    "\"[" n ", 7]\",\"[1, 0]\",\"[-100,3]\",any," \
    "\"[1]\"," n "\n"
#define FILE_A HEADER ROW("0") ROW("1") ROW("2") ROW("3") ROW("4") ROW("5")
#define FILE_B HEADER ROW("6") ROW("7") ROW("8") ROW("9")

static const cse_input_sample samples[] = {
    { .settings = "data_dir: $folder",
      .source = "by hand",
      .files = { { .name = "a.csv", .text = FILE_A }, { .name = "b.csv", .text = FILE_B } },
      .sample_count = 10,
      .value_count = 7,
      .values = { { 0, 0, 0, 0 },
                  { 0, 7, 0, 7 },
                  { 0, 9, 1, 7 },
                  { 1, 6, 1, 0 },
                  { 2, 5, 0, -100 },
                  { 3, 3, 0, 1 },
                  { 4, 9, 0, 9 } } },
    { .settings = "data_dir: $folder", .refusal = "no file ends in .csv" },
    { .settings = "data_dir: $folder",
      .refusal = "there is no column attention_mask",
      .files = { { .name = "a.csv", .text = "input_ids,labels\n\"[1]\",\"[2]\"\n" } } },
    { .settings = "data_dir: $folder",
      .refusal = "two columns have the name labels",
      .files = { { .name = "a.csv", .text = "labels,labels\n\"[1]\",\"[2]\"\n" } } },
    { .settings = "data_dir: $folder",
      .refusal = "line 2: column input_ids is no list",
      .files = { { .name = "a.csv", .text = "input_ids,labels\n\"[1,x]\",\"[2]\"\n" } } },
    { .settings = NULL },
};

CSE_SAMPLES(input, bert_csv, samples);
CSE_SAMPLES(input, bert_csv_processor, samples);
