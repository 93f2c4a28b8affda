/* Who may use the session: the thread that opened it, in the process that opened it. */
#ifndef CSE_ENGINE_NN_OWNER_H
#define CSE_ENGINE_NN_OWNER_H

#include "csengine/status.h"

/* The calling thread is the owner from now on, until it lets go. */
void cse_network_take(void);
void cse_network_let_go(void);

/* CSE_USAGE for any other thread, and in a process that was forked while somebody was the owner. */
cse_status cse_network_check_owner(const char *caller);

#endif
