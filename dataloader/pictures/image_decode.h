/* JPEG, PNG and WebP files as pixels. What a file is, its content says. Pixels are those that
 * Pillow has after Image.open(file).convert("RGB"), bit for bit; a file that is damaged as far as
 * its format can tell is refused. */
#ifndef CSE_DATALOADER_PICTURES_IMAGE_DECODE_H
#define CSE_DATALOADER_PICTURES_IMAGE_DECODE_H

#include <stdbool.h>

#include "dataloader/pictures/picture_use.h"

/* Of names in a folder, compared without case. */
#define CSE_PICTURE_ENDINGS ".jpg|.jpeg|.png|.webp"

/* A row for the settings of an input function. */
#define CSE_EXIF_SETTING                                                                         \
    {                                                                                            \
        .name = "exif_transpose", .type = CSE_SETTING_BOOL, .default_value = "false",            \
        .doc = "pictures are turned and mirrored as the orientation in their EXIF says; false: " \
               "they are as they are stored"                                                     \
    }

typedef struct cse_image_decoder cse_image_decoder;
/* `turns`: pictures are turned as their EXIF says. */
cse_image_decoder *cse_image_decoder_new(bool turns);
void cse_image_decoder_destroy(cse_image_decoder **decoder);

/* CSE_DATA, without a place, for bytes that are no whole picture of an accepted size. Of an
 * animation the first frame. */
cse_status cse_image_decode(cse_image_decoder *decoder, const unsigned char *bytes, size_t size,
                            cse_image *image);
/* The same for a picture of which `use` tells what is used: pixels outside of that part may be
 * anything. JPEG alone is reduced, by its transform, as Pillow's draft() does it; `image` has the
 * smaller size then. A picture that is turned is decoded whole. */
cse_status cse_image_decode_part(cse_image_decoder *decoder, const unsigned char *bytes,
                                 size_t size, const cse_picture_use *use, cse_image *image);

#endif
