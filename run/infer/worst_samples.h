/* The worst samples of a validation as people see them, and the curves of a classifier, as JSON:
 * the artefact `validation.json`. */
#ifndef CSE_RUN_INFER_WORST_SAMPLES_H
#define CSE_RUN_INFER_WORST_SAMPLES_H

#include <jansson.h>

#include "dataloader/tables/class_names.h"
#include "run/infer/text_codec.h"
#include "run/job/validated_samples.h"

/* A new object; the samples are read by `loader`, of the validation's data. `codec` may be NULL. */
cse_status cse_worst_samples_json(const cse_validated_samples *validated, cse_dataloader *loader,
                                  const cse_class_names *names, const cse_text_codec *codec,
                                  json_t **report);

#endif
