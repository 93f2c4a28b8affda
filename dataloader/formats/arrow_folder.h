/* Which files of a folder of Hugging Face's `datasets` are its rows, in their order. */
#ifndef CSE_DATALOADER_FORMATS_ARROW_FOLDER_H
#define CSE_DATALOADER_FORMATS_ARROW_FOLDER_H

#include "csengine/status.h"
#include "engine/base/arena.h"

typedef struct cse_arrow_folder {
    cse_arena *arena; /* borrowed; it owns the texts and the lists */
    const char **paths;
    int count;
    const char **columns; /* those that set_format left visible; NULL: all */
    int column_count;
} cse_arrow_folder;

/* `path` is such a folder, whose state.json names its files; a folder without state.json, of which
 * all *.arrow, or else all *.parquet, are read in the order of their names; or a file. CSE_DATA: a
 * table of indices says which rows count, state.json is damaged, or the files are caches of
 * `datasets`; CSE_NO_INPUT: there is none. */
cse_status cse_arrow_folder_read(cse_arena *arena, const char *path, cse_arrow_folder *folder);

#endif
