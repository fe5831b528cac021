/*
 * A disk that fails: put before the C library (LD_PRELOAD), it counts what a program writes below a folder, and the
 * n-th write fails, or all from it on, or the program dies at it. What changes a name or waits for the disk is a write
 * too. Of a program that makes system calls of its own (Bun's write and open) only those by the C library are seen,
 * which SQLite's all are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static atomic_int count, at, error, lasts, slow_us;

/* Counts from 1 on. failing_at 0 only counts; failure 0 kills instead. */
void disk_arm(const char *below, int failing_at, int failure, int is_lasting, int slowness) {
  atomic_store(&at, failing_at);
  atomic_store(&error, failure);
  atomic_store(&lasts, is_lasting);
  atomic_store(&slow_us, slowness);
  atomic_store(&count, 0);
  snprintf(folder, sizeof folder, "%s", below);
}

int disk_count(void) { return atomic_load(&count); }

__attribute__((constructor)) static void arm_by_environment(void) {
  const char *below = getenv("DISK_FOLDER"), *n = getenv("DISK_KILLS_AT");
  if (below && n) disk_arm(below, atoi(n), 0, 1, 0);
}

/* The errno of this write; 0 when it goes through. A full disk still gives room back. */
static int fault_of(const char *path, int gives_room) {
  size_t length = strlen(folder);
  if (length == 0 || path == NULL || strncmp(path, folder, length) != 0) return 0;
  int n = atomic_fetch_add(&count, 1) + 1, first = atomic_load(&at);
  if (atomic_load(&slow_us)) usleep(atomic_load(&slow_us));
  if (first == 0 || n < first || (n > first && !atomic_load(&lasts))) return 0;
  if (atomic_load(&error) == 0) kill(getpid(), SIGKILL);
  return gives_room && atomic_load(&error) == ENOSPC ? 0 : atomic_load(&error);
}

static int fault_of_open(int fd) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = folder[0] ? readlink(link, path, sizeof path - 1) : -1;
  if (length < 0) return 0;
  path[length] = 0;
  return fault_of(path, 0);
}

/* The same call as the C library has it, unless it fails here. */
#define INSTEAD(type, name, parameters, arguments, found) \
  type name parameters { \
    static type(*real) parameters; \
    if (!real) real = (type(*) parameters)dlsym(RTLD_NEXT, #name); \
    int fault = found; \
    if (fault) { \
      errno = fault; \
      return -1; \
    } \
    return real arguments; \
  }

INSTEAD(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t to), (fd, from, n, to), fault_of_open(fd))
INSTEAD(ssize_t, pwrite64, (int fd, const void *from, size_t n, off64_t to), (fd, from, n, to), fault_of_open(fd))
INSTEAD(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n), fault_of_open(fd))
INSTEAD(int, fsync, (int fd), (fd), fault_of_open(fd))
INSTEAD(int, fdatasync, (int fd), (fd), fault_of_open(fd))
INSTEAD(int, ftruncate, (int fd, off_t n), (fd, n), fault_of_open(fd))
INSTEAD(int, ftruncate64, (int fd, off64_t n), (fd, n), fault_of_open(fd))
INSTEAD(int, rename, (const char *from, const char *to), (from, to), fault_of(to, 0))
INSTEAD(int, link, (const char *from, const char *to), (from, to), fault_of(to, 0))
INSTEAD(int, unlink, (const char *path), (path), fault_of(path, 1))
INSTEAD(int, mkdir, (const char *path, mode_t mode), (path, mode), fault_of(path, 0))

#define OPEN_INSTEAD(name) \
  int name(const char *path, int flags, ...) { \
    static int (*real)(const char *, int, ...); \
    if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name); \
    va_list rest; \
    va_start(rest, flags); \
    int mode = va_arg(rest, int); \
    va_end(rest); \
    int fault = flags & O_CREAT ? fault_of(path, 0) : 0; \
    if (fault) { \
      errno = fault; \
      return -1; \
    } \
    return real(path, flags, mode); \
  }

OPEN_INSTEAD(open)
OPEN_INSTEAD(open64)
