/* peer: who holds the other end of a unix socket, by its descriptor and by its number alone. */
#include "dashboard/access/peer.h"

#include <check.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dashboard/access/peer_socket.h"

typedef bool judgement(int socket);
static judgement *const judgements[] = { cse_peer_is_owner, cse_peer_is_owner_by_number };

static struct sockaddr_un address;
static socklen_t address_size = sizeof(sa_family_t); /* the kernel chooses a name */

static int listen_anywhere(void)
{
    const int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    address_size = sizeof(sa_family_t);
    ck_assert_int_eq(bind(listening, (const struct sockaddr *)&address, address_size), 0);
    ck_assert_int_eq(listen(listening, 8), 0);
    address_size = sizeof address;
    ck_assert_int_eq(getsockname(listening, (struct sockaddr *)&address, &address_size), 0);
    return listening;
}

static void add_filter(void)
{
    struct sock_filter line = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
    const struct sock_fprog program = { 1, &line };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* A process that connects with `descriptor` and waits for its end. */
static pid_t start_peer(int descriptor, bool filtered)
{
    const pid_t child = fork();
    if (child == 0) {
        if (filtered)
            add_filter();
        if (connect(descriptor, (const struct sockaddr *)&address, address_size) != 0)
            _exit(1);
        pause();
    }
    return child;
}

static void end_peer(pid_t peer)
{
    kill(peer, SIGKILL);
    ck_assert_int_eq(waitpid(peer, NULL, 0), peer);
}

START_TEST(a_peer_is_judged_while_it_lives)
{
    judgement *const judge = judgements[_i / 2];
    const bool filtered = _i % 2 == 1;
    const int listening = listen_anywhere(), descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    const pid_t peer = start_peer(descriptor, filtered);
    const int accepted = accept(listening, NULL, NULL);
    ck_assert_int_ge(accepted, 0);
    ck_assert_int_eq(judge(accepted), !filtered);
    ck_assert(judge(accepted) == !filtered);
    end_peer(peer);
    /* This process holds the other end, too, and is no job's; but it did not connect. */
    ck_assert(!judge(accepted));
    close(accepted);
    close(descriptor);
    close(listening);
}
END_TEST

START_TEST(a_process_without_the_socket_is_not_the_peer)
{
    int ends[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    ck_assert(cse_process_holds_peer(getpid(), ends[0]));
    ck_assert(cse_process_holds_peer(getpid(), ends[1]));
    const pid_t other = fork();
    if (other == 0) {
        close(ends[0]);
        close(ends[1]);
        pause();
    }
    /* It has closed both when it waits. */
    for (int i = 0; i < 5000 && cse_process_holds_peer(other, ends[0]); i++)
        usleep(1000);
    ck_assert(!cse_process_holds_peer(other, ends[0]));
    end_peer(other);
    ck_assert(!cse_process_holds_peer(other, ends[0]));
    close(ends[0]);
    close(ends[1]);
}
END_TEST

START_TEST(other_sockets_have_no_owner)
{
    const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
    for (int i = 0; i < 2; i++) {
        ck_assert(!judgements[i](descriptor));
        ck_assert(!judgements[i](-1));
    }
    close(descriptor);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("peer");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, a_peer_is_judged_while_it_lives, 0, 4);
    tcase_add_test(tests, a_process_without_the_socket_is_not_the_peer);
    tcase_add_test(tests, other_sockets_have_no_owner);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
