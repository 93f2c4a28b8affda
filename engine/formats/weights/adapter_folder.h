/* An adapter alone, as a folder of PEFT: adapter_config.json and adapter_model.safetensors, with
 * the names of transformers' modules (map.h). */
#ifndef CSE_WEIGHTS_ADAPTER_FOLDER_H
#define CSE_WEIGHTS_ADAPTER_FOLDER_H

#include "engine/formats/weights/weights.h"

typedef struct cse_adapter_folder_options {
    const char *map;     /* a file or a map of csengine; NULL: that of the model */
    const char *adapter; /* the name of one of several; NULL: the one that is active */
} cse_adapter_folder_options;

/* Writes an adapter among weights of ours to a new folder, which is there as a whole or not at all.
 * CSE_DATA: they have none, or none of the name; CSE_CANNOT_CREATE, CSE_IO. */
cse_status cse_adapter_folder_save(cse_weights *from, const char *path,
                                   const cse_adapter_folder_options *options);

#endif
