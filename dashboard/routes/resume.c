/* Resumes a paused run, or starts a new attempt of one that has ended. */
#include "dashboard/routes/route_support.h"

const cse_route cse_route_resume = {
    .path = "/api/v1/jobs/{id}/resume",
    .tag = "control",
    .operations = {
        { CSE_COMMAND_OPERATION("resumeJob",
                                "Resumes a paused run, or starts an ended one again"),
          .body = "ReasonRequest", .body_optional = true },
    },
};
