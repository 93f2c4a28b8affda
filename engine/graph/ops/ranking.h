/* What the ops share that find the elements of a tensor with the highest scores: of exactly how
 * many is known beforehand, and which is settled by a score and an index.
 *
 * An element's score is 31 bits: those of its magnitude, which have the order of the magnitudes, or
 * random ones. A rank is int32 [3]: the least score that is within it; the index of the last
 * element within it of those that have that score; and how many elements are within it. So equal
 * scores are told apart by the index, and as many elements as were asked for are within. */
#ifndef CSE_OPS_RANKING_H
#define CSE_OPS_RANKING_H

#include "engine/graph/trace/arguments.h"

/* Ranks of no element and of all. */
#define CSE_RANK_OF_NONE 0x7fffffff
#define CSE_RANK_OF_ALL (-1)

/* The rank of those elements with mask[i] != 0 whose |x| are largest: of the part `fraction`
 * (float32 scalar), rounded to the nearest number, but not more than `limit` (int32 scalar). A
 * negative limit stands for a rank of all, and costs no pass over the tensor. */
cse_tensor *cse_rank_inside(cse_tensor *x, cse_tensor *mask, cse_tensor *fraction,
                            cse_tensor *limit);

/* What cse_rank_outside ranks: elements that are not kept, which are those with mask[i] != 0 and
 * `weights` within `kept`. */
typedef struct cse_outside {
    cse_tensor *mask, *weights, *kept;
} cse_outside;

/* The rank of the `limit` elements with the largest |x| among those that are not kept; a negative
 * limit stands for a rank of none. x is float32 of the mask's shape or a key from
 * cse_draw_key, whose random scores rank instead. */
cse_tensor *cse_rank_outside(cse_tensor *x, const cse_outside *outside, cse_tensor *limit);

/* A key for random scores, int32 [2]: a pure function of (seed, step, the stream's name). */
cse_tensor *cse_draw_key(const char *stream);

/* Which elements of x, or of random scores in the shape of `like`, are within the rank; bools. */
cse_tensor *cse_within_rank(cse_tensor *x, cse_tensor *rank);
cse_tensor *cse_draw_within_rank(const char *stream, const cse_tensor *like, cse_tensor *rank);

/* Part `index` of a rank as a scalar, in the shape of `like`. */
cse_tensor *cse_rank_part(cse_tensor *rank, int index, const cse_tensor *like);

/* For reference kernels. */
static inline bool cse_is_within_rank(int32_t score, int64_t index, int32_t least, int32_t last)
{
    return score > least || (score == least && index <= last);
}

#endif
