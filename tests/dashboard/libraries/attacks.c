/* Runs when a library of confinement_test.py is loaded: tries what a job must not do, and says on
 * stderr what came of each. TOP is the test's folder. */
#include <stdio.h>

__attribute__((constructor)) static void attack(void)
{
    fprintf(stderr, "attacks: begin\n");
    FILE *file = fopen(TOP "/loaded", "w");
    if (file != NULL)
        fclose(file);
}
