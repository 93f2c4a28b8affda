/* Where they are is said by the run's store. */
#include "run/measure/compiled_files.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/stat.h>

/* A file of a compiled step beyond this is not read. */
#define MOST_FILE_BYTES (INT64_C(64) << 20)

static bool is_small(const char *directory)
{
    for (int f = 0; f < CSE_ARTEFACT_FILES; f++) {
        struct stat about;
        char path[4200];
        snprintf(path, sizeof path, "%s/%s", directory, cse_artefact_names[f]);
        if (stat(path, &about) == 0 && about.st_size > MOST_FILE_BYTES)
            return false;
    }
    return true;
}

static void find_directory(cse_store_reader *reader, cse_text *directory)
{
    cse_text text = { 0 };
    json_t *compiled =
        cse_store_reader_key(reader, "compiled", &text) ? json_loads(text.data, 0, NULL) : NULL;
    const char *path = json_string_value(json_object_get(compiled, "directory"));
    if (path != NULL)
        cse_text_add(directory, "%s", path);
    json_decref(compiled);
    cse_text_clear(&text);
}

cse_status cse_compiled_files_read(cse_store_reader *reader, cse_text *directory,
                                   cse_artefact *artefact)
{
    *directory = (cse_text){ 0 };
    *artefact = (cse_artefact){ .compiled = false };
    find_directory(reader, directory);
    if (directory->size == 0)
        return cse_fail(CSE_NO_INPUT, "the run does not say what it compiled");
    if (!is_small(directory->data))
        return cse_fail(CSE_DATA, "%.200s: its files are larger than %d MiB", directory->data,
                        (int)(MOST_FILE_BYTES >> 20));
    return cse_artefact_read(directory->data, NULL, artefact);
}
