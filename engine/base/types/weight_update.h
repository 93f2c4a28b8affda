/* How an optimizer keeps the weights between steps; its own states: engine/nn/update/moments.h. */
#ifndef CSE_TYPES_WEIGHT_UPDATE_H
#define CSE_TYPES_WEIGHT_UPDATE_H

#include "engine/base/choices.h"

/* LIST(FIRST, NEXT) of (name, enumerator):
 *   bf16         rounded to nearest after each update
 *   bf16sr       rounded stochastically
 *   bf16_kahan   to nearest; the rounding error is added to the next update */
#define CSE_WEIGHT_UPDATES(FIRST, NEXT) \
    FIRST(fp32, CSE_WEIGHT_FP32)        \
    NEXT(bf16, CSE_WEIGHT_BF16)         \
    NEXT(bf16sr, CSE_WEIGHT_BF16SR)     \
    NEXT(bf16_kahan, CSE_WEIGHT_BF16_KAHAN)

#define CSE_WEIGHT_UPDATE_ENUMERATOR(name, enumerator) enumerator,
typedef enum cse_weight_update {
    CSE_WEIGHT_UPDATES(CSE_WEIGHT_UPDATE_ENUMERATOR, CSE_WEIGHT_UPDATE_ENUMERATOR)
} cse_weight_update;
#undef CSE_WEIGHT_UPDATE_ENUMERATOR

#endif
