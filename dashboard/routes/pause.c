/* Pauses the run after the step in flight. */
#include "dashboard/routes/route_support.h"

const cse_route cse_route_pause = {
    .path = "/api/v1/jobs/{id}/pause",
    .tag = "control",
    .operations = {
        { CSE_COMMAND_OPERATION("pauseJob", "Pauses the run after the step in flight"),
          .body = "ReasonRequest", .body_optional = true },
    },
};
