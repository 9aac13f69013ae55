/* The lines of records.py from C: records FILE LINES THREADS PROCESSES SYNC.
 *
 * One writer alone uses every call that takes bytes, with places of its own; several append, by
 * write and writev. What the kernel does not take at once is a fault: exit 3.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *path;
static int lines, threads, processes, synced;

struct writer {
    int process, thread;
};

static ssize_t put(int fd, int how, char *line, size_t length, off_t at)
{
    struct iovec parts[] = {{line, 3}, {line, 0}, {line + 3, length - 3}};
    switch (how) {
    case 0:
        return write(fd, line, length);
    case 1:
        return writev(fd, parts, 3);
    case 2:
        return pwrite(fd, line, length, at);
    case 3:
        return pwritev(fd, parts, 3, at);
    default:
        return pwritev2(fd, parts, 3, at, 0);
    }
}

static void *append(void *argument)
{
    struct writer *self = argument;
    int alone = threads * processes == 1;
    int fd = open(path, O_WRONLY | O_CREAT | (alone ? 0 : O_APPEND), 0644);
    off_t at = 0;
    for (int number = 0; number < lines; number++) {
        char line[128];
        int length = sprintf(line, "%d.%d:%d:\xc3\xa9", self->process, self->thread, number);
        int padding = (7 * number + 3 * self->thread + 5 * self->process) % 61;
        memset(line + length, 'a' + number % 26, padding);
        length += padding;
        line[length++] = '\n';
        lseek(fd, at, SEEK_SET); /* where it appends, this changes nothing */
        if (put(fd, number % (alone ? 5 : 2), line, length, at) != length)
            _exit(3);
        at += length;
        if (synced)
            number % 2 ? fsync(fd) : fdatasync(fd);
    }
    close(fd);
    return NULL;
}

static void work(int process)
{
    pthread_t runners[16];
    struct writer writers[16];
    for (int thread = 1; thread < threads; thread++) {
        writers[thread] = (struct writer){process, thread};
        pthread_create(&runners[thread], NULL, append, &writers[thread]);
    }
    writers[0] = (struct writer){process, 0};
    append(&writers[0]);
    for (int thread = 1; thread < threads; thread++)
        pthread_join(runners[thread], NULL);
}

int main(int argc, char **argv)
{
    path = argv[1];
    lines = atoi(argv[2]), threads = atoi(argv[3]);
    processes = atoi(argv[4]), synced = atoi(argv[5]);
    for (int process = 1; process < processes; process++) {
        if (fork() == 0) {
            work(process);
            _exit(0);
        }
    }
    work(0);
    while (wait(NULL) > 0)
        ;
    return 0;
}
