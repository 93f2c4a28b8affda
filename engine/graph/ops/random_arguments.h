/* What the random ops share: an element is a pure function of (seed, step, stream, sample, element
 * in the sample), so that it is the same whoever computes it, in whatever order.
 *
 * Their last input is int32 of the output's shape: the position in the global batch of the sample
 * that an element belongs to, or 0 where the tensor does not depend on the batch. Attributes:
 * integers[0] the stream (32 bits of the hash of its name), integers[1] the elements of one sample;
 * numbers as each op says. */
#ifndef CSE_OPS_RANDOM_ARGUMENTS_H
#define CSE_OPS_RANDOM_ARGUMENTS_H

#include "engine/base/random.h"
#include "engine/graph/trace/arguments.h"

/* In expressions: an element's counter; input number `sample` has the sample positions. */
#define CSE_DRAW_COUNTER(sample) \
    "$seed, $step, CSE_STREAM($a0), (uint32_t)" sample ", (uint32_t)($n % $a1)"

/* The samples of a tensor of the shape (and level) of `like`, or of `shape` where `like` is NULL,
 * and the op's attributes for the stream named `stream`. A batch-level tensor must hold its samples
 * along the first axis. Fails in the traced graph and returns poison. */
cse_tensor *cse_random_samples(const char *op_name, const cse_tensor *like, cse_shape shape,
                               const char *stream, cse_attributes *attributes);

/* The common shape rule: int32 samples give float32. */
cse_status cse_infer_random(const cse_infer *in, cse_shape *shape, cse_dtype *dtype);

/* The four words of element `index`, for reference kernels. */
void cse_reference_draw(const cse_reference *call, int64_t index, uint32_t words[4]);

#endif
