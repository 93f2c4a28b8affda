/* One sweep: its trials, what was found in which order, and what is under way. */
#include "dashboard/routes/sweep_support.h"

static void get_sweep(const cse_request *request, cse_answer *answer)
{
    cse_sweep_answer(request, 200, cse_request_text(request, "name", ""), answer);
}

static const char schemas[] =
    "SweepRung\n"
    "  steps integer|null  # that its trials are trained to; null: as the configuration says\n"
    "  planned integer 0..  # trials\n"
    "  tried,failed integer 0..\n"
    "  trials [integer]  # that are trained to it; empty: the rung before is not complete\n"
    "SweepPoint  # a line of trials.jsonl\n"
    "  trial integer 1..\n"
    "  rung integer 0..\n"
    "  steps integer|null\n"
    "  time_ms time|null  # null: a line of before they had times\n"
    "  value number|null\n"
    "  failed boolean\n"
    "  best integer|null  # the best trial after it: of the highest rung, and of that the best "
    "value\n"
    "SweepTrial\n"
    "  trial integer 1..\n"
    "  state 'waiting'|'queued'|'running'|'measured'|'stopped'|'done'|'failed'  # measured: it has "
    "the value of its rung, which is not complete; stopped: it was not among the best of its rung\n"
    "  rung integer|null  # the last one that it was tried at\n"
    "  steps integer|null  # of that rung\n"
    "  step integer|null  # that it is at, where it runs\n"
    "  value number|null\n"
    "  message string|null  # why it failed\n"
    "  job JobId|null  # its job in this server's queue, the newest\n"
    "  settings [string]  # of the parameters, in their order, as text of YAML\n"
    "Sweep\n"
    "  name SweepName\n"
    "  label string\n"
    "  method 'grid'|'random'|'halving'\n"
    "  metric string\n"
    "  goal 'min'|'max'\n"
    "  state 'running'|'complete'|'stopped'\n"
    "  updated_ms time\n"
    "  unreadable integer 0..\n"
    "  trial_count,tried,failed integer 0..\n"
    "  by_server,wanted boolean\n"
    "  message string|null\n"
    "  best integer|null\n"
    "  best_value number|null\n"
    "  parameters [SweepParameter]\n"
    "  config string  # path of the configuration of all trials\n"
    "  seed integer 0..\n"
    "  settings [string]  # PATH=VALUE of all trials\n"
    "  rung integer|null  # that is being trained; null: all are complete\n"
    "  next integer|null  # trial that is trained next\n"
    "  rungs [SweepRung]  # of grid and random: one\n"
    "  history [SweepPoint]  # in the order of the file\n"
    "  trials [SweepTrial]  # the best first, those that were not tried last\n";

const cse_route cse_route_sweep = {
    .path = "/api/v1/sweeps/{name}",
    .tag = "sweeps",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getSweep", get_sweep, "A sweep with its trials"),
          .doc = "409: its trials.jsonl is damaged, or is none.",
          .parameters = "name SweepName  # of the sweep's folder\n"
                        "  = \"rates\"\n",
          .replies = "200 Sweep",
          .problems = "409" },
    },
};
