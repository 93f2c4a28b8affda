/* Commands to a run that is a batch job of Slurm.
 *
 * Its control socket is on the host of the job's script, where `csengine start` runs. A step of the
 * job (srun --overlap) starts `csengine relay` there, which reads the request from its standard
 * input, hands it to the socket, and prints the answer. So whoever may reach the run is whom Slurm
 * lets start steps in the job: its user. */
#ifndef CSE_WORKERS_BATCH_BATCH_CONTROL_H
#define CSE_WORKERS_BATCH_BATCH_CONTROL_H

#include "workers/batch/slurm_job.h"
#include "workers/control/control_client.h"

enum { CSE_BATCH_CONTROL_MS = 20000 };

/* Sends the request to the job of the run in `model_dir`, whose number is `number`; its endpoint is
 * not used. Returns within request->timeout_ms (0: CSE_BATCH_CONTROL_MS) and about a second, as
 * cse_control_send does, and:
 * CSE_TEMPORARY when the job waits, or the node has not answered in time; CSE_UNAVAILABLE when the
 * job has ended, or the node or Slurm's commands are not there. */
cse_status cse_batch_control_send(const char *model_dir, const char *number,
                                  const cse_control_request *request, cse_control_reply *reply);

/* ---- on the host of the run ---- */

/* Reads what cse_batch_control_send gives a relay; CSE_DATA when it is anything else. */
cse_status cse_batch_control_read(const cse_text *input, cse_text *bytes);
/* The line that a relay prints, of an answer's bytes. */
void cse_batch_control_write(const cse_text *bytes, cse_text *line);

#endif
