/* Sizes are read and checked before memory is taken for the pixels. */
#include "dataloader/pictures/image_decode.h"

#include <stdlib.h>
#include <string.h>

#include "dataloader/pictures/picture_formats.h"
#include "engine/base/arena.h"
#include "engine/base/log.h"

struct cse_image_decoder {
    bool turns, told_of_cut;
    cse_image spare; /* for pictures that are turned */
};

cse_image_decoder *cse_image_decoder_new(bool turns)
{
    cse_image_decoder *decoder = cse_calloc(1, sizeof *decoder);
    decoder->turns = turns;
    return decoder;
}

void cse_image_decoder_destroy(cse_image_decoder **decoder)
{
    if (*decoder == NULL)
        return;
    cse_image_clear(&(*decoder)->spare);
    free(*decoder);
    *decoder = NULL;
}

typedef cse_status decode_fn(cse_picture_file file, cse_image *image, cse_picture_notes *notes);

static cse_status decode_whole_jpeg(cse_picture_file file, cse_image *image,
                                    cse_picture_notes *notes)
{
    return cse_jpeg_decode(file, image, notes, NULL, false);
}

static const struct {
    const char *name;
    size_t at, size; /* the bytes that tell the format */
    const char *mark;
    decode_fn *decode;
} formats[] = {
    { "JPEG", 0, 3, "\xff\xd8\xff", decode_whole_jpeg },
    { "PNG", 0, 8, "\x89PNG\r\n\x1a\n", cse_png_decode },
    { "WebP", 8, 4, "WEBP", cse_webp_decode },
};

static decode_fn *decoder_of(cse_picture_file file)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
        if (file.size >= formats[i].at + formats[i].size &&
            memcmp(file.bytes + formats[i].at, formats[i].mark, formats[i].size) == 0)
            return formats[i].decode;
    return NULL;
}

cse_status cse_image_decode(cse_image_decoder *decoder, const unsigned char *bytes, size_t size,
                            cse_image *image)
{
    return cse_image_decode_part(decoder, bytes, size, NULL, image);
}

cse_status cse_image_decode_part(cse_image_decoder *decoder, const unsigned char *bytes,
                                 size_t size, const cse_picture_use *use, cse_image *image)
{
    const cse_picture_file file = { bytes, size };
    cse_picture_notes notes = { 0 };
    decode_fn *decode = decoder_of(file);
    if (decode == NULL)
        return cse_fail(CSE_DATA, "it is neither JPEG nor PNG nor WebP");
    CSE_TRY(decode == decode_whole_jpeg ? cse_jpeg_decode(file, image, &notes, use, decoder->turns)
                                        : decode(file, image, &notes));
    if (notes.exceeds_bytes && !decoder->told_of_cut) {
        decoder->told_of_cut = true;
        cse_log_line(CSE_LOG_WARNING,
                     "pictures: a grey PNG of 16 bits has values above 255, which become 255, as "
                     "in Pillow's convert(\"RGB\"): scale such pictures to 8 bits first");
    }
    return decoder->turns ? cse_picture_turn(image, notes.orientation, &decoder->spare) : CSE_OK;
}
