/* libjpeg-turbo with its accurate transform, whose results do not depend on the processor.
 *
 * Of a picture of which a part is used, the others' transform and colours are left out; all of it
 * is unpacked, since damage is found by that alone. Colours are stored for several pixels at a time
 * and smoothed between them, so that a margin around the part is made, too: its pixels have the
 * bits that they have in the whole picture.
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
    MARKER_MOST_BYTES = 0xffff,
    MARGIN = 32 /* pixels: two blocks of the coarsest colours */
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

/* ---- rows ---- */

static void read_row(reading *r, cse_image *image, int left)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    const bool has_inks = jpeg->out_color_space == JCS_CMYK;
    unsigned char *to =
        image->pixels +
        ((size_t)jpeg->output_scanline * (size_t)image->width + (size_t)left) * CSE_IMAGE_CHANNELS;
    JSAMPROW row = has_inks ? r->row : to;
    jpeg_read_scanlines(jpeg, &row, 1);
    if (has_inks)
        from_inks(r->row, (int)jpeg->output_width, to);
}

/* The part with its margin. */
static cse_image_window with_margin(cse_image_window part, const cse_image *image)
{
    const int right = part.left + part.width + MARGIN, bottom = part.top + part.height + MARGIN;
    const int left = part.left > MARGIN ? part.left - MARGIN : 0;
    const int top = part.top > MARGIN ? part.top - MARGIN : 0;
    return (cse_image_window){ left, top, (right < image->width ? right : image->width) - left,
                               (bottom < image->height ? bottom : image->height) - top };
}

/* The last row is read, though none of it is used: the library skips to the end of a picture
 * without a look at it. */
static void read_part(reading *r, cse_image *image, cse_image_window part)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    JDIMENSION left = (JDIMENSION)part.left, width = (JDIMENSION)part.width;
    const JDIMENSION end = (JDIMENSION)(part.top + part.height), last = jpeg->output_height - 1;
    if (width < jpeg->output_width)
        jpeg_crop_scanline(jpeg, &left, &width);
    if (part.top > 0)
        jpeg_skip_scanlines(jpeg, (JDIMENSION)part.top);
    while (jpeg->output_scanline < end && !r->is_damaged)
        read_row(r, image, (int)left);
    if (jpeg->output_scanline < last && !r->is_damaged)
        jpeg_skip_scanlines(jpeg, last - jpeg->output_scanline);
    if (jpeg->output_scanline == last && !r->is_damaged)
        read_row(r, image, (int)left);
}

/* Rows of pictures that store colours for four pixels across and two down at once have other bits
 * where the library skips some before them. */
static bool parts_are_exact(const struct jpeg_decompress_struct *jpeg)
{
    return jpeg->max_h_samp_factor <= 2 && jpeg->max_v_samp_factor <= 2;
}

static void read_rows(reading *r, cse_image *image, const cse_picture_use *use)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    if (use != NULL && use->part != NULL && parts_are_exact(jpeg)) {
        read_part(r, image, with_margin(use->part(use->self, image->width, image->height), image));
        return;
    }
    while (jpeg->output_scanline < jpeg->output_height && !r->is_damaged)
        read_row(r, image, 0);
}

/* Runs below setjmp: what must be released hangs at `r`. */
static cse_status decode(reading *r, cse_image *image, cse_picture_notes *notes,
                         const cse_picture_use *use, bool turns)
{
    struct jpeg_decompress_struct *jpeg = &r->jpeg;
    if (jpeg_read_header(jpeg, TRUE) != JPEG_HEADER_OK)
        return cse_fail(CSE_DATA, "no JPEG that can be read: it has tables and no picture");
    const int colours = jpeg->num_components;
    if (colours != 1 && colours != 3 && colours != 4)
        return cse_fail(CSE_DATA,
                        "a JPEG of %d channels: accepted are 1 (grey), 3 (colours) and 4 (inks)",
                        colours);
    CSE_TRY(cse_image_check_size(jpeg->image_width, jpeg->image_height));
    if (notes != NULL)
        notes->orientation = orientation_of(r);
    if (turns && notes != NULL && notes->orientation > 1)
        use = NULL;
    jpeg->out_color_space = colours == 4 ? JCS_CMYK : JCS_RGB;
    jpeg->dct_method = JDCT_ISLOW;
    if (use != NULL && use->reduction != NULL) {
        jpeg->scale_num = 1;
        jpeg->scale_denom =
            (unsigned)use->reduction(use->self, (int)jpeg->image_width, (int)jpeg->image_height);
    }
    jpeg_start_decompress(jpeg);
    CSE_TRY(cse_image_make_room(image, jpeg->output_width, jpeg->output_height));
    if (colours == 4)
        r->row = cse_malloc((size_t)jpeg->output_width * 4);
    read_rows(r, image, use);
    if (!r->is_damaged)
        jpeg_finish_decompress(jpeg);
    return r->is_damaged ? cse_fail(CSE_DATA, "a JPEG that is not whole: %s", r->message) : CSE_OK;
}

cse_status cse_jpeg_decode(cse_picture_file file, cse_image *image, cse_picture_notes *notes,
                           const cse_picture_use *use, bool turns)
{
    reading *r = cse_calloc(1, sizeof *r);
    cse_status status;
    if (setjmp(r->on_error) == 0) {
        begin(r, file, notes != NULL);
        status = decode(r, image, notes, use, turns);
    } else {
        status = cse_fail(CSE_DATA, "no JPEG that can be read: %s", r->message);
    }
    jpeg_destroy_decompress(&r->jpeg);
    free(r->row);
    free(r);
    return status;
}
