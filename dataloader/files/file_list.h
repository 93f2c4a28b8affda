/* The files of a folder, in the order of their names' bytes. */
#ifndef CSE_DATALOADER_FILES_FILE_LIST_H
#define CSE_DATALOADER_FILES_FILE_LIST_H

#include "engine/base/arena.h"

typedef struct cse_file_list {
    cse_arena *arena;
    const char **names; /* without the folder */
    int count, capacity;
} cse_file_list;

/* Names that end in one of `endings` (".h5|.hdf5", compared without case); "/" lists folders. Names
 * that begin with a dot are left out. Start from a zeroed struct; CSE_NO_INPUT for a folder that is
 * missing, and none found is not an error. */
cse_status cse_file_list_read(cse_file_list *list, const char *folder, const char *endings);
void cse_file_list_clear(cse_file_list *list);
bool cse_name_ends(const char *name, const char *endings);

#endif
