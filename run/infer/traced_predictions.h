/* What a model predicts from the inputs of the step that is traced. */
#ifndef CSE_RUN_INFER_TRACED_PREDICTIONS_H
#define CSE_RUN_INFER_TRACED_PREDICTIONS_H

#include "csengine/train.h"

/* While tracing, once the inputs of the step are declared: what the model makes of the one input
 * beside labels and targets, or else the predictions of its loss. */
cse_tensor *cse_trace_predictions(cse_model *model, cse_step *step);

#endif
