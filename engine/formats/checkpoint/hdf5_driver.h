/* A virtual file driver of ours, through which HDF5 uses a file that is already open.
 *
 * HDF5's own driver cannot abandon a file: after a failed write (a full disk) the file cannot be
 * closed, keeps its space and is flushed again when the process ends. This driver keeps the first
 * error for the caller and lets HDF5 close the file normally. It takes no locks, so it works on
 * file systems without them, and it reads the same open file that was verified. */
#ifndef CSE_CHECKPOINT_HDF5_DRIVER_H
#define CSE_CHECKPOINT_HDF5_DRIVER_H

#include <hdf5.h>
#include <stdint.h>

typedef struct cse_hdf5_target {
    int descriptor; /* borrowed */
    int error;      /* errno of the first failure, or 0 */
} cse_hdf5_target;

/* A file access property list with this driver and the format bounds of our files; H5Pclose it.
 * `target` must outlive the file. Negative when HDF5 refuses. */
hid_t cse_hdf5_access_new(cse_hdf5_target *target);

#endif
