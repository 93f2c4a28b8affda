/* ZIP archives as PyTorch and NumPy write them, with the fields of 64 bits (APPNOTE.TXT 6.3,
 * sections 4.3 and 4.5.3). Entries of weights are stored, not compressed. */
#ifndef CSE_WEIGHT_FORMATS_ZIP_H
#define CSE_WEIGHT_FORMATS_ZIP_H

#include "engine/base/text.h"
#include "engine/formats/weights/format.h"

typedef struct cse_zip_entry {
    const char *name;
    uint64_t offset, bytes; /* of its content */
    uint64_t packed;        /* bytes in the file; `bytes`, if it is stored */
    uint32_t checksum;      /* CRC-32 */
    bool deflated;
    cse_weights_span *span; /* for the weights in it; lives in their arena */
} cse_zip_entry;

typedef struct cse_zip {
    cse_zip_entry *entries;
    int count;
    cse_name_index names;
} cse_zip;

/* The directory of an archive; texts live in the arena of the weights. CSE_DATA: damaged, or an
 * entry is compressed or encrypted. cse_zip_clear in any case. */
cse_status cse_zip_open(cse_weights *weights, int file, cse_zip *zip);
/* The same where entries may be deflated, which cse_zip_read unpacks. */
cse_status cse_zip_open_packed(cse_weights *weights, int file, cse_zip *zip);
void cse_zip_clear(cse_zip *zip);
/* NULL: there is none. */
const cse_zip_entry *cse_zip_find(const cse_zip *zip, const char *name);
/* Reads a whole entry of at most so many bytes and compares its checksum; free(*content). */
cse_status cse_zip_read(const cse_weights *weights, int file, const cse_zip_entry *entry,
                        size_t most_bytes, char **content);

/* ---- writing ---- */

typedef struct cse_zip_writer {
    const cse_weights_target *to;
    uint64_t at;        /* where the next entry begins */
    cse_text directory; /* of those that are written */
    uint64_t count;
} cse_zip_writer;

/* Where the content of the next entry will begin, a multiple of 64. */
uint64_t cse_zip_content(const cse_zip_writer *writer, const char *name);
/* Adds an entry whose content is written, or will be, at that place. */
cse_status cse_zip_add(cse_zip_writer *writer, const char *name, uint64_t bytes, uint32_t checksum);
/* Writes the content as well. */
cse_status cse_zip_add_bytes(cse_zip_writer *writer, const char *name, const void *content,
                             size_t bytes);
/* Adds the elements of a weight. */
cse_status cse_zip_add_weight(cse_zip_writer *writer, const char *name, cse_weights *from,
                              int index);
cse_status cse_zip_finish(cse_zip_writer *writer);
void cse_zip_writer_clear(cse_zip_writer *writer);

#endif
