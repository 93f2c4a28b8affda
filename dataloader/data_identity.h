/* Which data a run reads: each file that its input functions open, by size, times, inode and a
 * digest of its content.
 *
 * The process that begins a run takes the digest of a file when it first opens it; every later open,
 * in any process of the run, compares with that. Unchanged size, times and inode are enough; where
 * they differ the content decides. A file that is larger than CSE_DATA_WHOLE_BYTES is known by
 * CSE_DATA_SAMPLES blocks of CSE_DATA_SAMPLE_BYTES, spread evenly from its first to its last byte,
 * and by its time of modification: a change between the blocks that restores that time is not seen.
 *
 * As text, one line a file:
 *
 *     ROLE DIGEST BYTES MODIFIED_NS CHANGED_NS DEVICE INODE PATH
 *
 * ROLE is train or validation, DIGEST blake2b:HEX or, for a large file, sampled:HEX; bytes of the
 * path that are no printable characters, and %, are %XX. */
#ifndef CSE_DATALOADER_DATA_IDENTITY_H
#define CSE_DATALOADER_DATA_IDENTITY_H

#include "dataloader/input.h"
#include "engine/base/text.h"

enum { CSE_DATA_DIGEST_BYTES = 80, CSE_DATA_SAMPLES = 64, CSE_DATA_SAMPLE_BYTES = 1 << 20 };
#define CSE_DATA_WHOLE_BYTES (INT64_C(256) << 20)
/* Digests of files of this size or more are kept for the next start. */
#define CSE_DATA_KEPT_BYTES (INT64_C(16) << 20)

typedef struct cse_data_file {
    char *path;
    int64_t bytes, modified_ns, changed_ns;
    uint64_t device, inode;
    char digest[CSE_DATA_DIGEST_BYTES];
    bool training; /* it is read for training */
    bool opened;   /* by the last cse_data_open */
} cse_data_file;

typedef struct cse_data_identity {
    cse_data_file *files;
    int count, capacity;
} cse_data_identity;

void cse_data_identity_clear(cse_data_identity *identity);
void cse_data_identity_print(const cse_data_identity *identity, cse_text *text);
/* False, and an empty identity, for any other text. */
bool cse_data_identity_parse(const char *text, cse_data_identity *identity);

/* Whether the files of a role are others than before; `what` says which and how. Files are compared
 * in the order in which they were first opened, whatever their names. */
bool cse_data_identity_differs(const cse_data_identity *before, const cse_data_identity *now,
                               bool training, cse_text *what);

/* One BLAKE2b-256 over the digests of the files of training, as hexadecimal digits. */
void cse_data_identity_digest(const cse_data_identity *identity, char digits[65]);

typedef struct cse_data_watch {
    cse_data_identity *identity;
    bool complete;     /* no other file may be opened; else further ones are added */
    const char *cache; /* a file that keeps the digests of large files; NULL: none */
} cse_data_watch;

/* cse_dataloader_open that compares every file it opens with the identity. CSE_DATA, naming the
 * file and both contents, when one was changed, and when one changes while it is read. */
cse_status cse_data_open(const cse_settings *settings, uint64_t default_seed,
                         const cse_data_watch *watch, cse_dataloader **loader);

/* Called with each regular file that is opened to be read; does nothing outside cse_data_open. */
cse_status cse_data_note_open(int descriptor, const char *path);

#endif
