/* libjpeg-turbo with its accurate transform, whose results do not depend on the processor.
 *
 * libjpeg mends damaged places and only warns of them. Each warning that says that pixels were made
 * up is an error here; those about bytes between segments and about headers that have no part in
 * the pixels are not. */
#include <setjmp.h>
#include <stdio.h> /* jpeglib.h needs it */
#include <stdlib.h>
#include <string.h>

#include <jerror.h>
#include <jpeglib.h>

#include "dataloader/pictures/picture_formats.h"
#include "engine/base/arena.h"

enum {
    MOST_SCANS = 500, /* of a progressive one: each goes over the whole picture again */
    EXIF_MARKER = JPEG_APP0 + 1,
    MARKER_MOST_BYTES = 0xffff
};

typedef struct reading {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_progress_mgr progress;
    jmp_buf on_error;
    char message[JMSG_LENGTH_MAX];
    bool is_damaged; /* a place was mended */
    unsigned char *row;
} reading;

static void fail(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    jpeg->err->format_message(jpeg, r->message);
    longjmp(r->on_error, 1);
}

static void warn(j_common_ptr jpeg, int level)
{
    static const int harmless[] = { JWRN_EXTRANEOUS_DATA, JWRN_ADOBE_XFORM, JWRN_JFIF_MAJOR,
                                    JWRN_NOT_SEQUENTIAL, JWRN_TOO_MUCH_DATA };
    reading *r = jpeg->client_data;
    if (level >= 0 || r->is_damaged)
        return;
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
        if (jpeg->err->msg_code == harmless[i])
            return;
    jpeg->err->format_message(jpeg, r->message);
    r->is_damaged = true;
}

static void say_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void watch_scans(j_common_ptr jpeg)
{
    reading *r = jpeg->client_data;
    if (r->jpeg.input_scan_number <= MOST_SCANS)
        return;
    snprintf(r->message, sizeof r->message, "it has more than %d scans", MOST_SCANS);
    longjmp(r->on_error, 1);
}

static void begin(reading *r, cse_picture_file file, bool wants_exif)
{
    r->jpeg.err = jpeg_std_error(&r->errors);
    r->errors.error_exit = fail;
    r->errors.emit_message = warn;
    r->errors.output_message = say_nothing;
    r->jpeg.client_data = r;
    jpeg_create_decompress(&r->jpeg);
    r->progress.progress_monitor = watch_scans;
    r->jpeg.progress = &r->progress;
    jpeg_mem_src(&r->jpeg, file.bytes, file.size);
    if (wants_exif)
        jpeg_save_markers(&r->jpeg, EXIF_MARKER, MARKER_MOST_BYTES);
}

/* The first block of EXIF. */
static int orientation_of(const reading *r)
{
    for (const struct jpeg_marker_struct *m = r->jpeg.marker_list; m != NULL; m = m->next)
        if (m->marker == EXIF_MARKER && m->data_length >= 6 && memcmp(m->data, "Exif\0", 6) == 0)
            return cse_exif_orientation(m->data, m->data_length);
    return 0;
}

static int scaled(int a, int b)
{
    const int product = a * b + 128;
    return ((product >> 8) + product) >> 8;
}

/* Inks as Adobe writes them, 255 for none: Pillow takes all of four channels as such. */
static void from_inks(const unsigned char *inks, int width, unsigned char *to)
{
    for (int x = 0; x < width; x++, inks += 4, to += CSE_IMAGE_CHANNELS)
        for (int c = 0; c < CSE_IMAGE_CHANNELS; c++) {
            const int value = inks[3] - scaled(255 - inks[c], inks[3]);
            to[c] = (unsigned char)(value < 0 ? 0 : value);
        }
}

/* Runs below setjmp: what must be released hangs at `r`. */
static cse_status decode(reading *r, cse_image *image, cse_picture_notes *notes)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    if (jpeg_read_header(jpeg, TRUE) != JPEG_HEADER_OK)
        return cse_fail(CSE_DATA, "no JPEG that can be read: it has tables and no picture");
    const int colours = jpeg->num_components;
    if (colours != 1 && colours != 3 && colours != 4)
        return cse_fail(CSE_DATA,
                        "a JPEG of %d channels: accepted are 1 (grey), 3 (colours) and 4 (inks)",
                        colours);
    CSE_TRY(cse_image_make_room(image, jpeg->image_width, jpeg->image_height));
    if (notes != NULL)
        notes->orientation = orientation_of(r);
    jpeg->out_color_space = colours == 4 ? JCS_CMYK : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    if (colours == 4)
        r->row = cse_malloc((size_t)jpeg->image_width * 4);
    jpeg_start_decompress(jpeg);
    while (jpeg->output_scanline < jpeg->output_height && !r->is_damaged) {
        unsigned char *to = image->pixels + (size_t)jpeg->output_scanline * (size_t)image->width *
                                                CSE_IMAGE_CHANNELS;
        JSAMPROW row = colours == 4 ? r->row : to;
        jpeg_read_scanlines(jpeg, &row, 1);
        if (colours == 4)
            from_inks(r->row, image->width, to);
    }
    if (!r->is_damaged)
        jpeg_finish_decompress(jpeg);
    return r->is_damaged ? cse_fail(CSE_DATA, "a JPEG that is not whole: %s", r->message) : CSE_OK;
}

cse_status cse_jpeg_decode(cse_picture_file file, cse_image *image, cse_picture_notes *notes)
{
    reading *r = cse_calloc(1, sizeof *r);
    cse_status status;
    if (setjmp(r->on_error) == 0) {
        begin(r, file, notes != NULL);
        status = decode(r, image, notes);
    } else {
        status = cse_fail(CSE_DATA, "no JPEG that can be read: %s", r->message);
    }
    jpeg_destroy_decompress(&r->jpeg);
    free(r->row);
    free(r);
    return status;
}
