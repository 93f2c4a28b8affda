/* Ends the job after the step in flight, with a checkpoint by default. */
#include "dashboard/routes/route_support.h"

static const char schemas[] =
    "CancelRequest\n"
    "  grace_s? number 0..86400  # seconds until it is killed\n"
    "  save? boolean  # whether it writes a checkpoint before it ends; default true\n"
    "  message? string ..1000\n"
    "  = {\"grace_s\": 30, \"save\": true}\n";

const cse_route cse_route_cancel = {
    .path = "/api/v1/jobs/{id}/cancel",
    .tag = "control",
    .schemas = schemas,
    .operations = {
        { CSE_COMMAND_OPERATION("cancelJob", "Ends the job, with a checkpoint first"),
          .body = "CancelRequest", .body_optional = true },
    },
};
