/* Checked for how deep it goes before it is parsed. */
#include "engine/formats/weights/json_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/arena.h"
#include "engine/base/confinement.h"
#include "engine/base/nesting.h"
#include "engine/formats/checkpoint/file_bytes.h"

enum { MOST_NESTING = 32 };

static cse_status parse(const char *path, const char *text, size_t size, json_t **value)
{
    cse_nesting where;
    json_error_t error;
    if (!cse_nesting_json(text, size, MOST_NESTING, &where))
        return cse_fail(CSE_DATA, "%s:%d:%d: more than %d brackets in each other", path, where.line,
                        where.column, MOST_NESTING);
    *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    return *value != NULL ? CSE_OK
                          : cse_fail(CSE_DATA, "%s:%d:%d: no JSON: %s", path, error.line,
                                     error.column, error.text);
}

cse_status cse_weights_read_json(const char *path, size_t most_bytes, json_t **object)
{
    CSE_TRY(cse_weights_read_json_value(path, most_bytes, object));
    if (json_is_object(*object))
        return CSE_OK;
    json_decref(*object);
    *object = NULL;
    return cse_fail(CSE_DATA, "%s: not a JSON object", path);
}

cse_status cse_weights_read_json_value(const char *path, size_t most_bytes, json_t **value)
{
    struct stat status;
    *value = NULL;
    int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_NONBLOCK, 0);
    if (descriptor < 0)
        return cse_fail(errno == ENOENT ? CSE_NO_INPUT : CSE_PERMISSION, "%s: cannot be opened: %s",
                        path, strerror(errno));
    cse_status result = CSE_OK;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size > most_bytes)
        result =
            cse_fail(CSE_DATA, "%s: not a regular file of at most %zu bytes", path, most_bytes);
    char *text = result == CSE_OK ? cse_malloc((size_t)status.st_size + 1) : NULL;
    if (result == CSE_OK &&
        cse_read_at(descriptor, text, (size_t)status.st_size, 0) != (int64_t)status.st_size)
        result = cse_fail(CSE_IO, "%s: cannot be read", path);
    if (result == CSE_OK)
        result = parse(path, text, (size_t)status.st_size, value);
    free(text);
    close(descriptor);
    return result;
}
