/* Append the same three-part line with every call that takes bytes: vectors FILE.
 *
 * The vectors are constant, so they lie in read-only memory, and each call is tried again with what
 * is left after a short write: a program may use its vectors and its length again. Exit 3 where
 * the kernel changed either.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static const struct iovec parts[] = {{"first,", 6}, {"", 0}, {"second,", 7}, {"third\n", 6}};
static const char line[] = "first,second,third\n";
#define WHOLE ((ssize_t)(sizeof line - 1))

static void rest(int fd, ssize_t done, off_t at)
{
    if (parts[0].iov_len != 6 || parts[2].iov_len != 7 || parts[3].iov_len != 6)
        _exit(3);
    if (done >= 0 && done < WHOLE)
        pwrite(fd, line + done, WHOLE - done, at + done);
}

int main(int argc, char **argv)
{
    int fd = open(argv[argc - 1], O_WRONLY | O_CREAT, 0644);
    off_t at = 0;
    rest(fd, write(fd, line, WHOLE), at);
    at += WHOLE;
    rest(fd, pwrite(fd, line, WHOLE, at), at);
    at += WHOLE;
    lseek(fd, at, SEEK_SET);
    rest(fd, writev(fd, parts, 4), at);
    at += WHOLE;
    rest(fd, pwritev(fd, parts, 4, at), at);
    at += WHOLE;
    rest(fd, pwritev2(fd, parts, 4, at, 0), at);
    at += WHOLE;
    lseek(fd, at, SEEK_SET);
    rest(fd, pwritev2(fd, parts, 4, -1, 0), at);
    return 0;
}
