/* The factors of an adapter that was trained here, beside the weights of its model, as an adapter
 * whose modules have our names. */
#ifndef CSE_WEIGHTS_PEFT_OWN_H
#define CSE_WEIGHTS_PEFT_OWN_H

#include "engine/base/config/adapter_settings.h"
#include "engine/formats/weights/map.h"
#include "engine/formats/weights/peft/folder.h"

/* Whether a weight is a factor of some adapter. */
bool cse_peft_is_factor(const char *name);

/* `from` must outlive the adapter. CSE_DATA: a factor without its other one or its weight, or of
 * another rank than the settings say. cse_peft_folder_close(), also after a failure. */
cse_status cse_peft_own(cse_weights *from, const cse_adapter_settings *adapter,
                        cse_peft_folder **folder);

#endif
