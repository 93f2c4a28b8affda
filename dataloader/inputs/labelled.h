/* Shared by input functions with one feature tensor and one target per sample: a class label, or a
 * number for a regression. */
#ifndef CSE_DATALOADER_INPUTS_LABELLED_H
#define CSE_DATALOADER_INPUTS_LABELLED_H

#include "dataloader/input.h"

enum { CSE_FEATURES_STREAM, CSE_ANSWERS_STREAM };

/* A row for an input function's table of settings. */
#define CSE_FEATURES_NAME_SETTING                                                     \
    {                                                                                 \
        .name = "features_name", .type = CSE_SETTING_TEXT, .default_value = "images", \
        .doc = "name under which a model asks for the features"                       \
    }

/* Sets the streams: features (float32, named as `features`, which must live as long as the input),
 * and `labels` (int32) or `targets` (float32). */
void cse_describe_labelled(cse_input *input, const char *features, cse_shape shape,
                           bool regression);

/* Writes target `i` of a batch in the type of its stream. */
void cse_write_answer(void *const outputs[], int64_t i, bool regression, double answer);

#endif
