/* Pictures that are named one by one, as the samples of a data loader of pictures have them:
 * decoded and transformed by its settings, with nothing left to chance. */
#ifndef CSE_DATALOADER_PICTURES_PICTURE_FILES_H
#define CSE_DATALOADER_PICTURES_PICTURE_FILES_H

#include "dataloader/input.h"

typedef struct cse_picture_files cse_picture_files;

/* Whether the input function has pictures as its samples; NULL has none. */
bool cse_picture_files_fit(const cse_input_descriptor *descriptor);

/* `settings`: those of the input function `descriptor`. CSE_USAGE where it is none of pictures. */
cse_status cse_picture_files_new(const cse_input_descriptor *descriptor,
                                 const cse_settings *settings, cse_picture_files **files);
void cse_picture_files_destroy(cse_picture_files **files);

/* A file, or all .jpg, .jpeg, .png and .webp of a folder and of the folders in it, in the order of
 * their names. CSE_NO_INPUT, CSE_PERMISSION; CSE_DATA for a folder without any. */
cse_status cse_picture_files_add(cse_picture_files *files, const char *path);

int64_t cse_picture_files_count(const cse_picture_files *files);
const char *cse_picture_files_path(const cse_picture_files *files, int64_t index);
/* Of one sample: float32. */
cse_shape cse_picture_files_shape(const cse_picture_files *files);
/* Its values. CSE_DATA for what is no picture, CSE_NO_INPUT and the like for no file. */
cse_status cse_picture_files_read(cse_picture_files *files, int64_t index, float *values);

#endif
