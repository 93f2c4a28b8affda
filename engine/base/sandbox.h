/* A process of a confined job gives up what it does not need, before it reads input or loads code
 * of the job: new privileges, the file system outside of the job's folders (landlock.h), and system
 * calls (system_calls.h). What the kernel lacks is left out; the paths of settings are held to
 * confinement.h in any case.
 *
 * A build with sanitizers may read everywhere (their options name files), and trace and start
 * processes (LeakSanitizer examines its process by ptrace from a clone). */
#ifndef CSE_BASE_SANDBOX_H
#define CSE_BASE_SANDBOX_H

#include "engine/base/confinement.h"
#include "engine/base/sandbox_profile.h"

/* What a kernel offers. */
typedef struct cse_sandbox_figures {
    int landlock;      /* version; 0: none */
    bool system_calls; /* filters by seccomp */
    bool name_spaces;  /* for users without privileges */
} cse_sandbox_figures;
cse_sandbox_figures cse_sandbox_available(void);
/* "no new privileges, Landlock 7, a list of system calls", as far as it is there. */
void cse_sandbox_describe(cse_text *text);

/* `confinement` may be NULL for a parser. `private_folder`: sockets and temporary files of the run;
 * NULL: none is needed. Called by the main thread, of a coordinator before there are others. */
cse_status cse_sandbox_enter(cse_sandbox_profile profile, const cse_confinement *confinement,
                             const char *private_folder);

#endif
