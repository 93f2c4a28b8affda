/* Where the files of a tar archive stand (POSIX ustar with pax headers, and GNU's long names), so
 * that any of them can be read without those before it.
 *
 * An index is made by going from header to header. `csengine data index` writes it next to the
 * archive, as lines of "OFFSET BYTES NAME", which saves that pass. */
#ifndef CSE_DATALOADER_FILES_TAR_INDEX_H
#define CSE_DATALOADER_FILES_TAR_INDEX_H

#include "dataloader/files/file_pool.h"
#include "engine/base/text.h"

enum { CSE_TAR_NAME_BYTES = 4096 };

typedef struct cse_tar_member {
    int64_t offset, bytes; /* of its content */
    const char *name;      /* good until the function that gets it returns */
} cse_tar_member;

/* Called with each regular file of the archive, in order. */
typedef cse_status cse_tar_visit(void *self, const cse_tar_member *member);

/* Goes through the archive; CSE_DATA says at which offset it is no tar. */
cse_status cse_tar_scan(cse_file_pool *pool, int file, cse_tar_visit *visit, void *self);
/* The same by the text of an index; members must lie within the archive. */
cse_status cse_tar_scan_index(cse_file_pool *pool, int file, const cse_text *index,
                              cse_tar_visit *visit, void *self);
/* PATH.idx where it exists, else the archive. */
cse_status cse_tar_visit_all(cse_file_pool *pool, int file, cse_tar_visit *visit, void *self);

#endif
