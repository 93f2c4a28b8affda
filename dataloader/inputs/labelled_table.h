/* Samples from a table of numbers: each row is a sample, one column is the target (a class or a
 * number), and other columns are the features. Shared by the formats of tables. */
#ifndef CSE_DATALOADER_INPUTS_LABELLED_TABLE_H
#define CSE_DATALOADER_INPUTS_LABELLED_TABLE_H

#include "dataloader/inputs/labelled.h"
#include "dataloader/tables/csv_table.h"

/* Rows for an input function's table of settings, which also has `path`. */
#define CSE_LABELLED_TABLE_SETTINGS                                                               \
    { .name = "label",                                                                            \
      .type = CSE_SETTING_TEXT,                                                                   \
      .default_value = "null",                                                                    \
      .doc =                                                                                      \
          "column of the answer: its name in the header, or its number counted from 0, or from "  \
          "-1 on backwards; needed but for predictions" },                                        \
        { .name = "features",                                                                     \
          .type = CSE_SETTING_TEXT_LIST,                                                          \
          .default_value = "[]",                                                                  \
          .doc =                                                                                  \
              "columns of the features, in this order, by name or number; none: all others than " \
              "label and weights, in the order of the file" },                                    \
        { .name = "weights",                                                                      \
          .type = CSE_SETTING_TEXT,                                                               \
          .default_value = "null",                                                                \
          .doc = "column, by name or number, of weights from 0 on: samples are drawn with "       \
                 "replacement, as often as theirs says; it is no feature" },                      \
        { .name = "regression",                                                                   \
          .type = CSE_SETTING_BOOL,                                                               \
          .default_value = "false",                                                               \
          .doc = "the answer is a number: stream targets (float32) in place of labels (int32)" }, \
        { .name = "classes",                                                                      \
          .type = CSE_SETTING_INTEGER,                                                            \
          .default_value = "null",                                                                \
          .min = 1,                                                                               \
          .max = INT32_MAX,                                                                       \
          .doc = "labels must be from 0 to classes - 1" },                                        \
        { .name = "class_names",                                                                  \
          .type = CSE_SETTING_TEXT_LIST,                                                          \
          .default_value = "[]",                                                                  \
          .doc = "the column of the answer has these words in place of numbers; the first is "    \
                 "class 0" },                                                                     \
        { .name = "mean",                                                                         \
          .type = CSE_SETTING_NUMBER_LIST,                                                        \
          .default_value = "[0.0]",                                                               \
          .doc = "subtracted from the features: one number for all, or one for each" },           \
        { .name = "std",                                                                          \
          .type = CSE_SETTING_NUMBER_LIST,                                                        \
          .default_value = "[1.0]",                                                               \
          .doc = "divides the features after that: one number for all, or one for each" },        \
        CSE_MISSING_VALUES_SETTINGS, CSE_FEATURES_NAME_SETTING

/* Reads the table of the setting `path` as `options` say, after it has set those that are its own.
 */
typedef cse_status cse_table_reader(const cse_settings *settings, cse_csv_options *options,
                                    cse_csv_table *table);

cse_status cse_labelled_table_open(cse_input *input, const cse_settings *settings,
                                   cse_table_reader *read);
cse_status cse_labelled_table_read(cse_input *input, const int64_t *indices, int64_t count,
                                   void *const outputs[]);
void cse_labelled_table_locate(const cse_input *input, const cse_element_place *place, char *text,
                               size_t size);
void cse_labelled_table_close(cse_input *input);

#endif
