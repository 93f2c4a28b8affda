/* A picture from a stranger: it is refused with a message, or as many pixels as its sides say are
 * there, and a sample of the wanted size is made of them. The input's first byte chooses how; the
 * others are the file. */
#include <stdlib.h>

#include "dataloader/images/image_decode.h"
#include "dataloader/images/image_resize.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static cse_image_decoder *decoder; /* as a loader has it: one for all pictures */
    cse_image image = { 0 };
    if (size == 0)
        return 0;
    if (decoder == NULL)
        decoder = cse_image_decoder_new();
    if (cse_image_decode(decoder, data + 1, size - 1, &image) == CSE_OK) {
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
    cse_image_clear(&image);
    return 0;
}
