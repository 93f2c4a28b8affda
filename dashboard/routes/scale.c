/* Changes the number of replicas; the result does not change. */
#include "dashboard/routes/route_support.h"

static const char schemas[] = "ScaleRequest\n"
                              "  num_csx? integer 1..1024  # replicas that share each step\n"
                              "  hosts? string 1..16384  # instead: hosts that share each step, a "
                              "list, +NAME or -NAME\n"
                              "  = {\"num_csx\": 2}\n";

const cse_route cse_route_scale = {
    .path = "/api/v1/jobs/{id}/scale",
    .tag = "control",
    .schemas = schemas,
    .operations = {
        { CSE_COMMAND_OPERATION("scaleJob", "Changes the number of replicas"),
          .doc = "Up to the number that the run began with, replicas leave or come back from "
                 "the next step on. With more than that, a job of a root ends with a checkpoint "
                 "and goes on from it as another attempt; a run that was started by hand "
                 "refuses: start it again with more. The trained weights have the same bits "
                 "with any number of replicas.",
          .body = "ScaleRequest" },
    },
};
