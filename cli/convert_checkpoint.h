/* `csengine checkpoint convert`: writes a file of an earlier csengine anew. */
#ifndef CSE_CLI_CONVERT_CHECKPOINT_H
#define CSE_CLI_CONVERT_CHECKPOINT_H

/* Returns the exit code. From here on the process reaches the two folders alone. */
int cse_convert_checkpoint(const char *from, const char *to);

#endif
