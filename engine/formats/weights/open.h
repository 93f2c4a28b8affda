/* Opening weights: which format a file is of, what lies in a folder, and whose names they have. */
#ifndef CSE_WEIGHTS_OPEN_H
#define CSE_WEIGHTS_OPEN_H

#include "engine/formats/weights/weights.h"

/* Opens a file, or a folder that holds weights in files with the names of Hugging Face (a
 * model.safetensors.index.json, model.safetensors, or the same of pytorch_model.bin). CSE_NO_INPUT,
 * CSE_PERMISSION, CSE_DATA. `options` may be NULL. */
cse_status cse_weights_open(const char *path, const cse_weights_options *options,
                            cse_weights **weights);

/* The same under the names of the models here: where the weights say what another program's model
 * they are, by the map for it; the result's config is that of the model. */
cse_status cse_weights_open_ours(const char *path, const cse_weights_options *options,
                                 cse_weights **weights);

/* Whether a path leads to weights that are no checkpoint of ours: a folder, or a file of another
 * format. Says nothing of what is damaged: false. */
bool cse_weights_are_foreign(const char *path);

#endif
