/* The step graph as it was compiled. */
#include <string.h>

#include "dashboard/routes/route_support.h"

static void get_graph(const cse_request *request, cse_answer *answer)
{
    bool validation = strcmp(cse_request_text(request, "name", "training"), "validation") == 0;
    cse_server_answer_artefact(request, answer,
                               validation ? "graph.evaluation.json" : "graph.training.json");
}

static const char schemas[] =
    "Graph  # A step as it was compiled: its nodes in the order of execution, and what "
    "lies around them. A node is named by its index.\n"
    "  version integer 1..  # of this form\n"
    "  microbatch_count integer 1..  # microbatches of a step\n"
    "  micro_batch_size integer 1..\n"
    "  statistics_scratch_bytes? integer 0..\n"
    "  portable? boolean  # the same bits on every kind of machine\n"
    "  isa? string  # the instruction set that kernels were chosen by\n"
    "  product_order? integer 1..3  # of sums of bfloat16 products: 1: chain, 2: pairs, 3: dot\n"
    "  space_bytes [integer]  # bytes of each memory space\n"
    "  nodes [GraphNode]\n"
    "  states [GraphState]\n"
    "  inputs [GraphInput]\n"
    "  fetches [GraphFetch]\n"
    "  reductions [GraphReduction]\n"
    "  groups [GraphGroup]\n"
    "  tracked [GraphTracked]\n"
    "GraphNode\n"
    "  op string\n"
    "  dtype string\n"
    "  shape [integer]\n"
    "  inputs [integer]  # indices of nodes\n"
    "  integers [integer]  # attributes of the op\n"
    "  numbers [string]  # likewise, hexadecimal as C prints %a\n"
    "  text? string  # likewise\n"
    "  scope? string  # module that made it\n"
    "  backward boolean\n"
    "  part integer 0..  # 0: none, 1: replica (each microbatch), 2: weights (once a "
    "step), 3: update\n"
    "  group integer  # index of its kernel in groups; -1: none\n"
    "  space integer 0..  # memory space of its value\n"
    "  offset integer 0..  # in the space, in bytes\n"
    "  inserted_cast? boolean  # by mixed precision\n"
    "  recompute_block? integer 1..  # block of the model's code whose values are recomputed\n"
    "  recomputed? integer 1..  # computes a value of this region again for the backward pass\n"
    "  graphamp_off? boolean\n"
    "  pol_forward?,pol_backward? integer 0..2  # level that was asked for\n"
    "  accumulation? GraphAccumulation  # absent: plain float32\n"
    "GraphAccumulation  # The sum of a product.\n"
    "  dtype string  # of the sum across tiles\n"
    "  stochastic boolean  # rounds stochastically\n"
    "  emulated boolean  # rounded step by step in software\n"
    "  tile_length integer 1..\n"
    "  stream integer 0..  # of random numbers\n"
    "GraphState\n"
    "  name string\n"
    "  shape [integer]\n"
    "  dtype string\n"
    "  initializer integer 0..\n"
    "  a,b string  # its parameters, hexadecimal\n"
    "  trainable boolean\n"
    "  read integer  # node that reads it; -1: none\n"
    "  next integer  # node of its next value; -1: none\n"
    "  offset integer 0..\n"
    "GraphInput\n"
    "  name string\n"
    "  shape [integer]\n"
    "  dtype string\n"
    "  node integer  # -1: not used\n"
    "  offset integer 0..\n"
    "  index_count? integer 0..  # its values are indices from 0 below this; absent: any value is "
    "good\n"
    "  index_ignored? integer  # accepted besides; absent: nothing else is\n"
    "  index_use? string  # what has that number of entries\n"
    "GraphFetch  # A value that the run records.\n"
    "  name string\n"
    "  node integer\n"
    "  offset integer 0..\n"
    "GraphReduction  # A sum over the microbatches of a step.\n"
    "  partial,sum integer  # nodes\n"
    "  offset integer 0..\n"
    "GraphGroup  # A kernel: the nodes that it computes.\n"
    "  kind integer 0..\n"
    "  part integer 0..\n"
    "  elements,first_line integer 0..\n"
    "  per_step? boolean  # runs with the first microbatch of a step only\n"
    "  nodes [integer]\n"
    "GraphTracked  # A tensor with statistics.\n"
    "  kind integer 0..\n"
    "  name string\n"
    "  source string  # format before its cast\n"
    "  node,kept,delta integer\n"
    "  scratch integer\n";

const cse_route cse_route_graph = {
    .path = "/api/v1/jobs/{id}/graph",
    .tag = "data",
    .schemas = schemas,
    .operations = {
        { CSE_OPERATION("GET", "getGraph", get_graph, "The step graph"),
          .parameters = "name? 'training'|'validation' = training  # which step\n",
          .replies = "200 Graph",
          .problems = "503" },
    },
};
