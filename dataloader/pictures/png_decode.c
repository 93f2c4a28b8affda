/* Portable Network Graphics (W3C Recommendation, third edition), over zlib.
 *
 * The CRC of every chunk, the Adler-32 of the pixels' stream and the end of the file are demanded:
 * a file with one wrong bit is refused. Transparency is left out and values of two bytes are
 * made of one, both as Pillow does it: the upper byte, but for grey alone, which it cuts off at
 * 255. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "dataloader/pictures/picture_formats.h"
#include "dataloader/pictures/png_filters.h"
#include "engine/base/arena.h"

enum {
    SIGNATURE_BYTES = 8,
    AROUND_BYTES = 12, /* of a chunk: its length, type and CRC */
    HEADER_BYTES = 13,
    PALETTE_ENTRIES = 256,
    MOST_STEP = 8,            /* bytes of a pixel; so many are free at both ends of a row */
    MOST_PACKED_TIMES = 1032, /* what deflate makes of one byte */
    BEYOND_MOST_BYTES = 1 << 20
};

enum colour { GREY = 0, RGB = 2, INDEXED = 3, GREY_ALPHA = 4, RGB_ALPHA = 6 };

typedef struct chunk {
    char type[5];
    const unsigned char *bytes;
    size_t size;
} chunk;

typedef struct pass {
    int x, y, step_x, step_y;
} pass;

typedef struct png {
    cse_picture_file file;
    size_t at; /* of the next chunk */
    chunk chunk;
    int64_t width, height;
    int depth, colour, channels;
    bool is_interlaced, has_palette;
    unsigned char palette[PALETTE_ENTRIES * CSE_IMAGE_CHANNELS];
    unsigned char *rows[2]; /* the one that is read and the one above, with zeros before them */
    z_stream stream;
    bool stream_ended;
    cse_image *image;
    cse_picture_notes *notes;
} png;

static const pass whole[] = { { 0, 0, 1, 1 } };
static const pass adam7[] = { { 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
                              { 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 } };

static cse_status not_whole(const char *what)
{
    return cse_fail(CSE_DATA, "a PNG that is not whole: %s", what);
}

/* ---- chunks ---- */

static uint32_t number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool is_chunk(const png *p, const char *type)
{
    return memcmp(p->chunk.type, type, 4) == 0;
}

static cse_status next_chunk(png *p)
{
    const size_t left = p->file.size - p->at;
    const unsigned char *at = p->file.bytes + p->at;
    if (left < AROUND_BYTES || number(at) > left - AROUND_BYTES)
        return not_whole("it ends within a chunk");
    p->chunk = (chunk){ .bytes = at + 8, .size = number(at) };
    memcpy(p->chunk.type, at + 4, 4);
    for (int i = 0; i < 4; i++)
        if ((p->chunk.type[i] | 0x20) < 'a' || (p->chunk.type[i] | 0x20) > 'z')
            return not_whole("the type of a chunk is damaged");
    if (crc32(0, at + 4, (uInt)p->chunk.size + 4) != number(p->chunk.bytes + p->chunk.size))
        return cse_fail(CSE_DATA, "a PNG that is not whole: the CRC of its chunk %s is wrong",
                        p->chunk.type);
    p->at += p->chunk.size + AROUND_BYTES;
    return CSE_OK;
}

static bool depth_fits(int colour, int depth)
{
    if (depth == 8)
        return true;
    if (depth == 16)
        return colour != INDEXED;
    return (depth == 1 || depth == 2 || depth == 4) && (colour == GREY || colour == INDEXED);
}

static size_t row_bytes(const png *p, int64_t width)
{
    return (size_t)((width * p->channels * p->depth + 7) / 8);
}

static cse_status read_header(png *p)
{
    static const int channels[] = {
        [GREY] = 1, [RGB] = 3, [INDEXED] = 1, [GREY_ALPHA] = 2, [RGB_ALPHA] = 4
    };
    CSE_TRY(next_chunk(p));
    const unsigned char *at = p->chunk.bytes;
    if (!is_chunk(p, "IHDR") || p->chunk.size != HEADER_BYTES)
        return cse_fail(CSE_DATA, "no PNG that can be read: its header is missing");
    p->width = number(at);
    p->height = number(at + 4);
    p->depth = at[8];
    p->colour = at[9];
    p->is_interlaced = at[12] == 1;
    p->channels = p->colour <= RGB_ALPHA ? channels[p->colour] : 0;
    if (p->channels == 0 || !depth_fits(p->colour, p->depth) || at[10] != 0 || at[11] != 0 ||
        at[12] > 1)
        return cse_fail(CSE_DATA,
                        "no PNG that can be read: colour type %d with %d bits, compression %d, "
                        "filter %d, interlace %d are none of the format",
                        p->colour, p->depth, at[10], at[11], at[12]);
    if (p->width <= CSE_IMAGE_MOST_SIDE && p->height <= CSE_IMAGE_MOST_SIDE &&
        p->width * p->height <= CSE_IMAGE_MOST_PIXELS &&
        row_bytes(p, p->width) * (size_t)p->height / MOST_PACKED_TIMES > p->file.size)
        return cse_fail(CSE_DATA,
                        "a PNG that is not whole: %lld x %lld pixels cannot come from %zu bytes",
                        (long long)p->width, (long long)p->height, p->file.size);
    return cse_image_make_room(p->image, p->width, p->height);
}

static cse_status take_palette(png *p)
{
    if (p->chunk.size % CSE_IMAGE_CHANNELS != 0 || p->chunk.size == 0 ||
        p->chunk.size > sizeof p->palette)
        return not_whole("its palette is damaged");
    memcpy(p->palette, p->chunk.bytes, p->chunk.size);
    p->has_palette = true;
    return CSE_OK;
}

/* Up to the first chunk of pixels. */
static cse_status read_to_pixels(png *p)
{
    for (;;) {
        CSE_TRY(next_chunk(p));
        if (is_chunk(p, "IDAT"))
            break;
        if (is_chunk(p, "PLTE"))
            CSE_TRY(take_palette(p));
        else if (is_chunk(p, "eXIf"))
            p->notes->orientation = cse_exif_orientation(p->chunk.bytes, p->chunk.size);
        else if (is_chunk(p, "IEND"))
            return not_whole("it has no pixels");
        else if ((p->chunk.type[0] & 0x20) == 0)
            return cse_fail(CSE_DATA, "no PNG that can be read: its chunk %s is none of the format",
                            p->chunk.type);
    }
    return p->colour == INDEXED && !p->has_palette ? not_whole("it has no palette") : CSE_OK;
}

/* Behind the pixels, where EXIF may stand, too. */
static cse_status read_to_end(png *p)
{
    while (!is_chunk(p, "IEND")) {
        if (is_chunk(p, "eXIf"))
            p->notes->orientation = cse_exif_orientation(p->chunk.bytes, p->chunk.size);
        CSE_TRY(next_chunk(p));
    }
    return CSE_OK;
}

/* ---- the stream of pixels ---- */

/* The stream goes on in the next chunk of pixels, whose CRC is compared when it becomes the
 * current one. */
static cse_status feed(png *p)
{
    while (p->stream.avail_in == 0 && is_chunk(p, "IDAT")) {
        p->stream.next_in = (Bytef *)(uintptr_t)p->chunk.bytes;
        p->stream.avail_in = (uInt)p->chunk.size;
        CSE_TRY(next_chunk(p));
    }
    return CSE_OK;
}

/* Up to `size` bytes; fewer at the end of the stream, at which its Adler-32 was compared. */
static cse_status inflate_bytes(png *p, unsigned char *to, size_t size)
{
    p->stream.next_out = to;
    p->stream.avail_out = (uInt)size;
    while (p->stream.avail_out > 0 && !p->stream_ended) {
        CSE_TRY(feed(p));
        const int code = inflate(&p->stream, Z_NO_FLUSH);
        if (code == Z_STREAM_END)
            p->stream_ended = true;
        else if (code != Z_OK)
            return not_whole(p->stream.msg != NULL ? p->stream.msg : "its pixels end too early");
    }
    return CSE_OK;
}

/* Bytes beyond the picture are left out, as other readers do it, so that the end is found. */
static cse_status end_stream(png *p)
{
    unsigned char beyond[4096];
    for (int bytes = 0; !p->stream_ended; bytes += (int)sizeof beyond) {
        if (bytes > BEYOND_MOST_BYTES)
            return not_whole("its pixels go on beyond the picture");
        CSE_TRY(inflate_bytes(p, beyond, sizeof beyond));
    }
    return CSE_OK;
}

/* ---- rows ---- */

/* Value `i` of the row, of 8 bits; of one to four bits as its number. */
static unsigned value_of(const png *p, const unsigned char *row, size_t i)
{
    if (p->depth == 8)
        return row[i];
    if (p->depth == 16) {
        const unsigned value = (unsigned)row[2 * i] << 8 | row[2 * i + 1];
        if (p->colour != GREY)
            return value >> 8;
        p->notes->exceeds_bytes |= value > 255;
        return value < 255 ? value : 255;
    }
    const size_t bit = i * (size_t)p->depth;
    return row[bit / 8] >> (8 - p->depth - (int)(bit % 8)) & ((1 << p->depth) - 1);
}

/* A whole row of values of 8 bits. */
static void put_plain_row(const png *p, const unsigned char *row, unsigned char *to)
{
    const size_t channels = (size_t)p->channels;
    const bool is_grey = p->colour == GREY || p->colour == GREY_ALPHA;
    if (channels == CSE_IMAGE_CHANNELS) {
        memcpy(to, row, (size_t)p->width * CSE_IMAGE_CHANNELS);
        return;
    }
    for (int64_t x = 0; x < p->width; x++, row += channels, to += CSE_IMAGE_CHANNELS) {
        const unsigned char *value = row;
        if (p->colour == INDEXED)
            value = p->palette + row[0] * CSE_IMAGE_CHANNELS;
        to[0] = value[0];
        to[1] = value[is_grey ? 0 : 1];
        to[2] = value[is_grey ? 0 : 2];
    }
}

static void put_row(const png *p, const unsigned char *row, const pass *at, int64_t y)
{
    if (p->depth == 8 && at->step_x == 1) {
        put_plain_row(p, row, p->image->pixels + (size_t)(y * p->width) * CSE_IMAGE_CHANNELS);
        return;
    }
    const unsigned scale = p->colour == GREY && p->depth < 8 ? 255 / ((1u << p->depth) - 1) : 1;
    const size_t channels = (size_t)p->channels;
    size_t i = 0;
    for (int64_t x = at->x; x < p->width; x += at->step_x, i += channels) {
        unsigned char *to = p->image->pixels + (size_t)(y * p->width + x) * CSE_IMAGE_CHANNELS;
        if (p->channels >= CSE_IMAGE_CHANNELS) {
            for (size_t c = 0; c < CSE_IMAGE_CHANNELS; c++)
                to[c] = (unsigned char)value_of(p, row, i + c);
            continue;
        }
        const unsigned value = value_of(p, row, i);
        if (p->colour == INDEXED)
            memcpy(to, p->palette + value * CSE_IMAGE_CHANNELS, CSE_IMAGE_CHANNELS);
        else
            memset(to, (int)(value * scale), CSE_IMAGE_CHANNELS);
    }
}

static cse_status read_pass(png *p, const pass *at)
{
    const size_t bits = (size_t)(p->channels * p->depth), step = (bits + 7) / 8;
    if (at->x >= p->width)
        return CSE_OK;
    const size_t size = row_bytes(p, (p->width - at->x + at->step_x - 1) / at->step_x);
    unsigned char *row = p->rows[0] + MOST_STEP, *above = p->rows[1] + MOST_STEP;
    memset(above, 0, size);
    for (int64_t y = at->y; y < p->height; y += at->step_y) {
        CSE_TRY(inflate_bytes(p, row - 1, size + 1));
        if (p->stream.avail_out > 0)
            return not_whole("its pixels end too early");
        const int filter = row[-1];
        row[-1] = 0;
        if (!cse_png_unfilter(filter, row, above, size, step))
            return not_whole("a row has a filter that is none of the format");
        put_row(p, row, at, y);
        unsigned char *done = row;
        row = above;
        above = done;
    }
    return CSE_OK;
}

static cse_status read_pixels(png *p)
{
    const pass *passes = p->is_interlaced ? adam7 : whole;
    const size_t count = p->is_interlaced ? sizeof adam7 / sizeof *adam7 : 1;
    for (int i = 0; i < 2; i++)
        p->rows[i] = cse_calloc(1, row_bytes(p, p->width) + 2 * MOST_STEP);
    if (inflateInit(&p->stream) != Z_OK)
        return cse_fail(CSE_TEMPORARY, "no memory to unpack a PNG");
    for (size_t i = 0; i < count; i++)
        CSE_TRY(read_pass(p, &passes[i]));
    return end_stream(p);
}

cse_status cse_png_decode(cse_picture_file file, cse_image *image, cse_picture_notes *notes)
{
    png *p = cse_calloc(1, sizeof *p);
    *p = (png){ .file = file, .at = SIGNATURE_BYTES, .image = image, .notes = notes };
    cse_status status =
        file.size < SIGNATURE_BYTES ? not_whole("it ends within its signature") : read_header(p);
    if (status == CSE_OK)
        status = read_to_pixels(p);
    if (status == CSE_OK)
        status = read_pixels(p);
    if (status == CSE_OK)
        status = read_to_end(p);
    inflateEnd(&p->stream);
    for (int i = 0; i < 2; i++)
        free(p->rows[i]);
    free(p);
    return status;
}
