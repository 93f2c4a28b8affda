/* Reading a file of weights in a process of its own, for a library that is not made for files of
 * strangers: what such a file does to it ends that process, which may open, start and reach
 * nothing, and is told as damage of the file. */
#ifndef CSE_WEIGHTS_APART_H
#define CSE_WEIGHTS_APART_H

#include "engine/formats/weights/weights.h"

/* What a format opens its file with; called in the new process. */
typedef cse_status cse_weights_opener(cse_weights *weights, int file,
                                      const cse_weights_options *options);

/* As `open` of a format (format.h): adds what `open` adds, after checking it again. Elements that
 * lie in one block of the file are read here, others there. CSE_DATA when that process ends before
 * it has answered; CSE_TEMPORARY when there can be none. */
cse_status cse_weights_open_apart(cse_weights *weights, int file,
                                  const cse_weights_options *options, cse_weights_opener *open);

#endif
