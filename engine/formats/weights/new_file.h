/* Files and folders that appear under their names when they are whole, and not at all when writing
 * fails. A process that is killed leaves NAME.tmp, which the next writer of that name uses again;
 * a lock keeps two writers apart. */
#ifndef CSE_WEIGHTS_NEW_FILE_H
#define CSE_WEIGHTS_NEW_FILE_H

#include <limits.h>

#include "csengine/status.h"

typedef struct cse_new_file {
    const char *path; /* borrowed */
    char temporary[PATH_MAX];
    int descriptor; /* of an empty file, or of the folder */
} cse_new_file;

/* CSE_CANNOT_CREATE, CSE_PERMISSION, CSE_TEMPORARY, CSE_IO. */
cse_status cse_new_file_open(cse_new_file *file, const char *path);
/* `status`: of the writing. Where it is good, the file is synchronised and gets its name. Returns
 * the first failure. */
cse_status cse_new_file_close(cse_new_file *file, cse_status status);

/* The same of a folder: files are put into `temporary`. One of that name must not be there. */
typedef cse_new_file cse_new_folder;
cse_status cse_new_folder_open(cse_new_folder *folder, const char *path);
cse_status cse_new_folder_close(cse_new_folder *folder, cse_status status);

#endif
