/* Name spaces of a confined job's own: of processes (others have no number in it), of objects of
 * System V and POSIX, of the network (without a way out; sockets without a file are its own), and
 * of mounts (what the job may not use is not there). They need no privilege where the machine lets
 * users have them; where it does not, the job runs without. */
#ifndef CSE_BASE_NAME_SPACES_H
#define CSE_BASE_NAME_SPACES_H

#include "engine/base/confinement.h"

/* Tried once, in a process of its own. */
bool cse_name_spaces_are_there(void);

/* This process remains where it is, but for its user; the next one that it forks is the first in
 * the others. Before there are threads. */
cse_status cse_name_spaces_enter(void);
/* In that first process: only what the job may use remains of the file system, and nothing of its
 * rights over the name spaces. Folders of this process's confinement are opened anew. */
cse_status cse_name_spaces_settle(const cse_confinement *confinement, const char *private_folder);
/* Whether it was done in this process. */
bool cse_name_spaces_are_settled(void);

#endif
