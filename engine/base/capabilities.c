/* By the system call, which needs no library. */
#include "engine/base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

cse_status cse_capabilities_drop(void)
{
    const uint32_t kept = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data) != 0)
        return CSE_OK;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        data[i] = (struct __user_cap_data_struct){
            .effective = i == 0 ? data[i].effective & kept : 0,
            .permitted = i == 0 ? data[i].permitted & kept : 0,
        };
    if (syscall(SYS_capset, &header, data) == 0 || errno == EPERM)
        return CSE_OK; /* EPERM: from a filter, of one that has dropped them already */
    return cse_fail(CSE_UNAVAILABLE, "the job cannot be confined: capset: %s", strerror(errno));
}
