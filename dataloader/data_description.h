/* What a host without data is told of a data loader by one that has them, as JSON:
 *
 *     {"samples": 60000, "source": "train.npy", "streams": [{"name": "images", "dtype": "float32",
 *      "shape": [28, 28]}], "classes": ["cat", "dog"] or null, "identity": "...", "opened": "011"}
 *
 * `identity` are the files that the run has read so far (data_identity.h), of which those with a 1
 * in `opened` are this loader's. */
#ifndef CSE_DATALOADER_DATA_DESCRIPTION_H
#define CSE_DATALOADER_DATA_DESCRIPTION_H

#include "dataloader/identity/data_identity.h"
#include "dataloader/input.h"

void cse_data_description_print(const cse_dataloader *loader, const cse_data_identity *identity,
                                cse_text *json);

/* A loader and an identity (replaced) as the text of another host says. CSE_DATA for any other
 * text; else as cse_dataloader_of_other. */
cse_status cse_data_description_open(const char *json, const cse_settings *settings,
                                     uint64_t default_seed, cse_data_identity *identity,
                                     cse_dataloader **loader);

#endif
