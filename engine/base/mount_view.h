/* A root folder that holds the paths of a list and nothing else, in a name space of mounts. */
#ifndef CSE_BASE_MOUNT_VIEW_H
#define CSE_BASE_MOUNT_VIEW_H

#include "engine/base/job_paths.h"

/* In the first process of new name spaces of mounts and processes: replaces its root. The working
 * directory stays where it is there, else it is "/". Sorts the list. */
cse_status cse_mount_view_make(cse_job_paths *paths);

#endif
