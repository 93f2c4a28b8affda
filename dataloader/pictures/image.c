/* Memory is taken when the size is known to be accepted. */
#include "dataloader/pictures/image.h"

#include <stdlib.h>

#include "engine/base/arena.h"

void cse_image_clear(cse_image *image)
{
    free(image->pixels);
    *image = (cse_image){ 0 };
}

cse_status cse_image_check_size(int64_t width, int64_t height)
{
    if (width < 1 || height < 1 || width > CSE_IMAGE_MOST_SIDE || height > CSE_IMAGE_MOST_SIDE ||
        width * height > CSE_IMAGE_MOST_PIXELS)
        return cse_fail(CSE_DATA,
                        "the picture has %lld x %lld pixels: accepted are sides up to %d and %d "
                        "pixels in all",
                        (long long)width, (long long)height, CSE_IMAGE_MOST_SIDE,
                        CSE_IMAGE_MOST_PIXELS);
    return CSE_OK;
}

cse_status cse_image_make_room(cse_image *image, int64_t width, int64_t height)
{
    CSE_TRY(cse_image_check_size(width, height));
    const size_t bytes = (size_t)(width * height) * CSE_IMAGE_CHANNELS;
    if (bytes > image->capacity) {
        free(image->pixels);
        image->pixels = cse_malloc(bytes);
        image->capacity = bytes;
    }
    image->width = (int)width;
    image->height = (int)height;
    return CSE_OK;
}
