/* Parsing a line, and checking elements by its digest. */
#include "engine/formats/checkpoint/seal_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

bool cse_seal_line_read(char *text, uint64_t limit, cse_seal_line *line)
{
    int used = 0;
    if (sscanf(text, "tensor %" SCNu64 " %" SCNu64 " %64[0-9a-f] %31s %n", &line->offset,
               &line->bytes, line->digest, line->dtype, &used) != 4 ||
        used == 0 || text[used] != '[')
        return false;
    char *end = strchr(text + used, ']');
    if (end == NULL || end[1] != ' ' || line->offset > limit || line->bytes > limit - line->offset)
        return false;
    end[1] = '\0';
    line->shape = text + used;
    line->name = end + 2;
    return true;
}

void cse_seal_hash_begin_tensor(crypto_generichash_state *hash, const cse_seal_line *line)
{
    cse_text head = { 0 };
    cse_text_add(&head, "%s\n%s\n%s\n", line->name, line->dtype, line->shape);
    cse_digest_begin(hash);
    crypto_generichash_update(hash, (const unsigned char *)head.data, head.size);
    cse_text_clear(&head);
}

cse_status cse_seal_hash_check_tensor(crypto_generichash_state *hash, const cse_seal_line *line,
                                      const char *path)
{
    char digits[CSE_DIGEST_DIGITS + 1];
    cse_digest_end(hash, digits);
    if (strcmp(digits, line->digest) == 0)
        return CSE_OK;
    char *name = cse_strdup(line->name);
    for (char *letter = name; *letter != '\0'; letter++)
        *letter = (unsigned char)*letter < 32 ? '?' : *letter;
    cse_status status = cse_fail(CSE_DATA,
                                 "%s: tensor '%s' is damaged: its BLAKE2b digest does not match; "
                                 "use another checkpoint",
                                 path, name);
    free(name);
    return status;
}
