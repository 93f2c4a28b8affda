/* A file that a person can read and write. */
#include "dataloader/tables/class_names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataloader/files/whole_file.h"
#include "engine/base/arena.h"
#include "engine/base/file_replace.h"
#include "engine/base/text.h"

enum { MOST_BYTES = 1 << 26, MOST_NAME_BYTES = 1024 };

static cse_status write_names(const char *path, const char *const names[], int64_t count)
{
    char line[MOST_NAME_BYTES];
    cse_text text = { 0 };
    for (int64_t i = 0; i < count; i++) {
        cse_text_printable(names[i], line, sizeof line);
        cse_text_add(&text, "%s\n", line);
    }
    const cse_status status = cse_file_replace(path, text.data, text.size);
    cse_text_clear(&text);
    return status;
}

cse_status cse_class_names_write(const char *model_dir, const cse_input *input)
{
    char path[PATH_MAX];
    if (input->class_names == NULL || input->class_count == 0)
        return CSE_OK;
    snprintf(path, sizeof path, "%s/classes.txt", model_dir);
    return write_names(path, input->class_names, input->class_count);
}

cse_status cse_feature_names_write(const char *model_dir, const cse_input *input)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/features.txt", model_dir);
    if (input->feature_names != NULL && input->feature_count > 0)
        return write_names(path, input->feature_names, input->feature_count);
    unlink(path); /* of other data, that this model_dir had before */
    return CSE_OK;
}

static cse_status parse(const char *path, const cse_whole_file *file, cse_class_names *names)
{
    int capacity = 0;
    for (size_t at = 0; at < file->size;) {
        const char *begin = (const char *)file->bytes + at;
        const char *end = memchr(begin, '\n', file->size - at);
        const size_t length = end != NULL ? (size_t)(end - begin) : file->size - at;
        at += length + 1;
        if (length >= MOST_NAME_BYTES || memchr(begin, '\0', length) != NULL)
            return cse_fail(CSE_DATA, "%s: line %d: expected the name of a class, up to %d bytes",
                            path, names->count + 1, MOST_NAME_BYTES - 1);
        CSE_GROW(names->names, names->count, capacity);
        char *name = cse_malloc(length + 1), printable[MOST_NAME_BYTES];
        memcpy(name, begin, length);
        name[length] = '\0';
        cse_text_printable(name, printable, sizeof printable);
        free(name);
        names->names[names->count++] = cse_strdup(printable);
    }
    return CSE_OK;
}

static cse_status read_names(const char *path, cse_class_names *names)
{
    cse_whole_file file = { 0 };
    cse_status status = cse_whole_file_read(&file, path, MOST_BYTES);
    if (status == CSE_OK)
        status = parse(path, &file, names);
    cse_whole_file_clear(&file);
    return status;
}

/* The names in `file` beside the checkpoint, or else in model_dir. */
static cse_status find_names(const char *file, const char *checkpoint, const char *model_dir,
                             cse_class_names *names)
{
    char place[PATH_MAX];
    const char *slash = strrchr(checkpoint, '/');
    snprintf(place, sizeof place, "%.*s/%s", slash != NULL ? (int)(slash - checkpoint) : 1,
             slash != NULL ? checkpoint : ".", file);
    if (access(place, F_OK) == 0)
        return read_names(place, names);
    snprintf(place, sizeof place, "%s/%s", model_dir, file);
    return access(place, F_OK) == 0 ? read_names(place, names) : CSE_OK;
}

cse_status cse_class_names_find(const char *path, const char *checkpoint, const char *model_dir,
                                cse_class_names *names)
{
    *names = (cse_class_names){ .count = 0 };
    return path != NULL ? read_names(path, names)
                        : find_names("classes.txt", checkpoint, model_dir, names);
}

cse_status cse_feature_names_find(const char *checkpoint, const char *model_dir,
                                  cse_class_names *names)
{
    *names = (cse_class_names){ .count = 0 };
    return find_names("features.txt", checkpoint, model_dir, names);
}

void cse_class_names_clear(cse_class_names *names)
{
    for (int i = 0; i < names->count; i++)
        free(names->names[i]);
    free(names->names);
    *names = (cse_class_names){ .count = 0 };
}

const char *cse_class_name(const cse_class_names *names, int64_t number)
{
    return number >= 0 && number < names->count ? names->names[number] : NULL;
}
