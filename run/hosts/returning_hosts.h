/* Lost hosts of a run that are looked for: one that answers again takes part again. */
#ifndef CSE_RUN_HOSTS_RETURNING_HOSTS_H
#define CSE_RUN_HOSTS_RETURNING_HOSTS_H

#include "run/job/host_change.h"
#include "workers/group/host_group.h"
#include "workers/host_launchers/host_launcher.h"

typedef struct cse_returning_hosts cse_returning_hosts;

/* `change`, `launcher` and the texts are borrowed. */
cse_returning_hosts *cse_returning_hosts_new(cse_host_change *change,
                                             const cse_host_launcher *launcher, const char *options,
                                             const char *program);
void cse_returning_hosts_destroy(cse_returning_hosts **returning);

/* In the group's thread, every few milliseconds: notes who is lost, and starts `PROGRAM --version`
 * on one that may come back. Where that succeeds, the change of hosts is asked for. */
void cse_returning_hosts_turn(cse_returning_hosts *returning, cse_host_group *group,
                              int64_t now_ns);

#endif
