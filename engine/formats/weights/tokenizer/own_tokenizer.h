/* The tokenizer that is in a file of weights. */
#ifndef CSE_WEIGHTS_OWN_TOKENIZER_H
#define CSE_WEIGHTS_OWN_TOKENIZER_H

#include "engine/formats/weights/tokenizer/tokenizer_files.h"

/* No files where `path` is no file of weights that holds one. CSE_DATA as cse_tokenizer_files_make;
 * cse_tokenizer_files_clear(). */
cse_status cse_own_tokenizer(const char *path, cse_tokenizer_files *files);

/* Writes them to a folder, in place of those that are there. */
cse_status cse_own_tokenizer_write(const cse_tokenizer_files *files, const char *folder);

#endif
