/* A picture from a stranger: it is refused with a message, or as many pixels as its sides say are
 * there, and a sample of the wanted size is made of them. The input's first byte chooses how; the
 * others are the file. With 128 in that byte the CRCs of a PNG are made right first, so that what
 * lies behind them is reached. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "dataloader/pictures/image_decode.h"
#include "dataloader/pictures/image_resize.h"
#include "engine/base/error.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_PIXELS_RESIZED = 1 << 20 };

static void resize(const cse_image *image, int side)
{
    static cse_resizer resizer;
    unsigned char *to = malloc((size_t)(side * side) * 3);
    const cse_image_part part = { .pixels = image->pixels,
                                  .width = image->width,
                                  .height = image->height,
                                  .row_bytes = (size_t)image->width * 3 };
    cse_resize(&resizer, &part, side, side, to);
    free(to);
}

static uint32_t number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void mend_checksums(unsigned char *file, size_t size)
{
    for (size_t at = 8; at + 12 <= size && number(file + at) <= size - at - 12;) {
        const size_t length = number(file + at);
        const uint32_t sum = (uint32_t)crc32(0, file + at + 4, (uInt)length + 4);
        for (int i = 0; i < 4; i++)
            file[at + 8 + length + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cse_image_decoder *decoder; /* as a loader has it: one for all pictures */
    cse_image image = { 0 };
    if (size == 0)
        return 0;
    if (decoder == NULL)
        decoder = cse_image_decoder_new(true);
    unsigned char *file = malloc(size);
    memcpy(file, data + 1, size - 1);
    if (data[0] >= 128)
        mend_checksums(file, size - 1);
    if (cse_image_decode(decoder, file, size - 1, &image) == CSE_OK) {
        unsigned sum = 0;
        const size_t bytes = (size_t)image.width * (size_t)image.height * 3;
        for (size_t i = 0; i < bytes; i++)
            sum += image.pixels[i]; /* each is there */
        if (bytes == 0 || sum > bytes * 255)
            abort();
        if (bytes < MOST_PIXELS_RESIZED)
            resize(&image, 1 + data[0] % 64);
    } else if (*cse_error_message() == '\0') {
        abort();
    }
    free(file);
    cse_image_clear(&image);
    return 0;
}
