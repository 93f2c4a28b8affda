/* A file without a name in a directory that was given: nothing is left of it when the last process
 * that has it open has ended, however it has. */
#ifndef CSE_BASE_UNNAMED_FILE_H
#define CSE_BASE_UNNAMED_FILE_H

/* A descriptor, closed by exec, of an empty file; -1 with errno. */
int cse_unnamed_file(const char *directory);

#endif
