/* Tensors of a step as lines for people, and as JSON. */
#ifndef CSE_CLI_MODELS_TENSOR_LINES_H
#define CSE_CLI_MODELS_TENSOR_LINES_H

#include <jansson.h>

#include "engine/formats/checkpoint/tensors.h"

/* Facts, a histogram and the first `values` values of a tensor of float32 or int32. */
void cse_tensor_print(const cse_checkpoint_tensor *tensor, int64_t values);
/* One line, as of a series. */
void cse_tensor_print_row(const cse_checkpoint_tensor *tensor, int64_t step);
/* The same as the first; the caller owns it. */
json_t *cse_tensor_json(const cse_checkpoint_tensor *tensor, int64_t values);

#endif
