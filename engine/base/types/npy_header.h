/* The head of a file of NumPy's format 1.0 (numpy.lib.format): what stands before the elements. */
#ifndef CSE_TYPES_NPY_HEADER_H
#define CSE_TYPES_NPY_HEADER_H

#include "csengine/tensor.h"
#include "engine/base/text.h"

/* Adds the header of an array in C order; `type` as NumPy names it ("<f4"). Its size is a multiple
 * of 64 of at least `least` bytes: a number of rows that is not known yet fits in later. */
void cse_npy_header_print(const char *type, cse_shape shape, size_t least, cse_text *out);

#endif
