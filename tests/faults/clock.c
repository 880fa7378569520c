/* Moves the clock of one process: the time of day, not the monotonic clock, by the nanoseconds in a mapped file. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *offset_ns;
static int (*real_clock_gettime)(clockid_t, struct timespec *);

__attribute__((constructor)) static void open_clock(void) {
    const char *path = getenv("FAULTY_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED) offset_ns = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!real_clock_gettime) real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real_clock_gettime(clock, now);
    if (failed || !offset_ns || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return failed;
    int64_t ns = (int64_t)now->tv_sec * 1000000000 + now->tv_nsec + *offset_ns;
    now->tv_sec = ns / 1000000000;
    now->tv_nsec = ns % 1000000000;
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    int failed = clock_gettime(CLOCK_REALTIME, &exact);
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return failed;
}

time_t time(time_t *seconds) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (seconds) *seconds = exact.tv_sec;
    return exact.tv_sec;
}
