/* The plan of a step as text that is made for comparing: its schedule and its memory. */
#ifndef CSE_RUN_MEASURE_PLAN_TEXT_H
#define CSE_RUN_MEASURE_PLAN_TEXT_H

#include "engine/graph/graph.h"

/* Kernels in the order in which they run: a line with what each computes, then one for each value
 * that it leaves, with its place in memory; then the states, and the size of each memory space.
 * Nothing is numbered, so that a kernel more or less changes no other kernel's first line. */
void cse_plan_text(const cse_graph *graph, cse_text *out);

#endif
