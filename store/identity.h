/* Which store this is, and whether it was written to since: by its files alone, without opening it.
 *
 * Equal texts mean the same files, of the same size, last written at the same time. The time of the
 * last change of a file's entry is among them, which no program can set back. Who keeps what it
 * read from a store takes the identity before and after it reads. */
#ifndef CSE_STORE_IDENTITY_H
#define CSE_STORE_IDENTITY_H

#include <stdint.h>

enum { CSE_STORE_IDENTITY_BYTES = 256 };

typedef struct cse_store_identity {
    char text[CSE_STORE_IDENTITY_BYTES];
    int64_t changed_ms; /* when the newest of the files was; 0: there is none */
} cse_store_identity;

/* Of the store of a model_dir; of one without a store as well. */
cse_store_identity cse_store_identify(const char *model_dir);

#endif
