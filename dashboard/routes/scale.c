/* Changes the number of replicas from the next step on; the result does not change. */
#include "dashboard/route_support.h"

static const char schemas[] = "ScaleRequest\n"
                              "  num_csx integer 1..1024  # replicas from the next step on\n"
                              "  = {\"num_csx\": 2}\n";

const cse_route cse_route_scale = {
    .path = "/api/v1/jobs/{id}/scale",
    .tag = "control",
    .schemas = schemas,
    .operations = {
        { CSE_COMMAND_OPERATION("scaleJob", "Changes the number of replicas"),
          .body = "ScaleRequest" },
    },
};
