/* A small file of JSON beside data or a vocabulary, which a stranger may have written. */
#ifndef CSE_DATALOADER_FORMATS_JSON_FILE_H
#define CSE_DATALOADER_FORMATS_JSON_FILE_H

#include <jansson.h>
#include <stdint.h>

#include "csengine/status.h"

/* Reads an object; the caller releases it with json_decref. CSE_DATA: the file has more than `most`
 * bytes, or is no JSON object (engine/formats/weights/json_file.h); CSE_NO_INPUT as
 * cse_input_open_file. */
cse_status cse_json_file_read(const char *path, int64_t most, json_t **object);

#endif
