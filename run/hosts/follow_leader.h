/* An agent: the program of a host that follows. It is told where its leader is, gets the job from
 * it, and runs it. */
#ifndef CSE_RUN_HOSTS_FOLLOW_LEADER_H
#define CSE_RUN_HOSTS_FOLLOW_LEADER_H

/* Reads its place from standard input and returns the exit code. */
int cse_follow_leader(void);

#endif
