/* SelectiveGrad: trains only some elements of some parameters. It is a setting of the training more
 * than a callback: the job gives it to the optimizer, also where a step is compiled and not run
 * (run/job/job_run.c), and engine/nn/update/selective_gradients.c says what it does. */
#include "run/job/callbacks.h"

static const cse_setting settings[] = {
    { .name = "selective_grads",
      .type = CSE_SETTING_ANY,
      .default_value = "{}",
      .doc = "{param_filter: PATTERN or list, init_method: outlier, upper_threshold: 2.25}, or a "
             "list of such" },
    { .name = NULL },
};

const cse_callback_descriptor cse_callback_selective_grad = {
    .name = "SelectiveGrad",
    .summary = "trains only some elements of some parameters",
    .settings = settings,
};
