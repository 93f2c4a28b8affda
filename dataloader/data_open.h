/* Opening data whose identity is known, or is taken now. */
#ifndef CSE_DATALOADER_DATA_OPEN_H
#define CSE_DATALOADER_DATA_OPEN_H

#include "dataloader/identity/data_watch.h"
#include "dataloader/input.h"

/* cse_dataloader_open that compares every file it opens with the identity. CSE_DATA, naming the
 * file and both contents, when one was changed, and when one changes while it is read. */
cse_status cse_data_open(const cse_settings *settings, uint64_t default_seed,
                         const cse_data_watch *watch, cse_dataloader **loader);

#endif
