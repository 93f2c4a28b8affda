/* What a host does as a whole, for reports: how busy its cores are, their clock, memory, disks,
 * network, temperature; read from /proc and /sys every other second.
 *
 *     {"interval_ms", "busy", "cores": [..], "clock_mhz", "clock_least_mhz", "memory_bytes",
 *      "memory_free_bytes", "disk_read_mb_per_second", "disk_written_mb_per_second", "disk_busy",
 *      "network_received_mb_per_second", "network_sent_mb_per_second", "temperature_celsius",
 *      "not_readable": ["clock", ..]}
 *
 * What this host does not tell is left out and named in "not_readable": nothing is made up. A
 * sample takes some tens of microseconds of the coordinator's time: less than a thousandth of a
 * core (tests/workers/check_host_sampler.c). */
#ifndef CSE_WORKERS_CONTROL_HOST_SAMPLER_H
#define CSE_WORKERS_CONTROL_HOST_SAMPLER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define CSE_HOST_SAMPLE_NS INT64_C(2000000000)
/* Cores whose share of the time is told one by one; of more, the mean alone. */
enum { CSE_HOST_SAMPLE_CORES = 64 };

typedef struct cse_host_sampler cse_host_sampler;

/* `root` stands before /proc and /sys: "" for those of this host. */
cse_host_sampler *cse_host_sampler_new(const char *root);
void cse_host_sampler_destroy(cse_host_sampler **sampler);

/* A sample, borrowed until the next call; `fresh`: it is a new one. NULL before the second look at
 * the host, since rates are between two. */
json_t *cse_host_sampler_take(cse_host_sampler *sampler, int64_t now_ns, bool *fresh);

#endif
