/* The number of a process as others know it: a job in a name space of processes has other numbers
 * inside. */
#ifndef CSE_BASE_PROCESS_NUMBER_H
#define CSE_BASE_PROCESS_NUMBER_H

#include <stdint.h>

enum { CSE_PROCESS_NUMBER_BYTES = 64 };

/* Of this process, as those outside of its name space know it. */
int64_t cse_process_number(void);

/* Before a name space is entered: from here on this process and those that it forks can ask for
 * their numbers outside. */
void cse_process_number_keep(void);
/* Writes the word of an environment by which a program that this process becomes knows its number;
 * may be called between fork and exec. */
void cse_process_number_word(char word[CSE_PROCESS_NUMBER_BYTES]);

#endif
