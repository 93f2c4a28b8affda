/* Which values an input of indices may have.
 *
 * Those who fill a microbatch check them, so that a wrong index is reported by its place in the
 * data instead of showing as a loss that is not a number. An input counts as an index only where
 * it is read whole: behind a slice, a shift or arithmetic its values may be any. */
#ifndef CSE_TRACE_INPUT_RANGE_H
#define CSE_TRACE_INPUT_RANGE_H

#include "engine/graph/graph.h"

/* Where `indices` is an input or a reshape of one, its values must be from 0 below `count`, or
 * `ignored` (0, INT32_MIN: nothing else). `use` lives as long as the graph: "vocab_size of
 * model.embedding". */
void cse_note_range(cse_graph *graph, const cse_node *indices, int64_t count, int32_t ignored,
                    const char *use);

/* The same of the labels of a loss, in the graph that is traced. */
void cse_note_label_range(const cse_node *labels, int64_t classes, int32_t ignored);

/* The number of the input that `indices` is, or is a reshape of; -1: none. */
int cse_range_input(const cse_node *indices);

#endif
