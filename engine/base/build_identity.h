/* Which build of this code is running, so that what one build has cached is not taken for the
 * result of another. */
#ifndef CSE_BASE_BUILD_IDENTITY_H
#define CSE_BASE_BUILD_IDENTITY_H

#include <stddef.h>

enum { CSE_BUILD_IDENTITY_BYTES = 64 };

/* Writes the identity to `bytes` and returns its length: the linker's build id of the program or
 * library that holds this code or, where it has none, a hash of its instructions. */
size_t cse_build_identity(unsigned char bytes[CSE_BUILD_IDENTITY_BYTES]);

#endif
