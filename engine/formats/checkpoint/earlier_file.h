/* Files that an earlier csengine wrote: their seals ("csengine-seal 1" and "2") hold no facts about
 * the run, so that the HDF5 library has to find them.
 *
 * That library is not made for hostile files: whoever calls this gives up his rights before
 * (sandbox.h). */
#ifndef CSE_CHECKPOINT_EARLIER_FILE_H
#define CSE_CHECKPOINT_EARLIER_FILE_H

#include "engine/formats/checkpoint/tensors.h"

/* As cse_checkpoint_load. */
cse_status cse_checkpoint_load_earlier(const char *path, cse_checkpoint **checkpoint);

#endif
