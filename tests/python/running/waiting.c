// Threads that wait, each in another system call, of which Linux ends most at a stop (signal(7)). Ends with
// status 0 on a line from standard input if all of them wait still, or names those that do not.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { ARGUMENTS = 6, MOST = 64, BYTES = 1 << 20 };

struct call {
  const char* name;
  long number, arguments[ARGUMENTS], result;
  int error, has_waited;  // a kernel may lack the call, or have room
  _Atomic int thread, has_returned;
};

static struct call calls[MOST];
static int count;
static char bytes[BYTES];

static void* wait_in(void* call_of) {
  struct call* const of = call_of;
  const long* const a = of->arguments;
  of->thread = (int)syscall(SYS_gettid);
  of->result = syscall(of->number, a[0], a[1], a[2], a[3], a[4], a[5]);
  of->error = errno;
  of->has_returned = 1;
  return NULL;
}

static int checked(int result, const char* what) {
  if (result < 0) {
    perror(what);
    _exit(1);
  }
  return result;
}

// Whether the thread waits in its system call.
static int waits(const struct call* of) {
  char path[64], text[64] = "";
  snprintf(path, sizeof path, "/proc/self/task/%d/syscall", of->thread);
  const int file = open(path, O_RDONLY);
  const int is_read = file >= 0 && read(file, text, sizeof text - 1) > 0;
  close(file);
  return is_read && text[0] >= '0' && text[0] <= '9' && atol(text) == of->number;
}

static void start(const char* name, long number, const long arguments[ARGUMENTS]) {
  struct call* const of = &calls[count++];
  of->name = name;
  of->number = number;
  memcpy(of->arguments, arguments, sizeof of->arguments);
  pthread_t thread;
  checked(-pthread_create(&thread, NULL, wait_in, of), "pthread_create");
}
#define WAIT(name, ...) start(#name, SYS_##name, (const long[ARGUMENTS]){__VA_ARGS__})
#define AT(object) (long)&(object)

// With time limits: without them, Linux itself begins the calls of a socket anew.
static int limited(int socket) {
  const struct timeval limit = {600, 0};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  return socket;
}

// An end of a pair of sockets in which nothing can be read, and, where it is full, written.
static int socket_end(int is_full) {
  int ends[2];
  checked(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
  while (is_full && send(ends[0], bytes, 1, MSG_DONTWAIT) == 1) continue;
  return limited(ends[0]);
}

static int unconnected(void) {
  return limited(checked(socket(AF_UNIX, SOCK_STREAM, 0), "socket"));
}

// A socket that listens, and has room for one that connects: if `is_full`, that one is there.
static int listening(struct sockaddr_un* address, socklen_t* length, int is_full) {
  const int made = unconnected();
  address->sun_family = AF_UNIX;
  checked(bind(made, (struct sockaddr*)address, sizeof(sa_family_t)), "bind");  // to a name of its own
  *length = sizeof *address;
  getsockname(made, (struct sockaddr*)address, length);
  checked(listen(made, 0), "listen");
  if (is_full) checked(connect(unconnected(), (struct sockaddr*)address, *length), "connect");
  return made;
}

static void wait_for_sockets(void) {
  static struct iovec part = {bytes, 1};
  static struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
  static struct mmsghdr messages = {.msg_hdr = {.msg_iov = &part, .msg_iovlen = 1}};
  static struct sockaddr_un open_address, full_address;
  static socklen_t open_length, full_length;
  WAIT(read, socket_end(0), AT(bytes), 1);
  WAIT(readv, socket_end(0), AT(part), 1);
  WAIT(recvfrom, socket_end(0), AT(bytes), 1);
  WAIT(recvmsg, socket_end(0), AT(message));
  WAIT(recvmmsg, socket_end(0), AT(messages), 1);
  WAIT(write, socket_end(1), AT(bytes), 1);
  WAIT(writev, socket_end(1), AT(part), 1);
  WAIT(sendto, socket_end(1), AT(bytes), 1);
  WAIT(sendmsg, socket_end(1), AT(message));
  WAIT(sendmmsg, socket_end(1), AT(messages), 1);
  WAIT(sendfile, socket_end(1), checked(open("/proc/self/exe", O_RDONLY), "open"), 0, 100);
  int ends[2];
  checked(pipe(ends), "pipe");
  checked((int)write(ends[1], bytes, 1), "write");
  WAIT(splice, ends[0], 0, socket_end(1), 0, 1);
  const int listens = listening(&open_address, &open_length, 0);
  WAIT(accept, listens);
  WAIT(accept4, listens);
  listening(&full_address, &full_length, 1);
  WAIT(connect, unconnected(), AT(full_address), full_length);
}

static void wait_for_descriptors(void) {
  static struct epoll_event event;
  const int events = checked(epoll_create1(0), "epoll_create1");
#ifdef SYS_epoll_wait  // newer machines have none
  WAIT(epoll_wait, events, AT(event), 1, -1);
  WAIT(pause);
#endif
  WAIT(epoll_pwait, events, AT(event), 1, -1);
  WAIT(epoll_pwait2, events, AT(event), 1);
  WAIT(read, checked(inotify_init(), "inotify_init"), AT(bytes), sizeof bytes);
}

static void wait_for_time_and_signals(void) {
  static const struct timespec long_time = {600, 0};
  static sigset_t some;
  sigaddset(&some, SIGUSR1);
  sigprocmask(SIG_BLOCK, &some, NULL);
  WAIT(nanosleep, AT(long_time));
  WAIT(rt_sigtimedwait, AT(some), 0, 0, 8);
  WAIT(rt_sigtimedwait, AT(some), 0, AT(long_time), 8);
}

static int semaphore, empty_queue, full_queue;

static void wait_for_others(void) {
  static const struct timespec long_time = {600, 0};
  static struct sembuf take = {0, -1, 0};
  static struct {
    long kind;
    char text[1024];
  } message = {1, ""};
  static aio_context_t context;
  static struct io_event done;
  semaphore = checked(semget(IPC_PRIVATE, 1, 0600), "semget");
  empty_queue = checked(msgget(IPC_PRIVATE, 0600), "msgget");
  full_queue = checked(msgget(IPC_PRIVATE, 0600), "msgget");
  while (msgsnd(full_queue, &message, sizeof message.text, IPC_NOWAIT) == 0) continue;
  WAIT(semop, semaphore, AT(take), 1);
  WAIT(semtimedop, semaphore, AT(take), 1, AT(long_time));
  WAIT(msgrcv, empty_queue, AT(bytes), 1);
  WAIT(msgsnd, full_queue, AT(message), sizeof message.text);
  if (syscall(SYS_io_setup, 1, &context) == 0) {
    WAIT(io_getevents, (long)context, 1, 1, AT(done));
    WAIT(io_pgetevents, (long)context, 1, 1, AT(done));
  }
  static struct io_uring_params ring;
  const int requests = (int)syscall(SYS_io_uring_setup, 1, &ring);  // a system may forbid it
  if (requests >= 0) WAIT(io_uring_enter, requests, 0, 1, IORING_ENTER_GETEVENTS);
}

int main(void) {
  alarm(300);
  wait_for_sockets();
  wait_for_descriptors();
  wait_for_time_and_signals();
  wait_for_others();
  for (int i = 0; i < count; ++i)
    while (!(calls[i].has_waited = waits(&calls[i])) && !calls[i].has_returned) usleep(1000);
  if (write(1, "ready\n", 6) != 6 || read(0, bytes, 1) != 1) return 1;
  int ended = 0;
  for (int i = 0; i < count; ++i) {
    if (!calls[i].has_returned || !calls[i].has_waited) continue;
    ++ended;
    dprintf(2, "%s returned %ld: %s\n", calls[i].name, calls[i].result, strerror(calls[i].error));
  }
  semctl(semaphore, 0, IPC_RMID);
  msgctl(empty_queue, IPC_RMID, NULL);
  msgctl(full_queue, IPC_RMID, NULL);
  _exit(ended != 0);
}
