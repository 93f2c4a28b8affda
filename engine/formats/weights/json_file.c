/* A text is checked for how deep it goes before it is parsed, since the parser recurses. */
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
#include "engine/base/text.h"
#include "engine/formats/checkpoint/file_bytes.h"

enum { MOST_NESTING = 32, MOST_DIGITS = 18 };

/* Whole numbers of more digits than an integer has, as the model_max_length 10^30 of tokenizers,
 * get a fraction, so that they are read as floats. */
static void widen_numbers(const char *text, size_t size, cse_text *wide)
{
    bool is_string = false, is_whole = false;
    size_t digits = 0; /* up to here, of one number */
    cse_text_add(wide, "%s", "");
    for (size_t i = 0; i < size; i++) {
        const bool is_digit = !is_string && text[i] >= '0' && text[i] <= '9';
        if (is_string && text[i] == '\\' && i + 1 < size)
            cse_text_add_bytes(wide, &text[i++], 1);
        else if (text[i] == '"')
            is_string = !is_string;
        cse_text_add_bytes(wide, &text[i], 1);
        if (is_digit && digits == 0)
            is_whole = i == 0 || (text[i - 1] != '.' && text[i - 1] != 'e' && text[i - 1] != 'E' &&
                                  text[i - 1] != '+');
        digits = is_digit ? digits + 1 : 0;
        const char next = i + 1 < size ? text[i + 1] : ' ';
        const bool ends = (next < '0' || next > '9') && next != '.' && next != 'e' && next != 'E';
        if (digits > MOST_DIGITS && is_whole && ends)
            cse_text_add(wide, ".0");
    }
}

cse_status cse_weights_parse_json(const char *source, const char *text, size_t size, json_t **value)
{
    cse_nesting where;
    json_error_t error;
    *value = NULL;
    if (!cse_nesting_json(text, size, MOST_NESTING, &where))
        return cse_fail(CSE_DATA, "%s:%d:%d: more than %d brackets in each other", source,
                        where.line, where.column, MOST_NESTING);
    *value = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (*value == NULL && json_error_code(&error) == json_error_numeric_overflow) {
        cse_text wide = { 0 };
        widen_numbers(text, size, &wide);
        *value = json_loadb(wide.data, wide.size, JSON_REJECT_DUPLICATES, &error);
        cse_text_clear(&wide);
    }
    return *value != NULL ? CSE_OK
                          : cse_fail(CSE_DATA, "%s:%d:%d: no JSON: %s", source, error.line,
                                     error.column, error.text);
}

cse_status cse_weights_read_text(const char *path, size_t most_bytes, char **text, size_t *size)
{
    struct stat status;
    *text = NULL;
    int descriptor = cse_confined_open(CSE_PATH_INPUT, path, O_RDONLY | O_NONBLOCK, 0);
    if (descriptor < 0)
        return cse_fail(errno == ENOENT ? CSE_NO_INPUT : CSE_PERMISSION, "%s: cannot be opened: %s",
                        path, strerror(errno));
    cse_status result = CSE_OK;
    if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
        (uint64_t)status.st_size > most_bytes)
        result =
            cse_fail(CSE_DATA, "%s: not a regular file of at most %zu bytes", path, most_bytes);
    if (result == CSE_OK) {
        *size = (size_t)status.st_size;
        *text = cse_calloc(*size + 1, 1);
        if (cse_read_at(descriptor, *text, *size, 0) != (int64_t)*size)
            result = cse_fail(CSE_IO, "%s: cannot be read", path);
    }
    close(descriptor);
    if (result != CSE_OK) {
        free(*text);
        *text = NULL;
    }
    return result;
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
    char *text = NULL;
    size_t size = 0;
    *value = NULL;
    cse_status status = cse_weights_read_text(path, most_bytes, &text, &size);
    if (status == CSE_OK)
        status = cse_weights_parse_json(path, text, size, value);
    free(text);
    return status;
}
