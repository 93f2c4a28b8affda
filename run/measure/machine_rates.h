/* What a machine does in a second: the rates that the model of many cores is fed by
 * (machine_model.h). They are measured in steps of a real program (machine_measure.h), or written
 * by hand for a machine that is not there. */
#ifndef CSE_RUN_MEASURE_MACHINE_RATES_H
#define CSE_RUN_MEASURE_MACHINE_RATES_H

#include <jansson.h>

#include "csengine/status.h"

/* What a unit of work is counted in: products in floating-point operations, all else in bytes. */
typedef enum cse_rate {
    CSE_RATE_PRODUCT_FLOAT32,
    CSE_RATE_PRODUCT_BFLOAT16,
    CSE_RATE_ATTENTION_FLOAT32, /* products of activations with each other, fused attention */
    CSE_RATE_ATTENTION_BFLOAT16,
    CSE_RATE_OTHER,  /* bytes of norms, activations, loss, casts */
    CSE_RATE_SERIAL, /* bytes of the serial part of a step: norms of gradients, fetched values */
    CSE_RATE_UPDATE, /* bytes of the optimizer's update */
    CSE_RATE_INPUT,  /* bytes of a microbatch, read, decoded and copied */
    CSE_RATE_COUNT
} cse_rate;

enum { CSE_TOPOLOGY_BYTES = 512 };

/* In SI units: operations and bytes a second, seconds. */
typedef struct cse_machine_rates {
    char topology[CSE_TOPOLOGY_BYTES];  /* as cse_processors_read takes it */
    double of_core[CSE_RATE_COUNT];     /* while all cores compute; 0: not measured */
    double core_bytes_per_s;            /* that one core alone moves from and to memory */
    double memory_bytes_per_s;          /* all cores of one memory together */
    double link_bytes_per_s;            /* between sockets, into each; 0: one socket */
    double cache_bytes;                 /* of the last cache that cores share */
    double cache_line_s, socket_line_s; /* a written line gets to another core: of one cache, */
    double machine_line_s;              /* of one socket, of another socket */
    double spread;                      /* of a microbatch's time: standard deviation over mean */
} cse_machine_rates;

/* "product_bfloat16_flop_per_s", the name in the file. */
const char *cse_rate_name(cse_rate rate);

json_t *cse_machine_rates_json(const cse_machine_rates *rates);
cse_status cse_machine_rates_write(const cse_machine_rates *rates, const char *path);
/* CSE_DATA with the member that is missing, unknown or out of range, and what is accepted. */
cse_status cse_machine_rates_read(const char *path, cse_machine_rates *rates);

#endif
