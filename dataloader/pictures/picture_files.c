/* The same decoder and transform as in the input functions, so that a picture has the same bits. */
#include "dataloader/pictures/picture_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dataloader/files/file_list.h"
#include "dataloader/files/whole_file.h"
#include "dataloader/pictures/image_transform.h"
#include "engine/base/arena.h"

#define MOST_FILE_BYTES ((int64_t)1 << 28)

enum { MOST_FOLDERS = 16, MOST_FILES = 1 << 24 };

struct cse_picture_files {
    cse_arena *arena;
    const char **paths;
    int count, capacity;
    bool flattens;
    cse_image_transform transform;
    cse_image_decoder *decoder;
    cse_image image;
    cse_whole_file file;
};

static bool has_setting(const cse_setting *table, const char *name)
{
    for (; table->name != NULL; table++)
        if (strcmp(table->name, name) == 0)
            return true;
    return false;
}

bool cse_picture_files_fit(const cse_input_descriptor *descriptor)
{
    return descriptor != NULL && has_setting(descriptor->settings, "random_resized_crop");
}

cse_status cse_picture_files_new(const cse_input_descriptor *descriptor,
                                 const cse_settings *settings, cse_picture_files **result)
{
    *result = NULL;
    if (!cse_picture_files_fit(descriptor))
        return cse_fail(CSE_USAGE,
                        "files are pictures for a data loader of pictures (image_folder, "
                        "tar_samples); that of the configuration is %s",
                        descriptor->name);
    cse_picture_files *files = *result = cse_calloc(1, sizeof *files);
    files->arena = cse_arena_new();
    files->flattens =
        has_setting(descriptor->settings, "flatten") && cse_settings_bool(settings, "flatten");
    CSE_TRY(cse_image_transform_open(settings, &files->transform));
    files->decoder = cse_image_decoder_new(files->transform.turns);
    cse_image_transform_leave_chance(&files->transform);
    return CSE_OK;
}

void cse_picture_files_destroy(cse_picture_files **files)
{
    cse_picture_files *old = *files;
    *files = NULL;
    if (old == NULL)
        return;
    cse_image_transform_clear(&old->transform);
    cse_image_decoder_destroy(&old->decoder);
    cse_image_clear(&old->image);
    cse_whole_file_clear(&old->file);
    cse_arena_destroy(&old->arena);
    free(old->paths);
    free(old);
}

static cse_status add_path(cse_picture_files *files, const char *path)
{
    if (files->count == MOST_FILES)
        return cse_fail(CSE_DATA, "there are more than %d pictures", MOST_FILES);
    CSE_GROW(files->paths, files->count, files->capacity);
    files->paths[files->count++] = path;
    return CSE_OK;
}

static cse_status add_folder(cse_picture_files *files, const char *folder, int depth)
{
    cse_file_list list = { 0 }, folders = { 0 };
    if (depth > MOST_FOLDERS)
        return cse_fail(CSE_DATA, "%s: folders lie more than %d deep", folder, MOST_FOLDERS);
    cse_status status = cse_file_list_read(&list, folder, CSE_PICTURE_ENDINGS);
    if (status == CSE_OK)
        status = cse_file_list_read(&folders, folder, "/");
    for (int i = 0; i < list.count && status == CSE_OK; i++)
        status = add_path(files, cse_arena_printf(files->arena, "%s/%s", folder, list.names[i]));
    for (int i = 0; i < folders.count && status == CSE_OK; i++)
        status = add_folder(
            files, cse_arena_printf(files->arena, "%s/%s", folder, folders.names[i]), depth + 1);
    cse_file_list_clear(&list);
    cse_file_list_clear(&folders);
    return status;
}

cse_status cse_picture_files_add(cse_picture_files *files, const char *path)
{
    struct stat info;
    const int before = files->count;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return add_path(files, cse_arena_string(files->arena, path));
    CSE_TRY(add_folder(files, path, 0));
    return files->count > before
               ? CSE_OK
               : cse_fail(CSE_DATA, "%s: the folder holds no .jpg, .jpeg, .png or .webp", path);
}

int64_t cse_picture_files_count(const cse_picture_files *files)
{
    return files->count;
}

const char *cse_picture_files_path(const cse_picture_files *files, int64_t index)
{
    return files->paths[index];
}

cse_shape cse_picture_files_shape(const cse_picture_files *files)
{
    const cse_shape shape = cse_image_transform_shape(&files->transform);
    return files->flattens ? cse_shape_of(cse_shape_elements(shape)) : shape;
}

cse_status cse_picture_files_read(cse_picture_files *files, int64_t index, float *values)
{
    const char *path = files->paths[index];
    CSE_TRY(cse_whole_file_read(&files->file, path, MOST_FILE_BYTES));
    const cse_picture_source source = { files->decoder, files->file.bytes, files->file.size,
                                        &files->image };
    cse_status status = cse_image_transform_read(&files->transform, &source, 0, index, values);
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", path);
}
