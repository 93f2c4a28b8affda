/* What the holder of a token may take of the machine: a line of the token file (token.h). */
#ifndef CSE_DASHBOARD_ACCESS_GRANT_H
#define CSE_DASHBOARD_ACCESS_GRANT_H

#include <stdint.h>

enum { CSE_GRANT_NAME_BYTES = 33 };

typedef struct cse_grant {
    char name[CSE_GRANT_NAME_BYTES]; /* "": the server's user, or a token without a name */
    int64_t cores, memory_bytes;     /* of all its jobs that run; 0: as many as the server has */
    int64_t jobs;                    /* that have not ended; 0: any number */
} cse_grant;

#endif
