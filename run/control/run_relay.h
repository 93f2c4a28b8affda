/* A command to the run of this host, on its way from another host to the control socket here. */
#ifndef CSE_RUN_CONTROL_RUN_RELAY_H
#define CSE_RUN_CONTROL_RUN_RELAY_H

#include <stdint.h>

#include "csengine/status.h"

/* Reads the command from `input`, as cse_batch_control_send wrote it, hands it to the run in
 * `model_dir`, and prints the answer, or why there is none, to `output`. CSE_DATA when the input is
 * no command, CSE_IO when the output cannot be written. */
cse_status cse_run_relay(const char *model_dir, int64_t timeout_ms, int input, int output);

#endif
