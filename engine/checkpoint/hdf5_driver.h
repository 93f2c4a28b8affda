/* HDF5's access to a file that is already open, through a driver of our own.
 *
 * HDF5's own driver cannot be told to give a file up: when a write fails (a full disk), the file
 * cannot be closed any more, keeps its space and is flushed again when the process ends. This
 * driver keeps the first error for the caller and lets HDF5 go on to a clean close. It takes no
 * locks, so a file system without them does not matter, and reads the very file that was verified.
 */
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
