/* Writing a checkpoint as an HDF5 file, with its seal. */
#ifndef CSE_CHECKPOINT_HDF5_FILE_H
#define CSE_CHECKPOINT_HDF5_FILE_H

#include "engine/formats/checkpoint/format.h"

/* As `write` of a cse_checkpoint_format. */
cse_status cse_hdf5_file_write(const cse_checkpoint *checkpoint, const cse_format_target *to);

#endif
