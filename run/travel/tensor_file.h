/* Tensors as a file for other programs: .npz or .safetensors, or any other format of weights. */
#ifndef CSE_RUN_TRAVEL_TENSOR_FILE_H
#define CSE_RUN_TRAVEL_TENSOR_FILE_H

#include "engine/formats/checkpoint/tensors.h"

/* A .npz file of such tensors, mapped: an element is read where it lies. */
typedef struct cse_tensor_map cse_tensor_map;

/* Under their full names. CSE_USAGE for a name of a file that tells no format, CSE_CANNOT_CREATE,
 * CSE_IO. */
cse_status cse_tensors_write(const cse_checkpoint_tensor *tensors, int count, const char *path);

/* Of an open file, which stays the caller's. Release the map also after a failure. */
cse_status cse_tensors_map(int file, cse_tensor_map **map);
void cse_tensors_unmap(cse_tensor_map **map);
/* The tensor of float32 or int32 values with this name. CSE_NO_INPUT, CSE_DATA. */
cse_status cse_tensor_map_find(const cse_tensor_map *map, const char *name,
                               cse_checkpoint_tensor *tensor);

#endif
