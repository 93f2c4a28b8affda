/* One copy that ends in a zero, and one that is printable. */
#include "cli/terminal/text_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/arena.h"
#include "engine/base/text.h"

void cse_print_model_text(const char *text, size_t size)
{
    if (size == 0)
        return;
    char *printable = cse_calloc(4 * size + 1, 1), *whole = cse_calloc(size + 1, 1);
    memcpy(whole, text, size);
    for (size_t i = 0; i < size; i++) /* it would end the text */
        whole[i] = whole[i] == '\0' ? '\x01' : whole[i];
    cse_text_printable(whole, printable, 4 * size + 1);
    fputs(printable, stdout);
    fflush(stdout);
    free(printable);
    free(whole);
}
