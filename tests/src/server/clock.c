/* Gives one process a wall clock of its own: the machine's plus the milliseconds that stand in the file named by SKEW_FILE, read
   at every call. The monotonic clock stays as it is. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long long skew_ms(void) {
  static int file = -2;
  char text[32];
  if (file == -2) {
    const char *path = getenv("SKEW_FILE");
    file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
  }
  if (file < 0) return 0;
  long length = syscall(SYS_pread64, file, text, sizeof text - 1, 0);
  if (length <= 0) return 0;
  text[length] = 0;
  return atoll(text);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
  long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    long long nanos = (long long)time->tv_sec * 1000000000LL + time->tv_nsec + skew_ms() * 1000000LL;
    time->tv_sec = nanos / 1000000000LL;
    time->tv_nsec = nanos % 1000000000LL;
  }
  return (int)result;
}

int gettimeofday(struct timeval *time, void *zone) {
  struct timespec now;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
