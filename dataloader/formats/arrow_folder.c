/* A dataset is a folder with state.json, which names the files; several splits are such folders
 * beside dataset_dict.json. */
#include "dataloader/formats/arrow_folder.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "csengine/input.h"
#include "dataloader/files/file_list.h"
#include "dataloader/formats/json_file.h"

enum { MOST_STATE = 1 << 20 };

/* *object is NULL where the folder has no file of this name. */
static cse_status read_if_there(const char *path, json_t **object)
{
    *object = NULL;
    return cse_byte_source_exists(path) ? cse_json_file_read(path, MOST_STATE, object) : CSE_OK;
}

static cse_status add_named(cse_arrow_folder *folder, const char *path, const json_t *list)
{
    size_t i;
    const json_t *entry;
    if (!json_is_array(list))
        return cse_fail(CSE_DATA, "%s/state.json: it has no list _data_files", path);
    folder->paths = cse_arena_alloc(folder->arena, json_array_size(list) * sizeof *folder->paths);
    json_array_foreach(list, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "filename"));
        if (name == NULL || name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL)
            return cse_fail(CSE_DATA, "%s/state.json: entry %zu of _data_files names no file", path,
                            i);
        folder->paths[folder->count++] = cse_arena_printf(folder->arena, "%s/%s", path, name);
    }
    return CSE_OK;
}

/* Datasets before version 2.0 saved what select and shuffle chose as a table beside the rows. */
static bool has_indices(const json_t *state)
{
    const json_t *list = json_object_get(state, "_indices_data_files");
    if (list == NULL || json_is_null(list))
        list = json_object_get(state, "_indices_files");
    return list != NULL && !json_is_null(list) &&
           !(json_is_array(list) && json_array_size(list) == 0);
}

static cse_status take_columns(cse_arrow_folder *folder, const char *path, const json_t *list)
{
    size_t i;
    const json_t *entry;
    if (list == NULL || json_is_null(list))
        return CSE_OK;
    if (!json_is_array(list))
        return cse_fail(CSE_DATA, "%s/state.json: _format_columns is no list", path);
    folder->columns =
        cse_arena_alloc(folder->arena, (json_array_size(list) + 1) * sizeof *folder->columns);
    json_array_foreach(list, i, entry)
    {
        if (!json_is_string(entry))
            return cse_fail(CSE_DATA, "%s/state.json: entry %zu of _format_columns is no name",
                            path, i);
        folder->columns[folder->column_count++] =
            cse_arena_string(folder->arena, json_string_value(entry));
    }
    return CSE_OK;
}

static cse_status take_state(cse_arrow_folder *folder, const char *path, const json_t *state)
{
    if (has_indices(state))
        return cse_fail(CSE_DATA,
                        "%s/state.json: it has a table of indices, so that its rows are other than "
                        "those of the files; save it anew in Python: "
                        "load_from_disk(PATH).flatten_indices().save_to_disk(ANOTHER)",
                        path);
    CSE_TRY(add_named(folder, path, json_object_get(state, "_data_files")));
    /* Both together mean that the others are visible as well. */
    if (json_is_true(json_object_get(state, "_output_all_columns")))
        return CSE_OK;
    return take_columns(folder, path, json_object_get(state, "_format_columns"));
}

/* A folder of several splits is refused with their names. */
static cse_status no_files(cse_arena *arena, const char *path)
{
    size_t i;
    const json_t *split;
    json_t *object = NULL;
    const char *names = "";
    CSE_TRY(read_if_there(cse_arena_printf(arena, "%s/dataset_dict.json", path), &object));
    json_array_foreach(json_object_get(object, "splits"), i, split)
    {
        const char *name = json_string_value(split);
        names = cse_arena_printf(arena, "%s%s%.100s", names, i > 0 ? ", " : "",
                                 name != NULL ? name : "?");
    }
    json_decref(object);
    if (names[0] == '\0')
        return cse_fail(
            CSE_NO_INPUT,
            "%s: no file ends in .arrow or .parquet: give the folder of one split of a dataset",
            path);
    return cse_fail(CSE_NO_INPUT,
                    "%s: it is a dataset of several splits: give the folder of one: %.1000s", path,
                    names);
}

static cse_status list_files(cse_arrow_folder *folder, const char *path, const cse_file_list *list)
{
    if (list->count == 0)
        return no_files(folder->arena, path);
    folder->paths = cse_arena_alloc(folder->arena, (size_t)list->count * sizeof *folder->paths);
    for (int i = 0; i < list->count; i++) {
        if (strncmp(list->names[i], "cache-", 6) == 0)
            return cse_fail(CSE_DATA,
                            "%s/%s: it is a cache of datasets, which may hold rows twice; save the "
                            "dataset by save_to_disk, and give that folder, or name single files",
                            path, list->names[i]);
        folder->paths[folder->count++] =
            cse_arena_printf(folder->arena, "%s/%s", path, list->names[i]);
    }
    return CSE_OK;
}

cse_status cse_arrow_folder_read(cse_arena *arena, const char *path, cse_arrow_folder *folder)
{
    struct stat info;
    json_t *state = NULL;
    cse_file_list list = { 0 };
    *folder = (cse_arrow_folder){ .arena = arena };
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
        folder->paths = cse_arena_alloc(arena, sizeof *folder->paths);
        folder->paths[folder->count++] = cse_arena_string(arena, path);
        return CSE_OK;
    }
    cse_status status = read_if_there(cse_arena_printf(arena, "%s/state.json", path), &state);
    if (state != NULL) {
        status = take_state(folder, path, state);
        json_decref(state);
        return status;
    }
    if (status == CSE_OK)
        status = cse_file_list_read(&list, path, ".arrow");
    if (status == CSE_OK && list.count == 0) {
        cse_file_list_clear(&list);
        list = (cse_file_list){ 0 };
        status = cse_file_list_read(&list, path, ".parquet");
    }
    if (status == CSE_OK)
        status = list_files(folder, path, &list);
    cse_file_list_clear(&list);
    return status;
}
