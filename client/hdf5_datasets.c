/* The client library has no HDF5: files of others are for the program. */
#include "engine/formats/weights/weight_formats/hdf5_datasets.h"

cse_status cse_hdf5_datasets_open(cse_weights *weights, int file,
                                  const cse_weights_options *options)
{
    (void)file;
    (void)options;
    return cse_fail(CSE_UNAVAILABLE,
                    "%s: the client library does not read HDF5 files of other programs: `csengine "
                    "checkpoint convert %s NEW.safetensors`, and load that",
                    weights->path, weights->path);
}

cse_status cse_hdf5_datasets_write(cse_weights *from, const cse_weights_target *to)
{
    (void)from;
    return cse_fail(CSE_UNAVAILABLE,
                    "%s: the client library does not write HDF5 files for other programs: save a "
                    "checkpoint, and use `csengine checkpoint convert`",
                    to->path);
}
