/* Shared by input functions of pictures in a folder for each class: reading; what a
 * sample is made of a picture is the function's own. It is the first member of what the function
 * keeps. */
#ifndef CSE_DATALOADER_INPUTS_CLASS_PICTURES_H
#define CSE_DATALOADER_INPUTS_CLASS_PICTURES_H

#include "dataloader/bad_records.h"
#include "dataloader/input.h"
#include "dataloader/pictures/class_folders.h"
#include "dataloader/pictures/image_transform.h"

/* Makes the values of a sample of a picture; `self` is the input function's. */
typedef cse_status cse_picture_transform(void *self, const cse_picture_source *source,
                                         int64_t epoch, int64_t index, float *values);

typedef struct cse_class_pictures {
    cse_class_folders folders;
    cse_picture_transform *transform;
    void *self;
    cse_image_decoder *decoder;
    cse_image image;
    cse_whole_file file;
    cse_bad_records bad;
    /* of the sample that is being read */
    int64_t epoch;
    float *values;
    int32_t *label;
} cse_class_pictures;

/* Before anything else: from a zeroed struct. */
void cse_class_pictures_begin(cse_class_pictures *pictures, const cse_settings *settings,
                              cse_picture_transform *transform, void *self);
void cse_class_pictures_clear(cse_class_pictures *pictures);

/* Describes the input by what the folder holds; `shape` is that of a sample. */
void cse_class_pictures_describe(const cse_class_pictures *pictures, cse_input *input,
                                 cse_shape shape);

/* `read` and `locate` of the input function. */
cse_status cse_class_pictures_read(cse_class_pictures *pictures, const cse_input *input,
                                   const int64_t *indices, int64_t count, void *const outputs[]);
void cse_class_pictures_locate(const cse_class_pictures *pictures, const cse_element_place *place,
                               char *text, size_t size);

#endif
