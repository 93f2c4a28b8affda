/* Ends the processes at once; what was not saved is lost. */
#include "dashboard/routes/route_support.h"

const cse_route cse_route_kill = {
    .path = "/api/v1/jobs/{id}/kill",
    .tag = "control",
    .operations = {
        { CSE_COMMAND_OPERATION("killJob", "Ends the job's processes at once"),
          .body = "ReasonRequest", .body_optional = true },
    },
};
