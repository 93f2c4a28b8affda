/* Temporary folders of tests. */
#ifndef CSE_TESTS_SUPPORT_TEMPORARY_FOLDER_H
#define CSE_TESTS_SUPPORT_TEMPORARY_FOLDER_H

#include <stdbool.h>

/* Removes the folder `path` with its content. False when something of it stays. */
bool temporary_folder_remove(const char *path);

#endif
