/* Sizes are read and checked before memory is taken for the pixels. */
#include "dataloader/images/image_decode.h"

#include <spng.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#include "engine/base/arena.h"

enum { CHANNELS = 3, CHUNK_MOST_BYTES = 1 << 26 };

struct cse_image_decoder {
    tjhandle jpeg;
};

cse_image_decoder *cse_image_decoder_new(void)
{
    cse_image_decoder *decoder = cse_calloc(1, sizeof *decoder);
    decoder->jpeg = tjInitDecompress();
    return decoder;
}

void cse_image_decoder_destroy(cse_image_decoder **decoder)
{
    if (*decoder == NULL)
        return;
    if ((*decoder)->jpeg != NULL)
        tjDestroy((*decoder)->jpeg);
    free(*decoder);
    *decoder = NULL;
}

void cse_image_clear(cse_image *image)
{
    free(image->pixels);
    *image = (cse_image){ 0 };
}

static cse_status make_room(cse_image *image, int64_t width, int64_t height)
{
    if (width < 1 || height < 1 || width > CSE_IMAGE_MOST_SIDE || height > CSE_IMAGE_MOST_SIDE ||
        width * height > CSE_IMAGE_MOST_PIXELS)
        return cse_fail(CSE_DATA,
                        "the picture has %lld x %lld pixels: accepted are sides up to %d and %d "
                        "pixels in all",
                        (long long)width, (long long)height, CSE_IMAGE_MOST_SIDE,
                        CSE_IMAGE_MOST_PIXELS);
    const size_t bytes = (size_t)(width * height) * CHANNELS;
    if (bytes > image->capacity) {
        free(image->pixels);
        image->pixels = cse_malloc(bytes);
        image->capacity = bytes;
    }
    image->width = (int)width;
    image->height = (int)height;
    return CSE_OK;
}

/* A warning is about a damaged place that was mended, or about an end that came too early. */
static bool is_usable(tjhandle jpeg)
{
    return tjGetErrorCode(jpeg) == TJERR_WARNING &&
           strcasestr(tjGetErrorStr2(jpeg), "premature end") == NULL;
}

static cse_status decode_jpeg(cse_image_decoder *decoder, const unsigned char *bytes, size_t size,
                              cse_image *image)
{
    int width = 0, height = 0, sampling = 0, colours = 0; /* tables alone leave them as they are */
    tjhandle jpeg = decoder->jpeg;
    if (jpeg == NULL)
        return cse_fail(CSE_TEMPORARY, "libjpeg-turbo cannot start: %s", tjGetErrorStr2(NULL));
    if (tjDecompressHeader3(jpeg, bytes, size, &width, &height, &sampling, &colours) != 0 &&
        !is_usable(jpeg))
        return cse_fail(CSE_DATA, "no JPEG that can be read: %s", tjGetErrorStr2(jpeg));
    if (colours == TJCS_CMYK || colours == TJCS_YCCK)
        return cse_fail(CSE_DATA, "a JPEG in CMYK: accepted are grey and colour (convert it)");
    CSE_TRY(make_room(image, width, height));
    if (tjDecompress2(jpeg, bytes, size, image->pixels, width, width * CHANNELS, height, TJPF_RGB,
                      TJFLAG_ACCURATEDCT) != 0 &&
        !is_usable(jpeg))
        return cse_fail(CSE_DATA, "a JPEG that is not whole: %s", tjGetErrorStr2(jpeg));
    return CSE_OK;
}

static cse_status read_png(spng_ctx *png, const unsigned char *bytes, size_t size, cse_image *image)
{
    struct spng_ihdr header;
    size_t needed = 0;
    spng_set_image_limits(png, CSE_IMAGE_MOST_SIDE, CSE_IMAGE_MOST_SIDE);
    spng_set_chunk_limits(png, CHUNK_MOST_BYTES, CHUNK_MOST_BYTES);
    spng_set_crc_action(png, SPNG_CRC_USE, SPNG_CRC_USE);
    int error = spng_set_png_buffer(png, bytes, size);
    if (error == 0)
        error = spng_get_ihdr(png, &header);
    if (error != 0)
        return cse_fail(CSE_DATA, "no PNG that can be read: %s", spng_strerror(error));
    CSE_TRY(make_room(image, header.width, header.height));
    error = spng_decoded_image_size(png, SPNG_FMT_RGB8, &needed);
    if (error == 0)
        error = spng_decode_image(png, image->pixels,
                                  needed <= image->capacity ? needed : image->capacity,
                                  SPNG_FMT_RGB8, 0);
    return error == 0 ? CSE_OK
                      : cse_fail(CSE_DATA, "a PNG that is not whole: %s", spng_strerror(error));
}

cse_status cse_image_decode(cse_image_decoder *decoder, const unsigned char *bytes, size_t size,
                            cse_image *image)
{
    static const unsigned char png_begin[] = { 0x89, 'P', 'N', 'G' };
    if (size >= 3 && bytes[0] == 0xff && bytes[1] == 0xd8 && bytes[2] == 0xff)
        return decode_jpeg(decoder, bytes, size, image);
    if (size < sizeof png_begin || memcmp(bytes, png_begin, sizeof png_begin) != 0)
        return cse_fail(CSE_DATA, "it is neither JPEG nor PNG");
    spng_ctx *png = spng_ctx_new(0);
    if (png == NULL)
        return cse_fail(CSE_TEMPORARY, "libspng cannot start");
    cse_status status = read_png(png, bytes, size, image);
    spng_ctx_free(png);
    return status;
}
