/* States that plugins of a training step declare beforehand: the values that an optimizer or a
 * metric carries from step to step. */
#ifndef CSE_GRAPH_DECLARED_STATE_H
#define CSE_GRAPH_DECLARED_STATE_H

#include "csengine/tensor.h"

enum { CSE_MAX_DECLARED_STATES = 10 };

/* A state that a plugin declares: an optimizer for each parameter, a metric once. float32. */
typedef struct cse_declared_state {
    const char *name;
    bool scalar; /* else of the parameter's shape */
    /* The axes of that shape that it lacks, as bits: axis 0 is bit 0. */
    unsigned without_axes;
    double initial;
} cse_declared_state;

#endif
