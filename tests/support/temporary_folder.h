/* Folders that a test makes and removes, with all that came to be in them. */
#ifndef CSE_TESTS_SUPPORT_TEMPORARY_FOLDER_H
#define CSE_TESTS_SUPPORT_TEMPORARY_FOLDER_H

/* Removes the folder `path` with its content; a failure fails the test. */
void temporary_folder_remove(const char *path);

#endif
