/* Listing and loading. */
#include "dataloader/pictures/class_folders.h"

#include <stdio.h>
#include <stdlib.h>

#include "dataloader/pictures/image_decode.h"

enum { PATH_BYTES = 4096 };
#define MOST_FILE_BYTES ((int64_t)1 << 28)

static cse_status add_class(cse_class_folders *self, const char *name, int32_t label)
{
    cse_file_list list = { 0 };
    const char *path = cse_arena_printf(self->arena, "%s/%s", self->folder, name);
    cse_status status = cse_file_list_read(&list, path, CSE_PICTURE_ENDINGS);
    for (int i = 0; i < list.count && status == CSE_OK; i++) {
        CSE_GROW(self->pictures, self->count, self->capacity);
        self->pictures[self->count++] = (cse_classed_picture){
            .path = cse_arena_printf(self->arena, "%s/%s", name, list.names[i]), .label = label
        };
    }
    cse_file_list_clear(&list);
    return status;
}

cse_status cse_class_folders_read(cse_class_folders *self, const char *folder)
{
    cse_file_list *classes = &self->class_list;
    self->arena = cse_arena_new();
    self->folder = cse_strdup(folder);
    cse_status status = cse_file_list_read(classes, self->folder, "/");
    for (int c = 0; c < classes->count && status == CSE_OK; c++)
        status = add_class(self, classes->names[c], c);
    self->classes = classes->count;
    CSE_TRY(status);
    return self->count > 0
               ? CSE_OK
               : cse_fail(
                     CSE_NO_INPUT,
                     "%s: %d folders, without a .jpg, .jpeg, .png or .webp in them: expected a "
                     "folder of pictures for each class",
                     self->folder, self->classes);
}

void cse_class_folders_clear(cse_class_folders *self)
{
    if (self->arena != NULL)
        cse_arena_destroy(&self->arena);
    cse_file_list_clear(&self->class_list);
    free(self->pictures);
    free(self->folder);
}

cse_status cse_class_folders_load(const cse_class_folders *self, int64_t index,
                                  cse_whole_file *file, char *path)
{
    if (snprintf(path, PATH_BYTES, "%s/%s", self->folder, self->pictures[index].path) >= PATH_BYTES)
        return cse_fail(CSE_DATA, "%s: the path is too long", self->folder);
    return cse_whole_file_read(file, path, MOST_FILE_BYTES);
}
