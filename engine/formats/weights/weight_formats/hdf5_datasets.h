/* Weights as the datasets of an HDF5 file. */
#ifndef CSE_WEIGHT_FORMATS_HDF5_DATASETS_H
#define CSE_WEIGHT_FORMATS_HDF5_DATASETS_H

#include "engine/formats/weights/format.h"

/* As `open` and `write` of a cse_weights_format. */
cse_status cse_hdf5_datasets_open(cse_weights *weights, int file,
                                  const cse_weights_options *options);
cse_status cse_hdf5_datasets_write(cse_weights *from, const cse_weights_target *to);

#endif
