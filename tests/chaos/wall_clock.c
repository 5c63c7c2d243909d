/* Preloaded into the processes of the chaos campaign: their wall clock is ahead by the seconds that the file
   KARMAD_WALL_CLOCK has, a signed number of eight bytes that may change at any moment. Clocks that only go on are
   left alone. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead;

__attribute__((constructor)) static void open_file(void) {
  const char *const name = getenv("KARMAD_WALL_CLOCK");
  const int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  void *const page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
  if (page != MAP_FAILED) ahead = page;
  if (file >= 0) close(file);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  const int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (!failed && ahead && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += *ahead;
  return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  struct timespec exact;
  const int failed = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *at) {
  struct timespec exact;
  const time_t now = clock_gettime(CLOCK_REALTIME, &exact) ? -1 : exact.tv_sec;
  if (at) *at = now;
  return now;
}
