/* What several cores do at the same time: bytes from and to memory, and a line that one passes to
 * another. */
#ifndef CSE_RUN_MEASURE_CORE_PROBE_H
#define CSE_RUN_MEASURE_CORE_PROBE_H

#include "workers/placement/processors.h"

/* Bytes a second of a = b + s * c (McCalpin's STREAM, 12 bytes an element) by all of `count`
 * processors together, each on arrays of its own, which processor `touched[i]` has written first.
 * About a tenth of a second. CSE_TEMPORARY where threads or memory are short. */
cse_status cse_core_probe_bandwidth(const int running[], const int touched[], int count,
                                    double *bytes_per_s);

/* Seconds until a word that one processor has written is read by the other. */
cse_status cse_core_probe_line(int first, int second, double *seconds);

#endif
