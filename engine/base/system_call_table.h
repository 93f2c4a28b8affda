/* The system calls of a confined process, each once, with the reason why a process needs it. What
 * is not here is refused: EPERM; with ENOSYS where the call is newer than this list, so that a C
 * library takes the older way.
 *
 * CALL(number, who): who is one of EVERY (all processes of a job), STARTS (a coordinator, its
 * compiler, programs of the user), SERVES (who is connected to: coordinators and movers).
 * X86(number, who): the same, of calls that only x86-64 still has. Calls that are judged by their
 * arguments stand in system_calls.c. Numbers from 424 on are the same for every processor; they are
 * written as numbers because headers may be older than the kernel. */
#ifndef CSE_BASE_SYSTEM_CALL_TABLE_H
#define CSE_BASE_SYSTEM_CALL_TABLE_H

/* The newest call that was looked at: file_setattr of Linux 6.17. */
#define CSE_NEWEST_SYSTEM_CALL 469

/* clang-format off */

/* Memory of the process itself: allocators, libraries that are loaded, huge pages, NUMA nodes. */
#define CSE_CALLS_OF_MEMORY(CALL, X86)      \
    CALL(SYS_mmap, EVERY)                   \
    CALL(SYS_mprotect, EVERY)               \
    CALL(SYS_munmap, EVERY)                 \
    CALL(SYS_brk, EVERY)                    \
    CALL(SYS_mremap, EVERY)                 \
    CALL(SYS_msync, EVERY)                  \
    CALL(SYS_mincore, EVERY)                \
    CALL(SYS_madvise, EVERY)                \
    CALL(SYS_mlock, EVERY)                  \
    CALL(SYS_mlock2, EVERY)                 \
    CALL(SYS_munlock, EVERY)                \
    CALL(SYS_mlockall, EVERY)               \
    CALL(SYS_munlockall, EVERY)             \
    CALL(SYS_mbind, EVERY)                  \
    CALL(SYS_set_mempolicy, EVERY)          \
    CALL(SYS_get_mempolicy, EVERY)          \
    CALL(SYS_memfd_create, EVERY)           \
    CALL(SYS_pkey_mprotect, EVERY)          \
    CALL(SYS_pkey_alloc, EVERY)             \
    CALL(SYS_pkey_free, EVERY)              \
    CALL(453 /* map_shadow_stack */, EVERY) \
    CALL(462 /* mseal */, EVERY)

/* Files: those that Landlock lets the process open, and its descriptors. */
#define CSE_CALLS_OF_FILES(CALL, X86) \
    CALL(SYS_read, EVERY)             \
    CALL(SYS_write, EVERY)            \
    CALL(SYS_readv, EVERY)            \
    CALL(SYS_writev, EVERY)           \
    CALL(SYS_pread64, EVERY)          \
    CALL(SYS_pwrite64, EVERY)         \
    CALL(SYS_preadv, EVERY)           \
    CALL(SYS_pwritev, EVERY)          \
    CALL(SYS_preadv2, EVERY)          \
    CALL(SYS_pwritev2, EVERY)         \
    CALL(SYS_lseek, EVERY)            \
    CALL(SYS_close, EVERY)            \
    CALL(SYS_close_range, EVERY)      \
    CALL(SYS_dup, EVERY)              \
    CALL(SYS_dup3, EVERY)             \
    CALL(SYS_fstat, EVERY)            \
    CALL(SYS_newfstatat, EVERY)       \
    CALL(SYS_statx, EVERY)            \
    CALL(SYS_statfs, EVERY)           \
    CALL(SYS_fstatfs, EVERY)          \
    CALL(SYS_faccessat, EVERY)        \
    CALL(439 /* faccessat2 */, EVERY) \
    CALL(SYS_readlinkat, EVERY)       \
    CALL(SYS_getdents64, EVERY)       \
    CALL(SYS_getcwd, EVERY)           \
    CALL(SYS_chdir, EVERY)            \
    CALL(SYS_fchdir, EVERY)           \
    CALL(SYS_umask, EVERY)            \
    CALL(SYS_flock, EVERY)            \
    CALL(SYS_fsync, EVERY)            \
    CALL(SYS_fdatasync, EVERY)        \
    CALL(SYS_ftruncate, EVERY)        \
    CALL(SYS_fallocate, EVERY)        \
    CALL(SYS_fadvise64, EVERY)        \
    CALL(SYS_readahead, EVERY)        \
    CALL(SYS_sync_file_range, EVERY)  \
    CALL(SYS_sendfile, EVERY)         \
    CALL(SYS_copy_file_range, EVERY)  \
    CALL(451 /* cachestat */, EVERY)  \
    X86(SYS_stat, EVERY)              \
    X86(SYS_lstat, EVERY)             \
    X86(SYS_access, EVERY)            \
    X86(SYS_readlink, EVERY)          \
    X86(SYS_getdents, EVERY)          \
    X86(SYS_dup2, EVERY)

/* Names of files: outputs, artefacts of the compiler, checkpoints. Landlock says where. */
#define CSE_CALLS_OF_NAMES(CALL, X86) \
    CALL(SYS_mkdirat, STARTS)         \
    CALL(SYS_unlinkat, STARTS)        \
    CALL(SYS_renameat, STARTS)        \
    CALL(SYS_renameat2, STARTS)       \
    CALL(SYS_linkat, STARTS)          \
    CALL(SYS_symlinkat, STARTS)       \
    CALL(SYS_syncfs, STARTS)          \
    CALL(SYS_splice, STARTS)          \
    CALL(SYS_tee, STARTS)             \
    X86(SYS_creat, STARTS)            \
    X86(SYS_mkdir, STARTS)            \
    X86(SYS_rmdir, STARTS)            \
    X86(SYS_unlink, STARTS)           \
    X86(SYS_rename, STARTS)           \
    X86(SYS_link, STARTS)             \
    X86(SYS_symlink, STARTS)

/* Threads, waiting, and what a C library does at its start and its end. */
#define CSE_CALLS_OF_THREADS(CALL, X86)     \
    CALL(SYS_futex, EVERY)                  \
    CALL(449 /* futex_waitv */, EVERY)      \
    CALL(454 /* futex_wake */, EVERY)       \
    CALL(455 /* futex_wait */, EVERY)       \
    CALL(456 /* futex_requeue */, EVERY)    \
    CALL(SYS_set_robust_list, EVERY)        \
    CALL(SYS_get_robust_list, EVERY)        \
    CALL(SYS_set_tid_address, EVERY)        \
    CALL(SYS_rseq, EVERY)                   \
    CALL(SYS_membarrier, EVERY)             \
    CALL(SYS_gettid, EVERY)                 \
    CALL(SYS_exit, EVERY)                   \
    CALL(SYS_exit_group, EVERY)             \
    CALL(SYS_restart_syscall, EVERY)        \
    CALL(SYS_sched_yield, EVERY)            \
    CALL(SYS_sched_getaffinity, EVERY)      \
    CALL(SYS_sched_getparam, EVERY)         \
    CALL(SYS_sched_getscheduler, EVERY)     \
    CALL(SYS_sched_getattr, EVERY)          \
    CALL(SYS_sched_get_priority_max, EVERY) \
    CALL(SYS_sched_get_priority_min, EVERY) \
    CALL(SYS_sched_rr_get_interval, EVERY)  \
    CALL(SYS_getcpu, EVERY)                 \
    CALL(SYS_getpriority, EVERY)            \
    CALL(SYS_ioprio_get, EVERY)             \
    X86(SYS_arch_prctl, EVERY)

/* Signals of the process itself, and clocks. */
#define CSE_CALLS_OF_SIGNALS(CALL, X86) \
    CALL(SYS_rt_sigaction, EVERY)       \
    CALL(SYS_rt_sigprocmask, EVERY)     \
    CALL(SYS_rt_sigreturn, EVERY)       \
    CALL(SYS_rt_sigpending, EVERY)      \
    CALL(SYS_rt_sigtimedwait, EVERY)    \
    CALL(SYS_rt_sigsuspend, EVERY)      \
    CALL(SYS_sigaltstack, EVERY)        \
    CALL(SYS_signalfd4, EVERY)          \
    CALL(SYS_nanosleep, EVERY)          \
    CALL(SYS_clock_nanosleep, EVERY)    \
    CALL(SYS_clock_gettime, EVERY)      \
    CALL(SYS_clock_getres, EVERY)       \
    CALL(SYS_gettimeofday, EVERY)       \
    CALL(SYS_times, EVERY)              \
    CALL(SYS_getitimer, EVERY)          \
    CALL(SYS_setitimer, EVERY)          \
    CALL(SYS_timer_create, EVERY)       \
    CALL(SYS_timer_settime, EVERY)      \
    CALL(SYS_timer_gettime, EVERY)      \
    CALL(SYS_timer_getoverrun, EVERY)   \
    CALL(SYS_timer_delete, EVERY)       \
    CALL(SYS_timerfd_create, EVERY)     \
    CALL(SYS_timerfd_settime, EVERY)    \
    CALL(SYS_timerfd_gettime, EVERY)    \
    X86(SYS_time, EVERY)                \
    X86(SYS_alarm, EVERY)               \
    X86(SYS_pause, EVERY)               \
    X86(SYS_signalfd, EVERY)

/* Waiting for descriptors; pipes and sockets that are open: ZeroMQ, nanomsg, libraries' loops. */
#define CSE_CALLS_OF_EVENTS(CALL, X86)  \
    CALL(SYS_ppoll, EVERY)              \
    CALL(SYS_pselect6, EVERY)           \
    CALL(SYS_epoll_create1, EVERY)      \
    CALL(SYS_epoll_ctl, EVERY)          \
    CALL(SYS_epoll_pwait, EVERY)        \
    CALL(441 /* epoll_pwait2 */, EVERY) \
    CALL(SYS_eventfd2, EVERY)           \
    CALL(SYS_pipe2, EVERY)              \
    CALL(SYS_socketpair, EVERY)         \
    CALL(SYS_connect, EVERY)            \
    CALL(SYS_sendto, EVERY)             \
    CALL(SYS_recvfrom, EVERY)           \
    CALL(SYS_sendmsg, EVERY)            \
    CALL(SYS_recvmsg, EVERY)            \
    CALL(SYS_sendmmsg, EVERY)           \
    CALL(SYS_recvmmsg, EVERY)           \
    CALL(SYS_shutdown, EVERY)           \
    CALL(SYS_getsockname, EVERY)        \
    CALL(SYS_getpeername, EVERY)        \
    CALL(SYS_setsockopt, EVERY)         \
    CALL(SYS_getsockopt, EVERY)         \
    CALL(SYS_bind, SERVES)              \
    CALL(SYS_listen, SERVES)            \
    CALL(SYS_accept, SERVES)            \
    CALL(SYS_accept4, SERVES)           \
    X86(SYS_poll, EVERY)                \
    X86(SYS_select, EVERY)              \
    X86(SYS_epoll_create, EVERY)        \
    X86(SYS_epoll_wait, EVERY)          \
    X86(SYS_eventfd, EVERY)             \
    X86(SYS_pipe, EVERY)

/* What the process is and may use: asked by libraries and the sandbox; its own limits. */
#define CSE_CALLS_OF_ITSELF(CALL, X86)             \
    CALL(SYS_getpid, EVERY)                        \
    CALL(SYS_getppid, EVERY)                       \
    CALL(SYS_getpgid, EVERY)                       \
    CALL(SYS_getsid, EVERY)                        \
    CALL(SYS_getuid, EVERY)                        \
    CALL(SYS_geteuid, EVERY)                       \
    CALL(SYS_getgid, EVERY)                        \
    CALL(SYS_getegid, EVERY)                       \
    CALL(SYS_getresuid, EVERY)                     \
    CALL(SYS_getresgid, EVERY)                     \
    CALL(SYS_getgroups, EVERY)                     \
    CALL(SYS_capget, EVERY)                        \
    CALL(SYS_uname, EVERY)                         \
    CALL(SYS_sysinfo, EVERY)                       \
    CALL(SYS_getrandom, EVERY)                     \
    CALL(SYS_getrusage, EVERY)                     \
    CALL(SYS_getrlimit, EVERY)                     \
    CALL(SYS_setrlimit, EVERY)                     \
    CALL(SYS_seccomp, EVERY)                       \
    CALL(444 /* landlock_create_ruleset */, EVERY) \
    CALL(445 /* landlock_add_rule */, EVERY)       \
    CALL(446 /* landlock_restrict_self */, EVERY)  \
    CALL(SYS_wait4, EVERY)                         \
    CALL(SYS_waitid, EVERY)                        \
    X86(SYS_getpgrp, EVERY)

/* Modes and times of files, where the view of mounts holds none that can be written but the job's
 * own: Python's shutil and archives set them. */
#define CSE_CALLS_OF_OWN_FILES(CALL, X86) \
    CALL(SYS_fchmod, EVERY)               \
    CALL(SYS_fchmodat, EVERY)             \
    CALL(452 /* fchmodat2 */, EVERY)      \
    CALL(SYS_utimensat, EVERY)            \
    X86(SYS_chmod, EVERY)                 \
    X86(SYS_utime, EVERY)                 \
    X86(SYS_utimes, EVERY)                \
    X86(SYS_futimesat, EVERY)

/* Programs: the compiler, workers, a logger's command; each in a group or a session of its own. */
#define CSE_CALLS_OF_STARTING(CALL, X86) \
    CALL(SYS_execve, STARTS)             \
    CALL(SYS_execveat, STARTS)           \
    CALL(SYS_setpgid, STARTS)            \
    CALL(SYS_setsid, STARTS)             \
    CALL(434 /* pidfd_open */, STARTS)   \
    X86(SYS_fork, STARTS)                \
    X86(SYS_vfork, STARTS)

#define CSE_SYSTEM_CALLS(CALL, X86) \
    CSE_CALLS_OF_MEMORY(CALL, X86)  \
    CSE_CALLS_OF_FILES(CALL, X86)   \
    CSE_CALLS_OF_NAMES(CALL, X86)   \
    CSE_CALLS_OF_THREADS(CALL, X86) \
    CSE_CALLS_OF_SIGNALS(CALL, X86) \
    CSE_CALLS_OF_EVENTS(CALL, X86)  \
    CSE_CALLS_OF_ITSELF(CALL, X86)  \
    CSE_CALLS_OF_STARTING(CALL, X86)

/* LeakSanitizer stops its own process by ptrace from a clone; sanitizers start a symbolizer and
 * start again with another layout of memory. */
#define CSE_CALLS_OF_SANITIZERS(CALL)  \
    CALL(SYS_ptrace, EVERY)            \
    CALL(SYS_process_vm_readv, EVERY)  \
    CALL(SYS_process_vm_writev, EVERY) \
    CALL(SYS_execve, EVERY)            \
    CALL(SYS_execveat, EVERY)          \
    CALL(SYS_personality, EVERY)       \
    CALL(SYS_tkill, EVERY)             \
    CALL(SYS_kill, EVERY)              \
    CALL(SYS_tgkill, EVERY)

/* clang-format on */

/* Operations of ioctl: asking a terminal what it is, descriptors' flags, copies of files. Not among
 * them: typing into a terminal, taking it, signals to a process that a descriptor names. */
#define CSE_DEVICE_OPERATIONS                                                                   \
    TCGETS, TIOCGWINSZ, TIOCGPGRP, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX, FICLONE, FICLONERANGE, \
        FS_IOC_GETFLAGS, FS_IOC_FIEMAP

#endif
