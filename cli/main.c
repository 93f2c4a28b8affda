/* Finds the command and runs it. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"

int main(int argc, char **argv)
{
    for (const cse_command *const *c = cse_commands; argc > 1 && *c != NULL; c++)
        if (strcmp((*c)->name, argv[1]) == 0)
            return (*c)->run(argc - 1, argv + 1);
    fprintf(stderr, "csengine: usage: csengine COMMAND ...\n");
    return 64;
}
