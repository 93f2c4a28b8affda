/* A vocabulary file: a word a line, whose number is that of the line, as BERT has it. */
#ifndef CSE_DATALOADER_TOKENS_WORD_FILE_H
#define CSE_DATALOADER_TOKENS_WORD_FILE_H

#include "engine/base/arena.h"
#include "engine/base/name_index.h"

/* Start from a zeroed struct; release with cse_word_file_clear. */
typedef struct cse_word_file {
    cse_arena *arena;
    const char **words;
    int count, capacity;
    cse_name_index index;
} cse_word_file;

/* With `lowers` all words are in lower case; of equal ones the last counts. */
cse_status cse_word_file_read(cse_word_file *list, const char *path, bool lowers);
/* The same of words from elsewhere, which are copied as they are; `path` is for messages. */
cse_status cse_word_file_take(cse_word_file *list, const char *path, const char *const *words,
                              int count);
void cse_word_file_clear(cse_word_file *list);

/* -1: it is not there. */
int cse_word_file_find(const cse_word_file *list, const char *word);
/* The same, but CSE_DATA where a word that must be there is not. */
cse_status cse_word_file_require(const cse_word_file *list, const char *path, const char *word,
                                 int *number);

/* UTF-8 in lower case, in place; letters whose lower case takes more bytes stay as they are. */
void cse_lower_text(char *text);

#endif
