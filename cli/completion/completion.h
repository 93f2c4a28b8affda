/* What can follow on an incomplete command line, from the descriptors of the commands, the tables
 * of settings and the plugins.
 *
 * The scripts of the shells (completion_scripts.c) ask `csengine complete`, so that all of them
 * offer the same. */
#ifndef CSE_CLI_COMPLETION_COMPLETION_H
#define CSE_CLI_COMPLETION_COMPLETION_H

#include <stdio.h>

/* Prints, for the words after "csengine", of which the last is the one to complete and may be "",
 * a line for each candidate: the whole word, a tab, a text about it. A first line may say what else
 * the shell offers: ":file .yaml" (files of that ending), ":file", ":directory". A last line
 * ":nospace" says that a candidate ending in "=" goes on.
 *
 * May ask a server for the names of jobs; the caller bounds the time. What is known before is
 * written and flushed first. */
void cse_complete(int count, char **words, FILE *out);

#endif
