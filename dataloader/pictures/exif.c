/* The one tag of EXIF that changes what a picture shows: 0x0112 of the first directory, which is
 * TIFF of either byte order. */
#include <stdbool.h>
#include <string.h>

#include "dataloader/pictures/picture_formats.h"

enum { ORIENTATION_TAG = 0x0112, SHORT_TYPE = 3, ENTRY_BYTES = 12, HEADER_BYTES = 8 };

typedef struct tiff {
    const unsigned char *bytes;
    size_t size;
    bool little;
} tiff;

/* 0 beyond the end. */
static uint32_t number(const tiff *t, size_t at, int bytes)
{
    uint32_t value = 0;
    if (at > t->size || (size_t)bytes > t->size - at)
        return 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint32_t)t->bytes[at + (size_t)i] << 8 * (t->little ? i : bytes - 1 - i);
    return value;
}

int cse_exif_orientation(const unsigned char *bytes, size_t size)
{
    static const char prefix[] = "Exif\0";
    if (size >= sizeof prefix && memcmp(bytes, prefix, sizeof prefix) == 0) {
        bytes += sizeof prefix;
        size -= sizeof prefix;
    }
    tiff t = { bytes, size, size > 0 && bytes[0] == 'I' };
    if (size < HEADER_BYTES || (memcmp(bytes, "II", 2) != 0 && memcmp(bytes, "MM", 2) != 0) ||
        number(&t, 2, 2) != 42)
        return 0;
    const size_t directory = number(&t, 4, 4);
    const size_t count = number(&t, directory, 2);
    for (size_t i = 0; i < count; i++) {
        const size_t entry = directory + 2 + i * ENTRY_BYTES;
        if (number(&t, entry, 2) != ORIENTATION_TAG)
            continue;
        const uint32_t value = number(&t, entry + 8, 2);
        return number(&t, entry + 2, 2) == SHORT_TYPE && value <= 8 ? (int)value : 0;
    }
    return 0;
}

/* The place in the old picture of what the new one has at its column x and row y. */
static size_t source_of(const cse_image *image, int orientation, int x, int y)
{
    const int right = image->width - 1, bottom = image->height - 1;
    int column = x, row = y;
    switch (orientation) {
    case 2:
        column = right - x;
        break;
    case 3:
        column = right - x;
        row = bottom - y;
        break;
    case 4:
        row = bottom - y;
        break;
    case 5:
        column = y;
        row = x;
        break;
    case 6:
        column = y;
        row = bottom - x;
        break;
    case 7:
        column = right - y;
        row = bottom - x;
        break;
    default:
        column = right - y;
        row = x;
        break;
    }
    return ((size_t)row * (size_t)image->width + (size_t)column) * CSE_IMAGE_CHANNELS;
}

cse_status cse_picture_turn(cse_image *image, int orientation, cse_image *spare)
{
    const bool swaps_sides = orientation >= 5;
    if (orientation < 2 || orientation > 8)
        return CSE_OK;
    CSE_TRY(cse_image_make_room(spare, swaps_sides ? image->height : image->width,
                                swaps_sides ? image->width : image->height));
    unsigned char *to = spare->pixels;
    for (int y = 0; y < spare->height; y++)
        for (int x = 0; x < spare->width; x++, to += CSE_IMAGE_CHANNELS)
            memcpy(to, image->pixels + source_of(image, orientation, x, y), CSE_IMAGE_CHANNELS);
    const cse_image turned = *spare;
    *spare = *image;
    *image = turned;
    return CSE_OK;
}
