/* The place of a program that `csengine execute` runs: the folder of its run, and what it may
 * touch. It comes by the environment, over exec. */
#ifndef CSE_RUN_PROGRAM_PROGRAM_PLACE_H
#define CSE_RUN_PROGRAM_PROGRAM_PLACE_H

#include "csengine/status.h"

/* Before exec: the folder, and, where this process is confined, its confinement with the private
 * folder of its sockets. */
void cse_program_place_leave(const char *model_dir, const char *private_folder);

/* In the program: makes this process's confinement what was left, once; *model_dir: the folder, or
 * unchanged. CSE_INTERNAL when what was left is malformed. */
cse_status cse_program_place_take(const char **model_dir);

#endif
