/* A run with states in a file that is not there: the workers of a run go through some steps over an
 * imagined arena, with programs that compute nothing and a model of the disk. What they would read,
 * write and wait for is counted by the code that a run has, and by no second description of it. */
#ifndef CSE_RUN_MEASURE_IMAGINED_RUN_H
#define CSE_RUN_MEASURE_IMAGINED_RUN_H

#include "workers/arena/cluster.h"

/* What is taken for granted. */
typedef struct cse_imagined_rates {
    double read_bytes_per_s, write_bytes_per_s; /* of the disk; 0: it takes no time */
    /* By group of the graph: seconds of a run of REPLICA or WEIGHTS, and of a line of UPDATE. */
    const double *group_s;
} cse_imagined_rates;

/* A step, once the steps are alike; bytes of all processes. */
typedef struct cse_imagined_step {
    double read_bytes, written_bytes;
    double seconds;
    double waited_s; /* for the disk, of the process that waited most */
} cse_imagined_step;

/* CSE_CONFIG as an arena of that layout would be refused. */
cse_status cse_imagined_run(const cse_cluster_layout *layout, const cse_imagined_rates *rates,
                            cse_imagined_step *step);

#endif
