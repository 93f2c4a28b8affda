/* The depth is looked at first, since the parser recurses. */
#include "dataloader/formats/json_file.h"

#include "dataloader/files/whole_file.h"
#include "engine/base/nesting.h"

enum { MOST_LEVELS = 64 };

cse_status cse_json_file_read(const char *path, int64_t most, size_t flags, json_t **object)
{
    cse_nesting where;
    cse_whole_file file = { 0 };
    *object = NULL;
    cse_status status = cse_whole_file_read(&file, path, most);
    if (status == CSE_OK &&
        cse_nesting_json((const char *)file.bytes, file.size, MOST_LEVELS, &where))
        *object = json_loadb((const char *)file.bytes, file.size, flags, NULL);
    cse_whole_file_clear(&file);
    if (status != CSE_OK || json_is_object(*object))
        return status;
    json_decref(*object);
    *object = NULL;
    return cse_fail(CSE_DATA, "%s: it is no object of JSON", path);
}
