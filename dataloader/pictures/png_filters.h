/* The filters of the rows of a PNG: each byte is the difference to a guess from the bytes to the
 * left and above. */
#ifndef CSE_DATALOADER_PICTURES_PNG_FILTERS_H
#define CSE_DATALOADER_PICTURES_PNG_FILTERS_H

#include <stdbool.h>
#include <stddef.h>

/* Turns the `size` bytes of a row into values, by the row above it. `step`: bytes of a pixel, 1 to
 * 8; so many zeros stand before both rows, and 8 bytes behind them may be read. False: there is no
 * such filter. */
bool cse_png_unfilter(int filter, unsigned char *row, const unsigned char *above, size_t size,
                      size_t step);

#endif
