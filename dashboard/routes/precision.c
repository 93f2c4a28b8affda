/* Which precision each part of the step has, and why. */
#include "dashboard/routes/route_support.h"

static void get_precision(const cse_request *request, cse_answer *answer)
{
    cse_server_answer_artefact(request, answer, "precision.json");
}

static const char schemas[] =
    "Precision  # The precision report, as csengine compile --print_precision --json "
    "prints it.\n"
    "  step string  # training\n"
    "  ops [PrecisionOp]\n"
    "  totals PrecisionTotals\n"
    "PrecisionOp\n"
    "  op string\n"
    "  scope string\n"
    "  backward boolean\n"
    "  set string  # of the op's class: allow, infer or deny 16-bit formats\n"
    "  why string\n"
    "  in [string]  # formats of what it reads\n"
    "  out string\n"
    "  permitted string  # how its sums may be accumulated\n"
    "  executed string  # how this run accumulates them\n"
    "  accumulation PrecisionSum\n"
    "  casts integer 0..  # that were added to its inputs\n"
    "PrecisionSum\n"
    "  dtype string  # format of the sum\n"
    "  stochastic boolean  # rounds stochastically\n"
    "  emulated boolean  # the rounding is executed; false: permitted, and executed in "
    "float32\n"
    "  arithmetic string\n"
    "  tile_length integer 0..\n"
    "PrecisionTotals\n"
    "  ops,allow,infer,deny integer 0..\n"
    "  products,products_low integer 0..  # products, and those in 16 bits\n"
    "  casts_low,casts_weights,casts_float32 integer 0..  # added casts: to 16 bits, of "
    "weights, to float32\n"
    "  float_bytes,float_bytes_float32 integer 0..  # values, and as float32\n";

const cse_route cse_route_precision = {
    .path = "/api/v1/jobs/{id}/precision",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getPrecision", get_precision, "The precision report"),
          .replies = "200 Precision",
          .problems = "503" },
    },
};
