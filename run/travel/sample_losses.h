/* The losses of a past step by sample: which samples made its loss what it was, and how large the
 * gradient of each microbatch was, or of each sample (sample_gradients.h). */
#ifndef CSE_RUN_TRAVEL_SAMPLE_LOSSES_H
#define CSE_RUN_TRAVEL_SAMPLE_LOSSES_H

#include "run/travel/sample_question.h"

/* Does the step again, twice, and once more for gradients: `replay` is the first time. Release both
 * also after a failure. CSE_NO_INPUT: the loss of the step is not a sum over rows of samples, or
 * its gradient is not a sum over samples. */
cse_status cse_sample_losses_find(const cse_sample_question *question, cse_replay *replay,
                                  cse_sample_losses *losses);
void cse_sample_losses_clear(cse_sample_losses *losses);

#endif
