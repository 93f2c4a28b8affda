/* How fast the disk of a directory is read and written, past the kernel's cache. */
#ifndef CSE_RUN_MEASURE_DISK_RATES_H
#define CSE_RUN_MEASURE_DISK_RATES_H

#include "csengine/status.h"

typedef struct cse_disk_rates {
    double read_bytes_per_s, write_bytes_per_s;
} cse_disk_rates;

/* With a file without a name of 256 MiB, in ranges of the size that a run reads and writes. As
 * the file of states fails. */
cse_status cse_disk_rates_measure(const char *directory, cse_disk_rates *rates);

#endif
