/* The validations that a run did before it was started again, from its run store, so that a
 * callback has the state that it had there: its state is a function of the metrics, and needs no
 * place in a checkpoint. */
#ifndef CSE_RUN_JOB_PAST_VALIDATIONS_H
#define CSE_RUN_JOB_PAST_VALIDATIONS_H

#include "csengine/callback.h"
#include "engine/base/text.h"

typedef struct cse_past_validations cse_past_validations;

/* The metrics of `names` (ended by NULL). Call it before the store is opened for writing. A store
 * that is missing or cannot be read has none. */
cse_past_validations *cse_past_validations_read(const char *model_dir, const char *const *names);
/* The same from a text that cse_past_validations_print made: a line for each value. */
cse_past_validations *cse_past_validations_parse(const char *text);
void cse_past_validations_print(const cse_past_validations *past, cse_text *text);
void cse_past_validations_destroy(cse_past_validations **past);

/* The metrics of the first step after `step`; false: there are none. The result is valid until the
 * next call. */
bool cse_past_validations_after(cse_past_validations *past, int64_t step,
                                cse_callback_validation *validation);

#endif
