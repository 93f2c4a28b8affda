/* CRC-32C (Castagnoli): the checksum of records in TensorBoard event files. */
#ifndef CSE_BASE_CRC32C_H
#define CSE_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Reflected polynomial 0x82f63b78, start value and final exclusive or 0xffffffff (RFC 3720,
 * appendix B.4). */
uint32_t cse_crc32c(const void *bytes, size_t size);

#endif
