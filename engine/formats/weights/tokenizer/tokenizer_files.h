/* A GGUF file's own tokenizer as the files that stand beside weights in a folder. */
#ifndef CSE_WEIGHTS_TOKENIZER_FILES_H
#define CSE_WEIGHTS_TOKENIZER_FILES_H

#include <jansson.h>

#include "csengine/status.h"

/* Texts of tokenizer.json and tokenizer_config.json; NULL: there is no tokenizer. free() */
typedef struct cse_tokenizer_files {
    char *json, *config;
} cse_tokenizer_files;
void cse_tokenizer_files_clear(cse_tokenizer_files *files);

/* Whether the facts (NULL: none) hold tokens. */
bool cse_tokenizer_facts_are_whole(const json_t *facts);

/* Of facts "tokenizer...", with their lists; no files where there are no tokens. `path`: for
 * messages. CSE_DATA: the kind of tokenizer is not known, with its name, or the facts do not fit
 * each other. */
cse_status cse_tokenizer_files_make(const char *path, const json_t *facts,
                                    cse_tokenizer_files *files);

#endif
