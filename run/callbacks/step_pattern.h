/* File names with the step: "model_{step}.mdl". */
#ifndef CSE_RUN_CALLBACKS_STEP_PATTERN_H
#define CSE_RUN_CALLBACKS_STEP_PATTERN_H

#include <stddef.h>

#include "run/job/callbacks.h"

/* CSE_CONFIG unless the setting is a file name, without a folder; with `needs_step` it must hold
 * {step} exactly once. */
cse_status cse_step_pattern_check(const cse_settings *settings, const char *name, bool needs_step);

/* FOLDER/NAME with the step in it, cut to `size`. */
void cse_step_pattern_path(const char *folder, const char *pattern, int64_t step, char *path,
                           size_t size);

#endif
