/* kth_magnitude: the rank (ranking.h) of the elements of largest magnitude.
 *
 * Inputs: 0 x, 1 a mask of its shape, 2 a fraction, 3 a limit; and where the elements outside of
 * what is kept are ranked 4 weights and 5 the rank of those that are kept. Attributes: integers[0]
 * whether scores are random: then x is a key, int32 [2].
 *
 * Four passes find the least score, eight bits each: every pass counts the elements that agree with
 * the digits found so far, by their next digit. The first one counts all that may be taken, too; a
 * fifth finds the last element that is taken of those with the least score. Sorting would take a
 * copy of the tensor. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "csengine/generated/ops.h"
#include "engine/base/random.h"
#include "engine/graph/op.h"
#include "engine/graph/ops/ranking.h"

enum { INSIDE_INPUTS = 4, OUTSIDE_INPUTS = 6 };

static cse_tensor *trace(bool random, int count, cse_tensor *const inputs[])
{
    const cse_attributes attributes = { .integer_count = 1, .integers = { random } };
    return cse_trace(&cse_op_kth_magnitude, &attributes, count, inputs);
}

cse_tensor *cse_rank_inside(cse_tensor *x, cse_tensor *mask, cse_tensor *fraction,
                            cse_tensor *limit)
{
    cse_tensor *inputs[] = { x, mask, fraction, limit };
    return trace(false, INSIDE_INPUTS, inputs);
}

cse_tensor *cse_rank_outside(cse_tensor *x, const cse_outside *outside, cse_tensor *limit)
{
    cse_tensor *inputs[] = { x,     outside->mask,    cse_constant(1),
                             limit, outside->weights, outside->kept };
    return trace(!cse_trace_is_poison(x) && x->dtype == CSE_INT32, OUTSIDE_INPUTS, inputs);
}

cse_tensor *cse_draw_key(const char *stream)
{
    cse_tensor *halves[2];
    for (int half = 0; half < 2; half++)
        halves[half] = cse_reshape(cse_random_key(stream, half), cse_shape_of(1));
    return cse_concat(halves, 2, 0);
}

/** Which elements of x (float32) have the largest magnitudes among those where `mask`, float32 of
 * x's shape, is not 0: exactly `count` of them (int32 scalar), or all where there are fewer; a
 * bool. Of equal magnitudes the one with the lower index in row-major order comes first, NaN before
 * all numbers. A negative count: every element, at no cost. For pruning of your own. */
CSE_API cse_tensor *cse_largest_magnitudes(cse_tensor *x, cse_tensor *mask, cse_tensor *count)
{
    cse_tensor *within = cse_within_rank(x, cse_rank_inside(x, mask, cse_constant(1), count));
    return cse_logical_and(cse_not_equal(mask, cse_constant(0)), within);
}

static cse_status infer(const cse_infer *in, cse_shape *shape, cse_dtype *dtype)
{
    const bool random = in->attributes->integers[0] != 0, outside = in->input_count > INSIDE_INPUTS;
    if (in->input_count != INSIDE_INPUTS && in->input_count != OUTSIDE_INPUTS)
        return cse_fail(CSE_SHAPE, "4 inputs belong here, or 6");
    if (in->dtypes[1] != CSE_FLOAT32 || (outside && in->dtypes[4] != CSE_FLOAT32) ||
        in->dtypes[0] != (random ? CSE_INT32 : CSE_FLOAT32))
        return cse_fail(CSE_SHAPE, "x and the mask must be float32");
    if (!cse_shape_equal(in->shapes[0], random ? cse_shape_of(2) : in->shapes[1]) ||
        (outside && !cse_shape_equal(in->shapes[1], in->shapes[4])))
        return cse_fail(CSE_SHAPE, "x and the mask must have one shape");
    if (in->dtypes[2] != CSE_FLOAT32 || in->dtypes[3] != CSE_INT32 ||
        (outside && in->dtypes[5] != CSE_INT32) || in->shapes[2].rank != 0 ||
        in->shapes[3].rank != 0)
        return cse_fail(CSE_SHAPE, "the number of elements must be an int32 scalar");
    if (cse_shape_elements(in->shapes[1]) > INT32_MAX)
        return cse_fail(CSE_SHAPE, "at most 2^31 - 1 elements can be ranked");
    *shape = cse_shape_of(3);
    *dtype = CSE_INT32;
    return CSE_OK;
}

/* ---- reference: sorts a copy ---- */

typedef struct ranked {
    int32_t score;
    int64_t index;
} ranked;

static int32_t magnitude_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits & 0x7fffffff;
}

static int by_score(const void *a, const void *b)
{
    const ranked *one = a, *other = b;
    if (one->score != other->score)
        return one->score > other->score ? -1 : 1;
    return one->index < other->index ? -1 : 1;
}

static int64_t list_eligible(const cse_reference *call, ranked *list)
{
    const bool random = call->node->attributes.integers[0] != 0;
    const float *x = call->inputs[0], *mask = call->inputs[1];
    const int32_t *key = call->inputs[0];
    const bool outside = call->node->input_count == OUTSIDE_INPUTS;
    const float *weights = outside ? call->inputs[4] : NULL;
    const int32_t *kept = outside ? call->inputs[5] : NULL;
    const int64_t count = cse_shape_elements(call->node->inputs[1]->shape);
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        bool is_kept = mask[i] != 0;
        if (outside)
            is_kept = is_kept && cse_is_within_rank(magnitude_of(weights[i]), i, kept[0], kept[1]);
        if (is_kept != outside)
            list[found++] = (ranked){
                random ? (int32_t)(cse_hash_bits(cse_key_of(key[0], key[1]), (uint32_t)i) >> 1)
                       : magnitude_of(x[i]),
                i
            };
    }
    return found;
}

static void reference(const cse_reference *call)
{
    const float *fraction = call->inputs[2];
    const int32_t *limit = call->inputs[3];
    const bool outside = call->node->input_count == OUTSIDE_INPUTS;
    int32_t *y = call->output;
    y[0] = outside || limit[0] >= 0 ? CSE_RANK_OF_NONE : CSE_RANK_OF_ALL;
    y[1] = -1;
    y[2] = 0;
    if (limit[0] < 0)
        return;
    ranked *list =
        cse_calloc((size_t)cse_shape_elements(call->node->inputs[1]->shape), sizeof *list);
    const int64_t found = list_eligible(call, list);
    double wanted = nearbyint((double)(*fraction * (float)found));
    wanted = wanted > limit[0] ? limit[0] : wanted;
    wanted = wanted > (double)found ? (double)found : wanted;
    if (wanted >= 1) {
        qsort(list, (size_t)found, sizeof *list, by_score);
        const ranked *last = &list[(int64_t)wanted - 1];
        y[0] = last->score;
        y[1] = (int32_t)last->index;
        y[2] = (int32_t)wanted;
    }
    free(list);
}

/* ---- code ---- */

static void emit(cse_text *out, const cse_tensor *node)
{
    const bool random = node->attributes.integers[0] != 0;
    const bool outside = node->input_count == OUTSIDE_INPUTS;
    cse_text_add(out,
                 "enum { COUNT = %lld };\n"
                 "y[0] = %s;\n"
                 "y[1] = -1;\n"
                 "y[2] = 0;\n",
                 (long long)cse_shape_elements(node->inputs[1]->shape),
                 outside ? "0x7fffffff" : "x3[0] < 0 ? -1 : 0x7fffffff");
    cse_text_add(out, "#define ELIGIBLE(i) (%s)\n",
                 outside
                     ? "!(x1[i] != 0.0f && cse_within_rank(cse_magnitude(x4[i]), i, x5[0], x5[1]))"
                     : "x1[i] != 0.0f");
    cse_text_add(out, "#define SCORE(i) (%s)\n",
                 random ? "cse_draw_score(x0[0], x0[1], i)" : "cse_magnitude(x0[i])");
    cse_text_add(out, "int64_t counts[256] = { 0 }, found = 0;\n"
                      "for (int64_t i = 0; x3[0] >= 0 && i < COUNT; i++)\n"
                      "counts[SCORE(i) >> 24] += ELIGIBLE(i);\n"
                      "for (int digit = 0; digit < 256; digit++)\n"
                      "found += counts[digit];\n"
                      "float wanted = cse_round(x2[0] * (float)found);\n"
                      "int64_t rest = wanted > 0.0f ? (int64_t)wanted : 0;\n"
                      "rest = rest > x3[0] ? x3[0] : rest;\n"
                      "rest = rest > found ? found : rest;\n"
                      "if (rest > 0) {\n"
                      "int32_t least = 0;\n"
                      "y[2] = (int32_t)rest;\n"
                      "for (int shift = 24; shift >= 0; shift -= 8) {\n"
                      "for (int digit = 0; shift < 24 && digit < 256; digit++)\n"
                      "counts[digit] = 0;\n"
                      "for (int64_t i = 0; shift < 24 && i < COUNT; i++)\n"
                      "if ((SCORE(i) ^ least) >> shift >> 8 == 0)\n"
                      "counts[SCORE(i) >> shift & 255] += ELIGIBLE(i);\n"
                      "int32_t digit = 255;\n"
                      "while (counts[digit] < rest)\n"
                      "rest -= counts[digit--];\n"
                      "least |= digit << shift;\n"
                      "}\n"
                      "y[0] = least;\n"
                      "for (int64_t i = 0; rest > 0; i++)\n"
                      "if (SCORE(i) == least && ELIGIBLE(i)) {\n"
                      "rest--;\n"
                      "y[1] = (int32_t)i;\n"
                      "}\n"
                      "}\n"
                      "#undef ELIGIBLE\n"
                      "#undef SCORE\n");
}

const cse_op cse_op_kth_magnitude = {
    .name = "kth_magnitude",
    .summary = "from which magnitude on elements are among the largest",
    .kind = CSE_OP_BLOCK,
    .precision = CSE_FAMILY_FLOAT32,
    .min_inputs = INSIDE_INPUTS,
    .max_inputs = OUTSIDE_INPUTS,
    .infer = infer,
    .reference = reference,
    .emit = emit,
};
