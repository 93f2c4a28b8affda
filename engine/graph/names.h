/* Names of parts and spaces, as in printed graphs and in JSON. */
#ifndef CSE_GRAPH_NAMES_H
#define CSE_GRAPH_NAMES_H

#include "engine/graph/graph.h"

const char *cse_part_name(cse_part part);
const char *cse_space_name(cse_space space);

#endif
