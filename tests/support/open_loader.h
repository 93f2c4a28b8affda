/* A data loader from a text, for tests. */
#ifndef CSE_TESTS_SUPPORT_OPEN_LOADER_H
#define CSE_TESTS_SUPPORT_OPEN_LOADER_H

#include "dataloader/input.h"

/* Parses, checks and opens "{data_processor: synthetic, ...}". */
cse_status open_loader(const char *yaml, uint64_t default_seed, cse_dataloader **loader);
/* What a worker gets of it; the caller frees the text. */
char *encoded_loader(const char *yaml);

#endif
