/* libwebp. Of an animation the first frame, at its place on an empty canvas, as Pillow opens it. */
#include <stdlib.h>
#include <string.h>
#include <webp/decode.h>
#include <webp/demux.h>

#include "dataloader/pictures/picture_formats.h"

static int orientation_of(const WebPDemuxer *demuxer)
{
    int orientation = 0;
    WebPChunkIterator chunk = { 0 };
    if (WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk))
        orientation = cse_exif_orientation(chunk.chunk.bytes, chunk.chunk.size);
    WebPDemuxReleaseChunkIterator(&chunk);
    return orientation;
}

static cse_status place_frame(const WebPIterator *frame, cse_image *image)
{
    const int row_bytes = image->width * CSE_IMAGE_CHANNELS;
    const size_t all = (size_t)row_bytes * (size_t)image->height;
    const size_t at = ((size_t)frame->y_offset * (size_t)image->width + (size_t)frame->x_offset) *
                      CSE_IMAGE_CHANNELS;
    int width = 0, height = 0;
    if (!WebPGetInfo(frame->fragment.bytes, frame->fragment.size, &width, &height) ||
        width != frame->width || height != frame->height || frame->x_offset < 0 ||
        frame->y_offset < 0 || width > image->width - frame->x_offset ||
        height > image->height - frame->y_offset)
        return cse_fail(CSE_DATA, "a WebP whose first frame is damaged");
    memset(image->pixels, 0, all);
    if (WebPDecodeRGBInto(frame->fragment.bytes, frame->fragment.size, image->pixels + at, all - at,
                          row_bytes) == NULL)
        return cse_fail(CSE_DATA, "a WebP that is not whole, or damaged");
    return CSE_OK;
}

cse_status cse_webp_decode(cse_picture_file file, cse_image *image, cse_picture_notes *notes)
{
    const WebPData data = { file.bytes, file.size };
    WebPIterator frame = { 0 };
    WebPDemuxer *demuxer = WebPDemux(&data);
    if (demuxer == NULL)
        return cse_fail(CSE_DATA, "no WebP that can be read: it is cut off or damaged");
    cse_status status = cse_image_make_room(image, WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH),
                                            WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT));
    if (status == CSE_OK && !WebPDemuxGetFrame(demuxer, 1, &frame))
        status = cse_fail(CSE_DATA, "a WebP without a picture");
    if (status == CSE_OK)
        status = place_frame(&frame, image);
    if (status == CSE_OK && notes != NULL)
        notes->orientation = orientation_of(demuxer);
    WebPDemuxReleaseIterator(&frame);
    WebPDemuxDelete(demuxer);
    return status;
}
