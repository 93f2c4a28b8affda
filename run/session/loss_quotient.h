/* Losses that are quotients of sums over the global batch, and what validations take of a loss of
 * tokens. */
#ifndef CSE_RUN_SESSION_LOSS_QUOTIENT_H
#define CSE_RUN_SESSION_LOSS_QUOTIENT_H

#include "run/session/session.h"

/* The divisor of a loss that cse_loss_quotient gave, of the microbatch and at the step's level. */
typedef struct cse_quotient {
    const cse_tensor *loss;
    cse_tensor *count, *divisor;
    struct cse_quotient *next;
} cse_quotient;

/* NULL: it is none. Only while the step is traced. */
const cse_quotient *cse_quotient_of(const cse_tensor *loss);
/* `scaled`, made of `loss` by a factor, has the same divisor. */
cse_tensor *cse_quotient_keep(const cse_tensor *loss, cse_tensor *scaled);
/* `mean`, of the step's level, over the divisor of `loss`; `mean` itself where there is none. */
cse_tensor *cse_quotient_divide(const cse_tensor *loss, cse_tensor *mean);

#endif
