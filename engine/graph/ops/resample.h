/* What changes the size of images: each axis by itself, from positions that the sizes give. */
#ifndef CSE_OPS_RESAMPLE_H
#define CSE_OPS_RESAMPLE_H

#include "engine/graph/trace/arguments.h"

/* x with `size` elements along `axis`, each the nearest one of x's. */
cse_tensor *cse_resample_nearest(cse_tensor *x, int axis, int64_t size);

/* x with `size` elements along `axis`, each between two neighbours of x's. */
cse_tensor *cse_resample_linear(cse_tensor *x, int axis, int64_t size, bool align_corners);

#endif
