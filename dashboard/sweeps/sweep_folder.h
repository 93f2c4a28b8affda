/* Where the sweeps of a root stand: ROOT/sweeps/NAME. No job has a folder of that name. */
#ifndef CSE_DASHBOARD_SWEEPS_SWEEP_FOLDER_H
#define CSE_DASHBOARD_SWEEPS_SWEEP_FOLDER_H

#include <dirent.h>

#include "run/sweep/sweep_log.h"

/* As cse_sweep_log_read; a symbolic link in the place of the folder is CSE_DATA. */
cse_status cse_sweep_folder_read(const char *root, const char *name, cse_arena *arena,
                                 cse_sweep_log *log);
/* The folders of all; NULL: there are none. */
DIR *cse_sweep_folders_open(const char *root);

#endif
