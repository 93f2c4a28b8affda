/* Packing of a block of Q4_K: the search for the scale and the minimum of each part of 32. */
#ifndef CSE_TYPES_PACK_Q4_K_H
#define CSE_TYPES_PACK_Q4_K_H

void cse_pack_q4_k(const float *values, unsigned char *block);

#endif
