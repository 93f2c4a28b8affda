/* Emulated accumulation; see accumulate.h.
 *
 * The emitted block of C computes up to 16 sums at a time, one in each SIMD lane: neighbours along
 * the last axis that is not reduced. So no sum is split, and a sum over the first axes reads whole
 * cache lines. */
#include "engine/graph/trace/accumulate.h"

#include <math.h>
#include <stdio.h>

#include "engine/base/random.h"
#include "engine/base/types/dtype.h"

cse_accumulator cse_accumulator_start(const cse_reference *call, int64_t element)
{
    return (cse_accumulator){ .call = call, .element = (uint32_t)element };
}

static void end_tile(cse_accumulator *sum)
{
    const cse_accumulation *how = &sum->call->node->accumulation;
    float value = sum->running + sum->tile;
    if (how->stochastic) {
        uint32_t sample = sum->call->node->batch ? (uint32_t)sum->call->first_sample : 0;
        uint64_t key =
            cse_hash_key(sum->call->seed, sum->call->step, how->stream, sample, sum->tiles);
        sum->running = cse_round_stochastic(how->across, value, cse_hash_bits(key, sum->element));
    } else {
        sum->running = cse_float_from_format(how->across, cse_round_to_bits(how->across, value));
    }
    sum->tile = 0;
    sum->terms = 0;
    sum->tiles++;
}

void cse_accumulator_add(cse_accumulator *sum, double a, double b)
{
    sum->tile = fmaf((float)a, (float)b, sum->tile);
    if (++sum->terms == sum->call->node->accumulation.tile_length)
        end_tile(sum);
}

float cse_accumulator_end(cse_accumulator *sum)
{
    if (sum->terms > 0)
        end_tile(sum);
    return sum->running;
}

void cse_reference_tiled_sum(const cse_reference *call)
{
    cse_walk outer, inner;
    cse_reduce_walks(call->node, &outer, &inner);
    int64_t at[CSE_MAX_RANK] = { 0 }, first = 0, out = 0, ignored = 0;
    cse_dtype from = call->node->inputs[0]->dtype;
    do {
        cse_accumulator sum = cse_accumulator_start(call, out);
        int64_t within[CSE_MAX_RANK] = { 0 }, source = first;
        do
            cse_accumulator_add(&sum, cse_read_element(from, call->inputs[0], source), 1);
        while (cse_walk_advance(&inner, within, &source, &ignored));
        cse_write_element(call->node->dtype, call->output, out, (double)cse_accumulator_end(&sum));
    } while (cse_walk_advance(&outer, at, &first, &out));
}

/* ---- as code ---- */

static void emit_loops(cse_text *out, const cse_walk *walk, int axes, char index)
{
    for (int i = 0; i < axes; i++)
        cse_text_add(out, "    for (int64_t %c%d = 0; %c%d < %lld; %c%d++)\n", index, i, index, i,
                     (long long)walk->shape.dims[i], index, i);
}

static void emit_offset(cse_text *out, const int64_t strides[], int axes, char index)
{
    for (int i = 0; i < axes; i++)
        if (strides[i] != 0)
            cse_text_add(out, " + %c%d * %lld", index, i, (long long)strides[i]);
}

static void emit_value(cse_text *out, cse_dtype dtype, const char *element)
{
    if (dtype == CSE_FLOAT32)
        cse_text_add(out, "%s", element);
    else
        cse_text_add(out, "cse_load_%s(%s)", cse_dtype_name(dtype), element);
}

/* The code that ends a tile, in each lane. `first` is the number of the first lane's sum. */
static void emit_end_of_tile(cse_text *out, const cse_tensor *node)
{
    const cse_accumulation *how = &node->accumulation;
    const char *format = cse_dtype_name(how->across);
    if (how->stochastic)
        cse_text_add(out,
                     "            const uint64_t key = cse_hash_key(frame->seed, frame->step, "
                     "CSE_STREAM(%u),\n"
                     "                (uint32_t)%s, tiles);\n",
                     (unsigned)how->stream, node->batch ? "frame->first_sample" : "0");
    cse_text_add(out, "#pragma omp simd\n            for (int64_t l = 0; l < lanes; l++) {\n");
    if (how->stochastic)
        cse_text_add(out,
                     "                running[l] = cse_round_%s_stochastic(running[l] + tile[l],\n"
                     "                    cse_hash_bits(key, (uint32_t)(first + l)));\n",
                     format);
    else
        cse_text_add(out, "                running[l] = cse_round_%s(running[l] + tile[l]);\n",
                     format);
    cse_text_add(out, "                tile[l] = 0;\n            }\n"
                      "            terms = 0;\n            tiles++;\n");
}

void cse_emit_tiled_sum(cse_text *out, const cse_tensor *node)
{
    cse_walk outer, inner;
    cse_reduce_walks(node, &outer, &inner);
    int last = outer.shape.rank - 1; /* the axis of the lanes */
    long long size = last < 0 ? 1 : outer.shape.dims[last];
    long long stride = last < 0 ? 0 : outer.source_strides[last];
    emit_loops(out, &outer, last, 'i');
    cse_text_add(out,
                 "    for (int64_t j = 0; j < %lld; j += 16) {\n"
                 "        const int64_t lanes = %lld - j < 16 ? %lld - j : 16, first = j",
                 size, size, size);
    emit_offset(out, outer.target_strides, last, 'i');
    cse_text_add(out, ";\n        float running[16] = { 0 }, tile[16] = { 0 };\n"
                      "        int32_t terms = 0;\n        uint32_t tiles = 0;\n");
    cse_text_add(out, "        int64_t left = %lld;\n", (long long)cse_shape_elements(inner.shape));
    emit_loops(out, &inner, inner.shape.rank, 'k');
    cse_text_add(out, "        {\n            const int64_t from = j * %lld", stride);
    emit_offset(out, outer.source_strides, last, 'i');
    emit_offset(out, inner.source_strides, inner.shape.rank, 'k');
    cse_text_add(out, ";\n#pragma omp simd\n            for (int64_t l = 0; l < lanes; l++)\n"
                      "                tile[l] += ");
    char element[64];
    snprintf(element, sizeof element, "x0[from + l * %lld]", stride);
    emit_value(out, node->inputs[0]->dtype, element);
    cse_text_add(out,
                 ";\n            left--;\n            if (++terms < %d && left > 0)\n"
                 "                continue;\n",
                 (int)node->accumulation.tile_length);
    emit_end_of_tile(out, node);
    cse_text_add(out, "        }\n        for (int64_t l = 0; l < lanes; l++)\n"
                      "            y[first + l] = ");
    if (node->dtype == CSE_FLOAT32)
        cse_text_add(out, "running[l];\n    }\n");
    else
        cse_text_add(out, "cse_store_%s(running[l]);\n    }\n", cse_dtype_name(node->dtype));
}
