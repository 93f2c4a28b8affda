/* Blocks of any number of values; the last one may be shorter. */
#include "engine/graph/ops/blockwise.h"

#include <string.h>

void cse_quantize_values(const float *values, int64_t count, int32_t factor, int32_t *words)
{
    for (int64_t first = 0; first < count; first += CSE_BLOCK_ELEMENTS) {
        float block[CSE_BLOCK_ELEMENTS] = { 0 };
        const int64_t rest = count - first;
        memcpy(block, values + first,
               (size_t)(rest < CSE_BLOCK_ELEMENTS ? rest : CSE_BLOCK_ELEMENTS) * sizeof *block);
        cse_quantize_block(block, factor, words + first / CSE_BLOCK_ELEMENTS * CSE_BLOCK_WORDS);
    }
}

void cse_dequantize_values(const int32_t *words, int64_t count, int32_t factor, float *values)
{
    for (int64_t first = 0; first < count; first += CSE_BLOCK_ELEMENTS) {
        float block[CSE_BLOCK_ELEMENTS];
        const int64_t rest = count - first;
        cse_dequantize_block(words + first / CSE_BLOCK_ELEMENTS * CSE_BLOCK_WORDS, factor, block);
        memcpy(values + first, block,
               (size_t)(rest < CSE_BLOCK_ELEMENTS ? rest : CSE_BLOCK_ELEMENTS) * sizeof *block);
    }
}
