/* A sample as people see it, as JSON: a picture, a text, or its first numbers; and its label. */
#ifndef CSE_RUN_INFER_SAMPLE_VIEW_H
#define CSE_RUN_INFER_SAMPLE_VIEW_H

#include <jansson.h>

#include "dataloader/input.h"
#include "dataloader/tables/class_names.h"
#include "run/infer/text_codec.h"

/* The bytes of a text that may not be UTF-8: U+FFFD stands for those that are of no character. */
json_t *cse_bytes_json(const char *bytes, size_t size);

/* The stream that holds pictures; -1: none does. */
int cse_picture_stream(const cse_input *input);
/* The stream that holds tokens; -1: none does. */
int cse_token_stream(const cse_input *input);

/* Sample `i` of `outputs`, as cse_dataloader_read_samples wrote them; `number` is its number in the
 * data. A new object: sample, place, label, name (of the class), and picture {width, height,
 * channels, pixels} of at most 64 x 64, text, or values. `codec` may be NULL. */
json_t *cse_sample_view(const cse_input *input, void *const outputs[], int64_t i, int64_t number,
                        const cse_text_codec *codec);

/* The most likely of `count` classes by the logarithms of their probabilities, up to a constant. A
 * new array of objects: class, name (if it has one), probability. */
json_t *cse_classes_json(const float *logits, int64_t count, const cse_class_names *names);

#endif
