/* hdf5: the datasets of an HDF5 file; one with a seal at its end is a checkpoint of ours. */
#include <string.h>

#include "engine/formats/checkpoint/seal.h"
#include "engine/formats/weights/weight_formats/hdf5_datasets.h"

static bool begins(const cse_weights_file *file, const unsigned char *start, size_t bytes)
{
    return bytes >= 8 && memcmp(start, "\x89HDF\r\n\x1a\n", 8) == 0 &&
           !cse_seal_is_at_end(file->descriptor, file->bytes);
}

const cse_weights_format cse_weight_format_hdf5 = {
    .name = "hdf5",
    .summary = "datasets of an HDF5 file, as h5py and cstorch write them",
    .extensions = ".h5 .hdf5",
    .begins = begins,
    .open = cse_hdf5_datasets_open,
    .write = cse_hdf5_datasets_write,
};
