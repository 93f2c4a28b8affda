/* Losses that are quotients of sums over the global batch. */
#ifndef CSE_OPS_LOSS_QUOTIENT_H
#define CSE_OPS_LOSS_QUOTIENT_H

#include "engine/graph/graph.h"

/* A loss that cse_loss_quotient gave: its handle is the numerator. The divisor is that of the
 * microbatch and at the step's level. */
typedef struct cse_quotient {
    const cse_tensor *loss;
    cse_tensor *count, *divisor;
    bool of_means; /* cse_loss_quotient_of_means gave it */
    struct cse_quotient *next;
} cse_quotient;

/* A part of a loss: `value` of the microbatch or the step; its mean over the microbatches is over
 * `divisor`, of the step's level, or NULL: 1. */
typedef struct cse_loss_term {
    cse_tensor *value, *divisor;
} cse_loss_term;

enum { CSE_MOST_LOSS_TERMS = 8 };

/* A loss that is computed of quotients, as the sum of parts. */
typedef struct cse_loss_parts {
    const cse_tensor *loss;
    int count;
    cse_loss_term terms[CSE_MOST_LOSS_TERMS];
    struct cse_loss_parts *next;
} cse_loss_parts;

/* cse_loss_quotient of a sum and a count that are both divided by the number of the microbatch's
 * rows, so that they have the size of a mean whatever the microbatch is: 16-bit types hold no sums
 * of thousands. */
cse_tensor *cse_loss_quotient_of_means(cse_tensor *mean, cse_tensor *fraction);

/* NULL: it is none. Only while the graph is traced. */
const cse_quotient *cse_quotient_of(const cse_tensor *loss);
/* `scaled`, made of `loss` by a factor, has the same divisor. */
cse_tensor *cse_quotient_keep(const cse_tensor *loss, cse_tensor *scaled);

/* The parts of a loss that is a quotient or was computed of some; NULL: it was not. */
const cse_loss_parts *cse_loss_parts_of(cse_tensor *loss);

#endif
