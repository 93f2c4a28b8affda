/* States and their initial values. */
#ifndef CSENGINE_TRAIN_H
#define CSENGINE_TRAIN_H

#include "csengine/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a state's first value is made: element e of a state is a pure function of (seed, the state's
 * name, e). */
typedef enum cse_initializer_kind {
    CSE_INIT_CONSTANT,         /* a */
    CSE_INIT_UNIFORM,          /* in [a, b) */
    CSE_INIT_NORMAL,           /* mean a, standard deviation b */
    CSE_INIT_TRUNCATED_NORMAL, /* mean a, standard deviation b, redrawn beyond two deviations */
} cse_initializer_kind;

typedef struct cse_initializer {
    cse_initializer_kind kind;
    double a, b;
} cse_initializer;

#ifdef __cplusplus
}
#endif

#endif
