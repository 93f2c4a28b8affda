/* What the decoders of the formats share: each gets the whole file and makes the pixels that
 * Pillow's Image.open(file).convert("RGB") has. */
#ifndef CSE_DATALOADER_PICTURES_PICTURE_FORMATS_H
#define CSE_DATALOADER_PICTURES_PICTURE_FORMATS_H

#include <stdbool.h>

#include "dataloader/pictures/picture_use.h"

typedef struct cse_picture_file {
    const unsigned char *bytes;
    size_t size;
} cse_picture_file;

/* What a decoder finds beside the pixels. */
typedef struct cse_picture_notes {
    int orientation;    /* of its EXIF: 2 to 8; 0 and 1: upright */
    bool exceeds_bytes; /* values of 16 bits above 255 were cut off at 255, as Pillow does it */
} cse_picture_notes;

/* `use` as of cse_image_decode_part; NULL: all of it is used. `turns`: also where the picture is to
 * be turned. */
cse_status cse_jpeg_decode(cse_picture_file file, cse_image *image, cse_picture_notes *notes,
                           const cse_picture_use *use, bool turns);
cse_status cse_png_decode(cse_picture_file file, cse_image *image, cse_picture_notes *notes);
cse_status cse_webp_decode(cse_picture_file file, cse_image *image, cse_picture_notes *notes);

/* The orientation in a block of EXIF with or without "Exif\0\0" before it; 0: there is none. */
int cse_exif_orientation(const unsigned char *bytes, size_t size);
/* Turns and mirrors the pixels as ImageOps.exif_transpose does; `spare` changes places with the
 * image. */
cse_status cse_picture_turn(cse_image *image, int orientation, cse_image *spare);

#endif
