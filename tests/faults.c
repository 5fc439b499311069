/* Calls of the system that fail, are slow or do half, as a test asks: loaded before the C library (LD_PRELOAD).

   The test and the process share a file of memory, named by VBMLE_FAULTS: `struct control`, which tests/faults.py writes.
   Calls on disk count only if they are about files below `folder`; those on memory only if SQLite makes them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, SYNC, TRUNCATE, MAP, LOCK, NAME, MEMORY, THREAD, CLOCK, CHILD, ACCEPT, RECEIVE, SEND, KINDS };
enum mode { FAILS, SLOW, SHORT };

struct fault {
  int32_t kind, mode, value, on; /* value: errno, or microseconds */
  int64_t after, count;          /* calls that pass first; calls that it is for then */
  int64_t fired;
};

struct control {
  struct fault faults[4];
  int64_t seen[16];
  int64_t clock_offset; /* nanoseconds added to the time of day */
  char folder[512];
};

static struct control *control;
static unsigned char watched[1 << 16]; /* by descriptor: 1 a file of the folder, 2 a connection */
static uintptr_t sqlite_from, sqlite_to;

static int find_sqlite(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size, (void)data;
  if (!strstr(info->dlpi_name, "libsqlite3") && !strstr(info->dlpi_name, "_sqlite3")) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    uintptr_t from = info->dlpi_addr + part->p_vaddr;
    if (!sqlite_from || strstr(info->dlpi_name, "libsqlite3")) sqlite_from = from, sqlite_to = from + part->p_memsz;
  }
  return 0;
}

#define REAL(name) static __typeof__(name) *real; if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("VBMLE_FAULTS");
  int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
  if (file < 0) return;
  void *memory = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) control = memory;
}

/* What is to happen to this call: NULL for nothing. */
static struct fault *struck(enum kind kind) {
  if (!control) return NULL;
  __atomic_fetch_add(&control->seen[kind], 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; i++) {
    struct fault *fault = &control->faults[i];
    if (!__atomic_load_n(&fault->on, __ATOMIC_ACQUIRE) || fault->kind != (int32_t)kind) continue;
    if (__atomic_fetch_sub(&fault->after, 1, __ATOMIC_RELAXED) > 0) continue;
    if (__atomic_fetch_sub(&fault->count, 1, __ATOMIC_RELAXED) <= 0) continue;
    __atomic_fetch_add(&fault->fired, 1, __ATOMIC_RELAXED);
    if (fault->mode != SLOW) return fault;
    struct timespec pause = {fault->value / 1000000, (fault->value % 1000000) * 1000L};
    nanosleep(&pause, NULL);
  }
  return NULL;
}

static int is(int file, unsigned char what) { return file >= 0 && file < (1 << 16) && watched[file] == what; }
static int ours(const char *path) { return control && control->folder[0] && path && strstr(path, control->folder); }
static int watch(int file, int what) {
  if (file >= 0 && file < (1 << 16)) watched[file] = (unsigned char)what;
  return file;
}

#define FAIL_IF(condition, kind, failed)                                              \
  do {                                                                                \
    struct fault *fault_ = (condition) ? struck(kind) : NULL;                         \
    if (fault_ && fault_->mode == FAILS) { errno = fault_->value; return failed; }    \
  } while (0)
#define FAIL_OR_HALVE(condition, kind, size)                                          \
  do {                                                                                \
    struct fault *fault_ = (condition) ? struck(kind) : NULL;                         \
    if (fault_ && fault_->mode == FAILS) { errno = fault_->value; return -1; }        \
    if (fault_ && fault_->mode == SHORT && size > 1) size /= 2;                       \
  } while (0)

#define OPENER(name)                                                                  \
  int name(const char *path, int flags, ...) {                                        \
    REAL(name);                                                                       \
    va_list rest;                                                                     \
    va_start(rest, flags);                                                            \
    mode_t mode = va_arg(rest, mode_t);                                               \
    va_end(rest);                                                                     \
    FAIL_IF(ours(path), OPEN, -1);                                                    \
    return watch(real(path, flags, mode), ours(path) ? 1 : 0);                        \
  }
OPENER(open)
OPENER(open64)

#define OPENER_AT(name)                                                               \
  int name(int folder, const char *path, int flags, ...) {                            \
    REAL(name);                                                                       \
    va_list rest;                                                                     \
    va_start(rest, flags);                                                            \
    mode_t mode = va_arg(rest, mode_t);                                               \
    va_end(rest);                                                                     \
    FAIL_IF(ours(path), OPEN, -1);                                                    \
    return watch(real(folder, path, flags, mode), ours(path) ? 1 : 0);                \
  }
OPENER_AT(openat)
OPENER_AT(openat64)

int close(int file) {
  REAL(close);
  watch(file, 0);
  return real(file);
}

ssize_t read(int file, void *to, size_t size) {
  REAL(read);
  FAIL_OR_HALVE(is(file, 1), READ, size);
  FAIL_OR_HALVE(is(file, 2), RECEIVE, size);
  return real(file, to, size);
}
ssize_t pread(int file, void *to, size_t size, off_t at) {
  REAL(pread);
  FAIL_OR_HALVE(is(file, 1), READ, size);
  return real(file, to, size, at);
}
ssize_t pread64(int file, void *to, size_t size, off64_t at) {
  REAL(pread64);
  FAIL_OR_HALVE(is(file, 1), READ, size);
  return real(file, to, size, at);
}
ssize_t write(int file, const void *from, size_t size) {
  REAL(write);
  FAIL_OR_HALVE(is(file, 1), WRITE, size);
  FAIL_OR_HALVE(is(file, 2), SEND, size);
  return real(file, from, size);
}
ssize_t pwrite(int file, const void *from, size_t size, off_t at) {
  REAL(pwrite);
  FAIL_OR_HALVE(is(file, 1), WRITE, size);
  return real(file, from, size, at);
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t at) {
  REAL(pwrite64);
  FAIL_OR_HALVE(is(file, 1), WRITE, size);
  return real(file, from, size, at);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(writev);
  FAIL_IF(is(file, 2), SEND, -1);
  return real(file, parts, count);
}
int fsync(int file) {
  REAL(fsync);
  FAIL_IF(is(file, 1), SYNC, -1);
  return real(file);
}
int fdatasync(int file) {
  REAL(fdatasync);
  FAIL_IF(is(file, 1), SYNC, -1);
  return real(file);
}
int ftruncate(int file, off_t size) {
  REAL(ftruncate);
  FAIL_IF(is(file, 1), TRUNCATE, -1);
  return real(file, size);
}
int ftruncate64(int file, off64_t size) {
  REAL(ftruncate64);
  FAIL_IF(is(file, 1), TRUNCATE, -1);
  return real(file, size);
}
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset) {
  REAL(mmap);
  FAIL_IF(is(file, 1), MAP, MAP_FAILED);
  return real(at, size, protection, flags, file, offset);
}
void *mmap64(void *at, size_t size, int protection, int flags, int file, off64_t offset) {
  REAL(mmap64);
  FAIL_IF(is(file, 1), MAP, MAP_FAILED);
  return real(at, size, protection, flags, file, offset);
}

#define LOCKER(name)                                                                  \
  int name(int file, int command, ...) {                                              \
    REAL(name);                                                                       \
    va_list rest;                                                                     \
    va_start(rest, command);                                                          \
    void *given = va_arg(rest, void *);                                               \
    va_end(rest);                                                                     \
    int taking = command == F_SETLK && given && ((struct flock *)given)->l_type != F_UNLCK; \
    FAIL_IF(taking && is(file, 1), LOCK, -1);                                         \
    return real(file, command, given);                                                \
  }
LOCKER(fcntl)
LOCKER(fcntl64)

int rename(const char *from, const char *to) {
  REAL(rename);
  FAIL_IF(ours(from), NAME, -1);
  return real(from, to);
}
int unlink(const char *path) {
  REAL(unlink);
  FAIL_IF(ours(path), NAME, -1);
  return real(path);
}

extern void *__libc_malloc(size_t);
extern void *__libc_realloc(void *, size_t);

static int by_sqlite(void *caller) {
  if (!control) return 0;
  if (!sqlite_from) {
    static __thread int looking;
    if (looking) return 0;
    int watched_at_all = 0;
    for (int i = 0; i < 4; i++) watched_at_all |= control->faults[i].on && control->faults[i].kind == MEMORY;
    if (!watched_at_all) return 0;
    looking = 1;
    dl_iterate_phdr(find_sqlite, NULL);
    looking = 0;
  }
  return sqlite_from && (uintptr_t)caller >= sqlite_from && (uintptr_t)caller < sqlite_to;
}
void *malloc(size_t size) {
  FAIL_IF(by_sqlite(__builtin_return_address(0)), MEMORY, NULL);
  return __libc_malloc(size);
}
void *realloc(void *old, size_t size) {
  FAIL_IF(by_sqlite(__builtin_return_address(0)), MEMORY, NULL);
  return __libc_realloc(old, size);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
  REAL(pthread_create);
  struct fault *fault = struck(THREAD);
  if (fault) return fault->value;
  return real(thread, how, run, with);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(clock_gettime);
  int failed = real(clock, now);
  if (!failed && control && clock == CLOCK_REALTIME && control->clock_offset) {
    int64_t moment = now->tv_sec * 1000000000LL + now->tv_nsec + control->clock_offset;
    now->tv_sec = moment / 1000000000LL, now->tv_nsec = moment % 1000000000LL;
  }
  return failed;
}
pid_t fork(void) {
  REAL(fork);
  FAIL_IF(1, CHILD, -1);
  return real();
}
pid_t vfork(void) { return fork(); } /* a frame of its own would be gone when the parent goes on */

int accept4(int listener, struct sockaddr *address, socklen_t *length, int flags) {
  REAL(accept4);
  FAIL_IF(1, ACCEPT, -1);
  return watch(real(listener, address, length, flags), 2);
}
ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
  REAL(sendmsg);
  FAIL_IF(is(file, 2), SEND, -1);
  return real(file, message, flags);
}
ssize_t recv(int file, void *to, size_t size, int flags) {
  REAL(recv);
  FAIL_OR_HALVE(is(file, 2), RECEIVE, size);
  return real(file, to, size, flags);
}
ssize_t send(int file, const void *from, size_t size, int flags) {
  REAL(send);
  FAIL_OR_HALVE(is(file, 2), SEND, size);
  return real(file, from, size, flags);
}
