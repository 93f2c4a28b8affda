/* The filter LZ4 of HDF5 (number 32004 of the HDF Group's registry), to read what h5py with
 * hdf5plugin, and cstorch, have compressed. */
#ifndef CSE_WEIGHT_FORMATS_LZ4_FILTER_H
#define CSE_WEIGHT_FORMATS_LZ4_FILTER_H

#include <stddef.h>

/* For this process; HDF5 then finds it by its number. */
void cse_lz4_filter_register(void);

/* Decodes a block of the format LZ4 to exactly `size` bytes; 0, or -1 when it is malformed. */
int cse_lz4_decode(const unsigned char *block, size_t bytes, unsigned char *to, size_t size);

#endif
