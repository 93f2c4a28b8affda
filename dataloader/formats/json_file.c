/* Opened as data are; what a file beside weights may say, this one may. */
#include "dataloader/formats/json_file.h"

#include "dataloader/files/whole_file.h"
#include "engine/formats/weights/json_file.h"

cse_status cse_json_file_read(const char *path, int64_t most, json_t **object)
{
    cse_whole_file file = { 0 };
    *object = NULL;
    cse_status status = cse_whole_file_read(&file, path, most);
    if (status == CSE_OK)
        status = cse_weights_parse_json(path, file.size > 0 ? (const char *)file.bytes : "",
                                        file.size, object);
    cse_whole_file_clear(&file);
    if (status != CSE_OK || json_is_object(*object))
        return status;
    json_decref(*object);
    *object = NULL;
    return cse_fail(CSE_DATA, "%s: not a JSON object", path);
}
