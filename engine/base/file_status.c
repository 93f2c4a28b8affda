/* EXDEV is what cse_open_beneath says of a path that leads out of the folders of a confined job. */
#include "engine/base/file_status.h"

#include <errno.h>
#include <stdbool.h>

static bool is_refused(int error)
{
    return error == EACCES || error == EPERM || error == EROFS || error == EXDEV;
}

static bool is_short(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN ||
           error == EINTR || error == EBUSY || error == ETXTBSY;
}

cse_status cse_status_of_writing(int error)
{
    if (is_refused(error))
        return CSE_PERMISSION;
    if (is_short(error))
        return CSE_TEMPORARY;
    return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == ESTALE
               ? CSE_IO
               : CSE_CANNOT_CREATE;
}

cse_status cse_status_of_reading(int error)
{
    if (error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG)
        return CSE_NO_INPUT;
    if (is_refused(error) || error == ELOOP)
        return CSE_PERMISSION;
    return is_short(error) ? CSE_TEMPORARY : CSE_IO;
}
