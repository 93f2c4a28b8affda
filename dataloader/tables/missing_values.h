/* What is done about values that are not there: empty fields, NaN and infinities. Training on one
 * of them makes every weight NaN, so that without a setting they are refused. */
#ifndef CSE_DATALOADER_TABLES_MISSING_VALUES_H
#define CSE_DATALOADER_TABLES_MISSING_VALUES_H

#include <stdint.h>

#include "csengine/extend.h"

/* Rows for an input function's table of settings. */
#define CSE_MISSING_VALUES_SETTINGS                                                                \
    { .name = "missing_values",                                                                    \
      .type = CSE_SETTING_CHOICE,                                                                  \
      .default_value = "refuse",                                                                   \
      .choices = "refuse|drop|fill",                                                               \
      .doc = "what is done about an empty field, NaN and infinity: refuse: the run ends with the " \
             "place; drop: the sample is left out, and their number is told; fill: fill_value "    \
             "takes its place, in features" },                                                     \
    {                                                                                              \
        .name = "fill_value", .type = CSE_SETTING_NUMBER_LIST, .default_value = "[0.0]",           \
        .doc = "with missing_values: fill: one number for all features, or one for each, before "  \
               "mean and std"                                                                      \
    }

typedef enum cse_missing_values {
    CSE_MISSING_REFUSED,
    CSE_MISSING_DROPPED,
    CSE_MISSING_FILLED
} cse_missing_values;

/* What a message about such a value ends with. */
#define CSE_MISSING_HINT \
    "set missing_values: drop leaves such samples out, fill puts fill_value in their place"

cse_missing_values cse_missing_values_read(const cse_settings *settings);

/* The numbers of the setting `name`, one for each feature of `path`; the caller frees `*values`.
 * CSE_CONFIG for any other number of them than 1 and `features`. */
cse_status cse_feature_numbers(const cse_settings *settings, const char *name, int64_t features,
                               const char *path, double **values);

/* Tells, once in a run, how many samples were left out, if any; CSE_DATA where none is left. */
cse_status cse_missing_values_told(const char *path, int64_t dropped, int64_t left);

#endif
