/* Goes on: with a run that stands still, or with a new attempt of one that has ended. */
#include "dashboard/server.h"

const cse_route cse_route_resume = {
    .path = "/api/v1/jobs/{id}/resume",
    .tag = "control",
    .operations = {
        { CSE_COMMAND_OPERATION("resumeJob",
                                "Goes on: a paused run, or a new attempt of an ended one"),
          .body = "ReasonRequest", .body_optional = true },
    },
};
