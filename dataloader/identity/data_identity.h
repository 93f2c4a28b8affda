/* Which data a run reads: each file that its input functions open, by size, times, inode and a
 * digest of its content.
 *
 * The process that begins a run takes the digest of a file when it first opens it; every later
 * open, in any process of the run, compares with that. Unchanged size, times and inode are enough;
 * where they differ the content decides. A file that is larger than CSE_DATA_WHOLE_BYTES is known
 * by CSE_DATA_SAMPLES blocks of CSE_DATA_SAMPLE_BYTES, spread evenly from its first to its last
 * byte, and by its time of modification: a change between the blocks that restores that time is not
 * seen.
 *
 * As text, one line a file:
 *
 *     ROLE DIGEST BYTES MODIFIED_NS CHANGED_NS DEVICE INODE PATH
 *
 * ROLE is train or validation, DIGEST blake2b:HEX or, for a large file, sampled:HEX; bytes of the
 * path that are no printable characters, and %, are %XX. */
#ifndef CSE_DATALOADER_IDENTITY_DATA_IDENTITY_H
#define CSE_DATALOADER_IDENTITY_DATA_IDENTITY_H

#include "dataloader/identity/data_file.h"
#include "engine/base/text.h"

typedef struct cse_data_identity {
    cse_data_file *files;
    int count, capacity;
} cse_data_identity;

void cse_data_identity_clear(cse_data_identity *identity);
void cse_data_identity_print(const cse_data_identity *identity, cse_text *text);
/* False, and an empty identity, for any other text. */
bool cse_data_identity_parse(const char *text, cse_data_identity *identity);

/* Adds "PATH: SIZE, DIGEST when, now SIZE, DIGEST". */
void cse_data_file_tell(const cse_data_file *before, const cse_data_file *now, const char *when,
                        cse_text *text);
/* Whether the files of a role are others than before; `what` says which and how. Files are compared
 * in the order in which they were first opened, whatever their names. */
bool cse_data_identity_differs(const cse_data_identity *before, const cse_data_identity *now,
                               bool training, cse_text *what);

/* One BLAKE2b-256 over the digests of the files of training, as hexadecimal digits. */
void cse_data_identity_digest(const cse_data_identity *identity, char digits[65]);

#endif
