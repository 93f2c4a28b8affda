/* Pages are held gzip-compressed, as most browsers accept them; other clients and reports need them
 * unpacked. */
#include <stdint.h>
#include <zlib.h>

#include "dashboard/pages/web_files.h"

bool cse_web_file_unpack(const cse_web_file *file, cse_text *text)
{
    char buffer[16384];
    z_stream stream = { .next_in = (Bytef *)(uintptr_t)file->gzip,
                        .avail_in = (uInt)file->gzip_bytes };
    if (inflateInit2(&stream, 15 + 16) != Z_OK)
        return false;
    int code = Z_OK;
    while (code == Z_OK) {
        stream.next_out = (Bytef *)buffer;
        stream.avail_out = sizeof buffer;
        code = inflate(&stream, Z_NO_FLUSH);
        cse_text_add_bytes(text, buffer, sizeof buffer - stream.avail_out);
    }
    inflateEnd(&stream);
    return code == Z_STREAM_END;
}
