/* Writing a GGUF file. */
#ifndef CSE_WEIGHTS_GGUF_WRITER_H
#define CSE_WEIGHTS_GGUF_WRITER_H

#include "engine/formats/weights/format.h"

/* Of files whose names are ours, without facts of a model. */
#define CSE_GGUF_ARCHITECTURE_OF_OURS "csengine"

/* The element of a number of GGUF; CSE_ELEMENT_COUNT: there is none, it may be a packed type. */
cse_element cse_gguf_element(uint32_t type);

/* As `write` of a format. Matrices are packed where the target says so, if their rows are whole
 * blocks; what has one dimension stays as it is, or is float32 in files for another program, which
 * computes with these alone. */
cse_status cse_gguf_write(cse_weights *from, const cse_weights_target *to);

#endif
