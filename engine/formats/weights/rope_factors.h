/* The factors by which GGUF says how Llama 3 scales its rotation: one for each pair of channels of
 * a head, in the weight rope_freqs.weight, where others have four numbers (Dubey et al. 2024, "The
 * Llama 3 herd of models"; the formula is that of transformers' rope_type llama3). */
#ifndef CSE_WEIGHTS_ROPE_FACTORS_H
#define CSE_WEIGHTS_ROPE_FACTORS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cse_rope_scaling {
    double factor, low_frequency, high_frequency, original_positions;
} cse_rope_scaling;

/* So many factors of a rotation with that base. */
void cse_rope_factors_make(const cse_rope_scaling *scaling, double base, int count, float *factors);

/* Numbers that make those factors, of a model that was trained with that length (0: 8192); length
 * and frequencies have one scale, so that any length will do. False: none make them. */
bool cse_rope_factors_find(const float *factors, int count, double base, double original_positions,
                           cse_rope_scaling *scaling);

#endif
