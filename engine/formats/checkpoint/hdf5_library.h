/* What writing and reading share of the HDF5 library: its errors, and its types for ours. */
#ifndef CSE_CHECKPOINT_HDF5_LIBRARY_H
#define CSE_CHECKPOINT_HDF5_LIBRARY_H

#include <hdf5.h>

#include "csengine/tensor.h"

/* HDF5 prints its errors unless told not to; the process's own setting is restored afterwards. */
typedef struct cse_hdf5_quiet {
    H5E_auto2_t function;
    void *data;
} cse_hdf5_quiet;

cse_hdf5_quiet cse_hdf5_silence(void);
void cse_hdf5_restore(cse_hdf5_quiet saved);

/* Fails with HDF5's last error message. */
cse_status cse_hdf5_failed(cse_status status, const char *path, const char *what);

/* The HDF5 type of a tensor's elements; H5Tclose it. */
hid_t cse_hdf5_type_of(cse_dtype dtype);

#endif
