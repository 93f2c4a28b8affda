/* An adapter alone, as a folder of PEFT: adapter_config.json and adapter_model.safetensors, with
 * the names of another program's modules (map.h). */
#ifndef CSE_WEIGHTS_ADAPTER_FOLDER_H
#define CSE_WEIGHTS_ADAPTER_FOLDER_H

#include "engine/formats/weights/weights.h"

/* Writes the factors among weights of ours to a new folder, which is there as a whole or not at
 * all. `map`: a file or a map of csengine; NULL: that of the model. CSE_DATA: they have no factors,
 * or some beside a weight that is a part of one of theirs; CSE_CANNOT_CREATE, CSE_IO. */
cse_status cse_adapter_folder_save(cse_weights *from, const char *path, const char *map);

#endif
