/* Weights that other programs pack into several tensors of a safetensors file, as the object
 * quantization_config of config.json says: GPTQ, AWQ, and the 4-bit and 8-bit types of
 * bitsandbytes. They are opened as the matrices that they stand for, in float32. */
#ifndef CSE_WEIGHTS_QUANTIZED_H
#define CSE_WEIGHTS_QUANTIZED_H

#include "engine/formats/weights/weights.h"

/* Puts the unpacked weights in the place of `*weights`, which they own, and takes
 * quantization_config out of the facts; nothing where there is none. CSE_DATA: a key, a value, or a
 * tensor that does not fit, by its name; `*weights` stays the caller's. */
cse_status cse_quantized_unpack(cse_weights **weights);

#endif
