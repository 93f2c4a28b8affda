/* The pictures of a folder that has a folder for each class: train/cat/1.jpg. Classes are numbered
 * in the order of their names. */
#ifndef CSE_DATALOADER_PICTURES_CLASS_FOLDERS_H
#define CSE_DATALOADER_PICTURES_CLASS_FOLDERS_H

#include "dataloader/files/file_list.h"
#include "dataloader/files/whole_file.h"
#include "engine/base/arena.h"

typedef struct cse_classed_picture {
    const char *path; /* below the folder */
    int32_t label;
} cse_classed_picture;

/* Start from a zeroed struct; release with cse_class_folders_clear. */
typedef struct cse_class_folders {
    char *folder;
    cse_arena *arena; /* of the paths */
    cse_classed_picture *pictures;
    int64_t count, capacity;
    cse_file_list class_list; /* names of the classes */
    int classes;
} cse_class_folders;

/* JPEG, PNG and WebP files, by their names. CSE_NO_INPUT where there are none. */
cse_status cse_class_folders_read(cse_class_folders *folders, const char *folder);
void cse_class_folders_clear(cse_class_folders *folders);

/* The bytes of a picture; `path` [4096] becomes its path. */
cse_status cse_class_folders_load(const cse_class_folders *folders, int64_t index,
                                  cse_whole_file *file, char *path);

#endif
