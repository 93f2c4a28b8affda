/* The training configurations of a folder: the YAML files below it that have the key trainer. */
#ifndef CSE_CLI_RUNS_TRAINING_FILES_H
#define CSE_CLI_RUNS_TRAINING_FILES_H

#include "engine/base/arena.h"

/* Start from a zeroed struct; release with cse_training_files_clear. */
typedef struct cse_training_files {
    cse_arena *arena;
    char **paths; /* in the order of their names, each with the folder at its front */
    int count, capacity;
} cse_training_files;

/* Hidden folders and symbolic links are left out. CSE_NO_INPUT where `folder` is none, and where
 * there is no such file in it. */
cse_status cse_training_files_find(const char *folder, cse_training_files *files);
void cse_training_files_clear(cse_training_files *files);

#endif
