/* Windows of equal length over a sequence that they do not fill: in every other epoch they stand at
 * its end in place of its beginning, so that nothing is left out for ever. */
#ifndef CSE_DATALOADER_POSITIONS_WINDOWS_H
#define CSE_DATALOADER_POSITIONS_WINDOWS_H

#include <stdint.h>

/* How far the windows of an epoch stand behind those of epoch 0, which leave `left_over` elements
 * over at the end. */
static inline int64_t cse_windows_shift(int64_t left_over, int64_t epoch)
{
    return epoch % 2 != 0 ? left_over : 0;
}

#endif
