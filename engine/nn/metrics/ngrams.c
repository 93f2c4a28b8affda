/* Two n-grams are alike where n pairs of tokens in a row are: the table of equal pairs, and itself
 * moved along its diagonal. A prediction's n-gram counts while fewer equal ones stand before it
 * than the labels have: that is the lesser of both numbers, as a sum of ones. */
#include "engine/nn/metrics/ngrams.h"

#include "csengine/generated/ops.h"

static const int last[] = { -1 };

/* [batch, time] as [batch, time, 1] or [batch, 1, time]. */
static cse_tensor *placed(cse_tensor *x, int axis)
{
    const cse_shape shape = cse_tensor_shape(x);
    return cse_reshape(x, axis == 1 ? cse_shape_of(shape.dims[0], shape.dims[1], 1)
                                    : cse_shape_of(shape.dims[0], 1, shape.dims[1]));
}

/* Bools [batch, time of a, time of b] -> of n pairs in a row. */
static cse_tensor *runs_alike(cse_tensor *a, cse_tensor *b, int64_t n)
{
    cse_tensor *pairs = cse_equal(placed(a, 1), placed(b, 2)), *all = NULL;
    const cse_shape shape = cse_tensor_shape(pairs);
    for (int64_t k = 0; k < n; k++) {
        cse_tensor *part = cse_slice_axis(pairs, 1, k, shape.dims[1] - n + 1 + k);
        part = cse_slice_axis(part, 2, k, shape.dims[2] - n + 1 + k);
        all = all != NULL ? cse_logical_and(all, part) : part;
    }
    return all;
}

/* Bools [batch, positions]: an n-gram without padding begins there. */
static cse_tensor *begins(cse_tensor *x, int64_t n, int64_t padding)
{
    const int64_t time = cse_tensor_shape(x).dims[1];
    cse_tensor *is_token = cse_not_equal(x, cse_constant_int((int32_t)padding)), *all = NULL;
    if (padding < 0)
        is_token = cse_equal(x, x);
    for (int64_t k = 0; k < n; k++) {
        cse_tensor *part = cse_slice_axis(is_token, 1, k, time - n + 1 + k);
        all = all != NULL ? cse_logical_and(all, part) : part;
    }
    return all;
}

static cse_tensor *number(cse_tensor *bools)
{
    return cse_cast(bools, CSE_FLOAT32);
}

cse_ngrams cse_ngrams_of(cse_metric_step *step, int64_t n, int64_t padding)
{
    cse_tensor *labels = step->arguments[0], *predictions = step->arguments[1];
    if (cse_tensor_shape(labels).dims[1] < n || cse_tensor_shape(predictions).dims[1] < n)
        return (cse_ngrams){ NULL, NULL, NULL };
    cse_tensor *predicted = begins(predictions, n, padding), *labelled = begins(labels, n, padding);
    cse_tensor *before = cse_tril(number(runs_alike(predictions, predictions, n)), -1);
    cse_tensor *there = runs_alike(predictions, labels, n);
    there = number(cse_logical_and(there, placed(labelled, 2)));
    cse_tensor *counts = cse_less(cse_sum(before, last, 1, false), cse_sum(there, last, 1, false));
    return (cse_ngrams){ number(cse_logical_and(predicted, counts)), number(predicted),
                         number(labelled) };
}

cse_tensor *cse_ngrams_sum(cse_tensor *x)
{
    return x != NULL ? cse_metric_sum(x) : cse_constant(0);
}
