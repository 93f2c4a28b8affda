/* Samples that lie in parts, one after the other: files of a folder, batches of a file. */
#ifndef CSE_DATALOADER_FILES_PART_OF_H
#define CSE_DATALOADER_FILES_PART_OF_H

#include <stddef.h>
#include <stdint.h>

/* The part that has the sample, by a binary search: the last of `count` whose first sample is not
 * behind it. `first` is where the first part keeps the number of its first sample; the parts are
 * `stride` bytes apart, in the order of these numbers. */
int64_t cse_part_of(const int64_t *first, size_t stride, int64_t count, int64_t sample);

#endif
