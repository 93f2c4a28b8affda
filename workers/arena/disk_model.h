/* A disk that takes the time which its rates say, and no other: it does one thing after another,
 * while the one who computes goes on until it needs what has not ended. */
#ifndef CSE_WORKERS_ARENA_DISK_MODEL_H
#define CSE_WORKERS_ARENA_DISK_MODEL_H

#include "workers/arena/block_io.h"

enum { CSE_DISK_MODEL_PLACES = 1 << 14 };

typedef struct cse_disk_model {
    cse_block_io io;     /* first */
    unsigned char *base; /* of an imagined arena whose bytes are touched: what leaves is forgotten;
                            NULL: none are */
    double read_bytes_per_s, write_bytes_per_s; /* 0: it takes no time */
    double now_s;                               /* of the one who computes, who adds to it */
    double free_s;                              /* when all that was begun has ended */
    double busy_s;
    int64_t begun;
    double ends_s[CSE_DISK_MODEL_PLACES]; /* of the newest numbers */
} cse_disk_model;

void cse_disk_model_begin(cse_disk_model *disk, double read_bytes_per_s, double write_bytes_per_s);

#endif
