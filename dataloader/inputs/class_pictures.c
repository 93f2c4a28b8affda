/* Reading samples. */
#include "dataloader/inputs/class_pictures.h"

#include <stdio.h>

#include "dataloader/inputs/labelled.h"

void cse_class_pictures_begin(cse_class_pictures *self, const cse_settings *settings,
                              cse_picture_transform *transform, void *owner)
{
    self->decoder = cse_image_decoder_new(cse_settings_bool(settings, "exif_transpose"));
    self->transform = transform;
    self->self = owner;
    cse_bad_records_read(settings, &self->bad);
}

void cse_class_pictures_clear(cse_class_pictures *self)
{
    cse_image_decoder_destroy(&self->decoder);
    cse_image_clear(&self->image);
    cse_whole_file_clear(&self->file);
    cse_class_folders_clear(&self->folders);
}

static cse_status read_labels(cse_input *input, const int64_t *indices, int64_t count,
                              int32_t *labels)
{
    const cse_class_pictures *self = input->self; /* its first member */
    for (int64_t i = 0; i < count; i++)
        labels[i] = self->folders.pictures[indices[i]].label;
    return CSE_OK;
}

void cse_class_pictures_describe(const cse_class_pictures *self, cse_input *input, cse_shape shape)
{
    input->sample_count = self->folders.count;
    input->class_names = self->folders.class_list.names;
    input->class_count = self->folders.classes;
    snprintf(input->source, sizeof input->source, "%s", self->folders.folder);
    input->read_labels = read_labels;
    cse_describe_labelled(input, "images", shape, false);
}

static cse_status read_picture(void *argument, int64_t index)
{
    cse_class_pictures *self = argument;
    char path[4096];
    CSE_TRY(cse_class_folders_load(&self->folders, index, &self->file, path));
    const cse_picture_source source = { self->decoder, self->file.bytes, self->file.size,
                                        &self->image };
    /* By its own number, so that a replacement is what it is elsewhere. */
    cse_status status = self->transform(self->self, &source, self->epoch, index, self->values);
    *self->label = self->folders.pictures[index].label;
    return status == CSE_OK ? CSE_OK : cse_fail_within(status, "%s: ", path);
}

cse_status cse_class_pictures_read(cse_class_pictures *self, const cse_input *input,
                                   const int64_t *indices, int64_t count, void *const outputs[])
{
    const int64_t elements = cse_shape_elements(input->streams[CSE_FEATURES_STREAM].shape);
    for (int64_t i = 0; i < count; i++) {
        self->epoch = input->epochs != NULL ? input->epochs[i] : 0;
        self->values = (float *)outputs[CSE_FEATURES_STREAM] + i * elements;
        self->label = (int32_t *)outputs[CSE_ANSWERS_STREAM] + i;
        CSE_TRY(
            cse_read_good_record(&self->bad, indices[i], self->folders.count, read_picture, self));
    }
    return CSE_OK;
}

void cse_class_pictures_locate(const cse_class_pictures *self, const cse_element_place *place,
                               char *text, size_t size)
{
    snprintf(text, size, "%s/%s", self->folders.folder, self->folders.pictures[place->sample].path);
}
