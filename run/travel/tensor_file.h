/* Tensors as a file for other programs: .npz or .safetensors, or any other format of weights. */
#ifndef CSE_RUN_TRAVEL_TENSOR_FILE_H
#define CSE_RUN_TRAVEL_TENSOR_FILE_H

#include "engine/formats/checkpoint/tensors.h"

/* Under their full names. CSE_USAGE for a name of a file that tells no format, CSE_CANNOT_CREATE,
 * CSE_IO. */
cse_status cse_tensors_write(const cse_checkpoint_tensor *tensors, int count, const char *path);

#endif
