/* A number that is not there is NaN, which is in no range. */
#include "run/measure/measured_numbers.h"

#include <errno.h>
#include <math.h>
#include <string.h>

void cse_measured_numbers_put(const cse_measured_file *file, const void *record, json_t *object)
{
    for (int i = 0; i < file->count; i++) {
        const cse_measured_number *n = &file->table[i];
        const void *value = (const char *)record + n->offset;
        json_object_set_new(object, n->name,
                            n->whole ? json_integer(*(const int64_t *)value)
                                     : json_real(*(const double *)value));
    }
}

static cse_status take(const cse_measured_file *file, const cse_measured_number *n,
                       const json_t *object, const char *source, void *to)
{
    const json_t *value = json_object_get(object, n->name);
    const double number = json_is_number(value) ? json_number_value(value) : NAN;
    if (!(number >= n->least && number <= n->most) || (n->whole && !json_is_integer(value)))
        return cse_fail(CSE_DATA,
                        "%s: \"%s\" is missing or out of range; accepted: %s from %g to %g, %sas "
                        "`csengine plan %s` writes it",
                        source, n->name, n->whole ? "an integer" : "a number", n->least, n->most,
                        file->numbers, file->option);
    if (n->whole)
        *(int64_t *)to = json_integer_value(value);
    else
        *(double *)to = number;
    return CSE_OK;
}

cse_status cse_measured_numbers_take(const cse_measured_file *file, const json_t *object,
                                     const char *source, void *record)
{
    for (int i = 0; i < file->count; i++)
        CSE_TRY(
            take(file, &file->table[i], object, source, (char *)record + file->table[i].offset));
    return CSE_OK;
}

cse_status cse_measured_file_write(const cse_measured_file *file, json_t *object, size_t flags,
                                   const char *path)
{
    const bool written = json_dump_file(object, path, flags) == 0;
    const int error = errno;
    json_decref(object);
    return written ? CSE_OK
                   : cse_fail(CSE_CANNOT_CREATE, "%s: %s cannot be written: %s", path, file->what,
                              strerror(error));
}

cse_status cse_measured_file_read(const cse_measured_file *file, const char *path, json_t **object)
{
    json_error_t error;
    *object = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (*object != NULL)
        return CSE_OK;
    return error.line < 1
               ? cse_fail(CSE_NO_INPUT, "%s: %s cannot be read: %s", path, file->what, error.text)
               : cse_fail(CSE_DATA, "%s:%d:%d: %s is no JSON: %s", path, error.line, error.column,
                          file->what, error.text);
}
