/* What root, and the first process of a name space, may do that other users may not. */
#ifndef CSE_BASE_CAPABILITIES_H
#define CSE_BASE_CAPABILITIES_H

#include "csengine/status.h"

/* The calling thread gives all of it up but for reading and writing files whatever their modes say.
 */
cse_status cse_capabilities_drop(void);

#endif
