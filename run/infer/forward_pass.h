/* The forward pass of a configuration's model, described for a file
 * (engine/formats/onnx/onnx.h). */
#ifndef CSE_RUN_INFER_FORWARD_PASS_H
#define CSE_RUN_INFER_FORWARD_PASS_H

#include "engine/formats/weights/forward_pass.h"
#include "run/job/job.h"

/* Traces the model of settings of mode CSE_JOB_INFER in a session of its own, which is ended. Its
 * inputs are those of the data loader, as `csengine predict` has them; where there is none, tokens
 * or images as the model's settings say. No weights are read. Lives in `arena`; clear pass->graph
 * also after a failure. */
cse_status cse_forward_pass_trace(const cse_job_settings *settings, cse_arena *arena,
                                  cse_forward_pass *pass);

#endif
