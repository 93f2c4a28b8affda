/* Writes a checkpoint after the step in flight and goes on. */
#include "dashboard/routes/route_support.h"

const cse_route cse_route_checkpoint_now = {
    .path = "/api/v1/jobs/{id}/checkpoint",
    .tag = "control",
    .operations = {
        { CSE_COMMAND_OPERATION("checkpointJob",
                                "Writes a checkpoint after the step in flight and goes on"),
          .body = "ReasonRequest", .body_optional = true },
    },
};
